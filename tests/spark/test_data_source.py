"""`spark.read.format(…)` by the formats' own names: the table that every other way gives, in every session."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import lakescan
from tests.compare import bag
from tests.formats.delta.feeds import rows, three_commits
from tests.sample_tables import sample_table
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark
NAMES = ("delta", "lakescan")


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    return three_commits(tmp_path / "table")


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_read_by_its_formats_name_with_pruned_columns_and_skipped_files(
    spark: SparkSession, table: DeltaBuilder, name: str
) -> None:
    frame = spark.read.format(name).load(table.path)
    assert bag(frame.toArrow()) == bag(lakescan.read(spark, table.path).toArrow())
    assert frame.schema == lakescan.read(spark, table.path).schema
    selected = frame.where("id > 3").select("id")
    assert ids(selected) == [4, 5]
    (report,) = lakescan.report(selected).scans
    assert (report.files_total, report.files_planned, list(report.columns)) == (2, 1, ["id"])
    assert ids(spark.read.load(table.path, format=name)) == [2, 3, 4, 5]
    assert ids(spark.read.format(name).option("path", table.path).load()) == [2, 3, 4, 5]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("options", "suffix", "expected"),
    [
        ({"versionAsOf": 1}, "", [1, 2, 3]),
        ({"timestampAsOf": "1970-01-01 00:00:01"}, "", [1, 2, 3]),
        ({}, "@v2", [1, 2, 3, 4, 5]),
        ({}, "@19700101000001000", [1, 2, 3]),
        ({"filter": "id > 2"}, "", [3, 4, 5]),
        ({"readChangeFeed": "true", "startingVersion": 2, "endingVersion": 3}, "", [1, 4, 5]),
        ({"readChangeFeed": "true", "startingTimestamp": "1970-01-01 00:00:03"}, "", [1]),
    ],
)
def test_the_version_or_the_changes_asked_for_are_read(
    spark: SparkSession, table: DeltaBuilder, name: str, options: dict[str, Any], suffix: str, expected: list[int]
) -> None:
    assert ids(spark.read.format(name).options(**options).load(table.path + suffix)) == expected


def test_what_a_filter_option_leaves_out_is_not_counted(spark: SparkSession, table: DeltaBuilder) -> None:
    some = spark.read.format("delta").option("filter", "id > 2").load(table.path)
    assert some.count() == 3
    assert spark.read.format("delta").load(table.path).union(some).count() == 7
    assert some.where("id < 5").selectExpr("max(id)").collect()[0][0] == 4


def test_a_hudi_table_is_read_by_its_formats_name(spark: SparkSession, sample: Callable[[str], Path]) -> None:
    path = str(sample("mor_v9_steps"))
    asked = {"hoodie.datasource.query.type": "read_optimized"}
    for name in ("hudi", "lakescan"):
        frame = spark.read.format(name)
        assert bag(frame.load(path).toArrow()) == bag(lakescan.read(spark, path).toArrow())
        by_option = lakescan.read(spark, path, options=asked).toArrow()
        assert bag(spark.read.format(name).options(**asked).load(path).toArrow()) == bag(by_option)
    with pytest.raises(PySparkException, match="is a Hudi table, not a Delta one"):
        spark.read.format("delta").load(path)


def test_a_dataframe_follows_the_table_unless_it_names_a_version(spark: SparkSession, table: DeltaBuilder) -> None:
    frame = spark.read.format("delta").load(table.path)
    named = spark.read.format("delta").option("versionAsOf", table.version).load(table.path)
    table.append(rows(9))
    assert ids(frame) == [2, 3, 4, 5, 9]
    assert ids(named) == [2, 3, 4, 5]
    assert ids(spark.read.format("delta").load(table.path)) == [2, 3, 4, 5, 9]


def test_other_sessions_and_threads_read_with_their_own_settings(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    built = DeltaBuilder(tmp_path, schema, partition_by=["at"])
    built.append(pa.table({"id": [1]}), partition={"at": "2024-07-01 12:00:00"})
    by_zone: dict[str, int] = {}

    def read(zone: str) -> None:
        session = spark.newSession()
        session.conf.set("spark.sql.session.timeZone", zone)
        seconds = session.read.format("delta").load(built.path).selectExpr("unix_timestamp(at) AS s")
        by_zone[zone] = seconds.collect()[0].s

    threads = [threading.Thread(target=read, args=[zone]) for zone in ("UTC", "+02:00", "+03:00")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert by_zone["UTC"] - by_zone["+02:00"] == 2 * 3600
    assert by_zone["UTC"] - by_zone["+03:00"] == 3 * 3600


@pytest.mark.parametrize("name", NAMES)
def test_a_write_is_refused_by_name_and_changes_nothing(spark: SparkSession, table: DeltaBuilder, name: str) -> None:
    before = sorted(path for path in Path(table.path).rglob("*"))
    for mode in ("append", "overwrite", "error", "ignore"):
        with pytest.raises(PySparkException, match=rf'Writing is not possible in format\("{name}"\): Lakescan reads'):
            spark.range(1).write.format(name).mode(mode).save(table.path)
    rate = spark.readStream.format("rate").load()
    with pytest.raises(PySparkException, match=rf'Writing is not possible in format\("{name}"\)'):
        rate.writeStream.format(name).option("checkpointLocation", str(table.path) + "-c").start(table.path)
    assert sorted(path for path in Path(table.path).rglob("*")) == before


def test_no_path_two_paths_and_no_table_are_told(spark: SparkSession, table: DeltaBuilder, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match="no path is given"):
        spark.read.format("delta").load()
    with pytest.raises(PySparkException, match="a table has one path"):
        spark.read.format("delta").load([table.path, table.path])
    with pytest.raises(PySparkException, match="LAKESCAN_TABLE_NOT_FOUND"):
        spark.read.format("delta").load(str(tmp_path / "nothing"))


@pytest.mark.parametrize("name", NAMES)
def test_a_table_of_the_sessions_catalog_uses_the_format(spark: SparkSession, table: DeltaBuilder, name: str) -> None:
    spark.sql("DROP TABLE IF EXISTS by_format")
    spark.sql(f"CREATE TABLE by_format USING {name} LOCATION '{table.path}'")
    try:
        assert ids(spark.table("by_format")) == [2, 3, 4, 5]
        table.append(rows(6))
        assert ids(spark.newSession().sql("SELECT * FROM by_format WHERE id > 4")) == [5, 6]
    finally:
        spark.sql("DROP TABLE by_format")
    assert ids(spark.read.format("delta").load(table.path)) == [2, 3, 4, 5, 6]


def test_a_stream_of_a_session_in_which_nothing_was_installed_has_the_tables_rows(
    spark: SparkSession, table: DeltaBuilder, tmp_path: Path
) -> None:
    seen: list[int] = []
    stream = spark.newSession().readStream.format("delta").option("ignoreChanges", "true").load(table.path)
    writer = stream.writeStream.foreachBatch(lambda batch, _: seen.extend(ids(batch)))
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    writer.start().awaitTermination()
    assert sorted(seen) == [2, 3, 4, 5]


AFTER_A_RESTART = """
import sys
import lakescan
from pyspark.sql import SparkSession
first = lakescan.session(master="local[1]")
assert first.read.format("delta").load(sys.argv[1]).count() == int(sys.argv[2])
first.stop()
second = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
assert second.read.format("delta").load(sys.argv[1]).count() == int(sys.argv[2])
second.stop()
third = lakescan.session(master="local[1]")
print("ANSWER", third.read.format("lakescan").load(sys.argv[1]).count())
third.stop()
"""


@pytest.mark.own_jvm
def test_the_names_are_there_when_a_context_has_ended_and_another_begun(sample: Callable[[str], Path]) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "PYSPARK_PYTHON"}
    number = len(sample_table("vectors_mapped").rows)
    arguments = [sys.executable, "-c", AFTER_A_RESTART, str(sample("vectors_mapped")), str(number)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=280, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"ANSWER {number}" in done.stdout
