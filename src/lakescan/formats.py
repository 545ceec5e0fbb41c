"""The table formats there are: the one place that names them.

To add a format, add its folder and a line here.
"""

import os
from collections.abc import Callable, Mapping

from lakescan.delta import DeltaTable, is_delta, open_delta
from lakescan.delta.stream.pinned import PinnedDeltaStream
from lakescan.errors import TableNotFound
from lakescan.scan.snapshot import Table
from lakescan.scan.stream import PinnedStream
from lakescan.storage import Storage

_FORMATS: tuple[tuple[Callable[[Storage], bool], Callable[[Storage, str], Table]], ...] = ((is_delta, open_delta),)


def is_table(storage: Storage) -> bool:
    return any(detect(storage) for detect, _ in _FORMATS)


def open_table(location: str | os.PathLike[str], time_zone: str = "UTC") -> Table:
    """The table at a location, whichever format it is in.

    A Delta location may name a version: `orders@v12`, or `orders@20240131120000000` for the one at that time.
    `time_zone` is for times without a zone: partition values, and the moments of time travel.
    """
    storage = Storage.at(location)
    for detect, make in _FORMATS:
        if detect(storage):
            return make(storage, time_zone)
    raise TableNotFound(storage.location)


def pin_stream(table: Table, options: Mapping[str, str]) -> PinnedStream | None:
    """The table as a stream with these options, None where its format cannot be read as one."""
    return PinnedDeltaStream.of(table, options) if isinstance(table, DeltaTable) else None
