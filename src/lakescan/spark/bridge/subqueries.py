"""A session's rule by which scalar subqueries of one table become one: `MergedSubqueries.java` says how."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lakescan.spark.bridge.java_classes import driver_class
from lakescan.spark.bridge.jvm import Bridge
from lakescan.spark.bridge.proxy import JavaObject, Proxy


@dataclass(frozen=True)
class MergedScan:
    """A scan in the place of others."""

    scan: Proxy
    places: dict[int, tuple[int, ...]]
    """For each of the others, by its number, which of this scan's columns its own are."""


class _Merging(Proxy):
    """Calls a function with the scans of a plan's subqueries."""

    def __init__(self, bridge: Bridge, merge: Callable[[Sequence[object]], Sequence[MergedScan]]) -> None:
        super().__init__(bridge)
        self._merge = merge

    def call(self, scans: JavaObject) -> JavaObject:
        known = [self.bridge.python_object(scan) for scan in scans]
        groups = self._merge(known)
        words = [""] * len(known)
        for number, group in enumerate(groups, start=1):
            for at, places in group.places.items():
                words[at] = f"{number}:{','.join(map(str, places))}"
        merged = [self.bridge.remembered(group.scan) for group in groups]
        return self.bridge.array("java.lang.Object", [";".join(words), *merged])

    class Java:
        implements = ("org.apache.spark.sql.api.java.UDF1",)


def merge_subqueries(bridge: Bridge, merge: Callable[[Sequence[object]], Sequence[MergedScan]]) -> None:
    """Let a session's subqueries be merged as a function says of their scans, which may be others' than ours."""
    methods = driver_class(bridge, "MergedSubqueries").getMethods()
    put = next(method for method in methods if method.getName() == "put")
    experimental = bridge.spark._jsparkSession.experimental()
    put.invoke(None, bridge.array("java.lang.Object", [experimental, _Merging(bridge, merge)]))
