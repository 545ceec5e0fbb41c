"""One version of a table for one query, whoever made the query's parts and when, and by whichever names it calls it.

A query meets a table twice: when it is analyzed, which decides its columns, and when it is optimized, which decides
its rows. Each of the two is an object of Spark's own, compared by identity; the first part of it that names a table
decides the version for all of them. It is remembered as long as Java has the object: however many others come, none
that lives is forgotten, and none that is gone is kept.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from threading import Lock
from weakref import WeakValueDictionary

from lakescan.errors import ReplacedWhilePlanned
from lakescan.io.storage import Storage
from lakescan.scan.identity import SnapshotIdentity
from lakescan.scan.snapshot import Snapshot, Table
from lakescan.spark.bridge import JavaObject, LivingObjects

_FEW = 16


@dataclass(frozen=True)
class _Pinned:
    """The version in which a query has met a table."""

    version: int | str
    identity: SnapshotIdentity
    # Weak: a version may be large. By the location as it is spelled, and the zone.
    seen: WeakValueDictionary[tuple[Storage, str], Snapshot]

    @staticmethod
    def of(snapshot: Snapshot, table: Table) -> "_Pinned":
        return _Pinned(
            snapshot.version, snapshot.identity, WeakValueDictionary({(table.storage, table.zone): snapshot})
        )

    def of_table(self, table: Table) -> Snapshot:
        """The version as the table gives it that the query names now."""
        seen = self.seen.get((table.storage, table.zone))
        if seen is None:
            other = next(iter(self.seen.values()), None) or self._again(table)
            seen = self.seen[table.storage, table.zone] = other.seen_at(table.storage, table.zone)
        return seen

    def _again(self, table: Table) -> Snapshot:
        """The version once more, where all that was planned of it is gone."""
        snapshot = table.snapshot(self.version)
        there, wanted = snapshot.identity, self.identity
        if (there.table.id, there.log) != (wanted.table.id, wanted.log):
            raise ReplacedWhilePlanned(table.location, self.version)
        return snapshot


class _Query:
    """What a query has met so far, by the folder that a table is in."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._met: dict[Hashable, _Pinned] = {}

    def newest(self, table: Table) -> Snapshot:
        with self._lock:
            met = self._met.get(table.storage.place)
            if met is not None:
                return met.of_table(table)
            snapshot = table.snapshot()
            self._met[table.storage.place] = _Pinned.of(snapshot, table)
            return snapshot


class PinnedVersions:
    """The versions that the queries of a JVM have met."""

    def __init__(self, queries: LivingObjects) -> None:
        self._lock = Lock()
        self._queries = queries
        self._met: dict[int, _Query] = {}
        self._next = 0
        self._many = _FEW

    def newest(self, query: JavaObject | None, table: Table) -> Snapshot:
        """The version in which the query has met the table, else the newest there is."""
        if query is None or table.asks_one_version:
            return table.snapshot()
        with self._lock:
            met = self._met_by(query)
        return met.newest(table)

    def _met_by(self, query: JavaObject) -> _Query:
        number = self._queries.number(query, self._next)
        if number < self._next:
            return self._met[number]
        if len(self._met) >= self._many:
            self._forget_what_is_gone()
        self._next += 1
        return self._met.setdefault(number, _Query())

    def _forget_what_is_gone(self) -> None:
        # Asked again only when there are twice as many: a long list of living queries is not gone through each time.
        living = self._queries.living()
        self._met = {number: met for number, met in self._met.items() if number in living}
        self._many = max(_FEW, 2 * len(self._met))
