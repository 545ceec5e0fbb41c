"""The base of every Java interface that Lakescan implements in Python.

It gives what `java.lang.Object` would give, and it turns whatever is raised in Python into one Java exception with one
message, so that a user meets Spark's own errors. What a method gives to Java lives until Java has taken it.
"""

import functools
import threading
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from py4j.java_gateway import JavaObject as Py4JObject
from py4j.protocol import Py4JJavaError

from lakescan.errors import InternalError, UnsupportedSpark

if TYPE_CHECKING:
    from lakescan.spark.bridge.jvm import Bridge

JavaObject: TypeAlias = Any  # Py4J's, which has no types: whatever Java returned

# The last Java object, or Java exception, that this thread gave to Java. Py4J tells the JVM to forget an object once
# Python has none of it: where that came before the JVM had looked up what a method returned, the method returned null.
# A thread's next call comes after that.
_given = threading.local()


class Proxy:
    """A Python object that implements Java interfaces; `token` decides its equality, as text."""

    ANSWERS_FOR_EVER: ClassVar[Sequence[str]] = ()
    """Methods without arguments that always give the same: where there are any, Java asks for each once."""
    ANSWERS_AT_FIRST: ClassVar[Sequence[str]] = ()
    """Those that give the same until a method with an argument is called. A text that ends with … is never kept."""

    def __init__(self, bridge: "Bridge") -> None:
        self.bridge = bridge

    def __init_subclass__(cls) -> None:
        for name, member in list(vars(cls).items()):
            if callable(member) and not name.startswith("_") and not isinstance(member, type):
                setattr(cls, name, _raising_java_errors(member))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]:
            """What Java calls and this class lacks: a method that a later Spark has added. Py4J knows no defaults."""
            if name.startswith("_") or hasattr(type(self), name):
                raise AttributeError(name)

            def missing(self: Proxy, *_: object) -> None:
                raise UnsupportedSpark(
                    f"Spark {self.bridge.spark.version} asks {type(self).__name__} for {name}, which this release of "
                    "Lakescan does not have. Use PySpark 4.0 to 4.3, or a newer release of Lakescan."
                )

            return functools.partial(_raising_java_errors(missing), self)

    @property
    def token(self) -> str:
        return f"{type(self).__name__}@{id(self)}"

    def toString(self) -> str:
        return self.token

    def equals(self, other: JavaObject | None) -> bool:
        return other is not None and other.toString() == self.token

    def hashCode(self) -> int:
        # Java's hash is a signed 32-bit number; equal tokens must have equal ones in every process.
        return zlib.crc32(self.token.encode()) & 0x7FFFFFFF


def _raising_java_errors(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Proxy, *arguments: Any) -> Any:
        try:
            returned = method(self, *arguments)
        except Py4JJavaError as error:
            _given.object = error.java_exception
            raise
        except Exception as error:
            java_error = self.bridge.java_error(error)
            _given.object = java_error.java_exception
            raise java_error from error
        if isinstance(returned, Proxy) and returned.ANSWERS_FOR_EVER:
            returned = self.bridge.remembered(returned)
        if isinstance(returned, Py4JObject):
            _given.object = returned
        return returned

    return call


class BatchScan(Proxy):
    """A scan that is read in one go: no table of Lakescan's says that Spark may stream it."""

    def toMicroBatchStream(self, *_: object) -> None:
        raise InternalError("Spark asks a scan for a stream that its table does not say it has")

    def toContinuousStream(self, *_: object) -> None:
        raise InternalError("Spark asks a scan for a stream that its table does not say it has")
