"""What Catalyst pushes is used: files skipped, filters claimed, columns pruned, statistics given, scans equal."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakescan
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> DeltaBuilder:
    """Four files: two days, ids 0 to 39 in tens, the last file with a deletion vector."""
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("day", pa.date32()),
            ("name", pa.string()),
            ("place", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ]
    )
    built = DeltaBuilder(tmp_path_factory.mktemp("t"), schema, partition_by=["day"], features=["deletionVectors"])
    for number in range(4):
        ids = list(range(number * 10, number * 10 + 10))
        rows = pa.table(
            {
                "id": ids,
                "name": [f"name-{i}" for i in ids],
                "place": pa.array([{"x": i, "y": str(i)} for i in ids], schema.field("place").type),
            }
        )
        added = built.append(rows, partition={"day": f"2024-01-0{number // 2 + 1}"})
    built.delete(added, [0, 9])
    return built


def query(spark: SparkSession, table: DeltaBuilder, sql: str) -> DataFrame:
    lakescan.attach(spark, "scanned", table.path)
    return spark.sql(sql.replace("TABLE", "lake.scanned"))


def plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_a_partition_filter_is_claimed_and_skips_files(spark: SparkSession, table: DeltaBuilder) -> None:
    frame = query(spark, table, "SELECT id FROM TABLE WHERE day = DATE '2024-01-02'")
    assert sorted(row.id for row in frame.collect()) == list(range(20, 30)) + list(range(31, 39))
    assert lakescan.report(frame).scans[0].files_planned == 2
    assert "Filter (" not in plan(frame)


def test_a_plan_of_many_files_does_not_say_who_reads_before_they_are_read(
    spark: SparkSession, table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakescan.spark.dsv2.scan._DESCRIBED_FILES", 3)
    assert "tasks=[" in plan(query(spark, table, "SELECT id FROM TABLE WHERE day = DATE '2024-01-02'"))
    frame = query(spark, table, "SELECT name FROM TABLE")
    assert "lakescan delta" in plan(frame)
    assert "tasks=[" not in plan(frame)
    assert frame.count() == 38
    assert len(frame.collect()) == 38
    assert "tasks=[" in plan(frame)


def test_another_filter_skips_files_and_is_evaluated_by_spark_too(spark: SparkSession, table: DeltaBuilder) -> None:
    frame = query(spark, table, "SELECT id FROM TABLE WHERE id < 5")
    assert sorted(row.id for row in frame.collect()) == [0, 1, 2, 3, 4]
    assert lakescan.report(frame).scans[0].files_planned == 1


def test_a_filter_that_does_not_translate_is_left_to_spark(spark: SparkSession, table: DeltaBuilder) -> None:
    frame = query(spark, table, "SELECT id FROM TABLE WHERE id % 10 = 3 AND day > DATE '2023-12-31'")
    assert sorted(row.id for row in frame.collect()) == [3, 13, 23, 33]
    assert lakescan.report(frame).scans[0].files_planned == 4


def test_only_the_columns_that_are_needed_are_read(spark: SparkSession, table: DeltaBuilder) -> None:
    frame = query(spark, table, "SELECT name FROM TABLE")
    frame.collect()
    assert lakescan.report(frame).scans[0].columns == ("name",)


def test_of_a_struct_only_the_fields_that_are_needed_are_read(spark: SparkSession, table: DeltaBuilder) -> None:
    frame = query(spark, table, "SELECT place.x FROM TABLE WHERE id = 7")
    assert [row.x for row in frame.collect()] == [7]
    assert (
        "place:struct<x:int>"
        in frame._jdf.queryExecution().optimizedPlan().collectLeaves().apply(0).scan().readSchema().simpleString()
    )


def test_the_report_counts_the_rows_that_deletion_vectors_drop(spark: SparkSession, table: DeltaBuilder) -> None:
    frame = query(spark, table, "SELECT * FROM TABLE")
    assert len(frame.collect()) == 38
    (scan,) = lakescan.report(frame).scans
    assert (scan.files_total, scan.files_planned, scan.rows_deleted) == (4, 4, 2)
    assert scan.version == 5
    assert "4 considered, 0 skipped, 4 read" in str(lakescan.report(frame))


def test_the_report_finds_the_scans_of_joins_and_subqueries(spark: SparkSession, table: DeltaBuilder) -> None:
    sql = "SELECT a.id FROM TABLE a JOIN TABLE b ON a.id = b.id WHERE a.id > (SELECT min(id) FROM TABLE WHERE id > 30)"
    scans = lakescan.report(query(spark, table, sql)).scans
    # Spark asks the subquery of both sides of the join, and plans it once.
    assert len(scans) == 3
    assert lakescan.report(spark.range(3)).scans == ()
    assert "no scan" in str(lakescan.report(spark.range(3)))


def test_the_optimizer_gets_rows_and_bytes(spark: SparkSession, table: DeltaBuilder) -> None:
    frame = query(spark, table, "SELECT * FROM TABLE")
    leaf = frame._jdf.queryExecution().optimizedPlan().collectLeaves().apply(0)
    statistics = leaf.scan().estimateStatistics()
    assert statistics.numRows().getAsLong() == 38
    assert statistics.sizeInBytes().getAsLong() == lakescan.report(frame).scans[0].bytes_planned
    assert int(leaf.stats().sizeInBytes()) == statistics.sizeInBytes().getAsLong()


def test_a_table_of_which_a_filter_is_expected_to_leave_little_is_broadcast(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema = pa.schema([("id", pa.int64()), ("day", pa.int32())])
    for name in ("facts", "others"):
        built = DeltaBuilder(tmp_path / name, schema)
        for first in (0, 500):
            ids = pa.array(range(first, first + 500), pa.int64())
            built.append(pa.table({"id": ids, "day": pa.array([at % 100 for at in range(500)], pa.int32())}))
        lakescan.attach(spark, name, built.path)
    whole = lakescan.open(built.path).snapshot().scan().select("id").build().estimates().bytes
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", str(whole // 2))
    try:
        join = "SELECT count(*) FROM lake.facts JOIN lake.others ON facts.id = others.id"
        assert "SortMergeJoin" in plan(spark.sql(join))
        few = spark.sql(f"{join} WHERE facts.day < 10")
        assert "BroadcastHashJoin" in plan(few)
        assert few.collect()[0][0] == 100
        spark.conf.set("lakescan.pushdown.statistics", "false")
        assert "SortMergeJoin" in plan(spark.sql(f"{join} WHERE facts.day < 10"))
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
        spark.conf.unset("lakescan.pushdown.statistics")


def test_equal_scans_share_an_exchange(spark: SparkSession, table: DeltaBuilder) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    grouped = "(SELECT day, sum(id) AS s FROM TABLE GROUP BY day)"
    frame = query(session, table, f"SELECT * FROM {grouped} x JOIN {grouped} y ON x.day = y.day")
    assert "ReusedExchange" in plan(frame)
    assert len(frame.collect()) == 2


def test_every_type_crosses_to_spark_unchanged(spark: SparkSession, sample: Callable[[str], Path]) -> None:
    path = str(sample("primitives"))
    ours = lakescan.read(spark, path).select("*").orderBy("a_byte")
    theirs = spark.read.parquet(*lakescan.open(path).snapshot().scan().build().files()["path"].to_pylist())
    assert str(ours.collect()) == str(theirs.select(*ours.columns).orderBy("a_byte").collect())  # NaN is not itself


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Kolkata", "UTC"])
def test_timestamps_are_the_same_instants_in_every_session_zone(
    spark: SparkSession, sample: Callable[[str], Path], zone: str
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", zone)
    path = str(sample("timestamps_micros"))
    ours = lakescan.read(session, path)
    files = lakescan.open(path).snapshot().scan().build().files()["path"].to_pylist()
    stored = session.read.parquet(*files)
    assert sorted(row.at for row in ours.select("at").collect() if row.at) == sorted(
        row.at for row in stored.select("at").collect() if row.at
    )


def test_eight_threads_query_at_once(spark: SparkSession, table: DeltaBuilder) -> None:
    from concurrent.futures import ThreadPoolExecutor

    lakescan.attach(spark, "scanned", table.path)

    def count(limit: int) -> int:
        return int(spark.sql(f"SELECT count(*) AS n FROM lake.scanned WHERE id < {limit}").collect()[0].n)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, range(1, 17))) == list(range(1, 17))
