"""What a table format gives the planner: `Table` and `Snapshot`. A format is added by implementing these.

A snapshot's files are one Arrow table from the log to the tasks, a row a file. Columns that every format gives:
`path`, `size` (bytes), `modification_time` (ms), `partition` (a struct of typed values) and `deletion_vector`
(a struct with at least `cardinality`, null where no row is deleted). A format may add columns of its own; one of them,
`merged_with`, goes with the tasks: a list of paths, null where there are none, and a file that has some is read whole.
Data files are Parquet, or whatever `DataFiles.merged_rows` can read.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from lakescan.io.storage import Storage
from lakescan.predicate import Column
from lakescan.reader.read_plan import ComputedColumn, DataFiles
from lakescan.scan.divided import Divided
from lakescan.scan.executors import Executors
from lakescan.scan.file_filters import FileFilter
from lakescan.scan.identity import SnapshotIdentity
from lakescan.scan.log_state import LogState

if TYPE_CHECKING:
    from lakescan.scan.builder import ScanBuilder


class Snapshot(Protocol):
    """One version of a table."""

    @property
    def format(self) -> str: ...

    @property
    def location(self) -> str: ...

    @property
    def version(self) -> int | str:
        """What the format calls this state of the table: a number, or an instant."""

    @property
    def identity(self) -> SnapshotIdentity:
        """What tells its rows from those of any other table, version or range of versions."""

    @property
    def token(self) -> str:
        """The same as text."""

    def seen_at(self, storage: Storage, zone: str) -> "Snapshot":
        """The same version, its folder spelled so, and its times that name no zone in this one."""

    @property
    def schema(self) -> pa.Schema:
        """The table's columns, in the names that queries use."""

    @property
    def physical_schema(self) -> pa.Schema:
        """The same fields in the same order, as data files name them; an id in its metadata is matched by id."""

    @property
    def schema_json(self) -> str:
        """The same columns as JSON (see `types/schema.py`), with what Arrow has no place for."""

    @property
    def hidden_columns(self) -> pa.Schema:
        """Columns that a query may name but does not get unasked; none has the name of a column of `schema`."""

    @property
    def computed_columns(self) -> Mapping[str, ComputedColumn]:
        """How those columns, hidden or not, come about that data files do not hold."""

    @property
    def partition_columns(self) -> tuple[str, ...]: ...

    @property
    def generated_columns(self) -> Mapping[str, str]:
        """Columns that are made of others, each with its Spark SQL expression."""

    @property
    def properties(self) -> Mapping[str, str]: ...

    @property
    def log_state(self) -> LogState:
        """What the log says of itself: protocol, features, the newest checkpoint."""

    @property
    def num_files(self) -> int: ...

    @property
    def size_in_bytes(self) -> int: ...

    @property
    def data_files(self) -> DataFiles:
        """What executors need to open a file of this table."""

    def files(self) -> pa.Table:
        """Every live file."""

    def census(self) -> pa.Table:
        """Of every live file what is counted: `size`, `deletion_vector`, `merged_with` where the format has some, and
        `rows`, deleted ones too, null where the file does not say. A format may know it without listing the files."""

    def partial_replays(self) -> "Iterator[Snapshot]":
        """This version with only some of its files, then with more: each is listed without listing the rest.

        What is said of files (`statistics`, `details`) is asked of the one that listed them. None are given where
        listing all of them is as fast.
        """

    def without_paths(self, partition: bool) -> "Snapshot | None":
        """This version with files whose paths and, unless they are wanted, partition values are null, for whoever only
        counts them; None where it is not known, or not sooner than with paths, which files there are."""

    def narrowed(self, step: FileFilter) -> "Snapshot":
        """This version with only the files that the step keeps, where they can be listed without listing the rest.

        Itself where they cannot. What is said of files is asked of the one that listed them.
        """

    def divided(self, at_least: int, executors: Executors) -> Divided | None:
        """This version in pieces, where its log has at least so many files and all are not listed already; executors
        may be asked to look through the log for that. None where it cannot be divided."""

    def details(self, files: pa.Table, names: Collection[str]) -> pa.Table:
        """Some rows of `files()` with further columns, those that computed columns need."""

    def statistics(self, files: pa.Table, columns: Collection[Column]) -> pa.StructArray:
        """`scan.file_statistics.statistics_type` for these columns, for some rows of `files()`."""

    def exact_statistics(self, files: pa.Table, columns: Collection[Column]) -> pa.StructArray:
        """The same, but a bound is null unless it is the least or greatest value (NaN apart) of the rows written."""

    def scan(self) -> "ScanBuilder":
        """All of its rows; every scan is made from this."""


class Table(Protocol):
    """A table at a location."""

    @property
    def format(self) -> str: ...

    @property
    def location(self) -> str: ...

    @property
    def storage(self) -> Storage:
        """The folder that it is in."""

    @property
    def zone(self) -> str:
        """The zone of times that name none."""

    @property
    def asks_one_version(self) -> bool:
        """Whether the end of its path names a version, so that it has no newer one."""

    def snapshot(self, version: int | str | None = None, timestamp: str | datetime | None = None) -> Snapshot:
        """The newest version, or the one asked for."""

    def changes(self, start: int | str | datetime, end: int | str | datetime | None = None) -> Snapshot:
        """The rows that changed in a range of versions or times, both ends included, and how; a format that does not
        keep them refuses by name."""

    def history(self, limit: int | None = None) -> pa.Table:
        """What was done to the table, a row a commit, newest first."""
