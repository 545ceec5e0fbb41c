"""Streams of tables that Delta Spark wrote: wherever Delta's own stream accepts the starting point, the same rows.

Delta Spark's stream and Lakescan's read the same table with the same options. Delta's refusals are counted, so that a
comparison that compares nothing fails.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import lakescan
from tests.compare import first_row
from tests.formats.delta.stream.engine import Engine

pytestmark = [pytest.mark.peers, pytest.mark.timeout(900)]
JAR = "io.delta:delta-spark_4.2_2.13:4.4.0"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with Delta Spark and with `format("lakescan")`; one that is there already is used as it is."""
    running = SparkSession.getActiveSession()
    builder = SparkSession.builder.appName("lakescan-streams").master("local[2]")
    settings: dict[str, Any] = {
        "spark.jars.packages": JAR,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
    }
    session = builder.config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    lakescan.install(session)
    yield session
    if running is None:
        session.stop()


def streamed(spark: SparkSession, source: str, path: str, checkpoint: Path, options: dict[str, str]) -> list[Any]:
    """Every row that a stream gives until there is nothing more."""
    rows: list[Any] = []

    def keep(batch: DataFrame, number: int) -> None:
        rows.extend(row.asDict(recursive=True) for row in batch.collect())

    reader = spark.readStream.format(source).options(**options)
    writer = reader.load(path).writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    return rows


def bag(rows: list[dict[str, Any]]) -> Counter[str]:
    def text(value: Any) -> str:
        # Spark gives a moment in the zone of this process without saying so, Arrow in UTC.
        return str(value.timestamp()) if hasattr(value, "timestamp") else repr(value)

    return Counter(str(sorted((name, text(value)) for name, value in row.items())) for row in rows)


def compare(spark: SparkSession, path: str, folder: Path, choices: list[dict[str, str]]) -> int:
    """The number of streams that Delta accepted; each of them gave the same rows as Lakescan's."""
    accepted = 0
    for number, options in enumerate(choices):
        try:
            theirs = streamed(spark, "delta", path, folder / f"delta{number}", options)
        except PySparkException:
            continue
        engine = Engine(path, options)
        engine.drain()
        assert bag(engine.rows) == bag(theirs), options
        accepted += 1
    return accepted


def starts(*versions: int, **options: str) -> list[dict[str, str]]:
    """The default start, and one at each version."""
    return [options, *({"startingVersion": str(version), **options} for version in versions)]


def insert(spark: SparkSession, path: str, first: int, last: int, columns: str = "id, id % 3 AS part") -> None:
    spark.sql(f"INSERT INTO delta.`{path}` SELECT {columns} FROM range({first}, {last + 1})")


def test_appends_added_columns_and_optimize(both: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    both.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, part BIGINT) USING delta PARTITIONED BY (part)")
    insert(both, path, 0, 9)
    insert(both, path, 10, 19)
    both.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS (extra STRING)")
    insert(both, path, 20, 29, "id, id % 3 AS part, concat('x', id) AS extra")
    both.sql(f"OPTIMIZE delta.`{path}`")
    insert(both, path, 30, 39, "id, null AS part, null AS extra")
    choices = [*starts(0, 3, 4, 6), {"startingVersion": "1", "maxFilesPerTrigger": "3"}]
    assert compare(both, path, tmp_path, choices) == len(choices)


def test_column_mapping_switched_on_between_commits(both: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    both.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, part BIGINT) USING delta PARTITIONED BY (part)")
    insert(both, path, 0, 9)
    both.sql(
        f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', "
        "'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')"
    )
    insert(both, path, 10, 19)
    both.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS (extra BIGINT)")
    insert(both, path, 20, 29, "id, id % 3 AS part, id * 2 AS extra")
    assert compare(both, path, tmp_path, starts(0, 1, 3, 5)) >= 2
    # What Delta refuses or not: every starting point is right here, value by value.
    for start in range(6):
        engine = Engine(path, {"startingVersion": start})
        engine.drain()
        first = {0: 0, 1: 0, 2: 10, 3: 10, 4: 20, 5: 20}[start]
        expected = [
            {"id": number, "part": number % 3, "extra": number * 2 if number >= 20 else None}
            for number in range(first, 30)
        ]
        assert sorted(engine.rows, key=lambda row: row["id"]) == expected


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_deletes_and_updates_under_each_option(both: SparkSession, tmp_path: Path, vectors: str) -> None:
    path = str(tmp_path / "table")
    both.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, part BIGINT) USING delta "
        f"TBLPROPERTIES ('delta.enableDeletionVectors' = '{vectors}')"
    )
    insert(both, path, 0, 19)
    both.sql(f"DELETE FROM delta.`{path}` WHERE id = 3")
    both.sql(f"UPDATE delta.`{path}` SET part = 77 WHERE id = 4")
    insert(both, path, 20, 29)
    both.sql(f"DELETE FROM delta.`{path}`")
    insert(both, path, 30, 39)
    choices = [*starts(0, 2, skipChangeCommits="true"), *starts(0, ignoreChanges="true")]
    choices += starts(2, ignoreFileDeletion="true")
    assert compare(both, path, tmp_path, choices) == len(choices)
    refused = 0
    for start in (1, 3):
        options = {"startingVersion": str(start)}
        with pytest.raises(PySparkException):
            streamed(both, "delta", path, tmp_path / f"refused{start}", options)
        with pytest.raises(lakescan.errors.NotAnAppend):
            Engine(path, options).drain()
        refused += 1
    assert refused == 2


def test_the_change_feed(both: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    both.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, part BIGINT) USING delta "
        "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true')"
    )
    insert(both, path, 0, 19)
    both.sql(f"UPDATE delta.`{path}` SET part = 77 WHERE id IN (4, 5)")
    both.sql(f"DELETE FROM delta.`{path}` WHERE id < 3")
    both.sql(f"OPTIMIZE delta.`{path}`")
    insert(both, path, 20, 29)
    choices = starts(0, 2, 4, readChangeFeed="true")
    assert compare(both, path, tmp_path, choices) == len(choices)


def test_both_faces_side_by_side_in_one_session(both: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    both.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, part BIGINT) USING delta")
    for at in range(3):
        insert(both, path, at * 10, at * 10 + 9)
    options = {"startingVersion": "2", "maxFilesPerTrigger": "1"}
    ours = streamed(both, "lakescan", path, tmp_path / "ours", options)
    theirs = streamed(both, "delta", path, tmp_path / "theirs", options)
    assert bag(ours) == bag(theirs)
    assert len(ours) == 20


def table_of_parts(spark: SparkSession, path: str) -> None:
    """One commit of four files, one a partition."""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, part BIGINT) USING delta PARTITIONED BY (part) "
        "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'false')"
    )
    spark.range(0, 12, 1, 1).selectExpr("id", "id % 4 AS part").write.format("delta").mode("append").save(path)


def test_options_that_leave_files_out_or_have_another_name(both: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    table_of_parts(both, path)
    excluded = {"excludeRegex": "part=[12]/"}
    choices = [
        excluded,
        {"startingVersion": "0", **excluded},
        {"startingVersion": "0", "readChangeData": "true", **excluded},
        {"startingVersion": "0", "maxBytesPerTrigger": "1t", "failOnDataLoss": "false"},
        {"startingVersion": "0", "maxBytesPerTrigger": "1kib", "ignoreMissingFiles": "true"},
        {"startingTimestamp": "2020-07"},
    ]
    assert compare(both, path, tmp_path, choices) == len(choices)


def test_a_partitioning_that_changed(both: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    both.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, part BIGINT) USING delta")
    insert(both, path, 0, 3)
    rows = both.range(10, 14).selectExpr("id", "id % 3 AS part").write.format("delta").mode("overwrite")
    rows.option("overwriteSchema", "true").partitionBy("part").save(path)
    insert(both, path, 20, 23)
    choices = [{"startingVersion": start, "ignoreChanges": "true"} for start in ("0", "1", "2", "3")]
    assert compare(both, path, tmp_path, choices) == 2
    for options in choices[:2]:
        with pytest.raises(lakescan.errors.SchemaTrackingNeeded):
            Engine(path, options).drain()


def test_a_start_at_a_commit_whose_predecessors_are_gone(both: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "table"
    both.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, part BIGINT) USING delta")
    for at in range(7):
        insert(both, str(path), at * 2, at * 2 + 1)
    logs = both._jvm.org.apache.spark.sql.delta.DeltaLog  # type: ignore[union-attr]
    logs.forTable(both._jsparkSession, str(path)).checkpoint()
    for version in range(5):
        for ending in ("json", "crc"):
            (path / "_delta_log" / f"{version:020d}.{ending}").unlink(missing_ok=True)
    logs.clearCache()
    choices = [{"startingVersion": start} for start in ("5", "6", "7")]
    assert compare(both, str(path), tmp_path, choices) == len(choices)


def test_the_feed_at_a_restart_inside_a_commit_of_appends(both: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    table_of_parts(both, path)
    by_source = {}
    for source in ("delta", "lakescan"):
        rows: list[Any] = []

        def keep(batch: DataFrame, number: int, rows: list[Any] = rows) -> None:
            rows.extend(row.asDict(recursive=True) for row in batch.collect())

        def start(source: str = source, keep: Any = keep, **options: str) -> Any:
            reader = both.readStream.format(source).options(startingVersion="1", **options).load(path)
            return reader.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / source))

        query = start(maxFilesPerTrigger="2").trigger(processingTime="1 hour").start()
        while not query.lastProgress and query.isActive:
            query.awaitTermination(1)
        query.stop()
        assert len(rows) == 6
        start(readChangeFeed="true").trigger(availableNow=True).start().awaitTermination()
        by_source[source] = bag(rows)
    assert by_source["lakescan"] == by_source["delta"]
    assert sum(by_source["delta"].values()) == 12


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Tokyo"])
def test_times_without_a_zone_in_the_sessions(both: SparkSession, tmp_path: Path, zone: str) -> None:
    path = tmp_path / "table"
    before = both.conf.get("spark.sql.session.timeZone")
    assert before is not None
    both.conf.set("spark.sql.session.timeZone", zone)
    both.conf.set("spark.databricks.delta.write.utcTimestampPartitionValues", "false")
    try:
        both.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, at TIMESTAMP) USING delta PARTITIONED BY (at)")
        for hour in range(1, 4):
            both.sql(f"INSERT INTO delta.`{path}` VALUES ({hour}, TIMESTAMP '2024-07-01 0{hour}:00:00')")
        for version in range(4):
            os.utime(path / "_delta_log" / f"{version:020d}.json", (1_719_800_000 + 3600 * version,) * 2)
        both._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
        moment = first_row(both.sql("SELECT CAST(timestamp_seconds(1719800000 + 3600 * 2 - 60) AS STRING)"))[0]
        for number, options in enumerate([{"startingVersion": "0"}, {"startingTimestamp": moment}, {}]):
            theirs = streamed(both, "delta", str(path), tmp_path / f"theirs{number}", options)
            ours = streamed(both, "lakescan", str(path), tmp_path / f"ours{number}", options)
            assert bag(ours) == bag(theirs)
            assert len(ours) == (2 if "startingTimestamp" in options else 3)
    finally:
        both.conf.set("spark.sql.session.timeZone", before)
        both.conf.unset("spark.databricks.delta.write.utcTimestampPartitionValues")
