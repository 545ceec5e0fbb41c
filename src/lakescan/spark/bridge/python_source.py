"""How a Python data source is registered so that it knows the session's time zone.

Spark runs a Python source in a process of its own and tells it its options, and nothing of the session. What it does
pass on is the environment that was registered with the source; `SessionEnvironment.java` puts the zone into that, anew
each time, so a zone that is set later holds too. Where a source was registered in another way (Spark Connect) the zone
is not known.
"""

import os
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.udf import _wrap_function

from lakescan.spark.bridge.java_classes import driver_class
from lakescan.types.time_zones import UNKNOWN

if TYPE_CHECKING:
    from lakescan.spark.bridge.jvm import Bridge

_ZONE = "LAKESCAN_SESSION_TIME_ZONE"
_SOURCE = "org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource"


def session_zone() -> str:
    """The zone of the session that this worker works for; `UNKNOWN` where it was not told."""
    return os.environ.get(_ZONE, UNKNOWN)


def register(bridge: "Bridge", source: type[DataSource]) -> None:
    """Register a source with the session, as PySpark does but for its environment."""
    plain: Any = _wrap_function(bridge.spark.sparkContext, source)
    java_class = driver_class(bridge, "SessionEnvironment")
    environment = java_class.getConstructors()[0].newInstance(
        bridge.array("java.lang.Object", [plain.envVars(), _ZONE])
    )
    function = plain.copy(
        plain.command(),
        environment,
        plain.pythonIncludes(),
        plain.pythonExec(),
        plain.pythonVer(),
        plain.broadcastVars(),
        plain.accumulator(),
    )
    # Not by the session's own way, which refuses a name that a Java class has too: ours has it.
    registered_sources(bridge).put(source.name(), bridge.java_class(_SOURCE)(function))


def finds_by_itself(bridge: "Bridge") -> bool:
    """Whether a source of ours is left to Spark to find, by `pyspark_lakescan`, and not registered with a session.

    For each stream Spark copies the session, and 4.0 then refuses a source that was registered by a name which it also
    finds by itself.
    """
    return str(bridge.spark.version).startswith("4.0.")


def registered_sources(bridge: "Bridge") -> Any:
    """The sources that a session was given, by name: a Java map.

    Asked by its own methods, Spark would look for those that it finds by itself too, which takes a process of Python's.
    """
    manager = bridge.spark._jsparkSession.sessionState().dataSourceManager()
    field = manager.getClass().getDeclaredField("runtimeDataSourceBuilders")
    field.setAccessible(True)
    return field.get(manager)
