"""One version of a table for one query, whichever names the query calls it by.

The first time a query names a table decides the version; a commit that lands while the query is analyzed is not
seen by it. A query is an object of Spark's own, compared by identity, and is remembered as long as Java has it: however
many others come, none that lives is forgotten, and none that is gone is kept.
"""

from threading import Lock
from weakref import WeakValueDictionary

from lakescan.scan.snapshot import Snapshot, Table
from lakescan.spark.bridge import JavaObject, LivingObjects

_FEW = 16


class PinnedVersions:
    """The newest versions that the queries of a JVM have met."""

    def __init__(self, queries: LivingObjects) -> None:
        self._lock = Lock()
        self._queries = queries
        # Weak: a version that no plan uses any more need not be remembered, and may be large.
        self._met: dict[int, WeakValueDictionary[str, Snapshot]] = {}
        self._next = 0
        self._many = _FEW

    def newest(self, query: JavaObject | None, table: Table) -> Snapshot:
        """The version in which the query has met the table, else the newest there is."""
        if query is None:
            return table.snapshot()
        with self._lock:
            met = self._met_by(query)
            snapshot = met.get(table.location)
        return snapshot or met.setdefault(table.location, table.snapshot())

    def _met_by(self, query: JavaObject) -> "WeakValueDictionary[str, Snapshot]":
        number = self._queries.number(query, self._next)
        if number < self._next:
            return self._met[number]
        if len(self._met) >= self._many:
            self._forget_what_is_gone()
        self._next += 1
        return self._met.setdefault(number, WeakValueDictionary())

    def _forget_what_is_gone(self) -> None:
        # Asked again only when there are twice as many: a long list of living queries is not gone through each time.
        living = self._queries.living()
        self._met = {number: met for number, met in self._met.items() if number in living}
        self._many = max(_FEW, 2 * len(self._met))
