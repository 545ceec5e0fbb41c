"""What Spark's UI shows of a scan: figures of its planning, and what its stages read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakescan
from lakescan.spark.bridge import java_classes
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark
FILES = 6
ROWS = 1_000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> DeltaBuilder:
    """Six files of a thousand rows."""
    builder = DeltaBuilder(tmp_path_factory.mktemp("metrics"), pa.schema([("id", pa.int64()), ("name", pa.string())]))
    for file in range(FILES):
        ids = range(file * ROWS, (file + 1) * ROWS)
        builder.append(pa.table({"id": ids, "name": [f"name {at}" for at in ids]}))
    return builder


def shown(frame: DataFrame) -> dict[str, str]:
    """The metrics of the last query as the UI has them, by what they are called there."""
    spark: Any = frame.sparkSession
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    status = spark._jsparkSession.sharedState().statusStore()
    last = max(_items(status.executionsList().toSeq()), key=lambda execution: int(execution.executionId()))
    values = status.executionMetrics(last.executionId())
    named = [(str(metric.name()), metric.accumulatorId()) for metric in _items(last.metrics())]
    return {name: str(values.apply(number)) for name, number in named if values.contains(number)}


def test_spark_has_the_main_figures(spark: SparkSession, table: DeltaBuilder) -> None:
    frame = lakescan.read(spark, table.path).limit(1_200)
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan()
    (scan,) = [leaf for leaf in _items(plan.collectLeaves()) if leaf.getClass().getSimpleName() == "BatchScanExec"]
    values = {name: scan.metrics().apply(name).value() for name in ("lakescanFilesTotal", "lakescanFilesRead")}
    assert values == {"lakescanFilesTotal": FILES, "lakescanFilesRead": 2}


def test_metrics_read_as_counts_and_sizes(spark: SparkSession, table: DeltaBuilder) -> None:
    frame = lakescan.read(spark, table.path).limit(1_200)
    frame.collect()
    size = lakescan.report(frame).scans[0].bytes_planned
    metrics = shown(frame)
    assert metrics["files in the table"] == str(FILES)
    assert metrics["files to read"] == "2"
    assert metrics["rows dropped by deletion vectors"] == "0"
    assert metrics["size of files to read"] == f"{size / 1024:.1f} KiB"


def test_where_java_takes_no_classes_metrics_are_shown_as_spark_has_them(
    spark: SparkSession, table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway: Any = spark.sparkContext._gateway
    monkeypatch.setattr(java_classes, "_metrics", {gateway: False})
    frame = lakescan.read(spark, table.path).limit(1_200)
    frame.collect()
    assert "2.0 B" in shown(frame)["files to read"]


def test_a_stage_that_workers_read_says_how_much(spark: SparkSession, table: DeltaBuilder) -> None:
    whole = lakescan.open(table.path).snapshot().size_in_bytes
    frame = lakescan.read(spark, table.path, options={"lakescan.pushdown.plain_files": False})
    size, rows = _input(spark, lambda: _consume(frame))
    assert rows == FILES * ROWS
    assert 0.9 * whole < size <= whole
    size_of_one, rows = _input(spark, lambda: _consume(frame.select("id")))
    assert rows == FILES * ROWS
    assert 0 < size_of_one < 0.8 * size


def test_a_stage_that_sparks_reader_reads_says_how_much_hadoop_counted(
    spark: SparkSession, table: DeltaBuilder
) -> None:
    size, rows = _input(spark, lambda: _consume(lakescan.read(spark, table.path)))
    assert rows == FILES * ROWS
    assert 0 < size <= lakescan.open(table.path).snapshot().size_in_bytes * 1.5


def _consume(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _input(spark: SparkSession, job: Callable[[], None]) -> tuple[int, int]:
    """Bytes and rows that the stages of a job had as input."""
    context: Any = spark.sparkContext._jsc
    context.sc().listenerBus().waitUntilEmpty()
    before = {int(stage.stageId()) for stage in _stages(context)}
    job()
    context.sc().listenerBus().waitUntilEmpty()
    new = [stage for stage in _stages(context) if int(stage.stageId()) not in before]
    return sum(int(stage.inputBytes()) for stage in new), sum(int(stage.inputRecords()) for stage in new)


def _stages(context: Any) -> list[Any]:
    store = context.sc().statusStore()
    defaults = [getattr(store, f"stageList$default${at}")() for at in range(2, 6)]
    return _items(store.stageList(None, *defaults))


def _items(sequence: Any) -> list[Any]:
    at: Callable[[int], Any] = sequence.apply
    return [at(index) for index in range(sequence.size())]


def test_a_table_of_any_size_has_figures(tmp_path: Path, spark: SparkSession) -> None:
    builder = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    frame = lakescan.read(spark, builder.path)
    assert frame.collect() == []
    assert shown(frame).get("files to read", "0") == "0"
