"""Tables by their names as streams of DataSource V2: who reads them, which options they take, what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import IllegalArgumentException, PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import lakescan
from lakescan.spark.bridge import Bridge
from tests.formats.hudi.builder import HudiBuilder
from tests.tables import DeltaBuilder, spark_schema

pytestmark = pytest.mark.spark
SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.int32()), ("text", pa.string())])
NO_PYTHON = "/no/such/python"


def rows(first: int, last: int) -> pa.Table:
    numbers = range(first, last + 1)
    return pa.table({"id": pa.array(numbers, pa.int64()), "text": [f"t{number}" for number in numbers]})


def loads_with_options(spark: SparkSession) -> bool:
    """From Spark 4.3 on a catalog is told a query's options when it loads a table."""
    return tuple(map(int, spark.version.split(".")[:2])) >= (4, 3)


@pytest.fixture
def built(tmp_path: Path) -> DeltaBuilder:
    made = DeltaBuilder(tmp_path / "table", SCHEMA, partition_by=["part"], features=["deletionVectors"])
    for at in range(3):
        made.append(rows(at * 10, at * 10 + 9), partition={"part": str(at % 2)})
    return made


def streamed(frame: DataFrame, checkpoint: Path, each: Callable[[DataFrame], Any] = DataFrame.collect) -> list[Any]:
    """What `each` makes of the stream's batches, run to the end of what there is."""
    batches: list[Any] = []
    writer = frame.writeStream.foreachBatch(lambda batch, _: batches.append(each(batch)))
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    return batches


def ids(batches: list[Any]) -> list[int]:
    return sorted(row["id"] for batch in batches for row in batch)


def test_a_table_by_its_attached_name_is_streamed(spark: SparkSession, built: DeltaBuilder, tmp_path: Path) -> None:
    lakescan.attach(spark, "streamed", built.path)
    frame = spark.readStream.option("maxFilesPerTrigger", "2").table("lake.streamed")
    batches = streamed(frame, tmp_path / "checkpoint")
    assert [len(batch) for batch in batches] == [20, 10]
    assert {(row["id"], row["part"], row["text"]) for batch in batches for row in batch} == {
        (number, (number // 10) % 2, f"t{number}") for number in range(30)
    }


def test_a_stream_that_runs_once_reads_all_there_is_whatever_its_limit(
    spark: SparkSession, built: DeltaBuilder, tmp_path: Path
) -> None:
    lakescan.attach(spark, "streamed_once", built.path)
    frame = spark.readStream.option("maxFilesPerTrigger", "1").table("lake.streamed_once")
    batches: list[int] = []
    writer = frame.writeStream.foreachBatch(lambda batch, _: batches.append(batch.count()))
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(once=True).start().awaitTermination()
    assert batches == [30]


def test_files_that_need_only_decoding_are_streamed_without_a_worker(
    spark: SparkSession, built: DeltaBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bridge, "_worker_interpreter", NO_PYTHON)
    frame = spark.readStream.table(f"delta.`{built.path}`")
    assert ids(streamed(frame, tmp_path / "plain")) == list(range(30))
    by_a_worker = spark.readStream.option("lakescan.pushdown.plain_files", "false").table(f"delta.`{built.path}`")
    query = by_a_worker.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "worker")).start()
    with pytest.raises(StreamingQueryException, match=f'Cannot run program "{NO_PYTHON}"'):
        query.processAllAvailable()


def test_rows_that_a_deletion_vector_deletes_are_not_streamed(
    spark: SparkSession, built: DeltaBuilder, tmp_path: Path
) -> None:
    added = json.loads((built.log / f"{2:020d}.json").read_text())
    built.delete(added, [0, 5])
    batches = streamed(spark.readStream.table(f"delta.`{built.path}`"), tmp_path / "checkpoint")
    assert ids(batches) == [number for number in range(30) if number not in (10, 15)]


def test_the_change_feed_of_a_name_is_streamed_where_spark_tells_the_option_in_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    built = DeltaBuilder(
        tmp_path / "table", SCHEMA, partition_by=["part"], properties={"delta.enableChangeDataFeed": "true"}
    )
    built.append(rows(0, 4), partition={"part": "0"})
    reader = spark.readStream.option("readChangeFeed", "true").option("startingVersion", "1")
    if loads_with_options(spark):
        batches = streamed(reader.table(f"delta.`{built.path}`"), tmp_path / "checkpoint")
        assert ids(batches) == list(range(5))
        assert {(row["_change_type"], row["_commit_version"]) for row in batches[0]} == {("insert", 1)}
    else:
        with pytest.raises(
            StreamingQueryException, match=r"readChangeFeed cannot be used: Spark up to 4.2 loads .*load\(path\)"
        ):
            streamed(reader.table(f"delta.`{built.path}`"), tmp_path / "checkpoint")


def test_a_format_s_stream_takes_every_option_and_a_schema_on_every_release(
    spark: SparkSession, tmp_path: Path
) -> None:
    properties = {"delta.enableChangeDataFeed": "true"}
    built = DeltaBuilder(tmp_path / "table", SCHEMA, partition_by=["part"], properties=properties)
    built.append(rows(0, 4), partition={"part": "0"})
    reader = spark.readStream.format("delta").option("readChangeFeed", "true")
    batches = streamed(reader.load(built.path), tmp_path / "changes")
    assert [(row["id"], row["_change_type"], row["_commit_version"]) for row in sorted(batches[0])] == [
        (number, "insert", 1) for number in range(5)
    ]
    chosen = spark.readStream.format("delta").schema("text string, id bigint").load(built.path)
    assert chosen.columns == ["text", "id"]
    assert sorted(map(tuple, streamed(chosen, tmp_path / "chosen")[0])) == [(f"t{at}", at) for at in range(5)]
    with pytest.raises(PySparkException, match="other is not one of the table's columns"):
        spark.readStream.format("delta").schema("other string").load(built.path)


def test_six_streams_that_start_at_once_all_run(spark: SparkSession, built: DeltaBuilder, tmp_path: Path) -> None:
    frames = [spark.readStream.table(f"delta.`{built.path}`") for _ in range(6)]
    writers = [
        frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / str(at)))
        for at, frame in enumerate(frames)
    ]
    queries = [writer.trigger(availableNow=True).start() for writer in writers]
    for query in queries:
        query.awaitTermination()
    assert [sum(batch.rows for batch in lakescan.progress(query)) for query in queries] == [30] * 6


def test_options_of_a_batch_and_of_nobody_are_refused_by_name(
    spark: SparkSession, built: DeltaBuilder, tmp_path: Path
) -> None:
    lakescan.attach(spark, "at_one", built.path, {"versionAsOf": 1})
    with pytest.raises(PySparkException, match="versionAsOf cannot be used: it is an option of a batch"):
        streamed(spark.readStream.table("lake.at_one"), tmp_path / "checkpoint")
    mistyped = spark.readStream.option("maxFilePerTrigger", "1")
    with pytest.raises(PySparkException, match=r"maxFilePerTrigger.*maxFilesPerTrigger"):
        streamed(mistyped.table(f"delta.`{built.path}`"), tmp_path / "checkpoint")


def test_a_batch_takes_no_option_of_a_stream(spark: SparkSession, built: DeltaBuilder) -> None:
    with pytest.raises(
        IllegalArgumentException, match="maxFilesPerTrigger cannot be used: it is an option of a stream"
    ):
        spark.read.option("maxFilesPerTrigger", "1").table(f"delta.`{built.path}`").collect()


def test_a_query_inside_foreach_batch_is_a_batch_and_two_streams_of_a_table_are_two(
    spark: SparkSession, built: DeltaBuilder, tmp_path: Path
) -> None:
    name = f"delta.`{built.path}`"

    def counts(batch: DataFrame) -> tuple[int, int]:
        return batch.count(), batch.sparkSession.sql(f"SELECT * FROM {name} WHERE id < 15").count()

    assert streamed(spark.readStream.table(name), tmp_path / "one", counts) == [(30, 15)]
    # The stream's own session has a rule of streams; the user's has the one for subqueries alone.
    rules = spark._jsparkSession.experimental().extraOptimizations()
    assert [rules.apply(at).getClass().getSimpleName() for at in range(rules.size())] == ["MergedSubqueries"]
    low = spark.readStream.table(name).where("id < 5")
    both = spark.readStream.option("startingVersion", "3").table(name).unionByName(low)
    assert ids(streamed(both, tmp_path / "two")) == [*range(5), *range(20, 30)]


def plan_of(frame: DataFrame, checkpoint: Path) -> str:
    """The plan of the stream's last batch."""
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return str(query._jsq.explainInternal(False))


def test_a_batch_reads_the_columns_of_its_query(spark: SparkSession, built: DeltaBuilder, tmp_path: Path) -> None:
    name = f"delta.`{built.path}`"
    assert "columns=[text]" in plan_of(spark.readStream.table(name).select("text"), tmp_path / "one")
    batches = streamed(spark.readStream.table(name).where("id > 25").selectExpr("upper(text) AS t"), tmp_path / "two")
    assert sorted(row["t"] for batch in batches for row in batch) == ["T26", "T27", "T28", "T29"]
    whole = spark.readStream.option("lakescan.pushdown.columns", "false").table(name)
    assert "columns=[id, part, text]" in plan_of(whole.select("text"), tmp_path / "three")
    counted = spark.readStream.table(name).selectExpr("1 AS one")
    assert sum(len(batch) for batch in streamed(counted, tmp_path / "four")) == 30
    # One stream, named twice in its query: each side reads its own columns, and a batch is of both.
    once = spark.readStream.table(name)
    both = once.selectExpr("id", "text").union(once.selectExpr("id + 100", "NULL").where("id < 2"))
    assert ids(streamed(both, tmp_path / "five")) == [*range(30), 100, 101]


def test_rows_are_counted_for_the_progress_of_a_batch_that_reads_less(
    spark: SparkSession, built: DeltaBuilder, tmp_path: Path
) -> None:
    frame = spark.readStream.table(f"delta.`{built.path}`").where("part = 1").select("text")
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    assert [(batch.files, batch.rows) for batch in lakescan.progress(query)] == [(3, 10)]


def test_a_filter_on_a_partition_opens_no_file_of_another(
    spark: SparkSession, built: DeltaBuilder, tmp_path: Path
) -> None:
    for version in (1, 3):
        added = json.loads((built.log / f"{version:020d}.json").read_text())
        (built.root / added["add"]["path"]).unlink()
    name = f"delta.`{built.path}`"
    batches = streamed(spark.readStream.table(name).where("part = 1 AND id < 15"), tmp_path / "checkpoint")
    assert ids(batches) == list(range(10, 15))
    with pytest.raises(StreamingQueryException):
        streamed(spark.readStream.table(name).where("id < 15"), tmp_path / "other")


def test_a_hidden_column_in_a_stream_is_refused_by_name(
    spark: SparkSession, built: DeltaBuilder, tmp_path: Path
) -> None:
    frame = spark.readStream.table(f"delta.`{built.path}`").select("*", "_metadata.file_name")
    with pytest.raises(StreamingQueryException, match="the hidden column _metadata in a stream"):
        streamed(frame, tmp_path / "checkpoint")


def test_a_column_that_is_never_null_now_may_be_in_older_rows(spark: SparkSession, tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path / "table", pa.schema([("id", pa.int64())]))
    built.append(pa.table({"id": pa.array([1, None], pa.int64())}))
    built.schema = spark_schema(pa.schema([pa.field("id", pa.int64(), nullable=False)]))
    built.commit(built.metadata())
    frame = spark.readStream.option("startingVersion", "1").table(f"delta.`{built.path}`")
    batches = streamed(frame.selectExpr("id", "id IS NULL AS missing"), tmp_path / "checkpoint")
    assert sorted([tuple(row) for batch in batches for row in batch], key=str) == [(1, False), (None, True)]


def test_a_hudi_table_by_its_path_is_streamed(spark: SparkSession, tmp_path: Path) -> None:
    table = HudiBuilder(tmp_path / "hudi")
    table.upsert(0, pa.table({"id": pa.array([1, 2], pa.int64()), "value": ["a", "b"]}))
    frame = spark.readStream.table(f"hudi.`{table.path}`")
    assert ids(streamed(frame, tmp_path / "checkpoint")) == [1, 2]
    table.upsert(0, pa.table({"id": pa.array([3], pa.int64()), "value": ["c"]}))
    assert ids(streamed(frame, tmp_path / "checkpoint")) == [3]
