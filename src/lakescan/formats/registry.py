"""The table formats there are: the one list of them, and every question that is asked of it.

To add a format, add its folder, whose `format.py` exports a `scan.format.Format`, and a line here.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from lakescan.errors import InvalidOption, TableNotFound
from lakescan.formats.delta.format import FORMAT as DELTA
from lakescan.formats.hudi.format import FORMAT as HUDI
from lakescan.io.configuration import FROM_ENVIRONMENT, StorageConfiguration
from lakescan.io.locations import locate
from lakescan.io.storage import Storage
from lakescan.options import Options, Read, given_options
from lakescan.scan import settings
from lakescan.scan.detail import detail_of
from lakescan.scan.format import AnyFormat
from lakescan.scan.snapshot import Snapshot, Table
from lakescan.stream.stream import PinnedStream

FORMATS: tuple[AnyFormat, ...] = (DELTA, HUDI)


def format_named(name: str) -> AnyFormat:
    """The format of that name; a table's and a snapshot's `format` is one."""
    return next(known for known in FORMATS if known.name == name)


def format_at(storage: Storage) -> str | None:
    """The name of the format of the table at a location, None where there is no table.

    A store is not asked once more for each of its tables to find the few whose partition is called as another's sign.
    """
    signs = (known for known in FORMATS if known.detect(storage))
    if locate(storage.location).store:
        return next((known.name for known in signs), None)
    found = list(signs)
    if len(found) > 1:
        found = [known for known in found if known.has_log is None or known.has_log(storage)]
    return found[0].name if found else None


def open_table(
    location: str | os.PathLike[str],
    time_zone: str = "UTC",
    storage: Mapping[str, object] | StorageConfiguration = FROM_ENVIRONMENT,
) -> Table:
    """The table at a location, whichever format it is in: `lakescan.open`, which says what the arguments are."""
    configuration = storage if isinstance(storage, StorageConfiguration) else StorageConfiguration.from_options(storage)
    folder = Storage.at(location, configuration)
    format_name = format_at(folder)
    if format_name is None:
        raise no_table(folder)
    table: Table = format_named(format_name).open(folder, time_zone)
    return table


def no_table(storage: Storage) -> TableNotFound:
    """The error that a location holds a table of no format."""
    return TableNotFound(storage.location, [known.sign for known in FORMATS])


def options_of(format_: str) -> Options:
    """Every option of a format's tables."""
    return format_named(format_).options + settings.OPTIONS


def state_options() -> list[str]:
    """Every spelling of the options, of any format, that decide which rows or columns a table has."""
    return sorted({name for known in FORMATS for name in known.options.state_names()})


def asks_one_version(format_: str, name: str) -> bool:
    """Whether an option asks for one version."""
    option = options_of(format_).find(name)
    return option is not None and option.asks_one_version


def checked(options: Mapping[str, Any], format_: str, *reads: Read, more: Options | None = None) -> dict[str, str]:
    """The options by their own names; one that such a read of such a table does not have is refused.

    `more` are options of the caller's API alone.
    """
    known = options_of(format_) + more if more else options_of(format_)
    return given_options(options, known, reads, [other.options for other in FORMATS])


def asked(table: Table, given: Mapping[str, str], newest: Callable[[], Snapshot], travelled: bool = False) -> Snapshot:
    """What a batch with these options reads; `newest` is the version where they ask for none.

    Where `travelled` is true, that version was asked for in another way, which comes before what options say.
    """
    format_ = format_named(table.format)
    if travelled:
        span = format_.range_asked(given)
        if span is not None:
            raise InvalidOption(span, "it reads a range of versions, and one version is asked for too.")
        given = {name: value for name, value in given.items() if not asks_one_version(table.format, name)}
    snapshot: Snapshot = format_.asked_of(table, given, newest)
    return snapshot


def pinned(snapshot: Snapshot, given: Mapping[str, str]) -> dict[str, str]:
    """The options that ask for just what a snapshot is that was read with `given`, whatever is committed later."""
    return format_named(snapshot.format).pinned(snapshot, given)


def detail(table: Table, known: Mapping[str, str]) -> pa.Table:
    """What a table is now, in one row, with what is known of it by who asks."""
    snapshot = table.snapshot()
    own = format_named(table.format).detail
    return detail_of(snapshot, {**({} if own is None else own(table, snapshot)), **known})


def sets_rows(format_: str, name: str) -> bool:
    """Whether an option decides which rows or columns a table has."""
    option = options_of(format_).find(name)
    return option is not None and option.sets_rows


def can_stream(format_: str) -> bool:
    """Whether tables of a format can be read as a stream."""
    return format_named(format_).pin_stream is not None


def pin_stream(table: Table, options: Mapping[str, str], seen: Snapshot | None = None) -> PinnedStream | None:
    """The table as a stream with these options, None where its format cannot be read as one.

    Its schema is the newest or, where the options do not say otherwise, that of the version which was `seen`.
    """
    pin = format_named(table.format).pin_stream
    return None if pin is None else pin(table, options, seen)
