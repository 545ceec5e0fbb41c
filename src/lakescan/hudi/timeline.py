"""A table's timeline: which instants are complete, and what their commits say.

hudi-rs loads the instants. By hand: the folder is listed for what hudi-rs passes over in silence, because an action
that nobody knows may have changed the table in a way that nobody reads; and commits are read (`commits`), before
hudi-rs reads them, and remembered, because every later question is about one of them.
"""

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from lakescan.errors import CorruptLog, TableNotFound, UnsupportedFeature
from lakescan.hudi.commits import Commit, read_commits
from lakescan.hudi.engine import named_failures, open_table
from lakescan.hudi.names import META_FOLDER, NO_INSTANT, PROPERTIES, SIGN
from lakescan.hudi.properties import check_properties
from lakescan.storage import Entry, Storage

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
# From this layout on.
_OWN_FOLDER = 2
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
    read: Mapping[Entry, Commit] = field(default_factory=dict, repr=False, compare=False)
    """The completed commits that change data, by their files."""

    @cached_property
    def instants(self) -> list[str]:
        return sorted(self._by_time)

    def newest(self) -> str:
        return self.instants[-1] if self.instants else NO_INSTANT

    def until(self, instant: str) -> "list[str]":
        return [found for found in self.instants if found <= instant]

    def commit(self, instant: str) -> Commit | None:
        """What a completed instant says of itself; None where it is no longer in the active timeline."""
        return self._commits.get(instant)

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
        options = self.table.hudi_options()
        entries = list_timeline(self.storage, options)
        if finished_writes(entries) <= self._by_time:
            return self
        return load_timeline(self.storage, options, entries, self.read)[1]

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
        if _layout(options) < _OWN_FOLDER:
            folder = f"{META_FOLDER}/{options.get('hoodie.archivelog.folder') or 'archived'}"
        else:
            folder = f"{timeline_folder(options)}/{options.get('hoodie.timeline.history.path') or 'history'}"
        names = [entry.name for entry in self.storage.list_from(folder)] if self.storage.has_folder(folder) else []
        return any(name.startswith(".commits_.archive") or name.endswith(".parquet") for name in names)

    @cached_property
    def _commits(self) -> dict[str, Commit]:
        return {instant: self.read[file] for instant, file in _finished_files(self.read).items()}

    @cached_property
    def _by_time(self) -> set[str]:
        with named_failures(self.storage, META_FOLDER):
            timeline = self.table.get_timeline()
            found = [
                *timeline.get_completed_commits(),
                *timeline.get_completed_deltacommits(),
                *timeline.get_completed_replacecommits(),
            ]
        return {instant.timestamp for instant in found}


def load_timeline(
    storage: Storage, settings: Mapping[str, str], entries: tuple[Entry, ...], known: Mapping[Entry, Commit]
) -> tuple[tuple[Entry, ...], Timeline]:
    """The timeline of a listing, or of a newer one where commits ended meanwhile; and that listing.

    hudi-rs looks when a table is opened, for its file slices, and again when it is asked for instants. These belong
    together only if nothing ended in between. `settings` say where it is, `known` are commits that were read before.
    """
    while True:
        is_avro = _layout(settings) >= _OWN_FOLDER
        known = read_commits(storage, timeline_folder(settings), _finished_files(entries), is_avro, known)
        timeline = Timeline(storage, open_table(storage), known)
        settings = timeline.table.hudi_options()
        check_properties(storage, settings)
        found = set(timeline.instants)
        now = list_timeline(storage, settings)
        if finished_writes(now) == finished_writes(entries):
            if found != finished_writes(entries):
                strange = sorted(found ^ finished_writes(entries))
                folder = storage.full_path(timeline_folder(settings))
                raise CorruptLog(folder, f"hudi-rs sees other completed instants in it: {strange}")
            return entries, timeline
        entries = now


def list_timeline(storage: Storage, options: Mapping[str, str]) -> tuple[Entry, ...]:
    """The files of the active timeline; an action that Hudi does not have is refused."""
    folder = timeline_folder(options)
    try:
        entries = tuple(storage.list_from(folder))
    except FileNotFoundError as error:
        raise CorruptLog(
            storage.full_path(PROPERTIES), f"its timeline should be in {folder}, which is not there"
        ) from error
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
    return set(_finished_files(entries))


def _finished_files(entries: Iterable[Entry]) -> dict[str, Entry]:
    """The file of each of them."""
    found = ((_INSTANT.match(entry.name), entry) for entry in entries)
    return {match[1]: entry for match, entry in found if match and match[2] in _WRITES - _UNFINISHED and not match[3]}


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
        raise TableNotFound(storage.location, [SIGN]) from error
    pairs = (line.split("=", 1) for line in lines if line.startswith("hoodie.timeline.") and "=" in line)
    settings = {name.strip(): value.strip() for name, value in pairs}
    check_properties(storage, settings)
    return settings


def timeline_folder(options: Mapping[str, str]) -> str:
    """Where the active timeline is: in a folder of its own from layout 2 on."""
    if _layout(options) < _OWN_FOLDER:
        return META_FOLDER
    return f"{META_FOLDER}/{options.get('hoodie.timeline.path') or 'timeline'}"


def _layout(options: Mapping[str, str]) -> int:
    return int(options.get("hoodie.timeline.layout.version") or 1)
