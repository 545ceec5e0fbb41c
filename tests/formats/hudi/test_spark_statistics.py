"""Hudi's column statistics as Spark SQL meets them: fewer files, and answers without any."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import lakescan
from tests.compare import first_row

pytestmark = pytest.mark.spark
Unpack = Callable[[str], Path]


def test_a_filter_plans_the_files_that_may_match(spark: SparkSession, unpack: Unpack) -> None:
    frame = spark.sql(f"SELECT name FROM hudi.`{unpack('types_v9')}` WHERE id = 15 AND day = DATE'2020-01-16'")
    assert [row.name for row in frame.collect()] == ["s0015"]
    (scan,) = lakescan.report(frame).scans
    assert (scan.files_total, scan.files_planned) == (6, 1)


def test_counts_and_extremes_are_answered_without_reading_a_file(spark: SparkSession, unpack: Unpack) -> None:
    frame = spark.sql(f"SELECT count(*), count(day), min(id), max(price) FROM hudi.`{unpack('types_v9')}`")
    assert [str(value) for value in first_row(frame)] == ["29", "27", "0", "12.75"]
    (scan,) = lakescan.report(frame).scans
    assert scan.metadata_only


def test_what_hudi_loses_by_its_own_statistics_is_found(spark: SparkSession, unpack: Unpack) -> None:
    frame = spark.sql(f"SELECT id FROM hudi.`{unpack('types_v9')}` WHERE ratio > 25 ORDER BY id")
    assert [row.id for row in frame.collect()] == [30, 31, 40, 41, 50, 51]


def test_a_table_of_log_files_alone_is_read(spark: SparkSession, unpack: Unpack) -> None:
    frame = spark.sql(f"SELECT id, name FROM hudi.`{unpack('log_only_v9')}` WHERE part = 'a' ORDER BY id")
    assert [row.id for row in frame.collect()] == [0, 1, 2, 3, 5]
    assert {row.id: row.name for row in frame.collect()}[2] == "updated"
