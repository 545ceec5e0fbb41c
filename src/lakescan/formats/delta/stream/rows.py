"""What a stream's rows are: the rows that commits append, or the change rows of the change data feed.

Both say which files of a commit, and of the initial snapshot, are rows, and how these files are read; everything
else about a stream is the same for the two. A commit of the change feed is given whole, so that no batch holds one
half of an update. Files stand in the order in which Delta Spark counts them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import ChangesNotRecorded, HalfReadCommit, UnsupportedFeature
from lakescan.formats.delta.changes.change_feed import ENABLED
from lakescan.formats.delta.changes.change_files import (
    CHANGE_TYPE,
    ChangeFiles,
    ChangeType,
    change_files,
    commit_fields,
    inserted_files,
)
from lakescan.formats.delta.data_files import DeltaFiles
from lakescan.formats.delta.log.commit_range import TableCommit
from lakescan.formats.delta.statistics.parsed import record_counts
from lakescan.formats.delta.stream.commit_files import new_files
from lakescan.formats.delta.stream.options import StreamOptions
from lakescan.io.storage import Storage
from lakescan.reader.read_plan import ComputedColumn, DataFiles
from lakescan.scan.packing import ROW_COUNT


class StreamRows(Protocol):
    """One kind of rows."""

    whole_commits: bool
    """Whether all files of a commit belong into one batch."""

    @property
    def own_fields(self) -> list[pa.Field]:
        """Columns behind the table's; all but the first are partition values of the files."""

    @property
    def computed(self) -> Mapping[str, ComputedColumn]: ...

    @property
    def data_files(self) -> DataFiles: ...

    def of_commit(self, commit: TableCommit) -> pa.Table:
        """The files that hold the commit's rows, always in the same order, and how many rows the log says each has."""

    def refuse_half(self, commit: TableCommit, given: int, by_delta: bool) -> None:
        """An error where a position in the commit, which another kind of rows may have left, counts other files."""

    def of_snapshot(self, files: pa.Table, commit: Callable[[], TableCommit]) -> pa.Table:
        """The files of the snapshot that a commit left, asked for only where it is needed."""


@dataclass(frozen=True)
class AppendedRows:
    """The rows that are new; commits that take rows away are what the options make of them."""

    storage: Storage
    options: StreamOptions

    whole_commits = False

    @property
    def own_fields(self) -> list[pa.Field]:
        return []

    @property
    def computed(self) -> Mapping[str, ComputedColumn]:
        return {}

    @property
    def data_files(self) -> DataFiles:
        return DeltaFiles(self.storage)

    def of_commit(self, commit: TableCommit) -> pa.Table:
        files = new_files(commit, self.options)
        return files.append_column(ROW_COUNT, record_counts(commit.statistics_texts(files)))

    def refuse_half(self, commit: TableCommit, given: int, by_delta: bool) -> None:
        """Nothing: Lakescan gives change rows in whole commits, and Delta Spark goes on from any of its own too."""

    def of_snapshot(self, files: pa.Table, commit: Callable[[], TableCommit]) -> pa.Table:
        return files


@dataclass(frozen=True)
class ChangedRows:
    """Every insert, delete and update, with the version and time of its commit; a snapshot's rows are inserts."""

    storage: Storage

    whole_commits = True

    @property
    def own_fields(self) -> list[pa.Field]:
        return [pa.field(CHANGE_TYPE, pa.string()), *commit_fields()]

    @property
    def computed(self) -> Mapping[str, ComputedColumn]:
        return {CHANGE_TYPE: ChangeType()}

    @property
    def data_files(self) -> DataFiles:
        return ChangeFiles(self.storage)

    def of_commit(self, commit: TableCommit) -> pa.Table:
        _refuse_unreadable(commit)
        files = change_files(commit, commit.partition_fields)
        return files.append_column(ROW_COUNT, record_counts(files["stats"]))

    def refuse_half(self, commit: TableCommit, given: int, by_delta: bool) -> None:
        """Of a commit that only appends, the files are the same in the same order; of any other they are not.

        Delta Spark, though, stops its feed behind the last change file, and between files that are changed as a whole.
        """
        if commit.cdc.num_rows:
            half = not by_delta or given < commit.cdc.num_rows
        elif by_delta:
            half = any(_has_vectors(files) for files in (commit.adds, commit.removes))
        else:
            half = pc.any(commit.removes["data_change"]).as_py()
        if half:
            raise HalfReadCommit(commit.storage.location, commit.version)

    def of_snapshot(self, files: pa.Table, commit: Callable[[], TableCommit]) -> pa.Table:
        table_commit = commit()
        _refuse_unreadable(table_commit)
        return inserted_files(table_commit, files).append_column(ROW_COUNT, files[ROW_COUNT])


def _has_vectors(files: pa.Table) -> bool:
    vectors = files.filter(files["data_change"])["deletion_vector"]
    return bool(vectors.null_count < len(vectors))


def _refuse_unreadable(commit: TableCommit) -> None:
    location, version = commit.storage.location, commit.version
    if commit.metadata.properties.get(ENABLED, "false").lower() != "true":
        raise ChangesNotRecorded(location, version, version, version, ENABLED)
    own = {CHANGE_TYPE, *(field.name for field in commit_fields())}
    taken = own & {name.lower() for name in commit.metadata.schema.names}
    if taken:
        raise UnsupportedFeature(location, f"its own column {min(taken)} in the change feed", "Rename the column.")
