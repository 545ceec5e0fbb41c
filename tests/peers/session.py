"""One Spark session with Delta's own catalog and, beside it, Lakescan: made for thousands of tiny statements."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

import lakescan


def start(warehouse: Path) -> SparkSession:
    try:
        release = version("delta-spark")
    except PackageNotFoundError:
        pytest.exit("Delta Spark is not installed in this environment: run `make peers`.", returncode=1)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings: dict[str, Any] = {
        # As delta.configure_spark_with_delta_pip says it, whose package has the name of a folder of these tests.
        "spark.jars.packages": f"io.delta:delta-spark_{'.'.join(pyspark.__version__.split('.')[:2])}_2.13:{release}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        # Thousands of tiny statements: quick compilation beats quick code.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.ui.explainMode": "simple",
        "spark.sql.maxPlanStringLength": "100",
        "spark.sql.ui.retainedExecutions": "1",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        # Several row groups in a file of a few hundred rows.
        "spark.hadoop.parquet.block.size": "4096",
        "spark.hadoop.parquet.page.size": "1024",
        "spark.hadoop.parquet.page.size.row.check.min": "20",
        "spark.hadoop.parquet.page.size.row.check.max": "40",
    }
    builder = SparkSession.builder.master("local[2]").appName("peers").config(map=settings)
    try:
        spark = builder.getOrCreate()
        _ = _jvm(spark).org.apache.spark.sql.delta.DeltaLog.forTable
    except Exception as error:
        pytest.exit(
            f"Delta Spark {release} did not start ({str(error).splitlines()[0]}). Its JARs come from "
            "Maven Central; without them nothing can be compared.",
            returncode=1,
        )
    spark.sparkContext.setLogLevel("OFF")
    return lakescan.install(spark)


@contextmanager
def settings(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """The session with these settings, for as long as the block runs."""
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in wanted:
            spark.conf.unset(name)


def _jvm(spark: SparkSession) -> Any:
    """The JVM's packages; a session that runs always has them."""
    return spark._jvm


def delta_log(spark: SparkSession, path: str) -> Any:
    """Delta Spark's own object for a table's log."""
    return _jvm(spark).org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
