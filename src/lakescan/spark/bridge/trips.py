"""Fewer trips between Python and the JVM: a query of five tables would make thousands, each of a tenth of a millisecond
or more. What takes many is asked of `SparkState.java` in one, and a class's members are looked up once.
"""

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from py4j.java_gateway import JavaClass

from lakescan.spark.bridge.java_classes import driver_class

if TYPE_CHECKING:
    from lakescan.spark.bridge.jvm import Bridge

_states: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_classes: WeakKeyDictionary[Any, dict[str, "KnownClass"]] = WeakKeyDictionary()


class KnownClass:
    """A Java class as Py4J gives it, whose methods and constants are looked up once; for classes whose static fields
    do not change."""

    def __init__(self, name: str, gateway: Any) -> None:
        # By its name at once: looking a path up part by part makes the JVM search every JAR for each part.
        self._class: Any = JavaClass(name, gateway._gateway_client)

    def __call__(self, *arguments: Any) -> Any:
        return self._class(*arguments)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._class, name)
        setattr(self, name, member)
        return member


def known_class(gateway: Any, name: str) -> KnownClass:
    known = _classes.setdefault(gateway, {})
    if name not in known:
        known[name] = KnownClass(name, gateway)
    return known[name]


def spark_state(bridge: "Bridge") -> Any:
    """The one `SparkState` of a JVM."""
    if bridge.gateway not in _states:
        constructor = driver_class(bridge, "SparkState").getConstructors()[0]
        _states[bridge.gateway] = constructor.newInstance(bridge.array("java.lang.Object", []))
    return _states[bridge.gateway]
