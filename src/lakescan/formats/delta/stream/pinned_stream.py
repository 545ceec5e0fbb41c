"""A stream as a query was given it: the table, the options, and the schema that its rows will have.

The schema is the newest one or, where the stream keeps its schema in a log, the one it is at. It is fixed here,
once: a query that runs later, in another process, gives its rows in exactly this schema or stops.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lakescan.errors import ChangeNotAllowed, InvalidVersion, VersionNotFound
from lakescan.formats.delta.changes.change_feed import SPARK_FIELDS
from lakescan.formats.delta.changes.schema_changes import changes
from lakescan.formats.delta.log.protocol import Metadata
from lakescan.formats.delta.snapshot import DeltaSnapshot
from lakescan.formats.delta.stream.delta_stream import DeltaStream
from lakescan.formats.delta.stream.options import AllowedChanges, StreamOptions
from lakescan.formats.delta.stream.rows import ChangedRows
from lakescan.formats.delta.stream.schema_log import SchemaLog
from lakescan.formats.delta.stream.start import origin_of, starting_state
from lakescan.formats.delta.stream.stream_schema import StreamSchema
from lakescan.formats.delta.stream.walk import Walk
from lakescan.formats.delta.table import DeltaTable
from lakescan.io.storage import Storage
from lakescan.scan.snapshot import Snapshot
from lakescan.stream.stream import Limits


@dataclass(frozen=True)
class PinnedDeltaStream:
    """Implements `scan.stream.PinnedStream`."""

    storage: Storage
    zone: str
    options: StreamOptions
    version: int
    metadata: Metadata

    @staticmethod
    def of(table: DeltaTable, options: Mapping[str, str], seen: Snapshot | None = None) -> "PinnedDeltaStream":
        parsed = StreamOptions.of(options)
        if table.pinned is not None:
            asked = table.pinned.version if table.pinned.timestamp is None else table.pinned.timestamp
            raise InvalidVersion(asked, "a stream is of the whole table: leave the version out of its path.")
        if isinstance(seen, DeltaSnapshot) and parsed.schemas is None:
            version, metadata = seen.version, seen.metadata
        else:
            version, metadata = _stream_metadata(table, parsed)
        return PinnedDeltaStream(table.storage, table.zone, parsed, version, metadata)

    @property
    def schema_json(self) -> str:
        struct = json.loads(self.metadata.spark_schema)
        own = [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in self._own]
        return json.dumps({**struct, "fields": [*struct["fields"], *own]})

    @property
    def schema(self) -> pa.Schema:
        own = ChangedRows(self.storage).own_fields if self.options.read_change_feed else []
        return pa.schema([*self.metadata.schema, *own])

    @property
    def _own(self) -> Sequence[tuple[str, str]]:
        return SPARK_FIELDS if self.options.read_change_feed else ()

    @property
    def limits(self) -> Limits:
        return self.options.limits

    @property
    def needs_admission_control(self) -> str | None:
        if self.options.limited_by_user:
            return "maxFilesPerTrigger" if self.options.limits.files else "maxBytesPerTrigger"
        return None if self.options.schemas is None else "schemaTrackingLocation"

    def open(self, output: pa.Schema) -> DeltaStream:
        schema = StreamSchema(self.version, self.metadata, output)
        return DeltaStream(DeltaTable(self.storage, self.zone), self.options, schema)


def _stream_metadata(table: DeltaTable, options: StreamOptions) -> tuple[int, Metadata]:
    """The version and metadata in whose schema the rows are given; for a new log those that the stream starts with."""
    walk = Walk(table, options.relaxed)
    listing = walk.listing()
    newest = walk.initial_state(listing, listing.latest).metadata
    if options.schemas is None:
        return listing.latest, newest
    log = options.schemas.of(newest.table_id, table.storage.configuration)
    tracked = log.newest()
    if tracked is not None:
        log.refuse_other_table(tracked[1], table.location, newest.table_id)
        _refuse_not_allowed(table.location, log, options.allowed)
        return tracked
    try:
        origin = origin_of(table, listing, options, newest.properties)
    except VersionNotFound:
        # A stream under way needs its origin no more, and one that is new is told when it begins.
        return listing.latest, newest
    if origin.version >= listing.latest:
        return listing.latest, newest
    return origin.version, starting_state(table.storage, listing, origin.version, options.relaxed).state.metadata


def _refuse_not_allowed(location: str, log: SchemaLog, allowed: AllowedChanges | None) -> None:
    """Where a user says which changes a stream may pass, any other stops it again."""
    change = None if allowed is None else log.newest_change()
    if allowed is None or change is None:
        return
    version, before, after = change
    differing = changes(before, after)
    option = allowed.refused(version, {one.kind for one in differing})
    if option is not None:
        raise ChangeNotAllowed(location, version, " and ".join(one.text for one in differing), option)
