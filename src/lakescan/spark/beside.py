"""Lakescan for a driver that is not Python: this process serves its catalogs, data sources and new sessions."""

import os
import signal
import sys
from typing import Any

from pyspark.conf import SparkConf
from pyspark.core.context import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from pyspark.version import __version__

from lakescan.errors import UnsupportedSpark
from lakescan.spark.bridge import Bridge
from lakescan.spark.bridge.java_classes import beside_class, digest_of_texts
from lakescan.spark.bridge.jvm import python_session
from lakescan.spark.bridge.new_sessions import Told
from lakescan.spark.dsv2.configured import serve_configured
from lakescan.spark.dsv2.data_source import serve_sources
from lakescan.spark.dsv2.install import install_alone

_WORKERS = "spark.pyspark.python"


def serve(release: str, digest: str) -> None:
    """Serve the driver of a release whose gateway the environment names, and whose JAR has this digest.

    Its sessions are not touched: whoever waits for this process holds one, and prepares it when this has returned.
    """
    # Ctrl-C in the driver's terminal is for the driver.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if __version__.split(".")[:2] != release.split(".")[:2]:
        raise UnsupportedSpark(
            f"This driver is Spark {release}, and {sys.executable} beside it has PySpark {__version__}: pip install "
            f"'pyspark=={release}' there."
        )
    if digest != digest_of_texts():
        raise UnsupportedSpark(
            f"This driver's JAR was made by another release of Lakescan than the one of {sys.executable}. Make it anew "
            "there: lakescan jar."
        )
    gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    java_context = gateway.jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(
        gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
    )
    conf = SparkConf(_jconf=java_context.getConf())
    if conf.contains(_WORKERS):
        os.environ["PYSPARK_PYTHON"] = str(conf.get(_WORKERS))
    SparkContext(gateway=gateway, jsc=java_context, conf=conf)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    bridge = Bridge(python_session(_any_session(gateway)))
    serve_configured(bridge.spark)
    sources = bridge.java_class("java.util.ArrayList")()
    for name in serve_sources(bridge):
        sources.add(name)
    beside_class(bridge).serves(Told(bridge, _prepare), sources)


def _prepare(spark: SparkSession) -> None:
    # New sessions stay with `PythonBeside.java`, which looks whether this process is there.
    install_alone(spark)


def _any_session(gateway: Any) -> Any:
    sessions = gateway.jvm.org.apache.spark.sql.classic.SparkSession
    default = sessions.getDefaultSession()
    return default.get() if default.isDefined() else sessions.active()
