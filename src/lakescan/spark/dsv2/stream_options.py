"""From a table that Spark has loaded and a query's options to the stream of it; what a stream cannot have is refused.

Before 4.3 Spark loads a table before it looks at options, so one that gives a stream other columns comes too late.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakescan.errors import InvalidOption, SchemaChanged, UnsupportedFeature
from lakescan.formats.registry import checked, format_named, options_of, pin_stream, sets_rows
from lakescan.options import OF_A_SOURCE, Read
from lakescan.scan.settings import Settings
from lakescan.scan.snapshot import Snapshot, Table
from lakescan.spark.bridge import Bridge
from lakescan.spark.dsv2.stream import StreamedTable, StreamScanBuilder
from lakescan.spark.given_schema import all_nullable, bare
from lakescan.stream.options import OF_A_BATCH
from lakescan.stream.stream import PinnedStream


@dataclass(frozen=True)
class Seen:
    """A table as Spark met it when the DataFrame was made."""

    table: Table
    snapshot: Snapshot
    schema: str
    options: Mapping[str, str]
    is_source: bool
    """Whether all options were known then, and the columns may be some of the stream's."""


def stream_options(options: Mapping[str, str], format_: str) -> dict[str, str]:
    """The options of a stream by their own names; one that only a batch has is refused with what a stream has."""
    known = options_of(format_) + OF_A_SOURCE
    given = checked(options, format_, Read.BATCH, Read.CHANGES, Read.STREAM, more=OF_A_SOURCE)
    for name in given:
        if all(option.name != name for option in known.of_read(Read.STREAM)):
            raise InvalidOption(name, OF_A_BATCH)
    return given


def pinned_stream(table: Table, given: Mapping[str, str], seen: Snapshot) -> PinnedStream:
    """The table as a stream, in the schema of the version that was seen unless the options say otherwise."""
    known = format_named(table.format).options
    pinned = pin_stream(table, {name: value for name, value in given.items() if known.find(name)}, seen)
    if pinned is None:
        raise UnsupportedFeature(table.location, "reading as a stream")
    return pinned


def stream_builder(bridge: Bridge, seen: Seen, options: Mapping[str, str]) -> StreamScanBuilder:
    """The stream of a table with the options of its scan."""
    table = seen.table
    settings = Settings.of(bridge.confs("lakescan."), seen.options, options)
    given = stream_options({**seen.options, **options}, table.format)
    pinned = pinned_stream(table, given, seen.snapshot)
    if not _has_columns(pinned, seen):
        _refuse_late_options(bridge, seen, given)
        raise SchemaChanged(table.location, seen.snapshot.version, "it is not what spark.readStream met")
    names = tuple(field["name"] for field in json.loads(seen.schema)["fields"])
    return StreamScanBuilder(bridge, StreamedTable(bridge, table.location, pinned, settings, names))


def _has_columns(pinned: PinnedStream, seen: Seen) -> bool:
    """Whether a stream has the columns that Spark has met: these and no others, unless they were chosen."""
    met, given = _columns(seen.schema), _columns(pinned.schema_json)
    return all(field in given for field in met) if seen.is_source else met == given


def _refuse_late_options(bridge: Bridge, seen: Seen, given: Mapping[str, str]) -> None:
    """Raise an error that names the option which gives a stream other columns than its table was loaded with."""
    table = seen.table
    for late in (name for name in given if sets_rows(table.format, name) and seen.options.get(name) != given[name]):
        others = {name: value for name, value in given.items() if name != late}
        if _has_columns(pinned_stream(table, others, seen.snapshot), seen):
            raise InvalidOption(
                late,
                "Spark up to 4.2 loads a table before it looks at options, so spark.readStream.option(...).table(...) "
                f'cannot carry it; this is {bridge.spark.version}. Write .format("{table.format}") and .load(path).',
            )


def _columns(spark_schema: str) -> list[Any]:
    """What must be the same in two schemas: names and types, not what is only said about them."""
    columns: list[Any] = bare(all_nullable(json.loads(spark_schema))["fields"])
    return columns
