"""Executors of a real session replay a log: the same answers, and the jobs are the query's own."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakescan
from tests.sample_tables import SampleTable, sample_tables
from tests.spark.test_session import run
from tests.tables import DeltaBuilder

SETTING = "spark.lakescan.replay.distributed.files"
ON_A_CLUSTER = """
import json, sys
import lakescan
spark = lakescan.session(master="local-cluster[2,1,1024]", spark_sql_shuffle_partitions=2)
lakescan.install(spark)
path = sys.argv[1]
questions = ["count(*)", "min(id), max(id), count(id)", "count(*) FILTER (WHERE id = 33)"]
def answers():
    told = [list(spark.sql(f"SELECT {what} FROM delta.`{path}`").collect()[0]) for what in questions]
    for where in ("id = 33", "p = 1", "p = 2 AND id > 20"):
        told.append(sorted(row.id for row in spark.sql(f"SELECT id FROM delta.`{path}` WHERE {where}").collect()))
    told.append(len(spark.sql(f"SELECT * FROM delta.`{path}` LIMIT 7").collect()))
    return told
here = answers()
spark.conf.set("spark.lakescan.replay.distributed.files", "1")
context = spark.sparkContext
context.setJobGroup("replayed", "a log")
spark.sql(f"SELECT count(*) FROM delta.`{path}@v2`").collect()
jobs = list(context.statusTracker().getJobIdsForGroup("replayed"))
print("ANSWER" + json.dumps([here, answers(), len(jobs)]))
spark.stop()
"""


@pytest.fixture
def replayed(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, whose executors replay every log that has a checkpoint."""
    lakescan.install(spark)
    spark.conf.set(SETTING, "1")
    yield spark
    spark.conf.unset(SETTING)


def jobs_of(spark: SparkSession, group: str, ask: Callable[[], Any]) -> tuple[Any, int]:
    """What is answered, and how many jobs the group had for it."""
    context = spark.sparkContext
    context.setJobGroup(group, group)
    try:
        answer = ask()
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    return answer, len(list(context.statusTracker().getJobIdsForGroup(group)))


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64()), ("p", pa.int64())]), ["p"])
    adds = [table.add(pa.table({"id": range(at * 10, at * 10 + 10)}), {"p": str(at % 4)}) for at in range(20)]
    table.commit(*adds)
    table.checkpoint(row_group_size=5)
    table.commit(table.remove(adds[7]), table.add(pa.table({"id": range(500, 510)}), {"p": "1"}))
    return table


def test_jobs_of_a_replay_are_the_query_s_own(replayed: SparkSession, table: DeltaBuilder) -> None:
    def count() -> Any:
        return lakescan.read(replayed, table.path).count()

    def greatest() -> Any:
        return lakescan.read(replayed, table.path).selectExpr("max(id)").collect()[0][0]

    counted, first = jobs_of(replayed, "first", count)
    again = jobs_of(replayed, "again", count)
    other = jobs_of(replayed, "other", greatest)
    replayed.conf.unset(SETTING)
    answer, own = jobs_of(replayed, "here", count)
    assert counted == answer == 200
    assert first >= own + 3, "sums, what tells files apart, and the count itself"
    assert again == (200, own), "an answer is kept"
    assert other == (509, own + 1), "what was proven of a version is not proven again"


def test_a_point_filter_and_a_limit_give_the_rows(replayed: SparkSession, table: DeltaBuilder) -> None:
    frame = lakescan.read(replayed, table.path)
    assert [tuple(row) for row in frame.where("id = 123").collect()] == [(123, 0)]
    assert sorted(row.id for row in frame.where("p = 3 AND id > 150").collect()) == [
        *range(150 + 1, 160),
        *range(190, 200),
    ]
    assert frame.limit(7).collect().__len__() == 7
    assert frame.selectExpr("min(id)", "max(id)").collect()[0][:] == (0, 509)
    by_partition = {row.p: row["count"] for row in frame.groupBy("p").count().collect()}
    assert by_partition == {0: 50, 1: 60, 2: 50, 3: 40}


HAVE_CHECKPOINTS = ("checkpoint_parts", "checkpoint_v2_json", "checkpoint_v2_parquet", "vectors_mapped", "widened")


@pytest.mark.parametrize(
    "table", [table for table in sample_tables("delta") if table.name in HAVE_CHECKPOINTS], ids=lambda table: table.name
)
def test_sample_tables_give_the_same_rows(replayed: SparkSession, table: SampleTable, tmp_path: Path) -> None:
    path = str(table.unpack(tmp_path))
    column = lakescan.open(path).snapshot().schema.names[0]
    questions: list[Callable[[], Any]] = [
        lambda: lakescan.read(replayed, path).count(),
        lambda: sorted(map(repr, lakescan.read(replayed, path).where(f"`{column}` IS NOT NULL").collect())),
        lambda: lakescan.read(replayed, path).where(f"`{column}` IS NULL").count(),
    ]
    told = [jobs_of(replayed, f"{table.name} {at}", ask) for at, ask in enumerate(questions)]
    replayed.conf.unset(SETTING)
    assert [answer for answer, _ in told] == [ask() for ask in questions]
    assert told[0][1] >= 1, "nobody replayed"


@pytest.mark.cluster
def test_executors_in_processes_of_their_own_replay_a_log(table: DeltaBuilder) -> None:
    here, there, jobs = json.loads(run(ON_A_CLUSTER, table.path).split("ANSWER")[1])
    assert here == there
    assert here[0] == [200]
    assert jobs >= 2
