"""`format("lakescan")` and the session's time zone, which Spark does not tell a Python data source."""

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession

import lakescan
from lakescan.errors import UnknownTimeZone
from lakescan.spark.python_source.python_data_source import LakescanDataSource
from lakescan.stream.stream import Limits
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark
ZONE = "spark.sql.session.timeZone"


@pytest.fixture
def zoned(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get(ZONE)
    assert before is not None
    yield spark
    spark.conf.set(ZONE, before)


def by_time(root: Path, value: str = "2024-07-01 12:00:00") -> DeltaBuilder:
    """Partitioned by a timestamp, of no zone unless it is given; versions 1 and 2 are of 01:00 and 03:00 in 1970."""
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    built = DeltaBuilder(root, schema, partition_by=["at"])
    for number in (1, 2):
        rows = pa.table({"id": pa.array([number], pa.int64())})
        built.append(rows, partition={"at": value})
        built.set_time(number, (2 * number - 1) * 3600)
    built.set_time(0, 0)
    return built


def seconds(rows: list[Row]) -> set[float]:
    return {row["s"] for row in rows}


def noon(offset: int) -> float:
    return datetime(2024, 7, 1, 12 - offset, tzinfo=timezone.utc).timestamp()


def test_partition_values_and_starts_without_a_zone_are_in_the_zone_that_the_session_has_then(
    zoned: SparkSession, tmp_path: Path
) -> None:
    built = by_time(tmp_path / "table")
    for number, (zone, offset) in enumerate([("UTC", 0), ("Europe/Paris", 2), ("+03:00", 3)]):
        zoned.conf.set(ZONE, zone)
        frame = zoned.read.format("lakescan").load(built.path)
        assert seconds(frame.selectExpr("unix_timestamp(at) AS s").collect()) == {noon(offset)}
        # 02:00 in the session's zone: before version 2 in UTC, before version 1 where that is earlier.
        stream = zoned.readStream.format("lakescan").option("startingTimestamp", "1970-01-01 02:00:00").load(built.path)
        name = f"zoned{number}"
        query = stream.selectExpr("id", "unix_timestamp(at) AS s").writeStream.format("memory").queryName(name)
        query.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / name)).start().awaitTermination()
        rows = zoned.table(name).collect()
        assert sorted(row["id"] for row in rows) == ([2] if offset == 0 else [1, 2])
        assert seconds(rows) == {noon(offset)}


def test_a_stream_keeps_the_zone_that_the_session_had_at_its_start(zoned: SparkSession, tmp_path: Path) -> None:
    built = by_time(tmp_path / "table")
    zoned.conf.set(ZONE, "Europe/Paris")
    stream = zoned.readStream.format("lakescan").option("startingVersion", "0").load(built.path)
    query = stream.selectExpr("id", "unix_timestamp(at) AS s").writeStream.format("memory").queryName("kept")
    started = query.option("checkpointLocation", str(tmp_path / "kept")).start()
    zoned.conf.set(ZONE, "Asia/Tokyo")
    try:
        started.processAllAvailable()
        built.append(pa.table({"id": pa.array([3], pa.int64())}), partition={"at": "2024-07-01 12:00:00"})
        started.processAllAvailable()
    finally:
        started.stop()
    rows = zoned.table("kept").collect()
    assert sorted(row["id"] for row in rows) == [1, 2, 3]
    assert seconds(rows) == {noon(2)}


def test_each_session_has_its_own_zone(zoned: SparkSession, tmp_path: Path) -> None:
    built = by_time(tmp_path)
    other = zoned.newSession()
    lakescan.install(other)
    other.conf.set(ZONE, "Asia/Tokyo")
    zoned.conf.set(ZONE, "Europe/Paris")
    for session, offset in [(zoned, 2), (other, 9), (zoned, 2)]:
        frame = session.read.format("lakescan").load(built.path)
        assert seconds(frame.selectExpr("unix_timestamp(at) AS s").collect()) == {noon(offset)}


def test_the_option_names_another_zone(zoned: SparkSession, tmp_path: Path) -> None:
    built = by_time(tmp_path)
    frame = zoned.read.format("lakescan").option("timeZone", "Asia/Tokyo").load(built.path)
    assert seconds(frame.selectExpr("unix_timestamp(at) AS s").collect()) == {noon(9)}


def test_where_the_sessions_zone_is_not_known_a_time_without_one_is_refused(tmp_path: Path) -> None:
    built = by_time(tmp_path)
    source = LakescanDataSource({"path": built.path})
    with pytest.raises(UnknownTimeZone, match="timeZone"):
        source.reader(source.schema()).partitions()
    stream = LakescanDataSource({"path": built.path, "startingTimestamp": "1970-01-01"})._stream
    assert stream is not None
    opened = stream.open(stream.schema)
    with pytest.raises(UnknownTimeZone):
        opened.next_offset(opened.initial_offset(), Limits())


@pytest.mark.parametrize("value", ["2024-07-01T12:00:00.000000Z", "2024-07-01 14:00:00+02:00"])
def test_where_the_sessions_zone_is_not_known_a_time_with_one_is_read(tmp_path: Path, value: str) -> None:
    source = LakescanDataSource({"path": by_time(tmp_path, value).path})
    reader = source.reader(source.schema())
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert {row["at"].timestamp() for row in rows} == {noon(0)}
