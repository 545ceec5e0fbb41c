"""Calls of every public method of PySpark's DataFrame, of what `na` and `stat` give, and of groups.

A method that reads has calls, each of which gives a DataFrame or a value; one that does not has a reason in words.
Where the order of rows would show, a call sorts them first: what is open by nature is in `differences.py`.
"""

import contextlib
import io
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from tests.matrix.answers import plain

Call: TypeAlias = Callable[[DataFrame], Any]

NUMBERS = ["id", "tiny", "whole", "big", "price", "real"]
STREAMS = "of streams alone, which tests/spark/test_table_streams.py reads"
WRITES = "writes to a table, which Lakescan refuses by name: tests/spark/test_errors.py"
OF_THE_PLAN = "speaks of the plan, which is not that of files of Parquet"


def in_order(rows: Sequence[Any]) -> list[str]:
    """Rows whose order says nothing."""
    return sorted(repr(plain(row)) for row in rows)


def _shown(f: DataFrame, **arguments: Any) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as text:
        f.show(**arguments)
    return text.getvalue()


def _view(f: DataFrame, make: str, schema: str = "") -> Any:
    getattr(f, make)("matrix_made")
    spark = f.sparkSession
    try:
        return in_order(spark.sql(f"SELECT count(*), max(whole), min(text) FROM {schema}matrix_made").collect())
    finally:
        spark.catalog.dropGlobalTempView("matrix_made") if schema else spark.catalog.dropTempView("matrix_made")


def _kept(f: DataFrame, keep: Callable[[DataFrame], DataFrame]) -> Any:
    held = keep(f.where("id >= 0"))
    try:
        return [held.count(), held.distinct().count(), in_order(held.select("id", "text").collect())]
    finally:
        held.unpersist(True)


def _checkpointed(f: DataFrame) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        f.sparkSession.sparkContext.setCheckpointDir(folder)
        return in_order(f.select("id", "text", "st").checkpoint().collect())


def _each(f: DataFrame, by_partition: bool) -> int:
    total = f.sparkSession.sparkContext.accumulator(0)

    def add(rows: Iterator[Any]) -> None:
        for row in rows:
            total.add(row.id + 1)

    narrow = f.select("id", "text")
    narrow.foreachPartition(add) if by_partition else narrow.foreach(lambda row: total.add(row.id + 1))
    return int(total.value)


def _batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _frames(frames: Iterator[Any]) -> Iterator[Any]:
    for frame in frames:
        yield frame[["id"]]


def _written(f: DataFrame) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        where = str(Path(folder, "t"))
        f.write.parquet(where)
        return in_order(f.sparkSession.read.parquet(where).collect())


def _not_at_all(f: DataFrame) -> None:
    f.write.format("noop").mode("overwrite").save()


def _observed(f: DataFrame) -> Any:
    from pyspark.sql import Observation

    seen = Observation()
    f.observe(seen, F.count(F.lit(1)).alias("rows"), F.max("whole").alias("most")).select("id").collect()
    return seen.get


def _split(f: DataFrame) -> Any:
    one, other = f.select("id", "text").randomSplit([0.5, 0.5], 7)
    return in_order(one.union(other).collect())


def _table_function(f: DataFrame) -> DataFrame:
    from pyspark.sql.functions import udtf

    class Rows:
        def eval(self, row: Any) -> Iterator[tuple[int]]:
            yield (row["id"],)

    made: Any = udtf(Rows, returnType="n bigint")
    result: DataFrame = made(f.select("id").asTable())
    return result


def _frequent(items: DataFrame) -> list[Any]:
    (row,) = items.collect()
    return sorted(row[0] or [], key=str)


def _pandas(f: DataFrame) -> list[str]:
    return sorted(map(str, cast(Any, f.toPandas()).to_dict("records")))


def _joins(how: str) -> Call:
    def join(f: DataFrame) -> DataFrame:
        right = f.select(F.col("id").alias("other"), F.col("whole").alias("w"), "text").where("id % 2 = 0")
        return f.select("id", "whole", "price").join(right, F.col("whole") == F.col("w"), how)

    return join


def _sums(group: Any) -> Any:
    return group.agg(F.count(F.lit(1)), F.max("whole"), F.min("text"), F.sum("price"))


def _other(f: DataFrame) -> DataFrame:
    return f.where("id < 6")


METHODS: Mapping[str, Sequence[Call] | str] = {
    "agg": [
        lambda f: f.agg({"whole": "max", "*": "count", "text": "min"}),
        lambda f: f.agg(F.max("id"), F.sum("price"), F.count_distinct("whole")),
        lambda f: f.agg(F.product("tiny"), F.count("*")),
        lambda f: f.agg(F.max("id")).isEmpty(),
        lambda f: f.agg(F.sum("whole"), F.avg("tiny")).count(),
        lambda f: f.agg(F.lit(1)),
        lambda f: f.where("id < 0").agg(F.max("id")).isEmpty(),
    ],
    "alias": [lambda f: f.alias("a").select("a.id", "a.st.x", F.col("a.`a.b`"))],
    "approxQuantile": [lambda f: f.approxQuantile(["whole", "price", "ü"], [0.0, 0.5, 1.0], 0.0)],
    "asTable": [_table_function],
    "cache": [lambda f: _kept(f, DataFrame.cache)],
    "checkpoint": [_checkpointed],
    "coalesce": [lambda f: f.coalesce(1), lambda f: f.coalesce(1).count()],
    "colRegex": [lambda f: f.select(f.colRegex("`(whole|price|text)`"))],
    "collect": [lambda f: in_order(f.collect()), lambda f: in_order(f.select().collect())],
    "columns": [lambda f: f.columns],
    "corr": [lambda f: f.corr("id", "whole")],
    "count": [
        lambda f: f.count(),
        lambda f: f.select("pairs").count(),
        lambda f: f.where("whole > 0").count(),
        lambda f: f.where("size(ints) > 1").count(),
        lambda f: f.limit(2).count(),
        lambda f: f.select("st.x").distinct().count(),
    ],
    "cov": [lambda f: f.cov("id", "whole")],
    "createGlobalTempView": [lambda f: _view(f, "createGlobalTempView", "global_temp.")],
    "createOrReplaceGlobalTempView": [lambda f: _view(f, "createOrReplaceGlobalTempView", "global_temp.")],
    "createOrReplaceTempView": [lambda f: _view(f, "createOrReplaceTempView")],
    "createTempView": [lambda f: _view(f, "createTempView")],
    "crossJoin": [lambda f: f.select("id", "ints").crossJoin(f.select(F.col("text")))],
    "crosstab": [lambda f: f.crosstab("whole", "text")],
    "cube": [
        lambda f: _sums(f.cube("flag", "part")),
        lambda f: _sums(f.cube("ints")),
        lambda f: f.cube("st", "day").count(),
    ],
    "describe": [
        lambda f: f.describe(*NUMBERS),
        lambda f: f.describe("text", "fixed"),
        lambda f: f.describe(),
        lambda f: f.describe().count(),
        lambda f: f.describe("whole").where("summary = 'max'"),
    ],
    "distinct": [
        lambda f: f.distinct(),
        lambda f: f.distinct().count(),
        lambda f: f.select("ints").distinct(),
        lambda f: f.select("st").distinct(),
        lambda f: f.select("part", "kind").distinct(),
        lambda f: f.select("real").distinct(),
        lambda f: f.select().distinct(),
    ],
    "drop": [lambda f: f.drop("st", "a.b", "no such"), lambda f: f.drop(*f.columns[1:])],
    "dropDuplicates": [
        lambda f: f.dropDuplicates(),
        lambda f: f.dropDuplicates(["ints"]).select("ints"),
        lambda f: f.dropDuplicates(["st"]).select("st"),
        lambda f: f.dropDuplicates(["id"]),
        lambda f: f.select("whole", "flag").dropDuplicates(["whole", "flag"]),
    ],
    "dropDuplicatesWithinWatermark": STREAMS,
    "drop_duplicates": [lambda f: f.select("pairs", "id").drop_duplicates(["pairs", "id"])],
    "dropna": [
        lambda f: f.dropna(),
        lambda f: f.dropna("all"),
        lambda f: f.dropna(subset=["whole", "ü"]),
        lambda f: f.dropna(thresh=20),
    ],
    "dtypes": [lambda f: f.dtypes],
    "exceptAll": [lambda f: f.exceptAll(_other(f)), lambda f: f.select("ints").exceptAll(_other(f).select("ints"))],
    "executionInfo": OF_THE_PLAN,
    "exists": [
        lambda f: f.sparkSession.range(2).where(f.where("whole = 4").exists()),
        lambda f: f.sparkSession.range(2).where(f.where("id < 0").agg(F.max("id")).exists()),
        lambda f: f.sparkSession.range(2).where(~f.where("id < 0").agg(F.count("id")).exists()),
    ],
    "explain": OF_THE_PLAN,
    "fillna": [
        lambda f: f.fillna(0),
        lambda f: f.fillna({"text": "none", "whole": 5, "a.b": 7}),
        lambda f: f.fillna(True),
    ],
    "filter": [
        lambda f: f.filter("whole > 0").select("id"),
        lambda f: f.filter(F.col("`a.b`").isNull()).select("id"),
        lambda f: f.filter(f["st"]["deep"]["z"] > 0).select("id", "st.deep"),
        lambda f: f.filter("array_contains(ints, 2)").select("id"),
        lambda f: f.filter(F.lit(False)),
    ],
    "first": [lambda f: f.orderBy("id").first(), lambda f: f.where("id < 0").first()],
    "foreach": [lambda f: _each(f, False)],
    "foreachPartition": [lambda f: _each(f, True)],
    "freqItems": [lambda f: _frequent(f.freqItems(["part"], 0.9))],
    "groupBy": [
        lambda f: f.groupBy().count(),
        lambda f: f.groupBy().count().count(),
        lambda f: f.groupBy("st").count().count(),
        lambda f: _sums(f.groupBy("whole")),
        lambda f: _sums(f.groupBy("part", "kind")),
        lambda f: _sums(f.groupBy("ints")),
        lambda f: _sums(f.groupBy("st")),
        lambda f: _sums(f.groupBy("pairs", "whole")),
        lambda f: _sums(f.groupBy("real")),
        lambda f: _sums(f.groupBy("fixed")),
        lambda f: _sums(f.groupBy(F.col("whole") % 2)),
    ],
    "groupby": [lambda f: f.groupby("day").max("whole")],
    "groupingSets": [
        lambda f: f.groupingSets([["part"], []], "part").agg(F.count(F.lit(1)), F.max("whole")),
        lambda f: f.groupingSets([[]]).agg(F.count(F.lit(1))),
    ],
    "head": [lambda f: f.orderBy("id").head(), lambda f: f.orderBy("id").head(3), lambda f: len(f.head(2))],
    "hint": [lambda f: f.select("id").join(f.select("id", "text").hint("broadcast"), "id")],
    "inputFiles": "the copy has other files; docs/compatibility.md says that it gives nothing",
    "intersect": [lambda f: f.intersect(_other(f)), lambda f: f.select("st").intersect(_other(f).select("st"))],
    "intersectAll": [lambda f: f.select("ints", "text").intersectAll(_other(f).select("ints", "text"))],
    "isEmpty": [
        lambda f: f.isEmpty(),
        lambda f: f.where("id < 0").isEmpty(),
        lambda f: f.select("ints").isEmpty(),
        lambda f: f.limit(0).isEmpty(),
        lambda f: f.distinct().isEmpty(),
    ],
    "isLocal": OF_THE_PLAN,
    "isStreaming": [lambda f: f.isStreaming],
    "join": [
        *map(_joins, ["inner", "left", "right", "full", "semi", "anti", "cross"]),
        lambda f: f.select("id", "st").join(f.select("st", "ints"), "st"),
        lambda f: f.select("id", "text").join(f.select("id", "real"), ["id"], "left").where("real IS NULL"),
    ],
    "lateralJoin": [
        lambda f: (
            f.select("id", "ints")
            .alias("a")
            .lateralJoin(
                f.sparkSession.range(3).where(F.col("id") == F.col("a.id").outer()).select(F.col("id").alias("n"))
            )
        )
    ],
    "limit": [
        lambda f: f.orderBy("id").limit(2),
        lambda f: f.orderBy(F.desc("whole"), "id").limit(4).select("id", "whole"),
        lambda f: f.limit(1000).count(),
        lambda f: f.limit(0),
    ],
    "localCheckpoint": [lambda f: in_order(f.select("id", "st").localCheckpoint().collect())],
    "mapInArrow": [
        lambda f: f.select("id", "text", "real").mapInArrow(_batches, "id bigint, text string, real double")
    ],
    "mapInPandas": [lambda f: f.select("id", "text").mapInPandas(_frames, "id bigint")],
    "melt": [lambda f: f.melt(["id"], ["whole", "a.b"], "name", "value")],
    "mergeInto": WRITES,
    "metadataColumn": [lambda f: f.select("id", f.metadataColumn("_metadata")["file_size"] > 0)],
    "na": [
        lambda f: f.na.drop(subset=["whole"]).select("id"),
        lambda f: f.na.fill(1, ["tiny"]).select("tiny"),
        lambda f: f.na.replace(["a"], "z").select("text", "two words"),
    ],
    "nearestByJoin": [
        lambda f: f.select("id").nearestByJoin(
            f.select(F.col("id").alias("other"), "ints"),
            F.abs(F.col("id") * 1.1 - F.col("other")),
            1,
            "exact",
            "distance",
        )
    ],
    "observe": [_observed],
    "offset": [lambda f: f.orderBy("id").offset(3), lambda f: f.offset(2).count(), lambda f: f.offset(100).count()],
    "orderBy": [lambda f: in_order(f.orderBy("whole").select("id").collect()), lambda f: f.orderBy("id").take(3)],
    "pandas_api": [lambda f: sorted(map(str, f.select("id", "whole").pandas_api().to_pandas().to_dict("records")))],
    "persist": [lambda f: _kept(f, DataFrame.persist)],
    "plot": "draws what `toPandas` gives, with a package that is not here",
    "printSchema": [lambda f: f.schema.treeString()],
    "randomSplit": [_split],
    "rdd": [lambda f: f.rdd.count(), lambda f: in_order(f.select("id", "ints").rdd.map(tuple).collect())],
    "registerTempTable": [lambda f: _view(f, "registerTempTable")],
    "repartition": [lambda f: f.repartition(3), lambda f: f.repartition(2, "whole").select("whole")],
    "repartitionById": [lambda f: f.repartitionById(2, (F.col("id") % 2).cast("int"))],
    "repartitionByRange": [lambda f: f.repartitionByRange(2, "id").select("id")],
    "replace": [lambda f: f.replace(4, 40), lambda f: f.replace({"a": "b"}), lambda f: f.replace(0.5, 5.0, ["ü"])],
    "rollup": [
        lambda f: _sums(f.rollup("flag", "part")),
        lambda f: f.rollup("st").count(),
        lambda f: f.rollup().count(),
    ],
    "sameSemantics": [lambda f: f.sameSemantics(f), lambda f: f.sameSemantics(f.where("id > 3"))],
    "sample": [lambda f: f.sample(1.0, 7), lambda f: f.sample(0.0, 7)],
    "sampleBy": [lambda f: f.sampleBy("part", {1: 1.0, 2: 0.0}, 7)],
    "scalar": [
        lambda f: f.sparkSession.range(1).select(f.agg(F.max("whole")).scalar(), f.agg(F.count("id")).scalar()),
        lambda f: f.sparkSession.range(1).select(f.where("id < 0").agg(F.sum("whole")).scalar()),
    ],
    "schema": [lambda f: [(field.name, field.dataType) for field in f.schema]],
    "select": [
        lambda f: f.select("*"),
        lambda f: f.select("st.deep.z", "pairs.y", "`a.b`", "ints"),
        lambda f: f.select(F.col("whole") + 1, F.explode("ints")),
        lambda f: f.select(),
        lambda f: f.select(F.row_number().over(Window.orderBy("id")), "id"),
    ],
    "selectExpr": [
        lambda f: f.selectExpr("whole * 2", "upper(text)", "st.x"),
        lambda f: f.selectExpr("sum(whole) OVER (PARTITION BY flag)", "id"),
        lambda f: f.selectExpr("count_if(false)"),
        lambda f: f.selectExpr("count(NULL)"),
        lambda f: f.selectExpr("count(DISTINCT 'literal')"),
    ],
    "semanticHash": OF_THE_PLAN,
    "show": [lambda f: _shown(f.orderBy("id")), lambda f: _shown(f.orderBy("id"), n=2, truncate=False, vertical=True)],
    "sort": [lambda f: f.sort(F.desc("id")).take(2), lambda f: f.sort("text", "id").limit(3).select("id", "text")],
    "sortWithinPartitions": [lambda f: f.coalesce(1).sortWithinPartitions("id").select("id").collect()],
    "sparkSession": "a property",
    "stat": [lambda f: f.stat.corr("id", "big")],
    "storageLevel": OF_THE_PLAN,
    "subtract": [lambda f: f.subtract(_other(f)), lambda f: f.select("ints").subtract(_other(f).select("ints"))],
    "summary": [
        lambda f: f.select(*NUMBERS, "text").summary(),
        lambda f: f.summary().count(),
        lambda f: f.summary("count", "max", "min"),
        lambda f: f.select("whole").summary("50%", "stddev"),
        lambda f: f.select("ints").summary("count"),
    ],
    "tail": [lambda f: f.orderBy("id").tail(2), lambda f: len(f.tail(100))],
    "take": [lambda f: f.orderBy("id").take(5), lambda f: len(f.take(3)), lambda f: len(f.select("ints").take(3))],
    "to": [lambda f: f.to(f.select("whole", "id", "text").schema)],
    "toArrow": [
        lambda f: in_order(f.toArrow().to_pylist()),
        lambda f: in_order(f.select("whole", "price").agg(F.max("whole"), F.sum("price")).toArrow().to_pylist()),
        lambda f: f.select().toArrow().num_columns,
    ],
    "toDF": [lambda f: f.toDF(*[f"c{at}" for at in range(len(f.columns))]).where("c1 = true").select("c0", "c4")],
    "toJSON": [lambda f: sorted(f.toJSON().collect())],
    "toLocalIterator": [
        lambda f: in_order(list(f.toLocalIterator())),
        lambda f: in_order(list(f.select("id", "st").toLocalIterator(prefetchPartitions=True))),
    ],
    "toPandas": [
        _pandas,
        lambda f: _pandas(f.select("id", "whole", "st")),
        lambda f: len(f.where("id < 0").toPandas()),
    ],
    "transform": [lambda f: f.transform(lambda g: g.where("whole > 1").select("whole"))],
    "transpose": [
        lambda f: f.select("text", "whole", "tiny").where("text IS NOT NULL").orderBy("id").transpose("text")
    ],
    "union": [
        lambda f: f.union(f),
        lambda f: f.select("ints").union(f.select("ints")).distinct(),
        lambda f: f.select("st", "whole").union(_other(f).select("st", "whole")).distinct().count(),
    ],
    "unionAll": [lambda f: f.unionAll(_other(f)).count()],
    "unionByName": [
        lambda f: f.select("id", "text").unionByName(f.select("text", "id")),
        lambda f: f.select("id", "text").unionByName(f.select("whole"), allowMissingColumns=True),
    ],
    "unpersist": [lambda f: _kept(f, DataFrame.cache)],
    "unpivot": [
        lambda f: f.unpivot(["id"], ["tiny", "a.b"], "name", "value"),
        lambda f: f.unpivot("id", ["ü", "real"], "n", "v").count(),
    ],
    "where": [
        lambda f: f.where("price > 0 AND whole IS NOT NULL").select("id"),
        lambda f: f.where("real > 1").count(),
        lambda f: f.where("true").count(),
        lambda f: f.where("false").count(),
        lambda f: f.where(F.col("whole").isin([])).count(),
    ],
    "withColumn": [
        lambda f: f.withColumn("n", F.col("whole") + 1).select("n"),
        lambda f: f.withColumn("st", f["st.x"]),
    ],
    "withColumnRenamed": [lambda f: f.withColumnRenamed("whole", "w").where("w > 0").select("w")],
    "withColumns": [lambda f: f.withColumns({"a": F.lit(1), "b": F.col("st.y")}).select("a", "b")],
    "withColumnsRenamed": [lambda f: f.withColumnsRenamed({"whole": "w", "text": "t"}).groupBy("w").agg(F.max("t"))],
    "withMetadata": [lambda f: f.withMetadata("whole", {"a": 1}).select("whole")],
    "withWatermark": [lambda f: f.withWatermark("moment", "1 day").groupBy(F.window("moment", "1 day")).count()],
    "write": [_written, _not_at_all],
    "writeStream": STREAMS,
    "writeTo": WRITES,
    "zip": [lambda f: f.select("id").zip(f.select("whole"))],
    "zipWithIndex": [lambda f: in_order(f.orderBy("id").select("id").zipWithIndex().collect())],
}

OF_NA: Mapping[str, Sequence[Call] | str] = {
    "drop": [lambda f: f.na.drop("any", subset=["text", "price"]), lambda f: f.na.drop(thresh=30).count()],
    "fill": [lambda f: f.na.fill("x"), lambda f: f.na.fill({"real": 1.5, "flag": False})],
    "replace": [
        lambda f: f.na.replace([4, 7], [40, 70], ["whole"]),
        lambda f: f.na.replace([float("nan")], 0.0, ["real"]),
    ],
}
OF_STAT: Mapping[str, Sequence[Call] | str] = {
    "approxQuantile": [lambda f: f.stat.approxQuantile("big", [0.25, 0.75], 0.0)],
    "corr": [lambda f: f.stat.corr("tiny", "whole")],
    "cov": [lambda f: f.stat.cov("tiny", "price")],
    "crosstab": [lambda f: f.stat.crosstab("flag", "part")],
    "freqItems": [lambda f: _frequent(f.stat.freqItems(["whole"], 0.01))],
    "sampleBy": [lambda f: f.stat.sampleBy("flag", {True: 1.0}, 3).select("id")],
}


def _each_group(frame: Any) -> Any:
    return frame[["id"]].max().to_frame().T.astype("int64")


def _each_table(table: pa.Table) -> pa.Table:
    return pa.table({"n": [table.num_rows]})


def _both(one: Any, other: Any) -> Any:
    import pandas as pd

    return pd.DataFrame({"n": [len(one) + len(other)]})


def _cogrouped(f: DataFrame) -> DataFrame:
    group: Any = f.select("id", "part").groupBy("part")
    joined: DataFrame = group.cogroup(_other(f).select("id", "part").groupBy("part")).applyInPandas(_both, "n bigint")
    return joined


OF_GROUPS: Mapping[str, Sequence[Call] | str] = {
    "agg": [lambda f: f.groupBy("flag").agg({"*": "count", "big": "max"})],
    "apply": "older words for applyInPandas",
    "applyInArrow": [lambda f: f.select("id", "part").groupBy("part").applyInArrow(_each_table, "n bigint")],
    "applyInPandas": [lambda f: f.select("id", "part").groupBy("part").applyInPandas(_each_group, "id bigint")],
    "applyInPandasWithState": STREAMS,
    "avg": [lambda f: f.groupBy("flag").avg("whole", "price")],
    "cogroup": [_cogrouped],
    "count": [lambda f: f.groupBy("kind").count(), lambda f: f.groupBy("day").count().count()],
    "max": [lambda f: f.groupBy("flag").max("whole", "big"), lambda f: f.groupBy().max()],
    "mean": [lambda f: f.groupBy("part").mean("tiny")],
    "min": [lambda f: f.groupBy("flag").min("whole"), lambda f: f.groupBy("st").min("price")],
    "pivot": [
        lambda f: f.groupBy("flag").pivot("part").count(),
        lambda f: f.groupBy("flag").pivot("kind", ["k", "l"]).agg(F.sum("whole")),
    ],
    "sum": [lambda f: f.groupBy("part").sum("whole", "price"), lambda f: f.groupBy("ints").sum("whole")],
    "transformWithState": STREAMS,
    "transformWithStateInPandas": STREAMS,
}
