"""The table formats there are: the one place that names them.

To add a format, add its folder and a line here.
"""

import os
from collections.abc import Callable, Mapping

from lakescan.delta import DeltaTable, is_delta, open_delta
from lakescan.delta.stream.pinned import PinnedDeltaStream
from lakescan.errors import InvalidOption, TableNotFound
from lakescan.hudi import HudiTable, is_hudi
from lakescan.hudi.query_type import QUERY_TYPE, query_type
from lakescan.hudi.query_type import as_asked as hudi_as_asked
from lakescan.hudi.snapshot import HudiSnapshot
from lakescan.hudi.stream.pinned import PinnedHudiStream
from lakescan.scan.snapshot import Snapshot, Table
from lakescan.scan.stream import PinnedStream
from lakescan.storage import Storage

_FORMATS: dict[str, tuple[Callable[[Storage], bool], Callable[[Storage, str], Table]]] = {
    "delta": (is_delta, open_delta),
    "hudi": (is_hudi, HudiTable),
}
# Read options of a format's own, in small letters.
FORMATS_OPTIONS = (QUERY_TYPE,)


def format_at(storage: Storage) -> str | None:
    """The name of the format of the table at a location, None where there is no table."""
    return next((name for name, (detect, _) in _FORMATS.items() if detect(storage)), None)


def open_table(location: str | os.PathLike[str], time_zone: str = "UTC") -> Table:
    """The table at a location, whichever format it is in.

    A Delta location may name a version: `orders@v12`, or `orders@20240131120000000` for the one at that time.
    `time_zone` is for times without a zone: partition values, and the moments of time travel.
    """
    storage = Storage.at(location)
    found = format_at(storage)
    if found is None:
        raise TableNotFound(storage.location)
    return _FORMATS[found][1](storage, time_zone)


def as_asked(snapshot: Snapshot, options: Mapping[str, str]) -> Snapshot:
    """The snapshot, or the part of its rows that a format's own read options ask for."""
    if isinstance(snapshot, HudiSnapshot):
        return hudi_as_asked(snapshot, options)
    if query_type(options) != "snapshot":
        raise InvalidOption(QUERY_TYPE, f"{snapshot.location} is no Hudi table.")
    return snapshot


def pin_stream(table: Table, options: Mapping[str, str]) -> PinnedStream | None:
    """The table as a stream with these options, None where its format cannot be read as one."""
    if isinstance(table, DeltaTable):
        return PinnedDeltaStream.of(table, options)
    return PinnedHudiStream.of(table, options) if isinstance(table, HudiTable) else None
