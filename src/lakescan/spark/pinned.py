"""One version of a table for one query, whichever names the query calls it by.

The first time a query names a table decides the version; a commit that lands while the query is analyzed is not
seen by it. Queries are told apart by an object of Spark's own, compared by identity, or by a number of Spark's;
few are remembered.
"""

from threading import Lock
from weakref import WeakValueDictionary

from lakescan.scan.snapshot import Snapshot, Table
from lakescan.spark.bridge import JavaObject

_QUERIES_KEPT = 16


class PinnedVersions:
    """The newest versions that the latest queries of a JVM have met; `numbers` is a Java map by identity."""

    def __init__(self, numbers: JavaObject) -> None:
        self._lock = Lock()
        self._numbers = numbers
        # Weak: a version that no plan uses any more need not be remembered, and may be large.
        self._met: dict[str, WeakValueDictionary[str, Snapshot]] = {}
        self._next = 0

    def newest(self, query: JavaObject | str | None, table: Table) -> Snapshot:
        """The version in which the query has met the table, else the newest there is."""
        if query is None:
            return table.snapshot()
        with self._lock:
            met = self._met.get(self._key(query))
            if met is None:
                met = self._remember(query)
            found = met.get(table.location)
        return found or met.setdefault(table.location, table.snapshot())

    def _key(self, query: JavaObject | str) -> str:
        return query if isinstance(query, str) else f"analysis {self._numbers.get(query)}"

    def _remember(self, query: JavaObject | str) -> "WeakValueDictionary[str, Snapshot]":
        if len(self._met) >= _QUERIES_KEPT:
            self._numbers.clear()
            self._met.clear()
        if not isinstance(query, str):
            self._next += 1
            self._numbers.put(query, self._next)
        return self._met.setdefault(self._key(query), WeakValueDictionary())
