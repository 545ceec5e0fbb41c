"""Every proxy has every method of the Java interfaces that it implements, in the Spark of this environment.

Py4J calls Python for a default method too, so one that a new Spark adds is missing until it is written here.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pyspark
import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

import lakescan.spark
from lakescan.spark.bridge import CATALOG, Bridge, Proxy
from lakescan.spark.dsv2.table import HiddenColumn

pytestmark = pytest.mark.spark


def _proxies() -> list[type[Proxy]]:
    for module in pkgutil.walk_packages(lakescan.spark.__path__, "lakescan.spark."):
        importlib.import_module(module.name)

    def below(parent: type[Proxy]) -> Iterator[type[Proxy]]:
        for child in parent.__subclasses__():
            yield child
            yield from below(child)

    release = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    known = [proxy for proxy in below(Proxy) if proxy.__module__.startswith("lakescan.") and hasattr(proxy, "Java")]
    return [proxy for proxy in known if getattr(proxy.Java, "since", release) <= release]


def _methods(bridge: Bridge, interface: str) -> set[tuple[str, int]]:
    """(name, how many arguments) of what Java may call on the interface."""
    loader = bridge.java_class("java.lang.Thread").currentThread().getContextClassLoader()
    methods = bridge.java_class("java.lang.Class").forName(interface, False, loader).getMethods()
    modifiers = bridge.java_class("java.lang.reflect.Modifier")
    return {
        (str(method.getName()), int(method.getParameterCount()))
        for method in methods
        if not modifiers.isStatic(method.getModifiers())
    }


def _takes(method: Any, count: int) -> bool:
    try:
        inspect.signature(method).bind(None, *range(count))
    except TypeError:
        return False
    return True


def test_every_proxy_has_every_method_of_its_interfaces(spark: SparkSession) -> None:
    bridge, missing, seen = Bridge(spark), [], 0
    for proxy in _proxies():
        for interface in proxy.Java.implements:  # type: ignore[attr-defined]
            for name, count in sorted(_methods(bridge, interface)):
                seen += 1
                if not callable(getattr(proxy, name, None)):
                    missing.append(f"{proxy.__name__} lacks {interface}.{name}")
                elif not _takes(getattr(proxy, name), count):
                    missing.append(f"{proxy.__name__}.{name} does not take {count} arguments")
    assert seen > 100
    assert not missing, "\n".join(missing)


def test_a_method_that_java_calls_and_a_proxy_lacks_is_refused_by_name(spark: SparkSession) -> None:
    class OfLater(Proxy):
        class Java:
            implements = (CATALOG + "MetadataColumn",)

    bridge = Bridge(spark)
    column = bridge.array(CATALOG + "MetadataColumn", [OfLater(bridge)])[0]
    with pytest.raises(IllegalArgumentException) as raised:
        column.isNullable()
    assert f"[LAKESCAN_UNSUPPORTED_SPARK] Spark {spark.version} asks OfLater for isNullable" in str(raised.value)


def test_an_attribute_that_python_looks_for_is_still_missing(spark: SparkSession) -> None:
    assert not hasattr(OfNothing(Bridge(spark)), "_hidden")
    with pytest.raises(AttributeError):
        OfNothing(Bridge(spark)).token  # noqa: B018
    assert issubclass(HiddenColumn, Proxy)


class OfNothing(Proxy):
    """Whose token cannot be told."""

    @property
    def token(self) -> str:
        raise AttributeError("inside")

    class Java:
        implements = ()
