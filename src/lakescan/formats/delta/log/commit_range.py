"""A run of commits in order, each with the protocol and metadata in force at its own version.

They are taken from the snapshot at the first version and updated as commits change them, so a commit is never
read with names, types or partition columns of another version. A version that Lakescan cannot read, or a commit
that is gone, is an error, never a gap. A commit's file actions are parsed only when they are asked for.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import CommitsNotFound, CorruptLog, MissingCommit
from lakescan.formats.delta.data_files import DeltaFiles
from lakescan.formats.delta.log.actions import DELETION_VECTOR, StatisticsRequest, keys
from lakescan.formats.delta.log.commit_files import Commit
from lakescan.formats.delta.log.commits import CommitText, file_lines, lines_together, read_commits
from lakescan.formats.delta.log.log_segment import LogListing
from lakescan.formats.delta.log.names import LOG_FOLDER, commit_name
from lakescan.formats.delta.log.protocol import Metadata, Protocol
from lakescan.formats.delta.log.replay import Replay
from lakescan.formats.delta.log.time_travel import ENABLED, rising_times
from lakescan.formats.delta.log.typed_action import TypedAction
from lakescan.formats.delta.log.whole_actions import repeated
from lakescan.formats.delta.partition_values import typed_partition
from lakescan.formats.delta.statistics.parsed import parse_statistics
from lakescan.io.storage import Storage
from lakescan.predicate import Column
from lakescan.types.columns import empty_structs, member
from lakescan.types.schema import prune

# Commits are read so many at a time: few at first, as a reader may stop soon.
_READ_AHEAD, _MOST_AHEAD = 8, 64


@dataclass(frozen=True)
class TableState:
    """The protocol and metadata in force at a version; both are known to be readable."""

    protocol: Protocol
    metadata: Metadata

    @staticmethod
    def at(storage: Storage, listing: LogListing, version: int) -> "TableState":
        """From the snapshot at a version, which must be one that can be rebuilt."""
        replay = Replay(storage, listing.segment(version))
        return TableState(replay.protocol, replay.metadata)

    def after(self, text: CommitText, location: str) -> "TableState":
        """The state that a commit leaves behind it; itself where the commit changes neither."""
        protocol = next(iter(reversed(list(text.actions("protocol")))), None)
        metadata = next(iter(reversed(list(text.actions("metaData")))), None)
        if protocol is None and metadata is None:
            return self
        in_force = self.protocol if protocol is None else Protocol.of(protocol, text.file)
        in_force.refuse_unsupported(location)
        if metadata is None:
            return TableState(in_force, self.metadata.under(in_force).checked(text.file))
        return TableState(in_force, Metadata.of(metadata, in_force, text.file))


class Neighbours:
    """The texts of commits that were read together, and are parsed together when the first of them is asked for."""

    def __init__(self, texts: tuple[CommitText, ...]) -> None:
        self.texts = texts
        self._parsed: dict[tuple[str, ...], list[pa.Table] | None] = {}

    def lines(self, at: int, partition_names: tuple[str, ...]) -> pa.Table:
        """A row for each line of one of them; an error where a file action is not whole."""
        if partition_names not in self._parsed:
            self._parsed[partition_names] = lines_together(self.texts, _schema(partition_names))
        parsed = self._parsed[partition_names]
        return file_lines(self.texts[at], _schema(partition_names)) if parsed is None else parsed[at]


@dataclass(frozen=True)
class TableCommit:
    """One commit: what it says of the table, and the files it adds and removes, in that version's names and types."""

    storage: Storage
    zone: str
    version: int
    state: TableState
    """In force at this version: what the commit itself changes is in it."""
    changes_state: bool
    """Whether the commit holds a protocol or a metadata action."""
    texts: Neighbours
    place: int
    """Which of the texts is its own."""
    file_time_ms: int

    @property
    def text(self) -> CommitText:
        return self.texts.texts[self.place]

    @property
    def metadata(self) -> Metadata:
        return self.state.metadata

    @property
    def protocol(self) -> Protocol:
        return self.state.protocol

    @property
    def data_files(self) -> DeltaFiles:
        return DeltaFiles(self.storage)

    @cached_property
    def info(self) -> Mapping[str, Any]:
        """The commit's notes on itself; empty where it has none."""
        return next(self.text.actions("commitInfo"), {})

    @property
    def typed_info(self) -> TypedAction:
        """The same, for fields that must be of one type."""
        return TypedAction("commitInfo", self.info, self.text.file)

    @property
    def timestamp_ms(self) -> int:
        """When it was made: its own word where in-commit timestamps are on, else its file's time."""
        enabled = self.metadata.properties.get(ENABLED, "false").lower() == "true"
        own = self.typed_info.integer("inCommitTimestamp") if enabled else None
        return self.file_time_ms if own is None else own

    @cached_property
    def adds(self) -> pa.Table:
        """Files added, in the commit's order: a snapshot's columns, `data_change`, and the `row` of each."""
        rows, actions = self._actions("add")
        return self._files(actions).append_column("row", rows)

    @cached_property
    def removes(self) -> pa.Table:
        """Files removed, as `adds`; `size`, `modification_time` and `partition` are null where the log does not say."""
        rows, actions = self._actions("remove")
        return self._files(actions).append_column("row", rows)

    @property
    def has_removes(self) -> bool:
        lines = self._lines["remove"]
        return bool(lines.null_count < len(lines))

    @cached_property
    def cdc(self) -> pa.Table:
        """Files of change data; their columns are the table's and `_change_type`."""
        return self._files(self._actions("cdc")[1])

    def statistics(self, files: pa.Table, columns: Collection[Column]) -> pa.StructArray:
        """`scan.file_statistics.statistics_type` for these columns, for some rows of `adds`."""
        logical, physical = prune(self.metadata.schema, self.metadata.physical_schema, {c.path for c in columns})
        return parse_statistics(self.statistics_texts(files), StatisticsRequest(logical, physical))

    def statistics_texts(self, files: pa.Table) -> pa.ChunkedArray:
        """The statistics of some rows of `adds` as the log writes them."""
        return member(self._lines["add"], "stats").take(files["row"])

    @cached_property
    def partition_fields(self) -> list[pa.Field]:
        return self.metadata.partition_fields

    @cached_property
    def _lines(self) -> pa.Table:
        return self.texts.lines(self.place, tuple(self.metadata.physical_partition_names))

    def _actions(self, kind: str) -> tuple[pa.Array, pa.Array]:
        column = self._lines[kind].combine_chunks()
        rows = pc.indices_nonzero(column.is_valid()).cast(pa.int64())
        actions = column.take(rows)
        if len(actions) < 2:
            return rows, actions
        twice = repeated(keys(*(pa.chunked_array([member(actions, name)]) for name in ("path", "deletionVector"))))
        if twice is not None:
            raise CorruptLog(self.text.file, f"it has two {kind} actions for the file {twice.splitlines()[0]}")
        return rows, actions

    def _files(self, actions: pa.Array) -> pa.Table:
        texts = member(actions, "partitionValues") if self.partition_fields else empty_structs(len(actions))
        partition = typed_partition(texts, self.partition_fields, self.zone, self.text.file)
        if self.partition_fields and texts.null_count:
            partition = pc.if_else(texts.is_valid(), partition, pa.scalar(None, partition.type))
        return pa.table(
            {
                "path": member(actions, "path"),
                "size": member(actions, "size"),
                "modification_time": member(actions, "modificationTime"),
                "partition": partition,
                "deletion_vector": member(actions, "deletionVector"),
                "data_change": pc.fill_null(member(actions, "dataChange"), True),
            }
        )


@dataclass(frozen=True)
class CommitRange:
    """The commits `start` to `end`, both included; walking it reads the log file by file, a few ahead."""

    storage: Storage
    zone: str
    listing: LogListing
    start: int
    end: int
    state: TableState
    """In force at `start` or, where `state_before` is set, at the version before it."""
    state_before: bool = False

    @staticmethod
    def of(storage: Storage, zone: str, listing: LogListing, start: int, end: int | None) -> "CommitRange":
        last = listing.latest if end is None else end
        check_range(listing, start, last)
        return CommitRange(storage, zone, listing, start, last, TableState.at(storage, listing, start))

    def __iter__(self) -> Iterator[TableCommit]:
        state = self.state
        times = rising_times(self.listing.commits)
        for texts, at, commit in _read_ahead(self.storage, commits_of(self.listing, self.start, self.end)):
            text = texts.texts[at]
            changed = changes_state(text)
            if changed and (commit.version > self.start or self.state_before):
                state = state.after(text, self.storage.location)
            yield TableCommit(self.storage, self.zone, commit.version, state, changed, texts, at, times[commit.version])


def check_range(listing: LogListing, start: int, end: int) -> None:
    """An error that names the commits there are, where some of these are not among them."""
    if start > end:
        raise CommitsNotFound(listing.location, f"commits {start} to {end}", first_commit(listing), listing.latest)
    commits_of(listing, start, end)


def commits_of(listing: LogListing, start: int, end: int) -> Sequence[Commit]:
    """These commits' files, every one of them."""
    commits = listing.commits.between(start, end)
    present = set(commits.versions.to_pylist())
    missing = next((version for version in range(start, end + 1) if version not in present), None)
    if missing is None:
        return commits
    if missing < first_commit(listing) or missing > listing.latest:
        raise CommitsNotFound(listing.location, f"commit {missing}", first_commit(listing), listing.latest)
    file = f"{listing.location}/{LOG_FOLDER}/{commit_name(missing)}"
    raise MissingCommit(file, missing, "commits before and after it are there")


def first_commit(listing: LogListing) -> int:
    """The oldest version from which every commit up to the newest is there."""
    return listing.first_commit


def texts_of(storage: Storage, commits: Sequence[Commit]) -> Iterator[tuple[CommitText, Commit]]:
    return ((texts.texts[at], commit) for texts, at, commit in _read_ahead(storage, commits))


def _read_ahead(storage: Storage, commits: Sequence[Commit]) -> Iterator[tuple[Neighbours, int, Commit]]:
    """Each commit, with the texts among which its own is, and where."""
    at, ahead = 0, _READ_AHEAD
    while at < len(commits):
        part = commits[at : at + ahead]
        texts = Neighbours(tuple(read_commits(storage, part, part[-1].version)))
        yield from ((texts, number, commit) for number, commit in enumerate(part))
        at, ahead = at + ahead, min(2 * ahead, _MOST_AHEAD)


def changes_state(text: CommitText) -> bool:
    return any(True for name in ("protocol", "metaData") for _ in text.actions(name))


def _schema(partition_names: Sequence[str]) -> pa.Schema:
    common = [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("deletionVector", DELETION_VECTOR),
        ("dataChange", pa.bool_()),
    ]
    if partition_names:
        common.append(("partitionValues", pa.struct([(name, pa.string()) for name in partition_names])))
    return pa.schema(
        [
            ("add", pa.struct([*common, ("stats", pa.string())])),
            ("remove", pa.struct(common)),
            ("cdc", pa.struct(common)),
        ]
    )
