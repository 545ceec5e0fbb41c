"""The tables that a driver has open, each opened once, and which version of them a query reads.

A table stays open between queries, so that an unchanged log is not read again. Where it is no longer there, its folder
is looked at anew: it may hold another table now, of another format.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from lakescan.errors import TableNotFound, WrongFormat
from lakescan.formats.registry import open_table
from lakescan.io.storage import Storage
from lakescan.scan.snapshot import Table
from lakescan.spark.bridge import Bridge, JavaObject, LivingObjects
from lakescan.spark.bridge.hadoop import storage_at
from lakescan.spark.dsv2.pinned_versions import PinnedVersions

_MOST_TABLES = 32
_PINNED: WeakKeyDictionary[JavaObject, PinnedVersions] = WeakKeyDictionary()
_Loaded = TypeVar("_Loaded")


class OpenedTables:
    """A bounded number of tables, by where they are and the zone of their times."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._tables: OrderedDict[tuple[Storage, str], Table] = OrderedDict()

    def at(self, storage: Storage, zone: str) -> Table:
        with self._lock:
            table = self._tables.get((storage, zone))
            if table is not None:
                self._tables.move_to_end((storage, zone))
                return table
        opened = open_table(storage.location, zone, storage.configuration)
        with self._lock:
            table = self._tables.setdefault((storage, zone), opened)
            if len(self._tables) > _MOST_TABLES:
                self._tables.popitem(last=False)
            return table

    def forget(self, location: str) -> bool:
        """Whether there were tables open at a location: now there are none."""
        with self._lock:
            there = [key for key in self._tables if key[0].location == location]
            for key in there:
                del self._tables[key]
            return bool(there)


OPENED = OpenedTables()


def or_anew(path: str | os.PathLike[str], load: Callable[[], _Loaded]) -> _Loaded:
    """What is loaded of the table at a path; where it is gone or of another format, of the one that is there now."""
    try:
        return load()
    except (TableNotFound, WrongFormat):
        if not OPENED.forget(Storage.at(path).location):
            raise
    return load()


def table_format(
    bridge: Bridge, path: str, zone: str | None = None, options: Mapping[str, str] | None = None
) -> str | None:
    """The format of the table at a path, None where there is none; storage is not asked twice for a table's."""
    try:
        return OPENED.at(storage_at(bridge, path, options), zone or bridge.time_zone).format
    except TableNotFound:
        return None


def kept_open(bridge: Bridge, path: str | os.PathLike[str]) -> Table:
    """The table at a path, opened once."""
    return OPENED.at(storage_at(bridge, path), bridge.time_zone)


def zone_of(bridge: Bridge, options: Mapping[str, Any]) -> str:
    """The zone of times that name none."""
    return next((value for name, value in options.items() if name.lower() == "timezone"), bridge.time_zone)


def pinned_versions(bridge: Bridge) -> PinnedVersions:
    """The one memory of a JVM's queries, whichever catalog asks."""
    if bridge.gateway not in _PINNED:
        _PINNED[bridge.gateway] = PinnedVersions(LivingObjects(bridge))
    return _PINNED[bridge.gateway]
