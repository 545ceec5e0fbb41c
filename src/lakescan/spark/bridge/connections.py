"""Few connections from Java to Python, however many threads Spark has for a query: `PythonCalls.java` says how.

One call for each Spark context; the class stays with the JVM, and with the context's end no connection waits any more.
"""

import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from py4j.java_gateway import JavaObject

from lakescan.spark.bridge.java_classes import driver_class

if TYPE_CHECKING:
    from lakescan.spark.bridge.jvm import Bridge

_bounded: WeakSet[Any] = WeakSet()
_installers: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_lock = threading.Lock()


def bound_connections(bridge: "Bridge") -> None:
    """From now on, calls from the context's JVM share the connections that there are."""
    context: Any = bridge.spark.sparkContext
    with _lock:
        if context in _bounded:
            return
        gateway: Any = bridge.gateway
        if gateway not in _installers:
            methods = driver_class(bridge, "PythonCalls").getMethods()
            _installers[gateway] = next(method for method in methods if method.getName() == "install")
        server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
        _installers[gateway].invoke(None, bridge.array("java.lang.Object", [server, context._jsc.sc()]))
        _bounded.add(context)
