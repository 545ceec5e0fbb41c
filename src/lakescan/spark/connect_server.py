"""A Spark Connect server: a Python driver in which every client's session has Lakescan.

A client needs nothing of Lakescan. It reads by `format(…)`, by path and by the names that the server was given, with
full pushdown, since it is this driver that plans.
"""

import os
import threading
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution

from pyspark.sql import SparkSession

from lakescan.errors import MissingPackage, ServerFailed
from lakescan.spark.bridge import Bridge
from lakescan.spark.bridge.connect_service import (
    HOST,
    PORT,
    context_has_ended,
    forget_java_objects,
    jvm_has_ended,
    start_service,
    stop_service,
)
from lakescan.spark.dsv2.install import install_everywhere
from lakescan.spark.session import started

# Spark's own list for Connect: a client's foreachBatch runs in a worker of the server, as a client of it.
_NEEDED = ("grpcio", "grpcio-status", "protobuf", "googleapis-common-protos", "pandas", "zstandard")
# An error is one sentence for a client, not a page of the server's stack.
_QUIET = {"spark.sql.connect.serverStacktrace.enabled": "false"}
_LOOKS_EVERY_S = 1.0


class ConnectServer:
    """A server that runs; clients reach it at its address."""

    def __init__(self, spark: SparkSession, host: str, port: int) -> None:
        self._spark, self._bridge = spark, Bridge(spark)
        self.address = f"sc://{f'[{host}]' if ':' in host else host}:{port}"

    def wait(self, end: threading.Event) -> None:
        """Until the end is asked for; fails where Spark ends first."""
        while not end.wait(_LOOKS_EVERY_S):
            if jvm_has_ended(self._bridge):
                raise ServerFailed("its Java process has ended. Start it again, with more memory if that was short.")
            if context_has_ended(self._bridge):
                # Without it clients would find nobody, and Spark's own have them try again for ten minutes.
                raise ServerFailed("Spark has ended its application, as a cluster does that is gone. Start it again.")

    def stop(self) -> None:
        if jvm_has_ended(self._bridge):
            forget_java_objects()
            return
        if not context_has_ended(self._bridge):
            stop_service(self._bridge)
        self._spark.stop()


def start_server(host: str, port: int, settings: Mapping[str, str]) -> ConnectServer:
    """A server with these settings of Spark's. Port 0 is any free one."""
    check_packages()
    # A driver is no client, whatever the shell that starts it is set up for.
    os.environ.pop("SPARK_REMOTE", None)
    spark = started({**_QUIET, **settings, HOST: host, PORT: str(port)}, "lakescan connect")
    try:
        install_everywhere(spark)
        return ConnectServer(spark, host, start_service(Bridge(spark)))
    except BaseException:
        spark.stop()
        raise


def check_packages() -> None:
    """Refuse to start where a package is missing that a client's request may need later."""
    for package in _NEEDED:
        try:
            distribution(package)
        except PackageNotFoundError:
            raise MissingPackage(f"A Spark Connect server, which uses {package},", "'lakescan[connect]'") from None
