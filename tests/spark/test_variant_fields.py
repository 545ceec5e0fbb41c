"""Variants in executors: read whole, and only what a query takes out of them, with the rows of every other way.

Spark's own writer shreds them. What must come out is what Spark says of the same Parquet files by `spark.read.parquet`,
with nothing pushed; and a worker gives the same as the executor's reader.
"""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.types import IntegerType, StringType, StructField, StructType, VariantType

import lakescan
from lakescan.spark.dsv2.variant_fields import SINCE, Extraction, extracted_types, is_extracted, shown_extractions
from tests.spark.conftest import NO_PYTHON, WrittenDown
from tests.spark.session_settings import settings
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark
takes_out = pytest.mark.skipif(
    tuple(map(int, pyspark.__version__.split(".")[:2])) < SINCE, reason="older releases offer it in a way of no use"
)

SHREDDED = "a int, b string, o struct<x double, y string>, l array<int>, d date, m decimal(9, 2), t timestamp"
SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "v", "type": "variant", "nullable": True, "metadata": {}},
    ],
}
WHOLE = {"lakescan.pushdown.variants": "false"}
BY_WORKERS = {"lakescan.pushdown.plain_files": "false"}
NO_PUSHDOWN = {"spark.sql.variant.pushVariantIntoScan": "false"}
DEFERRED = {"spark.sql.variant.pushVariantIntoScan.deferCastError": "true"}


def documents(count: int) -> list[str | None]:
    """JSON of every kind, most of it with the fields that are shredded, some of them of other types."""
    chance = random.Random(7)

    def value(depth: int) -> Any:
        simple = [None, True, False, 0, -1, 7, 2**40, 10**25, 1.5, -0.25, "", "text", "12", "2024-02-29", "true", "1.5"]
        if depth > 2 or chance.random() < 0.6:
            return chance.choice(simple)
        if chance.random() < 0.5:
            return [value(depth + 1) for _ in range(chance.randrange(4))]
        return {chance.choice("abcxy"): value(depth + 1) for _ in range(chance.randrange(4))}

    def document() -> Any:
        fields = {
            "a": chance.choice([1, 2**31 - 1, -5, "text", None, 1.25]),
            "b": chance.choice(["x", "", 5, None, True]),
            "o": chance.choice([{"x": 1.5, "y": "z"}, {"x": "no"}, {"y": 1, "w": 2}, 3, None, {}]),
            "l": chance.choice([[1, 2], [], [1, "two"], "list", None]),
            "d": chance.choice(["2024-02-29", "1582-10-04", 5]),
            "m": chance.choice([12.34, 0, "9.99"]),
            "extra": value(0),
        }
        kept = {name: held for name, held in fields.items() if chance.random() < 0.7}
        return kept if chance.random() < 0.85 else value(0)

    return [None if chance.random() < 0.1 else json.dumps(document()) for _ in range(count)]


def written(spark: SparkSession, folder: Path, texts: list[str | None], shredded: str, first: int = 0) -> Path:
    """A Parquet file by Spark's own writer."""
    rows = [(first + at, text) for at, text in enumerate(texts)]
    with settings(spark, {"spark.sql.variant.forceShreddingSchemaForTest": shredded}):
        frame = spark.createDataFrame(rows, "id long, text string").coalesce(1)
        frame.selectExpr("id", "parse_json(text) AS v").write.parquet(str(folder))
    (file,) = folder.glob("*.parquet")
    return file


def added(file: Path, rows: int) -> dict[str, Any]:
    return {
        "add": {
            "path": file.name,
            "partitionValues": {},
            "size": file.stat().st_size,
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps({"numRecords": rows}),
        }
    }


class Both:
    """The same files as a Delta table and as Parquet."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self._files = spark, 0
        self.table = DeltaBuilder(root / "table", SCHEMA, features=["variantType", "deletionVectors"])
        self.parquet = root / "parquet"
        self.parquet.mkdir()

    def add(self, file: Path, rows: int) -> dict[str, Any]:
        self._files += 1
        copy = Path(shutil.copy(file, self.table.root / f"{self._files}-{file.name}"))
        shutil.copy(file, self.parquet / copy.name)
        action = added(copy, rows)
        self.table.commit(action)
        return action

    def rows(self, query: str, **conf: str) -> list[Row]:
        """What Lakescan gives; `{t}` is the table."""
        with settings(self.spark, conf):
            return self.frame(query).collect()

    def frame(self, query: str) -> DataFrame:
        return self.spark.sql(query.format(t=f"delta.`{self.table.path}`"))

    def by_spark(self, query: str) -> list[Row]:
        with settings(self.spark, NO_PUSHDOWN):
            return self.spark.sql(query.format(t=f"parquet.`{self.parquet}`")).collect()

    def failure(self, query: str, **conf: str) -> str | None:
        """The condition of the error that it fails with."""
        with pytest.raises(PySparkException) as raised:
            self.rows(query, **conf)
        return raised.value.getCondition()


@pytest.fixture(scope="module")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """One file that is shredded, one that is not, and one that is shredded otherwise."""
    folder = tmp_path_factory.mktemp("variants")
    made, texts = Both(spark, folder), documents(300)
    for at, shredded in enumerate([SHREDDED, "", "a string, extra array<struct<x int>>"]):
        part = texts[at * 100 : at * 100 + 100]
        made.add(written(spark, folder / f"written-{at}", part, shredded, first=at * 100), 100)
    return made


TYPES = (
    "int",
    "bigint",
    "double",
    "string",
    "boolean",
    "date",
    "timestamp",
    "decimal(9,2)",
    "binary",
    "array<int>",
    "array<variant>",
    "map<string,string>",
    "struct<x:double,y:string>",
    "variant",
)
PATHS = ("$", "$.a", "$.b", "$.o", "$.o.x", "$.l", "$.l[1]", "$.d", "$.m", "$.extra", "$.extra[0].x", "$.none")
EVERYTHING = [f"try_variant_get(v, '{path}', '{type_}')" for path in PATHS for type_ in TYPES]


def comparable(expression: str) -> str:
    """Variants have no equality, nor has what holds one; Python has fewer years than Spark."""
    if "variant'" in expression or "<variant>" in expression:
        return f"to_json(struct({expression}))"
    return f"CAST({expression} AS STRING)" if "'timestamp'" in expression else expression


@pytest.mark.usefixtures("no_python")
def test_executors_read_whole_variants_shredded_or_not(both: Both) -> None:
    for query in (
        "SELECT id, to_json(v) AS text, v IS NULL AS missing FROM {t} ORDER BY id",
        "SELECT id FROM {t} WHERE v IS NOT NULL ORDER BY id",
    ):
        assert both.rows(query, **WHOLE) == both.by_spark(query)


def test_workers_give_the_same_variants(both: Both) -> None:
    query = "SELECT id, to_json(v) AS text FROM {t} ORDER BY id"
    assert both.rows(query, **BY_WORKERS, **WHOLE) == both.by_spark(query)


@takes_out
@pytest.mark.parametrize("reader", [{}, BY_WORKERS], ids=["executor", "worker"])
def test_every_path_as_every_type_is_what_spark_takes_out_of_the_whole_variant(
    both: Both, reader: dict[str, str]
) -> None:
    columns = ", ".join(f"{comparable(each)} AS c{at}" for at, each in enumerate(EVERYTHING))
    query = f"SELECT id, {columns} FROM {{t}} ORDER BY id"
    rows = both.by_spark(query)
    assert len(rows) == 300
    assert sum(value is not None for row in rows for value in row) > 9000
    assert both.rows(query, **reader) == rows


@takes_out
def test_what_is_taken_out_is_shown_and_needs_no_worker(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = "id, try_variant_get(v, '$.a', 'int') AS a"
    query = f"SELECT {taken} FROM {{t}} WHERE variant_get(v, '$.b', 'string') >= '' ORDER BY id"
    expected = both.by_spark(query)
    assert expected
    monkeypatch.setattr("lakescan.spark.bridge.Bridge._worker_interpreter", NO_PYTHON)
    frame = both.frame(query)
    assert frame.collect() == expected
    plan = frame._jdf.queryExecution().toString()
    assert "variants=[v.a AS int, v.b AS string]" in plan or "variants=[v.b AS string, v.a AS int]" in plan
    assert "by Spark's own Parquet reader]" in plan
    assert "variants=[" not in _explained(both, query, WHOLE)


def _explained(both: Both, query: str, conf: dict[str, str]) -> str:
    with settings(both.spark, conf):
        return str(both.frame(query)._jdf.queryExecution().toString())


@takes_out
@pytest.mark.parametrize("reader", [{}, BY_WORKERS], ids=["executor", "worker"])
@pytest.mark.parametrize("deferred", [{}, DEFERRED], ids=["at once", "deferred"])
def test_a_cast_that_fails_fails_whoever_asks_for_it_and_nobody_else(
    spark: SparkSession, tmp_path: Path, reader: dict[str, str], deferred: dict[str, str]
) -> None:
    made = Both(spark, tmp_path)
    texts: list[str | None] = ['{"a": 1, "b": 5}', '{"a": "text", "b": 6}', None, '{"a": 3, "b": 7}', '{"b": 8}']
    made.add(written(spark, tmp_path / "shredded", texts, "a int, b int"), 5)
    made.add(written(spark, tmp_path / "whole", texts, "", first=5), 5)
    conf = {**reader, **deferred}
    strict = "variant_get(v, '$.a', 'int')"
    assert made.failure(f"SELECT {strict} FROM {{t}}", **conf) == "INVALID_VARIANT_CAST"
    assert made.failure(f"SELECT id FROM {{t}} WHERE {strict} > 1", **conf) == "INVALID_VARIANT_CAST"
    for asked in (
        f"SELECT id, CASE WHEN id % 5 <> 1 THEN {strict} END AS a, v:b::int AS b FROM {{t}} ORDER BY id",
        f"SELECT id, {strict} AS a FROM {{t}} WHERE pmod(id, 5) <> 1 ORDER BY id",
        f"SELECT sum({strict}) AS a FROM {{t}} WHERE pmod(id, 5) <> 1",
    ):
        expected = made.by_spark(asked)
        assert made.rows(asked, **conf) == expected, asked


@takes_out
@pytest.mark.parametrize("reader", [{}, BY_WORKERS], ids=["executor", "worker"])
def test_deleted_rows_filters_limits_aggregates_and_joins_are_as_without(both: Both, reader: dict[str, str]) -> None:
    a, b = "try_variant_get(v, '$.a', 'int')", "try_variant_get(v, '$.b', 'string')"
    for query in (
        f"SELECT {b} AS b, count(*) AS n, sum({a}) AS s FROM {{t}} GROUP BY 1 ORDER BY 1",
        f"SELECT count(*) FROM {{t}} WHERE {a} = 1",
        f"SELECT id, to_json(v) AS v, {a} AS a FROM {{t}} WHERE {a} IS NOT NULL ORDER BY id DESC LIMIT 7",
        "SELECT count(*), count(v) FROM {t} WHERE v IS NOT NULL",
        "SELECT id FROM {t} WHERE variant_get(v, '$.b', 'string COLLATE UTF8_LCASE') = 'x' ORDER BY id",
        f"SELECT l.id, {b.replace('v,', 'r.v,')} AS b FROM {{t}} l JOIN {{t}} r ON l.id = r.id "
        f"AND {a.replace('v,', 'l.v,')} = 1 ORDER BY 1",
        f"SELECT id, v:o.x::string AS x FROM {{t}} WHERE id BETWEEN 90 AND 210 AND {a} < 5 ORDER BY id",
    ):
        expected = both.by_spark(query)
        assert expected, query
        assert both.rows(query, **reader) == expected, query


# What is left lies in short runs, whose values are looked up, or in long ones, which are moved.
@takes_out
@pytest.mark.parametrize("gone", [{*range(0, 60, 7), *range(20, 40)}, {0, 3, 31, 59}], ids=["short runs", "long runs"])
@pytest.mark.parametrize("shredded", [SHREDDED, ""], ids=["shredded", "whole"])
@pytest.mark.parametrize("reader", [{}, BY_WORKERS], ids=["executor", "worker"])
def test_rows_that_a_vector_deletes_are_left_out(
    spark: SparkSession, tmp_path: Path, reader: dict[str, str], shredded: str, gone: set[int]
) -> None:
    made, texts = Both(spark, tmp_path), documents(60)
    action = made.add(written(spark, tmp_path / "written", texts, shredded), 60)
    queries = (
        "SELECT id, try_variant_get(v, '$.a', 'int') AS a, to_json(v) AS v FROM {t} ORDER BY id",
        "SELECT id, try_variant_get(v, '$.a', 'int') AS a, v:o.x::string AS x FROM {t} ORDER BY id",
    )
    left = [[row for row in made.by_spark(query) if row.id not in gone] for query in queries]
    made.table.delete(action, gone)
    assert [made.rows(query, **reader) for query in queries] == left


@takes_out
@pytest.mark.parametrize("mode", ["name", "id"])
def test_a_mapped_variant_is_found_by_its_physical_name(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    table = DeltaBuilder(tmp_path / "table", SCHEMA, features=["variantType"], mapping=mode)
    names = [field["metadata"]["delta.columnMapping.physicalName"] for field in table.schema["fields"]]
    ids = [field["metadata"]["delta.columnMapping.id"] for field in table.schema["fields"]]
    with settings(spark, {"spark.sql.variant.forceShreddingSchemaForTest": "a int"}):
        frame = spark.sql("SELECT 1L AS id, parse_json('{\"a\": 5}') AS v").coalesce(1).toDF(*names)
        noted = [
            col(name).alias(name, metadata={"parquet.field.id": number})
            for name, number in zip(names, ids, strict=True)
        ]
        frame.select(*noted).write.parquet(str(tmp_path / "written"))
    (file,) = (tmp_path / "written").glob("*.parquet")
    table.commit(added(Path(shutil.copy(file, table.root)), 1))
    rows = spark.sql(f"SELECT id, variant_get(v, '$.a', 'int') AS a FROM delta.`{table.path}`")
    assert rows.collect() == [(1, 5)]
    assert "variants=[v.a AS int]" in rows._jdf.queryExecution().toString()


@takes_out
def test_a_file_that_spark_might_read_otherwise_is_a_workers_alone(
    spark: SparkSession, tmp_path: Path, left_to_workers: WrittenDown
) -> None:
    table = DeltaBuilder(tmp_path / "table", SCHEMA, features=["variantType"])
    file = written(spark, tmp_path / "written", ['{"a": 1}', '{"a": "b"}'], "a int")
    table.commit(added(Path(shutil.copy(file, table.root)), 2))
    table.commit(added(_of_uuids(table.root / "uuids.parquet"), 2))
    query = f"SELECT id, variant_get(v, '$', 'string') AS v FROM delta.`{table.path}` ORDER BY id"
    number = "11111111-1111-1111-1111-111111111111"
    assert spark.sql(query).collect() == [(0, '{"a":1}'), (1, '{"a":"b"}'), (10, number), (11, None)]
    assert {file for files, _ in left_to_workers() for file in files} == {"uuids.parquet"}


def _of_uuids(file: Path) -> Path:
    """A UUID is sixteen bytes to Spark's reader, which does not know them here."""
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.binary(16))])
    variants = pa.array([{"metadata": b"\x01\x00\x00", "value": None, "typed_value": b"\x11" * 16}, None], kind)
    pq.write_table(pa.table({"id": pa.array([10, 11], pa.int64()), "v": variants}), file)
    return file


@takes_out
def test_a_variant_in_a_struct_and_one_that_is_only_looked_at_stay_whole(
    spark: SparkSession, sample: Callable[[str], Path]
) -> None:
    place = sample("variants")
    nested = spark.sql(f"SELECT id, variant_get(s.v, '$.key', 'int') AS k FROM delta.`{place}` ORDER BY id")
    expected = [(at, None if at % 4 == 3 else at) for at in range(12)]
    assert nested.collect() == expected
    missing = spark.sql(f"SELECT id FROM delta.`{place}` WHERE v IS NULL ORDER BY id")
    assert [row.id for row in missing.collect()] == [3, 7, 11]
    for frame in (nested, missing):
        assert "variants=[" not in frame._jdf.queryExecution().toString()


def test_either_all_that_is_taken_out_is_given_or_nothing() -> None:
    told = {"__VARIANT_METADATA_KEY": {"path": "$.a", "failOnError": False, "timeZoneId": "UTC"}}
    errors = {"__VARIANT_METADATA_KEY": {**told["__VARIANT_METADATA_KEY"], "path": "$", "castErrorFor": "0"}}
    number, text = Extraction(("v",), IntegerType(), told), Extraction(("v",), StringType(), errors)
    types = extracted_types([number, text], ["v", "w"])
    assert types is not None
    assert types["v"].names == ["0", "1"]
    assert is_extracted(types["v"])
    assert shown_extractions(StructType([StructField("v", types["v"])])) == ["v.a AS int"]
    assert extracted_types([number, Extraction(("s", "v"), IntegerType(), told)], ["v"]) is None
    assert extracted_types([number, Extraction(("n",), IntegerType(), told)], ["v"]) is None
    assert extracted_types([number, Extraction(("w",), VariantType(), told)], ["v", "w"]) is None
    assert not is_extracted(StructType([StructField("0", IntegerType())]))
    assert not is_extracted(VariantType())


@takes_out
def test_changes_take_out_of_variants_too(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(
        tmp_path / "table", SCHEMA, features=["variantType"], properties={"delta.enableChangeDataFeed": "true"}
    )
    file = written(spark, tmp_path / "written", ['{"a": 1}', '{"a": 2}'], "a int")
    table.commit(added(Path(shutil.copy(file, table.root)), 2))
    changes = lakescan.changes(spark, table.path, 1, 1)
    rows = changes.selectExpr("id", "variant_get(v, '$.a', 'int') AS a", "_change_type").orderBy("id").collect()
    assert rows == [(0, 1, "insert"), (1, 2, "insert")]


@takes_out
def test_a_deferred_cast_fails_only_where_it_is_used_without_generated_code_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    made = Both(spark, tmp_path)
    made.add(written(spark, tmp_path / "written", ['{"a": 1}', '{"a": "text"}'], "a int"), 2)
    query = "SELECT id, CASE WHEN id <> 1 THEN variant_get(v, '$.a', 'int') END AS a FROM {t} ORDER BY id"
    conf = {**DEFERRED, "spark.sql.codegen.wholeStage": "false"}
    for reader in ({}, BY_WORKERS):
        assert made.rows(query, **conf, **reader) == [(0, 1), (1, None)]


@takes_out
@pytest.mark.parametrize("reader", [{}, BY_WORKERS], ids=["executor", "worker"])
def test_a_file_without_the_column_has_no_variants(spark: SparkSession, tmp_path: Path, reader: dict[str, str]) -> None:
    table = DeltaBuilder(tmp_path / "table", SCHEMA, features=["variantType"])
    table.append(pa.table({"id": pa.array([7, 8], pa.int64())}))
    file = written(spark, tmp_path / "written", ['{"a": 1}', None], "a int")
    table.commit(added(Path(shutil.copy(file, table.root)), 2))
    query = f"SELECT id, variant_get(v, '$.a', 'int') AS a, v IS NULL AS missing FROM delta.`{table.path}` ORDER BY id"
    with settings(spark, reader):
        assert spark.sql(query).collect() == [(0, 1, False), (1, None, True), (7, None, True), (8, None, True)]
        kept = spark.sql(f"SELECT id FROM delta.`{table.path}` WHERE variant_get(v, '$.a', 'int') >= 0")
        assert kept.collect() == [(0,)]
