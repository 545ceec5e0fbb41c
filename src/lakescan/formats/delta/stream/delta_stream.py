"""A Delta table as a stream: from one offset to the next, and from two offsets to the tasks between them.

Each row of each new file is given exactly once: an offset says which file is next, the files of a version always
come in the same order, and a batch is planned from its two offsets alone. What cannot be read stops the stream
with an error after every row before it was given; it never becomes an empty batch.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Any

import pyarrow as pa

from lakescan.errors import (
    InvalidOffset,
    LakescanError,
    MissingCommit,
    SchemaChanged,
    SchemaTrackingBegun,
    SchemaTrackingNeeded,
    TableReplaced,
)
from lakescan.formats.delta.changes.schema_changes import ADDED, WIDENED, changes
from lakescan.formats.delta.log.commit_range import TableCommit, TableState
from lakescan.formats.delta.log.log_segment import LogListing
from lakescan.formats.delta.log.protocol import Metadata
from lakescan.formats.delta.stream.offset import Position, StreamOffset, parse_offset
from lakescan.formats.delta.stream.options import StreamOptions
from lakescan.formats.delta.stream.rows import AppendedRows, ChangedRows, StreamRows
from lakescan.formats.delta.stream.schema_log import SchemaLog
from lakescan.formats.delta.stream.start import origin_of
from lakescan.formats.delta.stream.stream_schema import StreamSchema
from lakescan.formats.delta.stream.walk import Walk
from lakescan.formats.delta.table import DeltaTable
from lakescan.scan.packing import pack
from lakescan.stream.admission import Admission
from lakescan.stream.offset import not_begun
from lakescan.stream.origin import OriginOnce
from lakescan.stream.stream import Limits, Offset, StreamTask


class DeltaStream:
    """Implements `scan.stream.Stream`."""

    def __init__(self, table: DeltaTable, options: StreamOptions, schema: StreamSchema) -> None:
        self.options = options
        self.schema = schema
        self._table = table
        self._walk = Walk(table, options.relaxed, may_lose=not options.fail_on_data_loss)
        self._rows: StreamRows = (
            ChangedRows(table.storage) if options.read_change_feed else AppendedRows(table.storage, options)
        )
        folder, configuration = options.schemas, table.storage.configuration
        self._schema_log = None if folder is None else folder.of(schema.metadata.table_id, configuration)
        self._source = ""
        self._first: OriginOnce[Position] = OriginOnce()
        self._files: dict[int, pa.Table] = {}
        self._tracking = False
        self._notes: dict[str, Any] = {}

    @property
    def location(self) -> str:
        return self._table.location

    def at_checkpoint(self, source: str) -> None:
        self._source = source

    def initial_offset(self) -> dict[str, Any]:
        return not_begun()

    def fix_end(self) -> None:
        """Whatever is committed from now on is not read (Trigger.AvailableNow)."""
        self._walk.fix_end()

    def newest_offset(self) -> dict[str, Any]:
        """What is there, and what the batch holds whose end was found last; for the stream's progress."""
        newest = self._walk.last_listing().latest
        fields: dict[str, Any] = {**not_begun(), "newestVersion": newest}
        return {**fields, "batch": self._notes} if self._notes else fields

    def next_offset(self, start: Offset, limits: Limits) -> Offset:
        """The end of the batch that begins at `start`: `start` itself where there is nothing to read."""
        listing = self._walk.listing()
        begun = parse_offset(start)
        if begun is not None:
            self._go_on(listing, begun.position.version)
        offset = begun or self._begin(listing)
        admission, end = Admission(limits), offset.position
        first = end.version
        try:
            for version, files in self._files_from(listing, offset):
                # Where commits before this one are gone, and may be.
                end = end if version == end.version else Position(version)
                whole = self._rows.whole_commits and not end.snapshot
                taken = admission.admit(_between(files, end.index, files.num_rows)["size"], whole)
                if end.index + taken < files.num_rows:
                    end = Position(version, end.index + taken, end.snapshot)
                    break
                end = Position(version + 1)
                if admission.full:
                    break
        except LakescanError:
            # What lies before the commit at fault is given first; the next call comes to it again and raises.
            if end == offset.position:
                raise
        if end == offset.position and begun is not None:
            return start
        self._notes = self._notes_of(first, end, admission, listing.latest)
        return offset.at(end).to_json()

    def end_offset(self) -> Offset:
        """The end of everything there is, for an engine that does not say where its batch begins."""
        listing = self._walk.listing()
        newest = self._walk.initial_state(listing, listing.latest)
        origin = self._first.get(lambda: self._origin(listing))
        return StreamOffset(newest.metadata.table_id, origin, Position(listing.latest + 1)).to_json()

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[StreamTask]:
        """The tasks of a batch."""
        stop = parse_offset(end)
        if stop is None:
            return []
        begin = parse_offset(start) or self._beginning_of(end, stop)
        if begin.position == stop.position:
            return []
        last = stop.position.last_version
        try:
            return list(self._tasks(self._walk.last_listing(last), begin, stop.position, parallelism))
        except MissingCommit:
            # Cleaned up since the batch's end was found: a newer checkpoint may tell the same.
            return list(self._tasks(self._walk.listing(), begin, stop.position, parallelism))

    def commit(self, end: Offset) -> None:
        """The batch is done; nothing before its end is asked for again."""
        offset = parse_offset(end)
        if offset is not None:
            first = offset.position.version
            self._walk.forget(first)
            self._files = {version: files for version, files in self._files.items() if version >= first}

    def _tasks(self, listing: LogListing, begin: StreamOffset, end: Position, parallelism: int) -> Iterator[StreamTask]:
        self._go_on(listing, end.last_version)
        for state, files in self._batch_files(listing, begin, end):
            plan = self.schema.read_plan(self._rows, state.metadata)
            presented = self.schema.partition(self._rows, files, state.metadata)
            packed = pack(self._wanted(presented), parallelism, besides=plan.wanted_of_files)
            yield from (StreamTask(plan, task) for task in packed)

    def _begin(self, listing: LogListing) -> StreamOffset:
        origin = self._origin(listing)
        if self._schema_log is not None and self._schema_log.newest() is None:
            self._schema_log.append(self.schema.version, self.schema.metadata, self._source)
        newest = self._walk.initial_state(listing, listing.latest)
        return StreamOffset(newest.metadata.table_id, origin, origin)

    def _beginning_of(self, end: Offset, stop: StreamOffset) -> StreamOffset:
        """The beginning of a first batch of which only the end is known."""
        if stop.origin is not None:
            return replace(stop, position=stop.origin)
        options, there = self.options, stop.position
        if stop.by_delta and options.starting_version is None and options.starting_timestamp is None:
            # As Delta Spark does: the snapshot may have been an older one, whose rows are all in this one.
            first = Position(there.version if there.snapshot else there.version - 1, snapshot=True)
        else:
            first = self._origin(self._walk.listing())
        if first.is_behind(there):
            raise InvalidOffset(
                json.dumps(dict(end)),
                f"it ends the stream's first batch, which began before version {first.version}, where the stream "
                "would start today. Where it began is not in it: give the option startingVersion the number of that "
                "version",
            )
        return replace(stop, origin=first, position=first)

    def _go_on(self, listing: LogListing, version: int) -> None:
        """A schema log that is new to a stream which began without it begins with the schema of this version."""
        log = self._schema_log
        if log is None or self._tracking:
            return
        if log.newest() is None:
            at = min(version, listing.latest)
            metadata = self._walk.state_at(listing, at).metadata
            log.append(at, metadata, self._source)
            if self.schema.differs(metadata):
                raise SchemaTrackingBegun(self.location, at, log.storage.location)
        self._tracking = True

    def _origin(self, listing: LogListing) -> Position:
        newest = self._walk.initial_state(listing, listing.latest)
        return origin_of(self._table, listing, self.options, newest.metadata.properties)

    def _files_from(self, listing: LogListing, offset: StreamOffset) -> Iterator[tuple[int, pa.Table]]:
        """Each version from the offset on, with the files that are its rows."""
        position = offset.position
        if position.snapshot:
            self._check_snapshot(listing, offset)
            yield position.version, self._initial_files(listing, position.version)
            position = position.after_version()
        for commit in self._walk.commits(listing, position.version, listing.latest):
            self._check(listing, offset, commit)
            yield commit.version, self._rows_of(commit, offset)

    def _batch_files(
        self, listing: LogListing, begin: StreamOffset, end: Position
    ) -> Iterator[tuple[TableState, pa.Table]]:
        """The batch's files, those of versions in one and the same state together."""
        start = begin.position
        if start.snapshot:
            state = self._check_snapshot(listing, begin)
            files = self._initial_files(listing, start.version)
            stop = end.index if end.snapshot else files.num_rows
            yield state, _between(files, start.index, stop)
            if end.snapshot:
                return
            start = start.after_version()
        commits = self._walk.commits(listing, start.version, end.last_version)
        for state, run in groupby(commits, attrgetter("state")):
            parts = []
            for commit in run:
                self._check(listing, begin, commit)
                files = self._rows_of(commit, begin)
                first = start.index if commit.version == start.version else 0
                stop = end.index if commit.version == end.version else files.num_rows
                parts.append(_between(files, first, stop))
            yield state, pa.concat_tables(parts)

    def _wanted(self, files: pa.Table) -> pa.Table:
        """Without the files that the user excludes. They are positions in their commit as any other."""
        exclude = self.options.exclude
        if exclude is None:
            return files
        return files.filter(pa.array([exclude.search(path) is None for path in files["path"].to_pylist()], pa.bool_()))

    def _rows_of(self, commit: TableCommit, begin: StreamOffset) -> pa.Table:
        first = begin.position
        if commit.version == first.version and first.index and not first.snapshot:
            self._rows.refuse_half(commit, first.index, begin.by_delta)
        # Asked for twice: when the end of a batch is looked for, and when it is planned.
        if commit.version not in self._files:
            self._files[commit.version] = self._rows.of_commit(commit)
        return self._files[commit.version]

    def _initial_files(self, listing: LogListing, version: int) -> pa.Table:
        """The files of the initial snapshot, oldest first."""
        files = self._walk.initial_files(version)
        return self._rows.of_snapshot(files, lambda: next(self._walk.commits(listing, version, version)))

    def _check_snapshot(self, listing: LogListing, offset: StreamOffset) -> TableState:
        version = offset.position.version
        state = self._walk.initial_state(listing, version)
        self._check_table(offset, state.metadata)
        self.schema.check(self.location, version, state.metadata)
        return state

    def _check(self, listing: LogListing, offset: StreamOffset, commit: TableCommit) -> None:
        """An error where the commit's rows cannot be given: another table, or another schema."""
        self._check_table(offset, commit.metadata)
        if self._schema_log is not None:
            if commit.version > self.schema.version:
                self._check_tracked(self._schema_log, commit, offset.position == Position(commit.version))
                return
            if not commit.adds.num_rows and not commit.has_removes:
                # Of changes between which there is no file, Delta Spark writes down the last.
                return
        self.schema.check(self.location, commit.version, commit.metadata)
        passed = Position(commit.version) == offset.origin or _is_inside(commit, offset.position)
        if self._schema_log is not None or not commit.changes_state or passed:
            return
        previous = self._walk.state_before(listing, commit.version)
        differing = changes(previous.metadata, commit.metadata) if previous else []
        breaking = [change.text for change in differing if change.kind not in (ADDED, WIDENED)]
        if breaking:
            raise SchemaTrackingNeeded(self.location, commit.version, " and ".join(breaking))

    def _check_tracked(self, log: SchemaLog, commit: TableCommit, reached: bool) -> None:
        """With a schema log any change stops the stream; when it has come to it, the new schema is written down."""
        what = self.schema.differs(commit.metadata)
        if not what:
            return
        if reached:
            log.append(commit.version, commit.metadata, self._source)
        raise SchemaChanged(self.location, commit.version, what)

    def _check_table(self, offset: StreamOffset, metadata: Metadata) -> None:
        if metadata.table_id != offset.table_id:
            raise TableReplaced(self.location, offset.table_id, metadata.table_id)

    def _notes_of(self, first: int, end: Position, admission: Admission, newest: int) -> dict[str, Any]:
        last = end.last_version
        notes: dict[str, Any] = {
            "fromVersion": first,
            "toVersion": last,
            "files": admission.files,
            "bytes": admission.bytes,
            "newestVersion": newest,
            "versionsBehind": max(0, newest - last),
        }
        return {**notes, "warning": self._walk.warning} if self._walk.warning else notes


def _between(files: pa.Table, first: int, stop: int) -> pa.Table:
    """Some of a version's files; none where the options have left fewer of them than were counted."""
    return files.slice(min(first, files.num_rows), max(0, min(stop, files.num_rows) - first))


def _is_inside(commit: TableCommit, position: Position) -> bool:
    """Whether some of the commit's files were given: whoever gave them has passed what it changes."""
    return position.version == commit.version and position.index > 0 and not position.snapshot
