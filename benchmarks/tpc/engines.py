"""One session with Delta Spark and Lakescan in it, and how a query is sent to either.

A query names tables without a catalog; an engine is the catalog that they are looked up in, and its settings.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

import lakescan

_V2 = "spark.databricks.delta.v2.enableMode"
_DATABASE = "bench"


@dataclass(frozen=True)
class Engine:
    """A reader of Delta tables."""

    name: str
    namespace: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @contextmanager
    def current(self, spark: SparkSession) -> Iterator[None]:
        """The session as long as the block runs: names without a catalog are this engine's tables."""
        for name, value in self.settings.items():
            spark.conf.set(name, value)
        spark.sql(f"USE {self.namespace}")
        try:
            yield
        finally:
            for name in self.settings:
                spark.conf.unset(name)


DELTA = Engine("Delta Spark", f"spark_catalog.{_DATABASE}")
DELTA_V2 = Engine("Delta Spark V2", f"spark_catalog.{_DATABASE}", {_V2: "STRICT"})
LAKESCAN = Engine("Lakescan", "lake")


def start(memory: str, growing: bool = False) -> SparkSession:
    """A session as a user would have it, with Delta Spark's catalog and Lakescan's.

    Its heap has its size from the start, and all of it has been touched: a heap that is `growing` costs whoever runs
    when it grows up to six seconds, and nobody else.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    release = ".".join(pyspark.__version__.split(".")[:2])
    settings: dict[str, Any] = {
        "spark.jars.packages": f"io.delta:delta-spark_{release}_2.13:{version('delta-spark')}",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": "" if growing else f"-Xms{memory} -XX:+AlwaysPreTouch",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.warehouse.dir": tempfile.mkdtemp(prefix="lakescan-bench-"),
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    spark = SparkSession.builder.master("local[*]").appName("tpc").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return lakescan.install(spark)


def register(spark: SparkSession, tables: Mapping[str, Path]) -> None:
    """Each table in both catalogs, under the same name."""
    spark.sql(f"CREATE DATABASE IF NOT EXISTS spark_catalog.{_DATABASE}")
    for name, path in tables.items():
        spark.sql(f"DROP TABLE IF EXISTS spark_catalog.{_DATABASE}.{name}")
        spark.sql(f"CREATE TABLE spark_catalog.{_DATABASE}.{name} USING delta LOCATION '{path}'")
        lakescan.attach(spark, name, str(path))
