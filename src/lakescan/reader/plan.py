"""What an executor is told: one `ReadPlan` for a whole scan, and a `ReadTask` for each piece of work.

Both pickle to a few kilobytes: text, schemas and a slice of the planner's file table, never a live object.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakescan.predicate import Predicate
from lakescan.reader.aggregation import Aggregation
from lakescan.reader.top_rows import TopRows
from lakescan.storage import Storage


class DeletedRows(Protocol):
    """Positions of deleted rows in one data file."""

    def __len__(self) -> int: ...

    def between(self, start: int, stop: int) -> npt.NDArray[np.uint64]:
        """Those in [start, stop), in order."""


class DataFiles(Protocol):
    """What a format knows of its data files that Parquet does not say. Picklable."""

    @property
    def storage(self) -> Storage: ...

    def path(self, file: Mapping[str, Any]) -> str:
        """Where the file is, for `storage`."""

    def deleted_rows(self, file: Mapping[str, Any]) -> DeletedRows | None:
        """The rows of the file that are not to be read, None where all are."""


@dataclass(frozen=True)
class ReadPlan:
    """How every task of a scan is read."""

    files: DataFiles
    output: pa.Schema
    """The rows that leave, in the table's names and types."""
    schema: pa.Schema
    """What is read: the output, and behind it the columns that only the filter needs."""
    source: pa.Schema
    """The same fields as `schema`, as the data files name them."""
    partition_columns: frozenset[str]
    filter: Predicate
    """Evaluated on every row; only rows for which it is true leave."""
    skip: Predicate
    """Row groups without a row for which this is true need not be read; whoever gets the rows evaluates it."""
    limit: int | None = None
    """No task needs to give more rows than this."""
    top: TopRows | None = None
    """No task needs to give more than these rows."""
    aggregation: Aggregation | None = None
    """What leaves are partial rows of this, in place of rows of `output`."""


@dataclass(frozen=True)
class ReadTask:
    """Pieces of data files: the planner's columns and, in `start` and `length`, which bytes of each file."""

    pieces: pa.Table
    skip_rows: int = 0
    """How many rows, from the first on, are not given."""


@dataclass(frozen=True)
class ReadyRows:
    """A task whose rows are known already; a worker only passes them on."""

    rows: pa.Table
