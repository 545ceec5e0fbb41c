"""`report` and EXPLAIN say which of Spark's processes read a scan's tasks, and why."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

import lakescan
from lakescan.formats.delta.data_files import DeltaFiles
from lakescan.io.storage import Storage
from lakescan.spark.dsv2 import plain_files
from lakescan.spark.dsv2.plain_files import plain_columns
from lakescan.spark.dsv2.task_blocks import DividedScan
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64()), ("name", pa.string())]), features=["deletionVectors"])
    built.append(pa.table({"id": range(10), "name": ["a"] * 10}))
    built.delete(built.append(pa.table({"id": range(10), "name": ["b"] * 10})), [3])
    return built


SPARK = "by Spark's own Parquet reader"
WORKERS = "by Arrow in Python workers"


def tasks(frame: DataFrame) -> str:
    """What EXPLAIN says before the query runs, and the report after."""
    explained = str(frame._jdf.queryExecution().executedPlan().toString())
    (said,) = re.findall(r"tasks=\[(.*?)\]", explained)
    frame.collect()
    assert f"  tasks:   {said}\n" in str(lakescan.report(frame))
    return str(said)


def test_files_and_their_deleted_rows_are_read_in_executors(spark: SparkSession, table: DeltaBuilder) -> None:
    frame = lakescan.read(spark, table.path)
    assert tasks(frame) == f"{frame.rdd.getNumPartitions()} {SPARK}"


def test_a_worker_is_explained(spark: SparkSession, table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_files, "SMALL_SCAN", -1)
    frame = lakescan.read(spark, table.path)
    off = lakescan.read(spark, table.path, options={"lakescan.pushdown.plain_files": False})
    count = frame.rdd.getNumPartitions()
    for query, why in (
        (off, "lakescan.pushdown.plain_files is off"),
        (frame.where("id > 3"), "small files to filter"),
        (frame.select("id", "_metadata.file_name"), "columns of metadata"),
        (frame.groupBy("name").agg({"id": "sum"}), "aggregates"),
        (frame.orderBy("id").limit(1), "top-n"),
    ):
        assert tasks(query) == f"{count} {WORKERS} ({why})"
        (scan,) = lakescan.report(query).scans
        assert scan.why_workers == (why,)


def test_an_offset_is_skipped_by_a_worker_in_one_task_only(spark: SparkSession, table: DeltaBuilder) -> None:
    assert tasks(lakescan.read(spark, table.path).offset(3)) == f"1 {SPARK}, 1 {WORKERS} (an offset)"


def test_log_files_are_merged_by_workers(spark: SparkSession, sample: Callable[[str], Path]) -> None:
    assert tasks(lakescan.read(spark, str(sample("log_only_v9")))).endswith(f"{WORKERS} (log files to merge)")
    assert tasks(lakescan.read(spark, str(sample("cow_v8_nonpartitioned")))).endswith(SPARK)


def test_files_in_a_store_are_read_by_workers(table: DeltaBuilder) -> None:
    scan = lakescan.open(table.path).snapshot().scan().build()
    elsewhere = replace(scan.read_plan, files=DeltaFiles(Storage("s3://bucket/table")))
    schema = StructType([StructField("id", LongType()), StructField("name", StringType())])
    divided = DividedScan(replace(scan, read_plan=elsewhere), scan.divided(1), plain_columns(elsewhere, schema))
    assert divided.why_workers == ("files that are not on this machine",)
