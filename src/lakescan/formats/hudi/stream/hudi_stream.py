"""A Hudi table as a stream: from one offset to the next, and from two offsets to the tasks between them.

A batch is what Hudi calls an incremental read: the rows that the commits after one instant and up to another wrote, as
they were after the latter. It follows from its two instants alone, so each commit's rows are given exactly once across
restarts. The stream never passes a write that is under way: what that commits later would be lost. An instant that was
archived, rolled back or cleaned away is an error, never an empty batch.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any

import pyarrow as pa

from lakescan.errors import InstantGone, LakescanError, MissingDataFile, SchemaChanged
from lakescan.formats.hudi.names import NO_INSTANT
from lakescan.formats.hudi.snapshot import Description, HudiSnapshot
from lakescan.formats.hudi.stream.offset import Position, StreamOffset, parse_offset
from lakescan.formats.hudi.stream.options import StreamOptions
from lakescan.formats.hudi.table import HudiTable
from lakescan.formats.hudi.timeline.time_travel import first_instant_from, instant_named
from lakescan.formats.hudi.timeline.timeline import Timeline
from lakescan.formats.hudi.timeline.timeline_listing import CLUSTERING
from lakescan.stream.admission import Admission
from lakescan.stream.offset import not_begun
from lakescan.stream.origin import OriginOnce, origin_of
from lakescan.stream.stream import Limits, Offset, StreamTask


class HudiStream:
    """Implements `scan.stream.Stream`."""

    def __init__(
        self, table: HudiTable, options: StreamOptions, pinned: str, description: Description, output: pa.Schema
    ) -> None:
        self.options = options
        self._table = table
        self._pinned = pinned
        self._description = description
        self._output = output
        self._first: OriginOnce[Position] = OriginOnce()
        self._last: str | None = None

    @property
    def location(self) -> str:
        return self._table.location

    def at_checkpoint(self, source: str) -> None:
        """Nothing of a stream is kept but its offsets."""

    def initial_offset(self) -> dict[str, Any]:
        return not_begun()

    def fix_end(self) -> None:
        """Whatever is committed from now on is not read (Trigger.AvailableNow)."""
        self._last = self._timeline().newest()

    def newest_offset(self) -> dict[str, Any]:
        """Where a stream would be that has read everything; for its progress."""
        newest = self._timeline().newest()
        return {**StreamOffset(None, Position(newest)).to_json(), "newestVersion": newest}

    def next_offset(self, start: Offset, limits: Limits) -> Offset:
        """The end of the batch that begins at `start`: `start` itself where there is nothing to read."""
        timeline = self._timeline()
        begun = parse_offset(start)
        offset = begun or self._begin(timeline)
        admission = Admission(limits)
        if offset.position.slices is None:
            end = self._after_commits(timeline, offset.position, admission)
        else:
            end = self._after_slices(timeline, offset.position, admission)
        if end == offset.position and begun is not None:
            return start
        return offset.at(end, _notes(timeline, offset.position, end, admission)).to_json()

    def end_offset(self) -> Offset:
        """The end of everything there is, for an engine that does not say where its batch begins."""
        timeline = self._timeline()
        origin = self._first.get(lambda: self._origin(timeline))
        first = origin or Position(NO_INSTANT)
        reached = [instant for instant in self._finished(timeline) if instant >= first.instant]
        return StreamOffset(origin, Position(reached[-1]) if reached else first).to_json()

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[StreamTask]:
        """The tasks of a batch."""
        stop = parse_offset(end)
        if stop is None:
            return []
        begun = parse_offset(start)
        timeline = self._timeline()
        begin = begun.position if begun else stop.origin or self._origin(timeline)
        if begin == stop.position:
            return []
        try:
            return list(self._tasks(timeline, begin, stop.position, parallelism))
        except MissingDataFile as error:
            raise InstantGone(self.location, stop.position.instant, f"its files were cleaned away. {error}") from error

    def commit(self, end: Offset) -> None:
        """The batch is done; nothing before its end is asked for again."""

    def _tasks(self, timeline: Timeline, begin: Position, end: Position, parallelism: int) -> Iterator[StreamTask]:
        if begin.slices is not None:
            snapshot = self._snapshot(timeline, begin.instant)
            scan = snapshot.scan().project(self._output).build()
            files = snapshot.files()
            stop = files.num_rows if end.slices is None else end.slices
            wanted = files.slice(begin.slices, stop - begin.slices)
            yield from (StreamTask(scan.read_plan, task) for task in scan.pack(wanted, parallelism))
            begin = Position(begin.instant)
        if end.slices is not None or begin == end:
            return
        first = next(self._commits_after(timeline, begin), None)
        self._check_there(timeline, end.instant)
        if first is None or first > end.instant:
            raise InstantGone(self.location, end.instant, "no commit of the batch is in the timeline")
        commits = [instant for instant in timeline.until(end.instant) if instant >= first]
        # Rows that a log compaction wrote anew say that they are of its commit, so both sides of it are read apart.
        for is_log_compaction, run in groupby(commits, timeline.is_log_compaction):
            if not is_log_compaction:
                together = list(run)
                scan = self._snapshot(timeline, together[-1], since=together[0]).scan().project(self._output).build()
                yield from (StreamTask(scan.read_plan, task) for task in scan.tasks(parallelism))

    def _snapshot(self, timeline: Timeline, instant: str, since: str | None = None) -> HudiSnapshot:
        """The table at an instant in the stream's schema."""
        if instant != NO_INSTANT:
            self._check_there(timeline, instant)
        return HudiSnapshot(self._table.storage, instant, timeline, since=since, description=self._description)

    def _after_slices(self, timeline: Timeline, position: Position, admission: Admission) -> Position:
        """The next slices of the initial snapshot, which come in the same order each time."""
        files = self._snapshot(timeline, position.instant).files()
        done = (position.slices or 0) + admission.admit(files["size"].slice(position.slices or 0))
        return replace(position, slices=done) if done < files.num_rows else Position(position.instant)

    def _after_commits(self, timeline: Timeline, position: Position, admission: Admission) -> Position:
        end = position
        finished = self._finished(timeline)
        for instant in self._commits_after(timeline, position):
            if instant not in finished:
                break
            try:
                self._check_schema(timeline, instant)
            except LakescanError:
                # What lies before the commit at fault is given first; the next call comes to it again and raises.
                if end == position:
                    raise
                break
            sizes = timeline.written_sizes(instant)
            if admission.admit(pa.chunked_array([sizes]), whole=True) < len(sizes):
                break
            end = Position(instant)
            if admission.full:
                break
        return end

    def _commits_after(self, timeline: Timeline, position: Position) -> Iterator[str]:
        """The commits that are next; an error where some may be gone that were never given."""
        if position.instant == NO_INSTANT:
            if timeline.has_archived:
                raise InstantGone(self.location, position.instant, "commits since then were archived")
        else:
            self._check_there(timeline, position.instant)
        at = position.instant
        yield from (instant for instant in timeline.instants if instant > at or (position.before and instant == at))

    def _finished(self, timeline: Timeline, more: frozenset[str] = frozenset()) -> list[str]:
        """The commits before the first write that was under way when the timeline was loaded."""
        known = set(timeline.instants)
        finished = []
        for instant in timeline.listing.writing(more):
            if instant not in known or (self._last is not None and instant > self._last):
                break
            finished.append(instant)
        return finished

    def _newest_finished(self, timeline: Timeline, more: frozenset[str] = frozenset()) -> str:
        return next(reversed(self._finished(timeline, more)), NO_INSTANT)

    def _check_there(self, timeline: Timeline, instant: str) -> None:
        if instant in timeline.instants:
            return
        oldest = timeline.instants[0] if timeline.instants else NO_INSTANT
        why = "it was archived" if instant < oldest else "it was rolled back, or the table is another one by now"
        raise InstantGone(self.location, instant, why)

    def _check_schema(self, timeline: Timeline, instant: str) -> None:
        if instant <= self._pinned:
            return
        snapshot = HudiSnapshot(self._table.storage, instant, timeline)
        if snapshot.schema_json != self._description.schema_json:
            raise SchemaChanged(self.location, instant, f"it now has the columns {', '.join(snapshot.schema.names)}")

    def _begin(self, timeline: Timeline) -> StreamOffset:
        origin = self._origin(timeline)
        return StreamOffset(origin, origin)

    def _origin(self, timeline: Timeline) -> Position:
        points = _StartingPoints(timeline, self._table.zone, partial(self._newest_finished, timeline))
        return origin_of(self.options.starting_version, self.options.starting_timestamp, points)

    def _timeline(self) -> Timeline:
        return self._table.snapshot().timeline


@dataclass(frozen=True)
class _StartingPoints:
    """Implements `stream.origin.StartingPoints`."""

    timeline: Timeline
    zone: str
    newest_finished: Callable[..., str]

    def whole_table(self) -> Position:
        # Its slices are counted, so no clustering that began before it may change them between two batches.
        newest = self.newest_finished(CLUSTERING)
        return Position(newest, slices=None if newest == NO_INSTANT else 0)

    def behind_newest(self) -> Position:
        return Position(self.newest_finished())

    def at_version(self, version: str) -> Position:
        return Position(instant_named(self.timeline, version), before=True)

    def at_timestamp(self, timestamp: str) -> Position:
        return Position(first_instant_from(self.timeline, timestamp, self.zone), before=True)


def _notes(timeline: Timeline, begin: Position, end: Position, admission: Admission) -> dict[str, Any]:
    first = next((instant for instant in timeline.instants if instant > begin.instant), end.instant)
    behind = [instant for instant in timeline.instants if instant > end.instant]
    return {
        "fromVersion": begin.instant if begin.before or begin.slices is not None else first,
        "toVersion": end.instant,
        "files": admission.files,
        "bytes": admission.bytes,
        "newestVersion": timeline.newest(),
        "versionsBehind": len(behind),
    }
