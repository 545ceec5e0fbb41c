"""`format("lakescan")` in a real Spark: streams, their progress and their errors, and the batch reader beside them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import lakescan
from lakescan.reader.read import read_task
from lakescan.spark.python_source.python_data_source import LakescanDataSource
from tests.tables import DeltaBuilder, spark_schema

pytestmark = pytest.mark.spark
SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.int32()), ("text", pa.string())])
HAS_LIMITS = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 2)
LIMITS = pytest.mark.skipif(not HAS_LIMITS, reason="admission control came with PySpark 4.2")


def rows(first: int, last: int) -> pa.Table:
    numbers = range(first, last + 1)
    return pa.table({"id": pa.array(numbers, pa.int64()), "text": [f"t{number}" for number in numbers]})


def table(root: Path, files: int = 6) -> DeltaBuilder:
    built = DeltaBuilder(root, SCHEMA, partition_by=["part"], features=["deletionVectors"])
    for at in range(files):
        built.append(rows(at * 10, at * 10 + 9), partition={"part": str(at % 2)})
    return built


class PythonSource(LakescanDataSource):
    """PySpark's own way to a Python data source: its real name is taken by DataSource V2 where there is a JVM."""

    @classmethod
    def name(cls) -> str:
        return "lakescan_python"


@pytest.fixture(params=["python source", "table", "format"])
def way(request: pytest.FixtureRequest) -> str:
    """How a stream is reached: PySpark's Python data source, or DataSource V2 by a table's name or by a format's."""
    return str(request.param)


@pytest.fixture
def limited_way(way: str) -> str:
    """The same, where a batch can be told how much to hold."""
    if way == "python source" and not HAS_LIMITS:
        pytest.skip("admission control came to Python data sources with PySpark 4.2")
    return way


class Query:
    """A stream into a list, with a checkpoint; run to the end of what there is."""

    def __init__(self, spark: SparkSession, path: str, checkpoint: Path, way: str = "format", **options: Any) -> None:
        self.spark, self.path, self.checkpoint, self.way, self.options = spark, path, checkpoint, way, options
        self.batches: dict[int, list[Any]] = {}

    def frame(self) -> DataFrame:
        reader = self.spark.readStream.options(**self.options)
        if self.way == "table":
            return reader.table(f"delta.`{self.path}`")
        if self.way == "format":
            return reader.format("delta").load(self.path)
        self.spark.dataSource.register(PythonSource)
        return reader.format(PythonSource.name()).load(self.path)

    def run(self) -> Any:
        def keep(batch: DataFrame, number: int) -> None:
            self.batches[number] = batch.collect()

        writer = self.frame().writeStream.foreachBatch(keep).option("checkpointLocation", str(self.checkpoint))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    @property
    def ids(self) -> list[int]:
        return sorted(row["id"] for batch in self.batches.values() for row in batch)


def test_a_stream_reads_in_batches_of_the_limit_reports_its_progress_and_goes_on(
    spark: SparkSession, tmp_path: Path, limited_way: str
) -> None:
    built = table(tmp_path / "table")
    stream = Query(spark, built.path, tmp_path / "checkpoint", limited_way, startingVersion="0", maxFilesPerTrigger="4")
    progress = lakescan.progress(stream.run())
    assert [len(batch) for batch in stream.batches.values()] == [40, 20]
    assert stream.ids == list(range(60))
    assert {(row["id"], row["part"], row["text"]) for row in stream.batches[1]} == {
        (number, (number // 10) % 2, f"t{number}") for number in range(40, 60)
    }
    assert [(b.from_version, b.to_version, b.files, b.rows, b.versions_behind) for b in progress] == [
        (0, 4, 4, 40, 2),
        (5, 6, 2, 20, 0),
    ]
    built.append(rows(60, 69), partition={"part": "1"})
    stream.run()
    assert stream.ids == list(range(70))


def test_the_default_is_the_snapshot_then_its_changes(spark: SparkSession, tmp_path: Path, way: str) -> None:
    built = table(tmp_path / "table", files=2)
    stream = Query(spark, built.path, tmp_path / "checkpoint", way)
    stream.run()
    assert stream.ids == list(range(20))
    built.append(rows(20, 29), partition={"part": "0"})
    stream.run()
    assert stream.ids == list(range(30))


def test_a_failure_is_an_error_of_the_query_and_never_an_empty_batch(
    spark: SparkSession, tmp_path: Path, way: str
) -> None:
    built = table(tmp_path / "table", files=1)
    first = json.loads((built.log / f"{1:020d}.json").read_text())
    built.delete(first, [0])
    stream = Query(spark, built.path, tmp_path / "checkpoint", way, startingVersion="0")
    with pytest.raises(StreamingQueryException, match=r"Version 2 .*skipChangeCommits"):
        stream.run()
    wrong = Query(spark, built.path, tmp_path / "other", way, startingVersion="9")
    with pytest.raises(StreamingQueryException, match="commits 0 to 2"):
        wrong.run()
    assert wrong.ids == []


@LIMITS
@pytest.mark.parametrize(("first", "then"), [("python source", "table"), ("table", "python source")])
def test_a_checkpoint_of_one_way_is_taken_over_by_the_other(
    spark: SparkSession, tmp_path: Path, first: str, then: str
) -> None:
    built = table(tmp_path / "table")
    stream = Query(spark, built.path, tmp_path / "checkpoint", first, maxFilesPerTrigger="4")
    stream.run()
    assert stream.ids == list(range(60))
    built.append(rows(60, 69), partition={"part": "1"})
    stream.way = then
    stream.run()
    assert {number: len(batch) for number, batch in stream.batches.items()} == {0: 40, 1: 20, 2: 10}
    assert stream.ids == list(range(70))


def test_a_checkpoint_of_another_table_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    built = table(tmp_path / "table", files=1)
    stream = Query(spark, built.path, tmp_path / "checkpoint", "table")
    stream.run()
    written = tmp_path / "checkpoint" / "offsets" / "0"
    version, metadata, _ = written.read_text().splitlines()
    theirs = {"sourceVersion": 1, "reservoirId": "x", "reservoirVersion": 1, "index": 0, "isStartingVersion": True}
    written.write_text("\n".join([version, metadata, json.dumps(theirs)]))
    (tmp_path / "checkpoint" / "offsets" / ".0.crc").unlink(missing_ok=True)
    built.append(rows(10, 19), partition={"part": "1"})
    with pytest.raises(StreamingQueryException, match=r"another table .* than the stream has been reading \(id x\)"):
        stream.run()
    assert stream.ids == list(range(10))


def test_an_added_column_stops_the_stream_and_a_restart_goes_on_with_it(
    spark: SparkSession, tmp_path: Path, limited_way: str
) -> None:
    built = table(tmp_path / "table", files=1)
    stream = Query(spark, built.path, tmp_path / "checkpoint", limited_way, startingVersion="0")
    old = stream.frame()
    built.schema = spark_schema(pa.schema([*SCHEMA, pa.field("extra", pa.int64())]))
    built.commit(built.metadata())
    added = rows(10, 10).append_column("extra", pa.array([7], pa.int64()))
    built.append(added, partition={"part": "1"})
    stream.frame = lambda: old  # type: ignore[method-assign]
    with pytest.raises(StreamingQueryException, match=r"the column extra was added.*Restart the stream"):
        stream.run()
    assert stream.ids == list(range(10))
    del stream.frame
    stream.run()
    assert stream.batches[1][0].asDict() == {"id": 10, "part": 1, "text": "t10", "extra": 7}


def test_the_batch_reader_answers_with_filters_columns_and_versions(spark: SparkSession, tmp_path: Path) -> None:
    built = table(tmp_path)
    frame = spark.read.format("lakescan").load(built.path)
    # One DataFrame, several queries: Spark's filter pushdown to Python sources gets the later ones wrong.
    assert frame.where("id > 45 AND part = 1").count() == 10
    assert frame.count() == 60
    assert frame.where("text LIKE 't1%' OR id IN (3, 4)").count() == 13
    older = spark.read.format("lakescan").option("versionAsOf", "2").load(built.path)
    assert older.count() == 20
    some = spark.read.format("lakescan").schema("text string, id bigint").load(built.path)
    assert some.columns == ["text", "id"]
    assert sorted(row["id"] for row in some.where("id < 3").collect()) == [0, 1, 2]


def test_the_filter_option_leaves_out_files_and_rows(tmp_path: Path) -> None:

    built = table(tmp_path)
    source = LakescanDataSource({"path": built.path, "filter": "id > 45 AND part = 1"})
    reader = source.reader(source.schema())
    actual = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert sorted(row["id"] for row in actual) == list(range(50, 60))
    assert sum(part.value.task.pieces.num_rows for part in reader.partitions()) == 1


def test_columns_that_cannot_be_null_are_read_by_batches_and_streams(
    spark: SparkSession, tmp_path: Path, way: str
) -> None:
    inner = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("s", inner, nullable=False),
            pa.field("l", pa.list_(pa.field("element", inner))),
            pa.field("part", pa.int32(), nullable=False),
        ]
    )
    built = DeltaBuilder(tmp_path / "table", schema, partition_by=["part"])
    stored = pa.schema([field for field in schema if field.name != "part"])
    built.append(pa.Table.from_pylist([{"id": 1, "s": {"x": 2}, "l": [{"x": 3}]}], stored), partition={"part": "4"})
    frame = spark.read.format("lakescan").load(built.path)
    row = {"id": 1, "s": {"x": 2}, "l": [{"x": 3}], "part": 4}
    assert [one.asDict(recursive=True) for one in frame.collect()] == [row]
    assert [one["part"] for one in frame.select("part").collect()] == [4]
    stream = Query(spark, built.path, tmp_path / "checkpoint", way, startingVersion="0")
    stream.run()
    assert [one.asDict(recursive=True) for batch in stream.batches.values() for one in batch] == [row]


def test_one_set_of_options_may_be_given_to_both_ends_of_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    built = table(tmp_path / "table", files=2)
    shared = {
        "startingVersion": "2",
        "checkpointLocation": str(tmp_path / "checkpoint"),
        "queryName": "both_ends",
        "maxRecordsPerFile": "3",
        "compression": "gzip",
    }
    reader = spark.readStream.format("lakescan").options(**shared)
    writer = reader.load(built.path).writeStream.format("parquet").options(**shared).queryName("both_ends")
    query = writer.trigger(availableNow=True).start(str(tmp_path / "written"))
    query.awaitTermination()
    assert query.name == "both_ends"
    assert (tmp_path / "checkpoint" / "offsets" / "0").exists()
    assert sorted(row["id"] for row in spark.read.parquet(str(tmp_path / "written")).collect()) == list(range(10, 20))


def test_the_writers_options_change_no_row_of_a_stream_and_one_of_nobody_is_refused(tmp_path: Path) -> None:
    from lakescan.options import OF_THE_SINK

    built = table(tmp_path / "table", files=2)

    def streamed(options: dict[str, str]) -> list[int]:
        pinned = LakescanDataSource({"path": built.path, "startingVersion": "1", **options})._stream
        assert pinned is not None
        stream = pinned.open(pinned.schema)
        tasks = stream.plan(stream.initial_offset(), stream.end_offset(), 1)
        return [row["id"] for one in tasks for batch in read_task(one.plan, one.task) for row in batch.to_pylist()]

    assert streamed(dict.fromkeys(OF_THE_SINK, "x")) == streamed({}) == list(range(20))
    with pytest.raises(lakescan.errors.UnknownOption, match="checkpointLocation"):
        LakescanDataSource({"path": built.path, "checkpointLocations": "x"})


@pytest.mark.parametrize(
    ("options", "schema", "said"),
    [
        ({"startingVersion": "1"}, None, "readChangeFeed = true"),
        ({"maxFilesPerTrigger": "1"}, None, "option of a stream"),
        ({"checkpointLocation": "x"}, None, "option of a stream"),
        ({"startVersion": "1"}, None, "no such option"),
        ({}, "id string", "id has the type long"),
        ({}, "other int", "other is not one of the table's columns"),
    ],
)
def test_what_a_batch_cannot_be_asked_is_refused(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], schema: str | None, said: str
) -> None:
    built = table(tmp_path, files=1)
    reader = spark.read.format("lakescan").options(**options)
    with pytest.raises(PySparkException, match=said):
        (reader.schema(schema) if schema else reader).load(built.path).count()


def test_a_stream_at_an_old_version_is_refused(spark: SparkSession, tmp_path: Path, way: str) -> None:
    built = table(tmp_path / "table", files=1)
    stream = Query(spark, built.path, tmp_path / "checkpoint", way, versionAsOf="0")
    with pytest.raises(PySparkException, match="startingVersion"):
        stream.run()


def test_a_release_without_admission_control_refuses_the_options_that_need_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakescan.spark.python_source import stream_api

    monkeypatch.setattr(stream_api, "HAS_ADMISSION_CONTROL", False)
    built = table(tmp_path / "table", files=1)
    for option, value in {"maxFilesPerTrigger": "1", "maxBytesPerTrigger": "1m", "schemaTrackingLocation": "x"}.items():
        source = LakescanDataSource({"path": built.path, option: value})
        with pytest.raises(lakescan.errors.UnsupportedSpark, match=rf"{option} .*4\.2"):
            source.streamReader(source.schema())


# What Spark 4.2 writes beside the offset; Delta's source was of DataSource V1, ours is of V2.
CHECKPOINT = '{"batchWatermarkMs":0,"batchTimestampMs":1795133089964,"conf":{"spark.sql.shuffle.partitions":"1"}}'


def begun_by_delta(checkpoint: Path, *ends: str) -> Path:
    """A checkpoint whose last batch has no commit."""
    for folder in ("offsets", "commits", "sources/0"):
        (checkpoint / folder).mkdir(parents=True)
    (checkpoint / "metadata").write_text('{"id":"04bb7496-0f96-4721-8c57-a35fc2e75c0d"}')
    for number, end in enumerate(ends):
        (checkpoint / "offsets" / str(number)).write_text(f"v1\n{CHECKPOINT}\n{end}")
        if number < len(ends) - 1:
            (checkpoint / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return checkpoint


def test_a_checkpoint_that_delta_spark_wrote_goes_on_with_the_batch_that_is_not_finished(
    spark: SparkSession, tmp_path: Path, way: str
) -> None:
    built = table(tmp_path / "table")
    table_id = built.metadata()["metaData"]["id"]
    # Two of the six files of version 6, then four; 7 is still to be given.
    ends = [
        f'{{"sourceVersion":1,"reservoirId":"{table_id}","reservoirVersion":6,"index":{index},"isStartingVersion":true}}'
        for index in (1, 3)
    ]
    built.append(rows(60, 69), partition={"part": "0"})
    checkpoint = begun_by_delta(tmp_path / "checkpoint", *ends)
    query = Query(spark, built.path, checkpoint, way)
    query.run()
    assert sorted(row["id"] for row in query.batches[1]) == list(range(20, 40))
    assert query.ids == list(range(20, 70))


DRIVER = """
import json, os, sys, time
import lakescan

table, checkpoint, sink, die_after = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
spark = lakescan.session(master="local[2]", spark_sql_shuffle_partitions=1, spark_driver_memory="512m")

def keep(batch, number):
    rows = [row["id"] for row in batch.collect()]
    made = os.path.join(sink, f".{number}")
    with open(made, "w") as out:
        json.dump(rows, out)
    os.replace(made, os.path.join(sink, f"{number}.json"))
    if number == die_after:
        print("written", flush=True)
        time.sleep(600)  # between the sink and Spark's own commit: the worst moment to die

reader = spark.readStream.format("lakescan").option("startingVersion", "0").option("maxFilesPerTrigger", "2")
query = reader.load(table).writeStream.foreachBatch(keep).option("checkpointLocation", checkpoint)
query.trigger(availableNow=True).start().awaitTermination()
spark.stop()
"""


@pytest.mark.own_jvm
@LIMITS
@pytest.mark.timeout(600)
def test_a_killed_driver_started_again_gives_each_row_exactly_once(tmp_path: Path) -> None:
    built = table(tmp_path / "table", files=9)
    script, sink = tmp_path / "driver.py", tmp_path / "sink"
    script.write_text(DRIVER)
    sink.mkdir()

    def start(die_after: int) -> subprocess.Popen[str]:
        command = [sys.executable, str(script), built.path, str(tmp_path / "checkpoint"), str(sink), str(die_after)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
            start_new_session=True,
        )  # fmt: skip

    driver = start(die_after=1)
    assert driver.stdout is not None
    assert driver.stdout.readline() == "written\n"
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    before = {file.name: file.stat().st_mtime_ns for file in sink.glob("*.json")}
    assert set(before) == {"0.json", "1.json"}
    time.sleep(0.05)
    built.append(rows(90, 99), partition={"part": "1"})
    again = start(die_after=-1)
    assert again.wait() == 0
    batches = {file.name: json.loads(file.read_text()) for file in sink.glob("*.json")}
    assert sorted(number for batch in batches.values() for number in batch) == list(range(100))
    # The batch that was in the sink but not in Spark's log ran again; the one before it did not.
    assert (sink / "1.json").stat().st_mtime_ns > before["1.json"]
    assert (sink / "0.json").stat().st_mtime_ns == before["0.json"]
