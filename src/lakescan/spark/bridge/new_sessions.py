"""New sessions of an application, told to Python before their first statement: `NewSessions.java` says how."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from lakescan.spark.bridge.java_classes import driver_class
from lakescan.spark.bridge.jvm import Bridge, python_session
from lakescan.spark.bridge.proxy import JavaObject, Proxy


class Told(Proxy):
    """Calls a function with each new session."""

    def __init__(self, bridge: Bridge, prepare: Callable[[SparkSession], object]) -> None:
        super().__init__(bridge)
        self._prepare = prepare

    def call(self, session: JavaObject) -> None:
        self._prepare(python_session(session))

    class Java:
        implements = ("org.apache.spark.sql.api.java.UDF1",)


def prepare_new_sessions(bridge: Bridge, prepare: Callable[[SparkSession], object]) -> bool:
    """Call a function with each session that is made from now on; False where one is called for them already."""
    extensions = bridge.spark._jsparkSession.extensions()
    return bool(_method(bridge, "tell").invoke(None, _arguments(bridge, extensions, Told(bridge, prepare))))


def parser_below(bridge: Bridge, parser: JavaObject) -> JavaObject:
    """The parser that a session had before its own first use was waited for."""
    return _method(bridge, "below").invoke(None, _arguments(bridge, parser))


def _method(bridge: Bridge, name: str) -> Any:
    return next(m for m in driver_class(bridge, "NewSessions").getMethods() if m.getName() == name)


def _arguments(bridge: Bridge, *arguments: Any) -> JavaObject:
    return bridge.array("java.lang.Object", arguments)
