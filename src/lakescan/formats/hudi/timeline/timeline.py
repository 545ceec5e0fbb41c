"""A table's timeline: which instants are complete, and what their commits say.

hudi-rs loads the instants. By hand: commits are read (`commits`), before hudi-rs reads them, and remembered, because
every later question is about one of them. The timeline is listed once (`TimelineListing`). A second listing is needed
twice, and both are here: a commit may end while hudi-rs looks (`load_timeline`), and files may be cleaned away after
the timeline was loaded, which only commits tell that have ended since (`Timeline.now`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from lakescan.errors import CorruptLog
from lakescan.formats.hudi.engine import named_failures, open_table
from lakescan.formats.hudi.names import META_FOLDER, NO_INSTANT
from lakescan.formats.hudi.timeline.commits import Commit, read_commits
from lakescan.formats.hudi.timeline.properties import check_properties
from lakescan.formats.hudi.timeline.timeline_listing import TimelineListing
from lakescan.io.storage import Entry, Storage

# These rewrite rows that are already there: their commits say nothing new of the schema.
_LOG_COMPACTION = "log_compact"
_KEEP_SCHEMA = frozenset(["compact", "cluster", _LOG_COMPACTION, "index"])


@dataclass(frozen=True)
class Timeline:
    """The completed instants that change data, oldest first, as they were when the table was opened."""

    storage: Storage
    table: Any
    """hudi-rs' table."""
    listing: TimelineListing
    """The files of the timeline, of the same moment."""
    read: Mapping[Entry, Commit] = field(default_factory=dict, repr=False, compare=False)
    """The completed commits that change data, by their files."""

    @cached_property
    def instants(self) -> list[str]:
        return sorted(self.listing.finished)

    def newest(self) -> str:
        return self.instants[-1] if self.instants else NO_INSTANT

    def until(self, instant: str) -> "list[str]":
        return [one for one in self.instants if one <= instant]

    def is_complete(self, instant: str) -> bool:
        """Whether what a commit wrote counts: it is complete, or older than the active timeline and not under way."""
        return instant in self.listing.finished or ("" < instant < self.instants[0] and instant not in self._unfinished)

    def commit(self, instant: str) -> Commit | None:
        """What a completed instant says of itself; None where it is no longer in the active timeline."""
        return self._commits.get(instant)

    def is_log_compaction(self, instant: str) -> bool:
        """Whether a commit wrote log files anew, which changes no row but says of each that this commit wrote it."""
        return _operation(self.commit(instant) or {}) == _LOG_COMPACTION

    def first_that_changes_rows(self, instants: Iterable[str]) -> str | None:
        """The first of these commits after which a row may be another; None where they are log compactions alone."""
        return next((instant for instant in instants if not self.is_log_compaction(instant)), None)

    def schema(self, instant: str) -> tuple[str, str]:
        """The Avro schema in force at an instant and the file it is in; empty where no commit says."""
        for earlier in reversed(self.until(instant)):
            commit = self.commit(earlier) or {}
            schema = (commit.get("extraMetadata") or {}).get("schema")
            if schema and _operation(commit) not in _KEEP_SCHEMA:
                return schema, f"{self.storage.location}/{META_FOLDER}/{earlier}"
        return "", ""

    def written_sizes(self, instant: str) -> pa.Array:
        """The size of each file that a commit wrote; none where it only rewrote rows that were there."""
        commit = self.commit(instant) or {}
        if _operation(commit) in _KEEP_SCHEMA:
            return pa.array([], pa.int64())
        stats = (commit.get("partitionToWriteStats") or {}).values()
        return pa.array([stat.get("fileSizeInBytes") for written in stats for stat in written], pa.int64())

    def now(self) -> "Timeline":
        """The timeline as it is now: this one, unless a commit has ended since."""
        listing = self.listing.again()
        if listing.finished.keys() <= self.listing.finished.keys():
            return self
        return load_timeline(listing, self.read)

    @property
    def completions(self) -> dict[str, str]:
        """When each completed instant ended, as far as names of files tell: from table version 8 on."""
        return self.listing.completions

    @property
    def has_archived(self) -> bool:
        """Whether commits have left the active timeline, so that its first one is not the table's first."""
        return self.listing.has_archived

    @cached_property
    def _unfinished(self) -> set[str]:
        return self.listing.unfinished()

    @cached_property
    def _commits(self) -> dict[str, Commit]:
        return {instant: self.read[file] for instant, file in self.listing.finished.items()}


def load_timeline(listing: TimelineListing, known: Mapping[Entry, Commit]) -> Timeline:
    """The timeline of a listing, or of a newer one where commits ended meanwhile; `known` are commits read before.

    hudi-rs looks when a table is opened, for its file slices, and again when it is asked for instants. These belong
    together only if nothing ended in between, which the listing that follows shows.
    """
    storage = listing.storage
    while True:
        known = read_commits(storage, listing.folder, listing.finished, listing.is_avro, known)
        table = open_table(storage)
        settings = table.hudi_options()
        check_properties(storage, settings)
        instants = _completed(storage, table)
        now = TimelineListing.of(storage, settings)
        if now.finished == listing.finished:
            if instants != now.finished.keys():
                strange = sorted(instants ^ now.finished.keys())
                folder = storage.full_path(now.folder)
                raise CorruptLog(folder, f"hudi-rs sees other completed instants in it: {strange}")
            return Timeline(storage, table, now, known)
        listing = now


def _operation(commit: Commit) -> str:
    return str(commit.get("operationType")).lower()


def _completed(storage: Storage, table: Any) -> set[str]:
    """The instants that hudi-rs takes for completed."""
    with named_failures(storage, META_FOLDER):
        timeline = table.get_timeline()
        completed = [
            *timeline.get_completed_commits(),
            *timeline.get_completed_deltacommits(),
            *timeline.get_completed_replacecommits(),
        ]
    return {instant.timestamp for instant in completed}
