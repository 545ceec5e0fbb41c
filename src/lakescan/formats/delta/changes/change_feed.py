"""The change data feed: the rows that a range of commits inserted, deleted and updated, as the planner sees them.

Every commit of the range is read with the protocol and metadata in force at its own version. As in Delta, its rows are
given in the table's newest schema, or in that of the range's last version where columns are mapped; the second also
where rows do not fit the first. A range in which the feed was off, or whose rows fit neither, is refused when it is
asked for, before any data is read. The version and time of a commit are partition columns, so a
filter on them reads no other commit's files.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import ChangesNotRecorded, IncompatibleChanges, InvalidVersion, UnsupportedFeature
from lakescan.formats.delta.changes.change_files import (
    CHANGE_TYPE,
    COMMIT_TIMESTAMP,
    COMMIT_VERSION,
    ChangeFiles,
    ChangeType,
    change_files,
    commit_fields,
)
from lakescan.formats.delta.changes.schema_changes import lost_in
from lakescan.formats.delta.log.actions import StatisticsRequest
from lakescan.formats.delta.log.commit_range import CommitRange, TableCommit
from lakescan.formats.delta.log.log_segment import LogListing, list_log
from lakescan.formats.delta.log.protocol import Metadata
from lakescan.formats.delta.log.time_travel import commit_after, parse_timestamp, version_at
from lakescan.formats.delta.statistics.parsed import parse_statistics
from lakescan.io.storage import Storage
from lakescan.predicate import Column
from lakescan.reader.read_plan import ComputedColumn
from lakescan.scan.file_statistics import statistics_type
from lakescan.scan.identity import SnapshotIdentity, TableIdentity, digest
from lakescan.scan.listed_snapshot import ListedSnapshot
from lakescan.types.columns import member
from lakescan.types.schema import prune

ENABLED = "delta.enableChangeDataFeed"
SPARK_FIELDS = ((CHANGE_TYPE, "string"), (COMMIT_VERSION, "long"), (COMMIT_TIMESTAMP, "timestamp"))
_OWN_FIELDS = (pa.field(CHANGE_TYPE, pa.string()), *commit_fields())


@dataclass(frozen=True, repr=False)
class DeltaChanges(ListedSnapshot):
    """The changes of a range of versions. Implements `scan.Snapshot`."""

    start: int
    end: int
    _commits: tuple[TableCommit, ...] = field(repr=False, compare=False)
    _metadata: Metadata = field(repr=False, compare=False)
    """What the rows are given in."""

    format = "delta"

    @staticmethod
    def of(commits: CommitRange, newest: Metadata) -> "DeltaChanges":
        """The changes of some commits of a table whose newest metadata is this."""
        walked = tuple(commits)
        last = walked[-1].metadata
        wanted = newest if newest.mapping_mode == "none" and _misfit(walked, newest) is None else last
        feed = DeltaChanges(commits.storage, commits.start, commits.end, walked, wanted)
        feed._refuse_unrecorded()
        feed._refuse_incompatible()
        return feed

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened_again, (self.storage, self._commits[0].zone, self.start, self.end, self._metadata)

    @property
    def version(self) -> int:
        return self.end

    @cached_property
    def identity(self) -> SnapshotIdentity:
        table = TableIdentity(self.format, self.storage, self._metadata.table_id)
        log = digest((commit.version, commit.file_time_ms, len(commit.text.text)) for commit in self._commits)
        columns = digest([self._metadata.schema_json, self._commits[0].zone])
        return SnapshotIdentity(table, f"{self.start}-{self.end}", log, f"changes {columns}")

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's columns, then what happened, in which version and when."""
        return pa.schema([*self._metadata.schema, *_OWN_FIELDS])

    @cached_property
    def physical_schema(self) -> pa.Schema:
        return pa.schema([*self._metadata.physical_schema, *_OWN_FIELDS])

    @cached_property
    def schema_json(self) -> str:
        struct = json.loads(self._metadata.spark_schema)
        own = [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in SPARK_FIELDS]
        return json.dumps({**struct, "fields": [*struct["fields"], *own]})

    @property
    def computed_columns(self) -> Mapping[str, ComputedColumn]:
        return {CHANGE_TYPE: ChangeType()}

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return (*(field.name for field in self._metadata.partition_fields), COMMIT_VERSION, COMMIT_TIMESTAMP)

    @property
    def generated_columns(self) -> Mapping[str, str]:
        # Files of several versions, each with expressions of its own.
        return {}

    @property
    def properties(self) -> Mapping[str, str]:
        return self._metadata.properties

    @property
    def data_files(self) -> ChangeFiles:
        return ChangeFiles(self.storage)

    def to_arrow(self) -> pa.Table:
        """Every change, in no particular order; `scan()` gives some of them, or some columns."""
        return self.scan().build().to_arrow()

    def exact_statistics(self, files: pa.Table, columns: Collection[Column]) -> pa.StructArray:
        """Nothing: of a file's rows only some are changes, and the log does not describe those."""
        fields, _ = prune(self.schema, self.schema, {column.path for column in columns})
        return pa.nulls(files.num_rows, statistics_type(fields))

    def statistics(self, files: pa.Table, columns: Collection[Column]) -> pa.StructArray:
        """What the log says of whole files; how many of a file's rows changed it does not say."""
        table = {column.path for column in columns if column.path != (CHANGE_TYPE,)}
        logical, physical = prune(self._metadata.schema, self._metadata.physical_schema, table)
        request = StatisticsRequest(logical, physical, once_float=self._metadata.once_float)
        statistics = parse_statistics(files["stats"], request)
        vector = files["deletion_vector"].combine_chunks()
        whole = pc.is_null(member(vector, "only"))
        counts = pc.if_else(whole, member(statistics, "row_count"), pa.scalar(None, pa.int64()))
        children = {field.name: member(statistics, field.name) for field in statistics.type} | {"row_count": counts}
        if Column((CHANGE_TYPE,)) in columns:
            children |= _with_change_type(children, files["change_type"].combine_chunks())
        return pa.StructArray.from_arrays(list(children.values()), names=list(children))

    @cached_property
    def _files(self) -> pa.Table:
        """The files that hold the changes; one whose deletion vector changed may stand in it twice."""
        partition = self._metadata.partition_fields
        return pa.concat_tables([change_files(commit, partition) for commit in self._commits]).combine_chunks()

    def _refuse_unrecorded(self) -> None:
        for commit in self._commits:
            if commit.metadata.properties.get(ENABLED, "false").lower() != "true":
                raise ChangesNotRecorded(self.location, commit.version, self.start, self.end, ENABLED)

    def _refuse_incompatible(self) -> None:
        taken = {name.lower() for name in self._metadata.schema.names} & {name for name, _ in SPARK_FIELDS}
        if taken:
            raise UnsupportedFeature(
                self.location, f"its own column {min(taken)} in the change feed", "Rename the column."
            )
        misfit = _misfit(self._commits, self._metadata)
        if misfit is not None:
            raise IncompatibleChanges(self.location, self.start, self.end, *misfit)


def _misfit(commits: Sequence[TableCommit], wanted: Metadata) -> tuple[int, str] | None:
    """The first commit whose rows have no place in a schema, and why; None where all have one."""
    for commit in commits:
        lost = lost_in(commit.metadata, wanted) if commit is commits[0] or commit.changes_state else None
        if lost is not None:
            return commit.version, lost
    return None


def _opened_again(storage: Storage, zone: str, start: int, end: int, metadata: Metadata) -> DeltaChanges:
    return DeltaChanges.of(CommitRange.of(storage, zone, list_log(storage), start, end), metadata)


def change_range(
    storage: Storage,
    zone: str,
    listing: LogListing,
    properties: dict[str, str],
    start: int | str | datetime,
    end: int | str | datetime | None,
) -> tuple[int, int | None]:
    """The versions that a start and an end stand for: each a version, or a time, which is in `zone` if it has none."""
    first, last = _version(start), None if end is None else _version(end)
    if isinstance(first, datetime | str):
        first = commit_after(storage, listing, parse_timestamp(first, zone), properties, f"changes since {first}")
    if isinstance(last, datetime | str):
        last = version_at(storage, listing, parse_timestamp(last, zone), properties)
    return first, last


def _version(asked: int | str | datetime) -> int | str | datetime:
    """A number, also as text, is a version; anything else a time."""
    if isinstance(asked, bool) or not isinstance(asked, int | str | datetime):
        raise InvalidVersion(asked, "give a whole number or a time.")
    return int(asked) if isinstance(asked, str) and asked.strip().isdecimal() else asked


def _with_change_type(statistics: Mapping[str, pa.Array], known: pa.Array) -> dict[str, pa.Array]:
    """The bounds with those of `_change_type`: where it is one for the whole file, it is both."""
    own = pa.field(CHANGE_TYPE, pa.string())
    type_ = statistics_type([own])
    nulls = pc.if_else(known.is_valid(), pa.scalar(0, pa.int64()), pa.scalar(None, pa.int64()))
    values = {"minimum": known, "maximum": known, "null_count": nulls}
    widened = {}
    for name, value in values.items():
        struct = statistics[name]
        fields = [*struct.type, type_.field(name).type.field(0)]
        children = [*struct.flatten(), value]
        widened[name] = pa.StructArray.from_arrays(children, fields=fields)
    return widened
