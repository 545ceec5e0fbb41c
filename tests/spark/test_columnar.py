"""Rows reach Spark as Arrow batches, through the one Java class that Lakescan has compiled for executors."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
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
    found = sorted((row.asDict(recursive=True) for row in frame.collect()), key=lambda row: row["id"])
    wanted = lakescan.open(people.path).snapshot().scan().build().to_arrow().sort_by("id").to_pylist()
    assert found == [{**row, "marks": dict(row["marks"])} for row in wanted]


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
