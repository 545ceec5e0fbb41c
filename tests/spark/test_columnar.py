"""Rows reach Spark as Arrow batches, through the one Java class that Lakescan has compiled for executors."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import lakescan
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark

FILES = 5
PEOPLE = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("home", pa.struct([("street", pa.string()), ("lots", pa.list_(pa.int32()))])),
        ("marks", pa.map_(pa.string(), pa.float64())),
    ]
)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> DeltaBuilder:
    """Small files, of which one task reads several: each is a batch of its own."""
    table = DeltaBuilder(tmp_path_factory.mktemp("people"), PEOPLE)
    for file in range(FILES):
        ids = range(file * 3, file * 3 + 3)
        rows = [
            {
                "id": i,
                "name": None if i % 4 == 0 else f"name-{i}",
                "home": None if i % 5 == 0 else {"street": f"street-{i}" * (i % 3), "lots": list(range(i % 4))},
                "marks": [(f"k{k}", k / 2) for k in range(i % 3)],
            }
            for i in ids
        ]
        table.append(pa.Table.from_pylist(rows, PEOPLE))
    return table


def plan_of(spark: SparkSession, sql: str) -> str:
    return str(spark.sql(sql)._jdf.queryExecution().executedPlan().toString())


def test_a_scan_gives_spark_columns(spark: SparkSession, people: DeltaBuilder) -> None:
    plan = plan_of(spark, f"SELECT id FROM delta.`{people.path}`")
    assert plan.index("ColumnarToRow") < plan.index("BatchScan")


def test_nested_values_of_every_batch_survive_the_batch_before(spark: SparkSession, people: DeltaBuilder) -> None:
    frame = lakescan.read(spark, people.path).coalesce(1)
    assert frame.rdd.getNumPartitions() == 1
    rows = sorted((row.asDict(recursive=True) for row in frame.collect()), key=lambda row: row["id"])
    wanted = lakescan.open(people.path).snapshot().scan().build().to_arrow().sort_by("id").to_pylist()
    assert rows == [{**row, "marks": dict(row["marks"])} for row in wanted]


@pytest.mark.parametrize("codegen", ["true", "false"])
def test_rows_are_the_same_with_and_without_generated_code(
    spark: SparkSession, people: DeltaBuilder, codegen: str
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", codegen)
    frame = lakescan.read(session, people.path)
    sums = frame.selectExpr("sum(id)", "count(home.street)", "sum(size(home.lots))", "max(name)").collect()[0]
    rows = lakescan.open(people.path).snapshot().scan().build().to_arrow().to_pylist()
    homes = [row["home"] for row in rows if row["home"]]
    assert tuple(sums) == (
        sum(row["id"] for row in rows),
        len(homes),
        sum(len(home["lots"]) for home in homes),
        max(row["name"] for row in rows if row["name"]),
    )


def test_cached_sorted_and_joined_rows_are_copies_and_not_views_of_a_batch(
    spark: SparkSession, people: DeltaBuilder
) -> None:
    frame = lakescan.read(spark, people.path)
    joined = frame.join(frame.withColumnRenamed("name", "other"), "id").orderBy("id").select("id", "name", "other")
    cached = frame.select("id", "name").cache()
    try:
        wanted = lakescan.open(people.path).snapshot().scan().select("id", "name").build().to_arrow().sort_by("id")
        pairs = [(row["id"], row["name"]) for row in wanted.to_pylist()]
        assert [tuple(row) for row in joined.collect()] == [(i, name, name) for i, name in pairs]
        assert sorted((tuple(row) for row in cached.collect()), key=lambda row: row[0]) == pairs
        assert cached.groupBy("name").count().count() == len({name for _, name in pairs})
    finally:
        cached.unpersist()


ONE_AFTER_ANOTHER = """
import sys, lakescan
counted = []
for artifact in (None, sys.argv[2]):
    spark = lakescan.session(master="local[2]")
    session = spark.newSession()
    lakescan.install(session)
    if artifact:
        session.addArtifacts(artifact, pyfile=True)
    for each in (session, spark):
        counted.append(len(each.sql(f"SELECT * FROM delta.`{sys.argv[1]}`").collect()))
    spark.stop()
print("ANSWER", counted)
"""


@pytest.mark.own_jvm
def test_every_context_and_every_session_of_a_process_has_the_class(people: DeltaBuilder, tmp_path: Path) -> None:
    # A session with artifacts of its own has a class loader of its own on executors.
    artifact = tmp_path / "own.py"
    artifact.write_text("VALUE = 1\n")
    done = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_ANOTHER, people.path, str(artifact)],
        capture_output=True,
        text=True,
        timeout=280,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "ANSWER [15, 15, 15, 15]" in done.stdout


ALL_TYPES = pa.schema(
    [
        ("yes", pa.bool_()),
        ("tiny", pa.int8()),
        ("small", pa.int16()),
        ("whole", pa.int32()),
        ("long", pa.int64()),
        ("single", pa.float32()),
        ("double", pa.float64()),
        ("price", pa.decimal128(20, 3)),
        ("cost", pa.decimal128(18, 4)),
        ("cents", pa.decimal128(9, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("text", pa.string()),
        ("raw", pa.binary()),
    ]
)


def test_every_type_with_and_without_nulls_is_read_where_it_lies(spark: SparkSession, tmp_path: Path) -> None:
    rows = 70_001  # more than one batch, and not a whole number of bytes of nulls
    numbers = pa.array(range(rows), pa.int64())
    texts = pc.binary_join_element_wise(numbers.cast(pa.string()), "é", "-")
    halves = pc.divide(numbers.cast(pa.float64()), 2)
    columns = {
        "yes": pc.equal(pc.bit_wise_and(numbers, 4), 0),
        "tiny": pc.subtract(pc.bit_wise_and(numbers, 255), 128),
        "small": pc.subtract(pc.bit_wise_and(numbers, 65535), 32768),
        "whole": pc.subtract(numbers, 35_000),
        "long": pc.multiply(numbers, -(10**13)),
        "single": halves,
        "double": halves,
        "price": numbers.cast(pa.int32()).cast(pa.decimal128(20, 3)),
        # By way of text: Arrow looks at what a type of integers could hold, and not at what these do.
        "cost": pc.multiply(pc.subtract(numbers, 35_000), 28 * 10**8).cast(pa.string()),
        "cents": pc.subtract(35_000, numbers).cast(pa.string()),
        "day": numbers.cast(pa.int32()),
        "at": pc.multiply(numbers, 10**9),
        "text": texts,
        "raw": texts.cast(pa.binary()),
    }
    full = pa.table([columns[field.name].cast(field.type) for field in ALL_TYPES], schema=ALL_TYPES)
    null = pa.array([at % 3 == 0 for at in range(rows)])
    holed = pa.table([pc.if_else(null, None, column) for column in full.columns], schema=ALL_TYPES)
    table = DeltaBuilder(tmp_path, ALL_TYPES)
    paths = [table.append(part)["add"]["path"] for part in (full, holed)]
    frame = lakescan.read(spark, table.path, options={"lakescan.pushdown.plain_files": False})
    stored = spark.read.schema(frame.schema).parquet(*[str(tmp_path / path) for path in paths])
    # Spark's own reader of the same files is the judge, value by value and row by row.
    assert frame.count() == stored.count() == 2 * rows
    assert frame.exceptAll(stored).count() == stored.exceptAll(frame).count() == 0


@pytest.mark.parametrize(
    ("sent", "asked"), [(pa.int32(), pa.int64()), (pa.float32(), pa.int32()), (pa.bool_(), pa.int64())]
)
def test_a_column_of_another_kind_than_spark_asks_for_is_an_error_and_never_misread_memory(
    sent: pa.DataType, asked: pa.DataType, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("v", asked)]))
    table.append(pa.table({"v": pa.array([1, 2, 3], asked)}))

    def reader_of(plan: object) -> Callable[[object], Iterator[pa.RecordBatch]]:
        def read(tasks: object) -> Iterator[pa.RecordBatch]:
            yield pa.record_batch({"v": pa.array([1, 0, 1]).cast(sent)})

        return read

    monkeypatch.setattr("lakescan.spark.dsv2.scan.partition_reader", reader_of)
    frame = lakescan.read(spark, table.path, options={"lakescan.pushdown.plain_files": False})
    with pytest.raises(Exception, match=r"Cannot call the method|UnsupportedOperation"):
        frame.collect()
    monkeypatch.undo()
    assert sorted(row.v for row in lakescan.read(spark, table.path).collect()) == [1, 2, 3]
