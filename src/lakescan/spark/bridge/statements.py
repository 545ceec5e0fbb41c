"""What SQL knows in a session beyond Spark's own: table functions that Python answers, and statements that use them."""

from lakescan.spark.bridge.java_classes import driver_class
from lakescan.spark.bridge.jvm import Bridge
from lakescan.spark.bridge.new_sessions import parser_below
from lakescan.spark.bridge.proxy import JavaObject, Proxy

_SPARKS_OWN = "org.apache.spark.sql.execution.SparkSqlParser"


def put_function(bridge: Bridge, name: str, function: Proxy) -> None:
    """Make a table function known to the session, where it has none of that name."""
    registry = bridge.spark._jsparkSession.sessionState().tableFunctionRegistry()
    # Later releases qualify the names of functions, each in its own way.
    known = str(registry.listFunction().mkString(" ")).replace("`", "").split(" ")
    if any(registered.rpartition(".")[2] == name for registered in known):
        return
    constructor = driver_class(bridge, "TableFunction").getConstructors()[0]
    made = constructor.newInstance(bridge.array("java.lang.Object", [name, function]))
    registry.createOrReplaceTempFunction(name, made, "scala_udf")


def put_statements(bridge: Bridge) -> None:
    """Let the session's parser know the statements of `Statements.java`, where its parser is Spark's own."""
    state = bridge.spark._jsparkSession.sessionState()
    field = state.getClass().getDeclaredField("sqlParser")
    field.setAccessible(True)
    before = field.get(state)
    if before.getClass().getName() != _SPARKS_OWN:
        before = parser_below(bridge, before)
    if before.getClass().getName() != _SPARKS_OWN:
        return
    methods = driver_class(bridge, "Statements").getMethods()
    over = next(method for method in methods if method.getName() == "over")
    field.set(state, over.invoke(None, bridge.array("java.lang.Object", [before, state.catalog()])))


def local_plan(bridge: Bridge, frame: object) -> JavaObject:
    """The plan of a DataFrame, for a query that it becomes a part of."""
    plan: JavaObject = frame
    return plan._jdf.queryExecution().analyzed()
