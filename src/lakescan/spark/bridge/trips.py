"""Fewer trips between Python and the JVM: a query of five tables would make thousands, each of a tenth of a millisecond
or more. What takes many is asked of `SparkState.java` in one, what a scan consists of is made by `ScanParts.java`, a
class's members are looked up once, and Java keeps what Python answers for ever (`Remembered.java`). A trip passes
texts, numbers, bytes, objects of Java's and of ours: nothing that Py4J would have to convert.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from py4j.java_gateway import JavaClass, JavaMember

from lakescan.spark.bridge.java_classes import driver_class, executor_class

if TYPE_CHECKING:
    from lakescan.spark.bridge.jvm import Bridge

_rules: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_states: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_parts: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_classes: WeakKeyDictionary[Any, dict[str, "KnownClass"]] = WeakKeyDictionary()


class _Known:
    """A class or an object of Java's as Py4J gives it, whose methods and constants are looked up once.

    Before each call a dozen converters of PySpark's are asked whether they know an argument, as a date, a map or an
    array of numpy's: that was an eighth of Python's part of a query. Here none is asked.
    """

    def __init__(self, given: Any) -> None:
        self._given = given

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._given, name)
        if isinstance(member, JavaMember):
            member.converters = None
        setattr(self, name, member)
        return member


class KnownClass(_Known):
    """A class whose static fields do not change."""

    def __init__(self, name: str, gateway: Any) -> None:
        # By its name at once: looking a path up part by part makes the JVM search every JAR for each part.
        made: Any = JavaClass(name, gateway._gateway_client)
        made._converters = None
        super().__init__(made)

    def __call__(self, *arguments: Any) -> Any:
        return self._given(*arguments)


def known_class(gateway: Any, name: str) -> KnownClass:
    known = _classes.setdefault(gateway, {})
    if name not in known:
        known[name] = KnownClass(name, gateway)
    return known[name]


def spark_state(bridge: "Bridge") -> Any:
    """The one `SparkState` of a JVM."""
    if bridge.gateway not in _states:
        made = driver_class(bridge, "Remembered", "DescribedExpressions", "SparkState")
        _states[bridge.gateway] = _Known(made.getConstructors()[0].newInstance(bridge.array("java.lang.Object", [])))
    return _states[bridge.gateway]


def rewrite_before_pushdown(bridge: "Bridge") -> None:
    """Let the optimizer of the application rewrite plans before it offers pushdowns (`BeforePushdown.java`)."""
    if bridge.gateway not in _rules:
        made = driver_class(bridge, "BeforePushdown")
        _rules[bridge.gateway] = _Known(made.getConstructors()[0].newInstance(bridge.array("java.lang.Object", [])))
    _rules[bridge.gateway].addTo(bridge.spark._jsparkSession)


def scan_parts(bridge: "Bridge") -> Any:
    """The one `ScanParts` of a context."""
    context = bridge.spark.sparkContext
    if context not in _parts:
        constructor = executor_class(bridge, "ScanParts").getConstructors()[0]
        _parts[context] = _Known(constructor.newInstance(bridge.array("java.lang.Object", [])))
    return _parts[context]


def in_words(parts: Iterable[str]) -> str:
    """Texts as one, a NUL behind each: Py4J would make a trip for each item of a list."""
    return "".join(f"{part}\0" for part in parts)
