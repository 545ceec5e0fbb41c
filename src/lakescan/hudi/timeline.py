"""A table's timeline: which instants are complete, and what their commits say.

hudi-rs loads the instants and reads their metadata (JSON or Avro). By hand: the folder is listed for what hudi-rs
passes over in silence, because an action that nobody knows may have changed the table in a way that nobody reads,
and commits are remembered, because every later question is about one of them.
"""

import json
import re
from collections.abc import Container, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from lakescan.errors import TableNotFound, UnsupportedFeature
from lakescan.hudi.engine import named_failures, open_table
from lakescan.hudi.names import META_FOLDER, NO_INSTANT, PROPERTIES
from lakescan.storage import Entry, Storage

_READERS = 8
_ACTIONS = frozenset(
    [
        *("commit", "deltacommit", "replacecommit", "clustering", "compaction", "logcompaction"),
        *("clean", "rollback", "restore", "savepoint", "indexing", "schemacommit"),
    ]
)
# How older tables write a commit under way: `<instant>.inflight`.
_UNFINISHED = frozenset(["inflight", "requested"])
# Those that write rows.
_WRITES = frozenset(["commit", "deltacommit", "replacecommit", *_UNFINISHED])
_INSTANT = re.compile(r"^(\d+)(?:_\d+)?\.(\w+)(?:\.(requested|inflight))?$")
_ENDED = re.compile(r"^(\d+)_(\d+)\.\w+$")
# Moves rows to other file groups. When done it is a replacecommit; before table version 8 it is one from the beginning.
CLUSTERING = frozenset(["clustering"])
# These rewrite rows that are already there: their commits say nothing new of the schema.
_KEEP_SCHEMA = frozenset(["compact", "cluster", "log_compact", "index"])


@dataclass(frozen=True)
class Timeline:
    """The completed instants that change data, oldest first, as they were when the table was opened."""

    storage: Storage
    table: Any
    """hudi-rs' table."""
    _metadata: dict[str, Mapping[str, Any]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def instants(self) -> list[str]:
        return sorted(self._by_time)

    def newest(self) -> str:
        return self.instants[-1] if self.instants else NO_INSTANT

    def until(self, instant: str) -> "list[str]":
        return [found for found in self.instants if found <= instant]

    def commit(self, instant: str) -> Mapping[str, Any] | None:
        """What a completed instant says of itself; None where it is no longer in the active timeline."""
        if instant not in self._by_time:
            return None
        if instant not in self._metadata:
            with named_failures(self.storage, f"{META_FOLDER}/{instant}"):
                text = self._timeline.get_instant_metadata_in_json(self._by_time[instant])
            self._metadata[instant] = json.loads(text)
        return self._metadata[instant]

    def read(self, instants: Iterable[str]) -> None:
        """Several commits at once, for whoever then asks for each: a store takes its time to answer for one."""
        wanted = [instant for instant in instants if instant not in self._metadata]
        with ThreadPoolExecutor(_READERS) as pool:
            list(pool.map(self.commit, wanted))

    def schema(self, instant: str) -> tuple[str, str]:
        """The Avro schema in force at an instant and the file it is in; empty where no commit says."""
        for found in reversed(self.until(instant)):
            commit = self.commit(found) or {}
            schema = (commit.get("extraMetadata") or {}).get("schema")
            if schema and str(commit.get("operationType")).lower() not in _KEEP_SCHEMA:
                return schema, f"{self.storage.location}/{META_FOLDER}/{found}"
        return "", ""

    def written_sizes(self, instant: str) -> pa.Array:
        """The size of each file that a commit wrote; none where it only rewrote rows that were there."""
        commit = self.commit(instant) or {}
        if str(commit.get("operationType")).lower() in _KEEP_SCHEMA:
            return pa.array([], pa.int64())
        stats = (commit.get("partitionToWriteStats") or {}).values()
        return pa.array([stat.get("fileSizeInBytes") for written in stats for stat in written], pa.int64())

    def now(self) -> "Timeline":
        """The timeline as it is now: this one, unless a commit has ended since."""
        entries = list_timeline(self.storage, self.table.hudi_options())
        return self if finished_writes(entries) <= self._by_time.keys() else load_timeline(self.storage, entries)[1]

    @cached_property
    def completions(self) -> dict[str, str]:
        """When each completed instant ended, as far as names of files tell: from table version 8 on."""
        entries = list_timeline(self.storage, self.table.hudi_options())
        found = (_ENDED.match(entry.name) for entry in entries)
        return {match[1]: match[2] for match in found if match}

    @cached_property
    def has_archived(self) -> bool:
        """Whether commits have left the active timeline, so that its first one is not the table's first."""
        options = self.table.hudi_options()
        if int(options.get("hoodie.timeline.layout.version", "1")) < 2:
            folder = f"{META_FOLDER}/{options.get('hoodie.archivelog.folder') or 'archived'}"
        else:
            folder = f"{timeline_folder(options)}/{options.get('hoodie.timeline.history.path') or 'history'}"
        names = [entry.name for entry in self.storage.list_from(folder)] if self.storage.has_folder(folder) else []
        return any(name.startswith(".commits_.archive") or name.endswith(".parquet") for name in names)

    @cached_property
    def _timeline(self) -> Any:
        return self.table.get_timeline()

    @cached_property
    def _by_time(self) -> dict[str, Any]:
        with named_failures(self.storage, META_FOLDER):
            found = [
                *self._timeline.get_completed_commits(),
                *self._timeline.get_completed_deltacommits(),
                *self._timeline.get_completed_replacecommits(),
            ]
        return {instant.timestamp: instant for instant in found}


def load_timeline(storage: Storage, entries: tuple[Entry, ...]) -> tuple[tuple[Entry, ...], Timeline]:
    """The timeline of a listing, or of a newer one where commits ended meanwhile; and that listing.

    hudi-rs looks when a table is opened, for its file slices, and again when it is asked for instants. These belong
    together only if nothing ended in between.
    """
    while True:
        timeline = Timeline(storage, open_table(storage))
        _ = timeline.instants
        now = list_timeline(storage, timeline.table.hudi_options())
        if finished_writes(now) == finished_writes(entries):
            return entries, timeline
        entries = now


def list_timeline(storage: Storage, options: Mapping[str, str]) -> tuple[Entry, ...]:
    """The files of the active timeline; an action that Hudi does not have is refused."""
    entries = tuple(storage.list_from(timeline_folder(options)))
    for entry in entries:
        found = _INSTANT.match(entry.name)
        if found and found[2] not in _ACTIONS and found[2] not in _UNFINISHED:
            raise UnsupportedFeature(
                storage.location,
                f"the action {found[2]!r} of its timeline ({entry.name})",
                "A newer Hudi may have written it; read the table with that, or update Lakescan.",
            )
    return entries


def writing_instants(entries: Iterable[Entry], more: frozenset[str] = frozenset()) -> list[str]:
    """Every commit that writes rows, finished or under way, oldest first; a plan to compact or cluster writes none.

    `more` are actions that count too.
    """
    found = (_INSTANT.match(entry.name) for entry in entries)
    return sorted({match[1] for match in found if match and match[2] in _WRITES | more})


def finished_writes(entries: Iterable[Entry]) -> set[str]:
    """The commits that changed data and are complete."""
    found = (_INSTANT.match(entry.name) for entry in entries)
    return {match[1] for match in found if match and match[2] in _WRITES - _UNFINISHED and not match[3]}


def unfinished_instants(entries: Iterable[Entry], actions: Container[str] = _ACTIONS | _UNFINISHED) -> set[str]:
    """Every instant that is planned or under way and does one of these things; all of them where none are given."""
    found = [match for match in (_INSTANT.match(entry.name) for entry in entries) if match]
    begun = {match[1] for match in found if (match[3] or match[2] in _UNFINISHED) and match[2] in actions}
    return begun - {match[1] for match in found if not match[3] and match[2] not in _UNFINISHED}


def timeline_settings(storage: Storage) -> dict[str, str]:
    """The settings that say where the timeline is, of a table that is not open yet."""
    try:
        lines = storage.read(PROPERTIES).decode("latin-1").splitlines()
    except FileNotFoundError as error:
        raise TableNotFound(storage.location) from error
    pairs = (line.split("=", 1) for line in lines if line.startswith("hoodie.timeline.") and "=" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def timeline_folder(options: Mapping[str, str]) -> str:
    """Where the active timeline is: in a folder of its own from layout 2 on."""
    if int(options.get("hoodie.timeline.layout.version", "1")) < 2:
        return META_FOLDER
    return f"{META_FOLDER}/{options.get('hoodie.timeline.path') or 'timeline'}"
