"""What a report of a query on Spark says: who read, how long it took, the plan, and the picture of it."""

import pytest
from pyspark.sql import SparkSession

import lakescan
from lakescan.demo import TABLE

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _orders(spark: SparkSession) -> None:
    lakescan.attach(spark, "orders", TABLE)


def test_before_a_query_runs_nobody_has_read(spark: SparkSession) -> None:
    (scan,) = lakescan.report(spark.sql("SELECT * FROM lake.orders WHERE order_id < 10")).scans
    assert (scan.readers, scan.rows, scan.reading_ms) == ((), None, None)
    assert "tasks" not in str(scan)


@pytest.mark.parametrize("reader", ["Spark's own Parquet reader", "Arrow in Python workers"])
def test_after_it_ran_rows_tasks_and_times_are_told(spark: SparkSession, reader: str) -> None:
    options = {"lakescan.pushdown.plain_files": not reader.startswith("Arrow")}
    df = lakescan.read(spark, TABLE, options=options).where("order_id < 10").selectExpr("order_id", "upper(city)")
    rows = df.collect()
    (scan,) = lakescan.report(df).scans
    assert scan.rows is not None
    assert scan.rows >= len(rows) > 0
    assert scan.reading_ms is not None
    assert sum(tasks for _, tasks in scan.readers) > 0
    assert {name for name, _ in scan.readers} == {reader}
    assert f" by {reader}" in str(scan)


def test_each_scan_of_a_join_has_its_own_figures(spark: SparkSession) -> None:
    df = spark.sql(
        "SELECT a.city, count(*) FROM lake.orders a JOIN lake.orders b ON a.order_id = b.order_id "
        "WHERE a.day = '2024-01-01' AND b.quantity > 3 GROUP BY a.city"
    )
    df.collect()
    report = lakescan.report(df)
    assert len(report.scans) == 2
    assert all(scan.rows and scan.readers for scan in report.scans)


def test_what_the_log_answers_has_no_task(spark: SparkSession) -> None:
    df = spark.sql("SELECT count(*) FROM lake.orders")
    df.collect()
    (scan,) = lakescan.report(df).scans
    assert (scan.metadata_only, scan.readers, scan.files_planned) == (True, (), 0)


def test_the_page_has_the_plan_and_every_file(spark: SparkSession) -> None:
    df = spark.sql("SELECT city FROM lake.orders WHERE day = '2024-01-03' AND order_id IS NOT NULL")
    df.collect()
    page = lakescan.report(df).html()
    assert "BatchScan" in page
    assert "skipped by partitions: " in page
    assert page.count("<rect ") == 22


def test_explain_has_no_noise(spark: SparkSession) -> None:
    df = spark.sql("SELECT city FROM lake.orders WHERE order_id = 10")
    text = df._jdf.queryExecution().toString()
    assert "order_id = 10" in text
    assert "order_id IS NOT NULL" in text
    assert "int64 '10'" not in text
    assert "NOT (`order_id` IS NULL)" not in text
