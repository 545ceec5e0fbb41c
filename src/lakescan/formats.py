"""The table formats there are: the one place that names them.

To add a format, add its folder and a line here.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lakescan.delta import DeltaTable, is_delta, open_delta
from lakescan.delta import options as delta_options
from lakescan.delta.stream.pinned import PinnedDeltaStream
from lakescan.errors import InvalidOption, TableNotFound
from lakescan.hudi import HudiTable, is_hudi
from lakescan.hudi import options as hudi_options
from lakescan.hudi.stream.pinned import PinnedHudiStream
from lakescan.options import Options, Read, given_options
from lakescan.scan import settings
from lakescan.scan.snapshot import Snapshot, Table
from lakescan.scan.stream import PinnedStream
from lakescan.storage import Storage


@dataclass(frozen=True)
class Format:
    """What is asked of a format before and beside its tables."""

    detect: Callable[[Storage], bool]
    open: Callable[[Storage, str], Table]
    options: Options
    asked_of: Callable[..., Any]
    """What a batch with some options reads: `(table, given, newest) -> Snapshot`."""
    range_asked: Callable[[Mapping[str, str]], str | None]
    """The option by which a batch asks for a range of versions, None where it asks for one."""
    pinned: Callable[..., dict[str, str]]
    """The options that ask for just what a snapshot is, now and later: `(snapshot, given) -> given`."""


_FORMATS = {
    "delta": Format(
        is_delta,
        open_delta,
        delta_options.OPTIONS,
        delta_options.asked_of,
        delta_options.range_asked,
        delta_options.pinned,
    ),
    "hudi": Format(
        is_hudi,
        HudiTable,
        hudi_options.OPTIONS,
        hudi_options.asked_of,
        hudi_options.range_asked,
        hudi_options.pinned,
    ),
}
OPTIONS = {name: found.options + settings.OPTIONS for name, found in _FORMATS.items()}
"""Every option of every format's tables."""
STATE_OPTIONS = sorted({name for known in OPTIONS.values() for name in known.state_names()})
"""Every spelling of those that decide which rows or columns a table has."""
TRAVEL = ("versionAsOf", "timestampAsOf", hudi_options.AS_OF)
"""Those that ask for one version."""


def format_at(storage: Storage) -> str | None:
    """The name of the format of the table at a location, None where there is no table."""
    return next((name for name, known in _FORMATS.items() if known.detect(storage)), None)


def open_table(location: str | os.PathLike[str], time_zone: str = "UTC") -> Table:
    """The table at a location, whichever format it is in.

    A Delta location may name a version: `orders@v12`, or `orders@20240131120000000` for the one at that time.
    `time_zone` is for times without a zone: partition values, and the moments of time travel.
    """
    storage = Storage.at(location)
    found = format_at(storage)
    if found is None:
        raise TableNotFound(storage.location)
    return _FORMATS[found].open(storage, time_zone)


def checked(options: Mapping[str, Any], format_: str, *reads: Read, more: Options | None = None) -> dict[str, str]:
    """The options by their own names; one that such a read of such a table does not have is refused.

    `more` are options that only the door has by which they came.
    """
    known = OPTIONS[format_] + more if more else OPTIONS[format_]
    return given_options(options, known, reads, OPTIONS.values())


def asked(table: Table, given: Mapping[str, str], newest: Callable[[], Snapshot], travelled: bool = False) -> Snapshot:
    """What a batch with these options reads; `newest` is the version where they ask for none.

    Where `travelled` is true, that version was asked for in another way, which comes before what options say.
    """
    format_ = _FORMATS[table.format]
    if travelled:
        span = format_.range_asked(given)
        if span is not None:
            raise InvalidOption(span, "it reads a range of versions, and one version is asked for too.")
        given = {name: value for name, value in given.items() if name not in TRAVEL}
    found: Snapshot = format_.asked_of(table, given, newest)
    return found


def pinned(snapshot: Snapshot, given: Mapping[str, str]) -> dict[str, str]:
    """The options that ask for just what a snapshot is that was read with `given`, whatever is committed later."""
    return _FORMATS[snapshot.format].pinned(snapshot, given)


def sets_rows(format_: str, name: str) -> bool:
    """Whether an option decides which rows or columns a table has."""
    found = OPTIONS[format_].find(name)
    return found is not None and found.sets_rows


def pin_stream(table: Table, options: Mapping[str, str]) -> PinnedStream | None:
    """The table as a stream with these options, None where its format cannot be read as one."""
    if isinstance(table, DeltaTable):
        return PinnedDeltaStream.of(table, options)
    return PinnedHudiStream.of(table, options) if isinstance(table, HudiTable) else None
