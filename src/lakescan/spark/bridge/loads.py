"""Why Spark loads a table: for its rows, to write to it or to describe it, and with which options.

Spark says so by the overload of `loadTable` that it calls, which differs between its versions, or only by who calls it.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any

from py4j.protocol import Py4JJavaError

from lakescan.spark.bridge.jvm import Bridge
from lakescan.spark.bridge.proxy import JavaObject

# Frames farther away may be those of a query within which this one runs.
_NEAR = 8


def write_asked(arguments: Sequence[Any]) -> str | None:
    """The statement that further arguments of `loadTable` stand for where it would write: Spark asks for privileges."""
    if not arguments or not hasattr(arguments[0], "getClass"):
        return None
    privileges = arguments[0]
    if privileges.getClass().getSimpleName() == "TableContext":
        privileges = privileges.writePrivileges()
    return " and ".join(sorted(str(privilege) for privilege in privileges.toArray())) or None


def time_travel(argument: Any) -> str | int | None:
    """What a further argument of `loadTable` asks for: a version (text), a time (microseconds) or neither."""
    if isinstance(argument, (str, int)):
        return argument
    # Spark 4.3 wraps it in a TableContext; before, anything else is the privileges of a write.
    if not hasattr(argument, "getClass") or argument.getClass().getSimpleName() != "TableContext":
        return None
    travel = argument.timeTravel()
    if not travel.isPresent():
        return None
    asked = travel.get()
    if asked.getClass().getSimpleName() == "AsOfVersion":
        return str(asked.version())
    return int(asked.micros())


def load_options(bridge: Bridge, arguments: Sequence[Any]) -> dict[str, str]:
    """The options among the further arguments of `loadTable`: Spark has given them since 4.3."""
    return bridge.text_map(arguments[1].asCaseSensitiveMap()) if len(arguments) > 1 else {}


def loads_no_relation(bridge: Bridge) -> bool:
    """Whether the calling thread loads a table to describe or change it, and not for its rows."""
    return "lookupTableOrView" in bridge.stack


class Use(Enum):
    """What Spark asks a data source for a table for."""

    ROWS = "a batch"
    STREAM = "a stream"
    NAME = "a table of a catalog"
    NEW_NAME = "CREATE TABLE"
    WRITE = "a write"


# The first that is found among the nearest callers tells; some of them call others.
_USERS = {
    "AsSelect": Use.WRITE,
    "V2SessionCatalog.createTable": Use.NEW_NAME,
    "V2SessionCatalog": Use.NAME,
    "Writer": Use.WRITE,
    "loadV2Source": Use.ROWS,
    "ResolveDataSource": Use.STREAM,
}


def use_of_source(bridge: Bridge) -> Use:
    """What the calling thread wants of the table that it asks a data source for: the nearest caller tells."""
    stack = bridge.stack.split(", ")
    called = next(at for at, frame in enumerate(stack) if ".DefaultSource." in frame)
    near = " ".join(stack[called : called + _NEAR])
    return next((use for name, use in _USERS.items() if name in near), Use.ROWS)


def loads_a_stream(bridge: Bridge) -> bool:
    """Whether the calling thread loads a table for `spark.readStream`."""
    return ".DataStreamReader." in bridge.stack


def session_catalog(bridge: Bridge) -> JavaObject:
    """The catalog of the session's own tables, in whose place a format may have put its own."""
    return bridge.spark._jsparkSession.sessionState().catalogManager().v2SessionCatalog()


def made_catalog(bridge: Bridge, name: str) -> object | None:
    """The catalog of that name where it is one of ours; Spark makes it now where settings name it and it is not yet."""
    sessions = bridge.java_class("org.apache.spark.sql.classic.SparkSession")
    before = sessions.getActiveSession()
    # A catalog is made for the session that is active.
    sessions.setActiveSession(bridge.spark._jsparkSession)
    try:
        bridge.spark._jsparkSession.sessionState().catalogManager().catalog(name)
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()
    return bridge.catalog(name)


def namespaces(bridge: Bridge, names: Sequence[tuple[str, ...]]) -> JavaObject:
    """Namespaces by their parts, as Java lists them."""
    gateway: Any = bridge.gateway
    array = gateway.new_array(bridge.java_class("java.lang.String"), len(names), 0)
    for at, parts in enumerate(names):
        array[at] = bridge.array("java.lang.String", parts)
    return array


def no_such_namespace(bridge: Bridge, names: JavaObject) -> Py4JJavaError:
    missing = bridge.java_class("org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException")(names)
    return Py4JJavaError(f"no namespace {'.'.join(names)}", missing)
