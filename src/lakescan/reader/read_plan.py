"""What an executor is told: one `ReadPlan` for a whole scan, and a `ReadTask` for each piece of work.

Both pickle to a few kilobytes: text, schemas and a slice of the planner's file table, never a live object. Both say
whether they only decode: a field does more than that unless it is declared to, so a new one cannot be forgotten.
"""

import pickle
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakescan.io.storage import Storage
from lakescan.predicate import TRUE, Predicate, conjoin
from lakescan.reader.aggregation import Aggregation
from lakescan.reader.top_rows import TopRows


class DeletedRows(Protocol):
    """Positions of deleted rows in one data file."""

    @property
    def last(self) -> int | None:
        """The last row that it speaks of: the file must have it."""

    def between(self, start: int, stop: int) -> npt.NDArray[np.uint64]:
        """Those in [start, stop), in order."""


class DataFiles(Protocol):
    """What a format knows of its data files that Parquet does not say. Picklable."""

    @property
    def storage(self) -> Storage: ...

    def path(self, file: Mapping[str, Any]) -> str:
        """Where the file is, for `storage`."""

    def source(self, file: Mapping[str, Any], source: pa.Schema) -> pa.Schema:
        """The plan's source schema, as this very file names its fields."""

    def deleted_rows(self, file: Mapping[str, Any]) -> DeletedRows | None:
        """The rows of the file that are not to be read, None where all are."""

    def merged_rows(self, file: Mapping[str, Any], source: pa.Schema) -> Iterator[pa.RecordBatch] | None:
        """The rows of a file that is no Parquet file, or only a part of what they are made of, with at least these
        columns; None where the file is a Parquet file that says everything itself."""

    def plain_files(self, pieces: pa.Table) -> pa.Table:
        """What whoever opens the files without Arrow must know of each: the columns of `PLAIN_FILES`."""


PLAIN_FILES = pa.schema(
    [
        # Where the file is (`Storage.plain_paths`), if it is a Parquet file that names its columns as the plan's source
        # schema does; null where only a worker can read it.
        ("path", pa.string()),
        # Which of its rows are deleted, where any are: a deletion vector in this file behind `offset`, or its bytes.
        ("vector_file", pa.string()),
        ("vector", pa.binary()),
        ("vector_offset", pa.int64()),
        ("vector_size", pa.int64()),
        ("vector_rows", pa.int64()),
    ]
)


def undeleted_files(paths: pa.ChunkedArray) -> pa.Table:
    """`PLAIN_FILES` of files all of whose rows are wanted."""
    vectors = [pa.nulls(len(paths), field.type) for field in list(PLAIN_FILES)[1:]]
    return pa.Table.from_arrays([paths, *vectors], schema=PLAIN_FILES)


class ComputedColumn(Protocol):
    """A column whose values the reader works out, from what the log says of a file and where in it a row is."""

    def needs(self, wanted: pa.Field) -> Collection[str]:
        """Columns of the planner's file table that the values rest on; `wanted` may be a part of the column."""

    def stored(self, wanted: pa.Field) -> pa.Schema:
        """Columns of the data files that the values rest on; all null where a file has none of the name."""

    def values(
        self, wanted: pa.Field, file: Mapping[str, Any], positions: pa.Array, stored: Sequence[pa.Array]
    ) -> pa.Array:
        """A value for each row; `positions` are the rows' in the file, `stored` their values in the columns above."""


_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
# Of a field that says where rows are and of which columns. Any other changes rows wherever it is not at its default.
_DECODES = {"decodes": True}


class _Instructions:
    """Fields of which some only say what to decode."""

    @property
    def only_decodes(self) -> bool:
        """Whether all rows leave as the files hold them: nothing filtered, cut off, counted or made."""
        return all(_only_decodes(self, instruction) for instruction in fields(self))  # type: ignore[arg-type]


def _only_decodes(instructions: object, instruction: "Field[Any]") -> bool:
    if instruction.metadata.get("decodes"):
        return True
    default = instruction.default if instruction.default_factory is MISSING else instruction.default_factory()
    return default is not MISSING and bool(getattr(instructions, instruction.name) == default)


@dataclass(frozen=True)
class ReadPlan(_Instructions):
    """How every task of a scan is read."""

    files: DataFiles = field(metadata=_DECODES)
    output: pa.Schema = field(metadata=_DECODES)
    """The rows that leave, in the table's names and types."""
    schema: pa.Schema = field(metadata=_DECODES)
    """What is read: the output, and behind it the columns that only the filter needs."""
    source: pa.Schema = field(metadata=_DECODES)
    """The same fields as `schema`, as the data files name them."""
    partition_columns: frozenset[str] = field(metadata=_DECODES)
    filter: Predicate = TRUE
    """Evaluated on every row; only rows for which it is true leave."""
    unclaimed: Predicate = TRUE
    """Whoever gets the rows evaluates this too. A worker drops rows by it, which it then need not send; Spark's own
    reader sends nothing, and lets them leave."""
    skip: Predicate = TRUE
    """Row groups without a row for which this is true need not be read; whoever gets the rows evaluates it."""
    limit: int | None = None
    """No task needs to give more rows than this."""
    top: TopRows | None = None
    """No task needs to give more than these rows."""
    aggregation: Aggregation | None = None
    """What leaves are partial rows of this, in place of rows of `output`."""
    computed: Mapping[str, ComputedColumn] = field(default_factory=dict)
    """How the columns of `schema` that are neither in files nor partition values come about, by name."""

    @property
    def only_decodes(self) -> bool:
        return super().only_decodes and bool(self.output.equals(self.schema))

    @property
    def worker_filter(self) -> Predicate:
        """What a worker evaluates on every row."""
        return conjoin([self.filter, self.unclaimed])

    @property
    def wanted_of_files(self) -> frozenset[str]:
        """Columns of the planner's file table that tasks must carry for the computed columns."""
        computed = [field for field in self.schema if field.name in self.computed]
        return frozenset(name for field in computed for name in self.computed[field.name].needs(field))


@dataclass(frozen=True)
class ReadTask(_Instructions):
    """Pieces of data files: the planner's columns and, in `start` and `length`, which bytes of each file."""

    pieces: pa.Table = field(metadata=_DECODES)
    skip_rows: int = 0
    """How many rows, from the first on, are not given."""
    from_row: int = 0
    """Where in its file the first row is that is wanted of the first piece."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrow pickles a slice with the whole table that it is cut from, so each task would carry every file.
        (pieces,) = self.pieces.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], self.pieces.schema)]
        (stream,) = streams_of(pieces, [(0, pieces.num_rows)])
        return _received, (stream, self.skip_rows, self.from_row)


def pickled_tasks(pieces: pa.RecordBatch, edges: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """Pickled, the `ReadTask`s that have the pieces from an edge to the other, all of which they read."""
    return (pickle.dumps(_Pickled(stream)) for stream in streams_of(pieces, edges))


def streams_of(batch: pa.RecordBatch, edges: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """An Arrow stream of one batch for each part of the rows. Arrow's own writers take several times as long."""
    schema = batch.schema.serialize()
    for begin, end in edges:
        yield b"".join([schema, batch.slice(begin, end - begin).serialize(), _END_OF_STREAM])


@dataclass(frozen=True)
class _Pickled:
    stream: bytes

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self.stream, 0, 0)


def _received(stream: bytes, skip_rows: int, from_row: int) -> ReadTask:
    return ReadTask(pa.ipc.open_stream(stream).read_all(), skip_rows, from_row)


@dataclass(frozen=True)
class ReadyRows:
    """A task whose rows are known already; a worker only passes them on."""

    rows: pa.Table
