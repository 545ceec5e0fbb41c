"""A SparkSession that is ready for Lakescan."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from lakescan.spark.bridge.java import refuse_without_java
from lakescan.spark.dsv2.install import install_catalogs

_QUIET = {"spark.ui.showConsoleProgress": "false", "spark.ui.enabled": "false"}


def make_session(conf: Mapping[str, Any]) -> SparkSession:
    settings: dict[str, Any] = _QUIET | {
        key.replace("_", "."): str(value) for key, value in conf.items() if key not in ("master", "app_name")
    }
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(conf.get("app_name", "lakescan")).config(map=settings)
    if "master" in conf or not os.environ.get("MASTER"):
        builder = builder.master(conf.get("master", "local[*]"))
    fresh = SparkSession.getActiveSession() is None
    try:
        spark = builder.getOrCreate()
    except PySparkRuntimeError as error:
        refuse_without_java(error)
        raise
    if fresh:
        spark.sparkContext.setLogLevel("ERROR")
    install_catalogs(spark)
    return spark
