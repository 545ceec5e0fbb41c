"""The hidden `_metadata` column in Spark, compared with Spark's own for the same files."""

from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

import lakescan
from tests.compare import first_row
from tests.expected import copied, in_order
from tests.tables import DeltaBuilder


def test_the_column_can_be_selected_and_is_in_no_star(spark: SparkSession, tmp_path: Path) -> None:
    root, expected = copied("row_tracking", tmp_path)
    df = lakescan.read(spark, root)
    assert df.columns == ["id", "v"]
    assert spark.sql(f"SELECT * FROM delta.`{root}`").columns == ["id", "v"]
    frame = spark.sql(f"SELECT id, _metadata.row_id, _metadata.row_commit_version AS changed FROM delta.`{root}`")
    wanted = [
        {"id": row["id"], "row_id": row["_metadata"]["row_id"], "changed": row["_metadata"]["row_commit_version"]}
        for row in expected["versions"][-1]
    ]
    assert in_order([row.asDict() for row in frame.collect()]) == in_order(wanted)


def test_a_table_that_tracks_no_rows_has_no_row_ids(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("a", pa.int64())]))
    table.append(pa.table({"a": [1]}))
    with pytest.raises(AnalysisException, match="row_id"):
        lakescan.read(spark, table.path).select("_metadata.row_id")


def test_names_types_and_values_are_those_of_sparks_own_column(spark: SparkSession, tmp_path: Path) -> None:
    odd = "p=a b%25/é+c@d,e;f&g!~(h)'*$/x y[1]#.parquet"
    table = DeltaBuilder(tmp_path / "t ü", pa.schema([("a", pa.int64())]))
    added = table.add(pa.table({"a": [1, 2, 3]}), name=odd, row_group_size=1)
    file = table.root / odd
    added["add"]["modificationTime"] = int(file.stat().st_mtime_ns // 1_000_000)
    table.commit(added)
    assert unquote(added["add"]["path"]) == odd
    ours = lakescan.read(spark, table.path).select("_metadata")
    # A glob character in a path is Spark's to escape.
    theirs = spark.read.option("recursiveFileLookup", "true").parquet(str(table.root / "p=a b%25")).select("_metadata")
    kind, their_kind = ours.schema["_metadata"].dataType, theirs.schema["_metadata"].dataType
    assert isinstance(kind, StructType)
    assert isinstance(their_kind, StructType)
    fields = kind.fields
    assert fields == their_kind.fields
    assert not ours.schema["_metadata"].nullable
    names = [f"_metadata.{field.name}" for field in fields]
    assert sorted(ours.select(*names).collect()) == sorted(theirs.select(*names).collect())


def test_filters_groups_and_joins_on_the_column_work(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("a", pa.int64())]), features=["deletionVectors"])
    table.append(pa.table({"a": range(100)}), row_group_size=10)
    second = table.append(pa.table({"a": range(100, 150)}), row_group_size=10)
    table.delete(second, {0, 1, 2})
    df = lakescan.read(spark, table.path)
    assert [row.a for row in df.where("_metadata.row_index = 37 AND a > 120").collect()] == [137]
    # Row groups that the filter rules out are not read, and the others keep their places.
    assert [row[0] for row in df.where("a = 95").select("_metadata.row_index").collect()] == [95]
    counts = df.groupBy("_metadata.file_name").count().collect()
    assert sorted(row["count"] for row in counts) == [47, 100]
    places = df.select("a", "_metadata.file_name", "_metadata.row_index")
    assert places.join(places.withColumnRenamed("a", "b"), ["file_name", "row_index"]).where("a = b").count() == 147


def test_a_column_of_the_table_with_that_name_is_the_tables(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("_metadata", pa.int64()), ("a", pa.int64())]))
    table.append(pa.table({"_metadata": [7], "a": [8]}))
    assert [row.asDict() for row in lakescan.read(spark, table.path).collect()] == [{"_metadata": 7, "a": 8}]


def test_aggregates_and_the_first_rows_by_the_column_are_those_of_the_rows(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("a", pa.int64())]), features=["deletionVectors"])
    first = table.append(pa.table({"a": range(40)}), row_group_size=10)
    table.append(pa.table({"a": range(40, 60)}))
    table.delete(first, {0, 39})
    lakescan.read(spark, table.path).selectExpr("*", "_metadata").createOrReplaceTempView("rows")
    asked = "min(_metadata.row_index), max(_metadata.row_index), count(_metadata.row_index), count(*)"
    assert tuple(first_row(spark.sql(f"SELECT {asked} FROM rows"))) == (0, 38, 58, 58)
    assert first_row(spark.sql("SELECT count(*) FROM rows WHERE _metadata.row_index < 5"))[0] == 9
    top = spark.sql("SELECT a FROM rows ORDER BY _metadata.row_index DESC, a LIMIT 3").collect()
    assert [row.a for row in top] == [38, 37, 36]
