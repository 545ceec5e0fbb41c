"""Spark's Connect service in the driver's JVM: started and ended by hand, when every session is prepared for it."""

from typing import Any

from py4j.finalizer import ThreadSafeFinalizer
from py4j.protocol import Py4JJavaError, Py4JNetworkError

from lakescan.errors import ServerFailed
from lakescan.spark.bridge.jvm import Bridge

_SERVICE = "org.apache.spark.sql.connect.service.SparkConnectService"
HOST, PORT = "spark.connect.grpc.binding.address", "spark.connect.grpc.binding.port"


def start_service(bridge: Bridge) -> int:
    """The port on which it listens: that of the context's settings, any free one where they say 0."""
    try:
        bridge.java_class(_SERVICE).start(bridge.spark._jsparkSession.sparkContext())
    except Py4JJavaError as failure:
        raise _failed(bridge, failure) from failure
    return int(getattr(bridge.java_class(_SERVICE + "$"), "MODULE$").localPort())


def stop_service(bridge: Bridge) -> None:
    none = bridge.java_class("scala.Option").empty()
    bridge.java_class(_SERVICE).stop(none, none)


def jvm_has_ended(bridge: Bridge) -> bool:
    process: Any = getattr(bridge.gateway, "proc", None)
    return process is not None and process.poll() is not None


def context_has_ended(bridge: Bridge) -> bool:
    """Whether the context was stopped in a JVM that lives on, as where a cluster has ended the application."""
    try:
        return bool(bridge.spark._jsparkSession.sparkContext().isStopped())
    except Py4JNetworkError:
        # The JVM has just ended, which who asks for that is told.
        return False


def forget_java_objects() -> None:
    """Of a JVM that has ended: to give its objects back, one by one, would fail and be logged."""
    ThreadSafeFinalizer.clear_finalizers(clear_all=True)


def _failed(bridge: Bridge, failure: Py4JJavaError) -> ServerFailed:
    cause, said = failure.java_exception, []
    while cause is not None:
        said.append(str(cause.toString()))
        cause = cause.getCause()
    conf = bridge.spark.sparkContext.getConf()
    address = f"{conf.get(HOST, '')}:{conf.get(PORT, '')}"
    if any("BindException" in line for line in said):
        return ServerFailed(f"{address} is taken, or not of this machine. Choose another --port (0 is any) or --host.")
    return ServerFailed(f"Spark's Connect service did not start on {address}: {said[-1]}")
