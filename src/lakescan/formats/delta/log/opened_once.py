"""A Parquet file of a checkpoint that is opened once and read by several threads, row group by row group, in batches.

Of each row group only the columns that are asked for are decoded, and never all of its rows at a time: what is made of
a batch is kept, the batch is not. Whatever fails is an `UnreadableCheckpoint` that names the file.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from lakescan.errors import CorruptLog, StorageFailure, UnreadableCheckpoint
from lakescan.io.storage import Storage, failure_of_store
from lakescan.reader.file_checks import check_columns, footer_statistics
from lakescan.reader.rebase import HybridCalendar, hybrid_calendar, rebased
from lakescan.types.columns import empty_structs

# Rows of a batch: few enough for a processor's cache, which takes a fifth of the time of decoding all rows at once.
BATCH_ROWS = 1 << 15
_ACTION_ROWS = 4096
# Five columns below it, of nothing in most tables.
_OFTEN_EMPTY = "add.deletionVector"
Path = tuple[str, ...]
_T = TypeVar("_T")
_U = TypeVar("_U")
Rows = npt.NDArray[np.int64]


def side_by_side(work: Callable[[_U], _T], items: Sequence[_U]) -> list[_T]:
    """The work of each item, in order, on as many threads as there are processors."""
    threads = min(len(items), os.cpu_count() or 1)
    if threads < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads, "lakescan-log") as pool:
        return list(pool.map(work, items))


@dataclass(frozen=True)
class OpenedOnce:
    """A Parquet file that stays open once it was needed. Several threads may read it at once: a reader of Arrow's keeps
    what it has buffered in itself and is for one thread at a time, so each read has one to itself."""

    storage: Storage
    path: str
    size: int | None = None
    """How long it is said to be."""
    _idle: deque[pq.ParquetFile] = field(default_factory=deque, repr=False, compare=False)
    _opening: Lock = field(default_factory=Lock, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # It is opened once more where it arrives.
        return OpenedOnce, (self.storage, self.path, self.size)

    @property
    def name(self) -> str:
        return self.storage.full_path(self.path)

    @property
    def metadata(self) -> pq.FileMetaData:
        return self._opened[1]

    @property
    def schema(self) -> pa.Schema:
        return self._opened[2]

    @contextmanager
    def reader(self) -> Iterator[pq.ParquetFile]:
        """A reader that no other thread has; made anew only where all are in use."""
        source, metadata, _ = self._opened
        try:
            parquet = self._idle.pop()
        except IndexError:
            parquet = _parquet(source, metadata)
        try:
            yield parquet
        finally:
            self._idle.append(parquet)

    @property
    def _opened(self) -> tuple[pa.NativeFile, pq.FileMetaData, pa.Schema]:
        """What threads may share: the file, its footer and its schema."""
        with self._opening:
            return self._opened_first

    @cached_property
    def _opened_first(self) -> tuple[pa.NativeFile, pq.FileMetaData, pa.Schema]:
        with named(self.name):
            source = self.storage.open(self.path)
            if self.size is not None and self.size != source.size():
                raise CorruptLog(self.name, f"it has {source.size()} bytes and the checkpoint says {self.size}")
            first = _parquet(source, None)
            check_columns(first.metadata, source.size())
            self._idle.append(first)
            return source, first.metadata, first.schema_arrow

    def actions(self, name: str) -> Iterator[Mapping[str, Any]]:
        """The few actions of one kind: protocol, metaData, sidecar."""
        if name not in self.schema.names:
            return
        if self.schema.names.count(name) != 1 or not pa.types.is_struct(self.schema.field(name).type):
            raise UnreadableCheckpoint(self.name, f"its column {name} is no struct")
        with named(self.name):
            groups = self._row_groups_with(name)
        if not groups:
            # Nothing to buffer: pyarrow 18 fails at that.
            return
        with named(self.name), self.reader() as parquet:
            # Whoever wants but the first one does not have the rest read.
            for batch in parquet.iter_batches(_ACTION_ROWS, groups, [name]):
                actions = batch.column(0).drop_null()
                actions.validate(full=True)
                yield from actions.to_pylist()

    def _row_groups_with(self, name: str) -> list[int]:
        """The row groups but those without such an action, as the file's own statistics have it."""
        metadata = self.metadata
        leaves = [at for path, at in self._leaves.items() if path[0] == name]
        return [
            at
            for at, group in enumerate(map(metadata.row_group, range(metadata.num_row_groups)))
            if not all(_is_all_null(footer_statistics(metadata, at, leaf), group.num_rows) for leaf in leaves)
        ]

    def leaf(self, path: Path) -> int | None:
        """Where a column without columns below it is in the footer."""
        return self._leaves.get(path)

    @cached_property
    def _leaves(self) -> Mapping[Path, int]:
        # By their parts: a name may have a dot in it, and be spelled as another's path.
        paths = [path for field in self.schema for path in _leaf_paths(field, ())]
        if len(paths) != len(self.metadata.schema):
            raise UnreadableCheckpoint(self.name, f"Arrow reads {len(self.metadata.schema)} columns as {len(paths)}")
        return {path: at for at, path in enumerate(paths)}

    @cached_property
    def calendar(self) -> HybridCalendar | None:
        """That of its dates and moments where it is an old one."""
        return hybrid_calendar(self.metadata.metadata, any(self._int96.values()))

    @cached_property
    def _int96(self) -> Mapping[Path, bool]:
        return {path: self.metadata.schema.column(at).physical_type == "INT96" for path, at in self._leaves.items()}

    def in_our_calendar(self, values: pa.Array, path: Path) -> pa.Array:
        """What was read of a column, or of some columns below it, as the writer meant its dates and moments."""
        if self.calendar is None:
            return values
        below = _leaf_paths(pa.field(path[-1], values.type), path[:-1])
        return rebased(values, self.calendar, [self._int96.get(leaf, False) for leaf in below])

    def null_count(self, group: int, path: Path) -> int | None:
        """How many rows of a row group have no value in a column, where its footer says so."""
        leaf = self.leaf(path)
        known = None if leaf is None else footer_statistics(self.metadata, group, leaf)
        return int(known.null_count) if known is not None and known.has_null_count else None

    def has_values(self, path: Path) -> bool:
        """Whether a column is there and, by the footer, not null in every row."""
        metadata = self.metadata
        groups = range(metadata.num_row_groups)
        return self.leaf(path) is not None and not all(
            self.null_count(group, path) == metadata.row_group(group).num_rows for group in groups
        )

    @cached_property
    def starts(self) -> Rows:
        """The row with which each row group begins, and the row after the last."""
        counts = [self.metadata.row_group(at).num_rows for at in range(self.metadata.num_row_groups)]
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def gather(
        self,
        columns: Sequence[str],
        make: Callable[[Rows, pa.StructArray], _T],
        rows: Rows | None = None,
        groups: Sequence[int] | None = None,
    ) -> list[_T]:
        """What is made of the add actions of each batch, in the order of the file; of these rows (in order) alone where
        some are given, and of these row groups. `make` is told the rows' places in the file."""
        every = range(self.metadata.num_row_groups) if groups is None else groups

        def of_group(group: int) -> list[_T]:
            with named(self.name):
                return list(self._made(columns, make, rows, group))

        return [made for part in side_by_side(of_group, every) for made in part]

    def _made(
        self, columns: Sequence[str], make: Callable[[Rows, pa.StructArray], _T], rows: Rows | None, group: int
    ) -> Iterator[_T]:
        at, end = self.starts[group : group + 2]
        if rows is not None:
            rows = rows[slice(*np.searchsorted(rows, (at, end)))]
        if end == at or (rows is not None and not len(rows)):
            return
        for add in self._batches(columns, group):
            last = at + len(add)
            if rows is None:
                yield make(np.arange(at, last), add)
            else:
                inside = rows[slice(*np.searchsorted(rows, (at, last)))]
                if len(inside):
                    yield make(inside, _taken(add, inside - at))
                if last > rows[-1]:
                    return
            at = last

    def _is_all_null(self, group: int, column: str) -> bool:
        """Whether, by the footer, no row of a row group has anything in a column."""
        rows = self.metadata.row_group(group).num_rows
        leaves = [leaf for leaf in self._leaves if _is_below(leaf, column)]
        return bool(leaves) and all(self.null_count(group, leaf) == rows for leaf in leaves)

    def _batches(self, columns: Sequence[str], group: int) -> Iterator[pa.StructArray]:
        if not any(_is_below(leaf, column) for column in columns for leaf in self._leaves):
            # Nothing to buffer: pyarrow 18 fails at that.
            left = int(self.starts[group + 1] - self.starts[group])
            yield from (empty_structs(min(BATCH_ROWS, left - at)) for at in range(0, left, BATCH_ROWS))
            return
        source, metadata, _ = self._opened
        columns = [column for column in columns if column != _OFTEN_EMPTY or not self._is_all_null(group, column)]
        # A reader of its own: it would hold on to what it has buffered.
        for batch in _parquet(source, metadata).iter_batches(BATCH_ROWS, [group], list(columns), use_threads=False):
            yield batch.column(0)


def _is_below(leaf: Path, column: str) -> bool:
    """Whether Arrow reads a leaf where it is asked for a column, by their names with dots between."""
    name = ".".join(leaf)
    return name == column or name.startswith(f"{column}.")


def _leaf_paths(field: pa.Field, above: Path) -> Iterator[Path]:
    """The columns of a field without columns below them, in the order of the file."""
    path, type_ = (*above, field.name), field.type
    inside = [type_.field(at) for at in range(type_.num_fields)] if pa.types.is_nested(type_) else []
    if not inside:
        yield path
    for child in inside:
        yield from _leaf_paths(child, path)


def _taken(add: pa.StructArray, places: Rows) -> pa.StructArray:
    """The actions at these places; those of neighbours need no copy."""
    if places[-1] - places[0] == len(places) - 1:
        return add.slice(places[0], len(places))
    return add.take(pa.array(places))


def _parquet(source: pa.NativeFile, metadata: pq.FileMetaData | None) -> pq.ParquetFile:
    return pq.ParquetFile(
        source,
        metadata=metadata,
        coerce_int96_timestamp_unit="us",
        pre_buffer=True,
        page_checksum_verification=True,
    )


def _is_all_null(known: pq.Statistics | None, rows: int) -> bool:
    return known is not None and known.has_null_count and known.null_count == rows


@contextmanager
def named(file: str) -> Iterator[None]:
    """Failures to read a checkpoint's file, as one error that says which; a failure of the store stays one."""
    try:
        yield
    except (UnreadableCheckpoint, StorageFailure):
        raise
    except FileNotFoundError as error:
        raise UnreadableCheckpoint(file, "the checkpoint names it and it is not there") from error
    except CorruptLog as error:
        raise UnreadableCheckpoint(file, error.why) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        # Arrow reports a page that does not decode as an OSError, and a name that is no text as Python does.
        raise failure_of_store(file, error) or UnreadableCheckpoint(file, str(error)) from error
