"""A SparkSession that is ready for Lakescan, or what to do where Spark has no Java to start one with."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from lakescan.errors import JavaNotFound
from lakescan.spark.dsv2.install import install_catalogs

_OLDEST_JAVA = 17
_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_QUIET = {"spark.ui.showConsoleProgress": "false", "spark.ui.enabled": "false"}


def make_session(conf: Mapping[str, Any]) -> SparkSession:
    settings = {key.replace("_", "."): str(value) for key, value in conf.items() if key not in ("master", "app_name")}
    spark = started(settings, conf.get("app_name", "lakescan"), conf.get("master"))
    install_catalogs(spark)
    return spark


def started(settings: Mapping[str, str], app_name: str, master: str | None = None) -> SparkSession:
    """A quiet session with these settings, or the one that is active; `master` is asked of the environment first."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    given: dict[str, Any] = {**_QUIET, **settings}
    builder = SparkSession.builder.appName(app_name).config(map=given)
    if master is not None or not (os.environ.get("MASTER") or "spark.master" in settings):
        builder = builder.master(master or "local[*]")
    fresh = SparkSession.getActiveSession() is None
    try:
        spark = builder.getOrCreate()
    except PySparkRuntimeError as error:
        refuse_without_java(error)
        raise
    if fresh:
        spark.sparkContext.setLogLevel("ERROR")
    return spark


def refuse_without_java(error: PySparkRuntimeError) -> None:
    """Raise an error that says what to do where a session could not be made for want of a Java that Spark can use."""
    if error.getCondition() != "JAVA_GATEWAY_EXITED":
        return
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None:
        raise JavaNotFound("none was found: JAVA_HOME is not set and there is no java on the PATH") from None
    if not os.access(java, os.X_OK):
        raise JavaNotFound(f"JAVA_HOME is {home}, where there is no bin/java") from None
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    release = _JAVA_VERSION.search(said)
    if release and int(release[1]) < _OLDEST_JAVA:
        raise JavaNotFound(f"{java} is Java {release[1]}") from None
