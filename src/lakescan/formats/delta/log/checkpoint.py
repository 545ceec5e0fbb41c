"""A checkpoint's files as Arrow: each is opened once, when it is first needed, and only the columns that are asked for
are read, statistics only when wanted, and of a large file, where its first rows are enough, no more than those.

The adds of a checkpoint are already reconciled with each other: each file stands in it once. A V2 checkpoint
spreads them over sidecars; each of those is a source like any other part. A file that cannot be read raises
UnreadableCheckpoint, so that replay can do without the checkpoint.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from lakescan.errors import CorruptLog, UnreadableCheckpoint
from lakescan.formats.delta.log.actions import CENSUS, ROW_TRACKING, ROWS, ActionSource, StatisticsRequest, adds_schema
from lakescan.formats.delta.log.checkpoint_adds import (
    COLUMNS,
    filled_out,
    partition_texts,
    refuse_both,
    sized_adds,
    typed_adds,
    unnamed_adds,
)
from lakescan.formats.delta.log.checkpoint_statistics import CheckpointStatistics
from lakescan.formats.delta.log.commits import CommitText, file_actions
from lakescan.formats.delta.log.log_filter import LogFilter
from lakescan.formats.delta.log.log_segment import Checkpoint
from lakescan.formats.delta.log.names import SIDECAR_FOLDER
from lakescan.formats.delta.log.opened_once import OpenedOnce, Rows, named
from lakescan.formats.delta.log.row_group_bounds import row_groups_to_read
from lakescan.formats.delta.log.typed_action import TypedAction
from lakescan.formats.delta.log.whole_actions import marks
from lakescan.io.locations import has_scheme
from lakescan.io.storage import Storage
from lakescan.types.columns import empty_structs, member

_BATCH_ROWS = 4096
# What every checkpoint has once.
_NEEDED = ("checkpointMetadata", "protocol", "metaData")
_ADDS = [f"add.{name}" for name in COLUMNS]
_SIZES = ["add.size", "add.deletionVector"]
_NAMED_SIZES = ["add.path", *_SIZES]
_MARKS = ["add.size", "add.modificationTime"]
_NO_ROWS = np.zeros(0, np.int64)
# Up to one in so many rows, it pays to look whether they are adds before their paths are decoded.
_FEW_OF = 16
# About so many rows are a part for an executor.
_PART_ROWS = 1 << 17


@dataclass(frozen=True)
class CheckpointFile:
    """One Parquet file of a checkpoint: the whole of it, a part, or a sidecar."""

    file: OpenedOnce
    partition_names: tuple[str, ...]
    adds_are_elsewhere: bool = False
    """Whether it names sidecars, and so may have no column for adds of its own."""
    groups: tuple[int, ...] | None = None
    """The row groups whose adds it gives, all where none are named."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Without what it has read.
        return CheckpointFile, (self.file, self.partition_names, self.adds_are_elsewhere, self.groups)

    @property
    def num_rows(self) -> int:
        if self.groups is None:
            return int(self.file.metadata.num_rows)
        return int(sum(self.file.metadata.row_group(group).num_rows for group in self.groups))

    @property
    def adds(self) -> pa.Table:
        return self._adds(None)

    def first_adds(self, rows: int) -> pa.Table:
        if 2 * rows >= self.num_rows:
            return self.adds
        if not self._has_adds():
            return self._no_adds
        with named(self.file.name), self.file.reader() as parquet:
            table = pa.Table.from_batches(_first_batches(parquet, _ADDS, rows))
            add = table["add"].combine_chunks() if table.num_columns else empty_structs(table.num_rows)
            return typed_adds(add, self.partition_names, self.file.name, np.arange(len(add)))

    def matching(self, wanted: LogFilter) -> pa.Table:
        if not self._has_adds():
            return self._no_adds
        groups = [group for group in row_groups_to_read(self.file, wanted) if group in self._groups]
        if wanted.by_partition:
            kept = self.file.gather(["add.partitionValues"], partial(self._in_partitions, wanted), groups=groups)
        else:
            kept = self._by_statistics(wanted, groups)
        return self._adds(self._present(np.concatenate([_NO_ROWS, *kept])))

    def parts(self) -> Sequence["CheckpointFile"]:
        if not self._has_adds():
            return ()
        # Neighbours together where row groups are small: each part is opened anew.
        rows = self.file.starts[:-1][list(self._groups)] // _PART_ROWS
        together = np.split(np.array(self._groups), np.flatnonzero(np.diff(rows)) + 1)
        return [replace(self, groups=tuple(groups.tolist())) for groups in together if len(groups)]

    def marks(self) -> npt.NDArray[np.uint64]:
        if not self._has_adds():
            return np.zeros(0, np.uint64)

        def of_batch(_: Rows, add: pa.StructArray) -> npt.NDArray[np.uint64]:
            adds = add.filter(member(add, "size").is_valid())
            return marks(member(adds, "size"), member(adds, "modificationTime"))

        return np.concatenate([np.zeros(0, np.uint64), *self.file.gather(_MARKS, of_batch, groups=self._groups)])

    def census(self, live: Callable[[pa.Table], pa.Table] | None, counted: StatisticsRequest | None = None) -> pa.Table:
        names = CENSUS if counted is None else (*CENSUS, ROWS)
        none = self._no_adds.append_column(ROWS, pa.array([], pa.int64())).select(names)
        if not self._has_adds():
            return none
        columns = _SIZES if live is None and self._sizes_tell(self._groups) else _NAMED_SIZES

        def sized(at: Rows, add: pa.StructArray) -> pa.Table:
            rows = None if counted is None else member(self._statistics.typed(counted, at, add), "row_count")
            adds = sized_adds(add, self.file.name, rows)
            if live is not None and "path" not in adds.column_names:
                raise CorruptLog(self.file.name, "its add column has no path")
            return (adds if live is None else live(adds)).select(names)

        counts = [] if counted is None else self._statistics.columns(counted)
        return pa.concat_tables([none, *self.file.gather([*columns, *counts], sized, groups=self._groups)])

    def unnamed_adds(self, partition: bool) -> pa.Table | None:
        if not self._has_adds():
            return self._no_adds
        if not self._sizes_tell(self._groups):
            return None
        columns = [*_SIZES, *(["add.partitionValues"] if partition else [])]

        def sized(at: Rows, add: pa.StructArray) -> pa.Table:
            texts = self._partition(add) if partition else None
            return unnamed_adds(add, texts, self.partition_names, self.file.name, at)

        return pa.concat_tables([self._no_adds, *self.file.gather(columns, sized, groups=self._groups)])

    def statistics(self, rows: pa.Array, wanted: StatisticsRequest) -> pa.StructArray:
        return self._statistics.of_rows(rows, wanted)

    def row_tracking(self, rows: pa.Array) -> pa.StructArray:
        places = rows.to_numpy()
        in_order = np.unique(places)
        columns = [f"add.{field.name}" for field in ROW_TRACKING]
        parts = self.file.gather(columns, lambda _, add: filled_out(add, ROW_TRACKING), in_order)
        return pa.concat_arrays(parts).take(pa.array(np.searchsorted(in_order, places)))

    @cached_property
    def _statistics(self) -> CheckpointStatistics:
        return CheckpointStatistics(self.file, keeps=self.groups is None)

    @property
    def _groups(self) -> Sequence[int]:
        return range(self.file.metadata.num_row_groups) if self.groups is None else self.groups

    @property
    def _no_adds(self) -> pa.Table:
        return adds_schema(self.partition_names).empty_table()

    def _has_adds(self) -> bool:
        """Whether it has a column of adds; an error where it should."""
        names = self.file.schema.names
        if "add" not in names and self.adds_are_elsewhere:
            return False
        with named(self.file.name):
            if names.count("add") != 1 or not pa.types.is_struct(self.file.schema.field("add").type):
                raise CorruptLog(self.file.name, "it has no column of add actions")
            refuse_both(self.file.metadata, self.file.name)
        return True

    def _adds(self, rows: Rows | None) -> pa.Table:
        """The adds among these rows, or all of them."""
        if not self._has_adds():
            return self._no_adds
        parts = self.file.gather(_ADDS, self._typed, rows, self._groups)
        return pa.concat_tables([self._no_adds, *parts])

    def _typed(self, rows: Rows, add: pa.StructArray) -> pa.Table:
        return typed_adds(add, self.partition_names, self.file.name, rows)

    def _in_partitions(self, wanted: LogFilter, rows: Rows, add: pa.StructArray) -> Rows:
        return _where(rows, wanted.keeps(self._partition(add), None, len(rows)))

    def _partition(self, add: pa.StructArray) -> pa.StructArray:
        return partition_texts(member(add, "partitionValues"), self.partition_names, len(add), self.file.name)

    def _by_statistics(self, wanted: LogFilter, groups: Sequence[int]) -> list[Rows]:
        kept = self._statistics.whole(wanted.request, self.num_rows)
        columns = [] if kept is not None else self._statistics.columns(wanted.request)
        columns += ["add.partitionValues"] if wanted.needs_partition else []

        def chosen(rows: Rows, add: pa.StructArray) -> Rows:
            known = (
                self._statistics.typed(wanted.request, rows, add) if kept is None else kept.slice(rows[0], len(rows))
            )
            texts = self._partition(add) if wanted.needs_partition else None
            return _where(rows, wanted.keeps(texts, known, len(rows)))

        return self.file.gather(columns, chosen, groups=groups)

    def _present(self, rows: Rows) -> Rows:
        """The rows without those that a glance at sizes shows to be no adds, so that no path is decoded for them."""
        groups = np.unique(np.searchsorted(self.file.starts, rows, side="right") - 1)
        if len(rows) * _FEW_OF > self.num_rows or not self._sizes_tell(groups.tolist()):
            return rows
        sized = self.file.gather(["add.size"], lambda at, add: _where(at, member(add, "size").is_valid()), rows)
        return np.concatenate([_NO_ROWS, *sized])

    def _sizes_tell(self, groups: Iterable[int]) -> bool:
        """Whether, by the footer's count of nulls, as many rows have a size as have a path."""
        counts = ([self.file.null_count(group, ("add", name)) for name in ("path", "size")] for group in groups)
        return all(path is not None and path == size for path, size in counts)


@dataclass(frozen=True)
class CheckpointFiles:
    """A checkpoint's own files, and the sidecars that they name."""

    storage: Storage
    checkpoint: Checkpoint

    def actions(self, name: str) -> Iterator[Mapping[str, Any]]:
        """The few actions of one kind in the checkpoint's own files."""
        return (action for action, _ in self.named_actions(name))

    def named_actions(self, name: str) -> Iterator[tuple[Mapping[str, Any], str]]:
        """The same, each with the file that it stands in."""
        for path, file in zip(self.checkpoint.paths, self._own, strict=True):
            full = self.storage.full_path(path)
            with named(full):
                yield from ((action, full) for action in file.actions(name))

    def sources(self, partition_names: Sequence[str]) -> list[ActionSource]:
        """Every file of the checkpoint that may hold adds, its sidecars included."""
        names = tuple(partition_names)
        # What stands in several parts has no sidecars, so the parts need not be opened to look.
        sidecars = self._sidecars() if len(self.checkpoint.paths) == 1 else []
        sources: list[ActionSource] = []
        for file in self._own:
            if isinstance(file, OpenedOnce):
                sources.append(CheckpointFile(file, names, adds_are_elsewhere=bool(sidecars)))
                continue
            with named(file.file):
                sources.append(file_actions([file], names))
        return [*sources, *(CheckpointFile(sidecar, names) for sidecar in sidecars)]

    def _sidecars(self) -> list[OpenedOnce]:
        sidecars: dict[str, OpenedOnce] = {}
        for action, file in self.named_actions("sidecar"):
            with named(file):
                sidecar = TypedAction("sidecar", action, file)
                path, size = sidecar.text("path"), sidecar.integer("sizeInBytes")
                if not path:
                    raise sidecar.malformed("path", "the name of a file")
                path = path if has_scheme(path) else unquote(path)
                inside = path if "/" in path else f"{SIDECAR_FOLDER}/{path}"
                if inside in sidecars:
                    raise CorruptLog(file, f"it names the sidecar {path} twice")
                sidecars[inside] = OpenedOnce(self.storage, inside, size)
        return list(sidecars.values())

    @cached_property
    def _own(self) -> list[OpenedOnce | CommitText]:
        return [self._own_file(path) for path in self.checkpoint.paths]

    def _own_file(self, path: str) -> OpenedOnce | CommitText:
        if not path.endswith(".json"):
            return OpenedOnce(self.storage, path)
        name = self.storage.full_path(path)
        with named(name):
            text = CommitText(name, self.storage.read(path), reconciled=True)
            for needed in _NEEDED:
                if next(iter(text.actions(needed)), None) is None:
                    raise UnreadableCheckpoint(name, f"it has no {needed} action: it is empty or cut")
            return text


def _first_batches(file: pq.ParquetFile, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    """Batches until they have so many rows: only the first row groups are read, and the last is decoded in part."""
    counts = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
    needed = int(np.searchsorted(np.cumsum(counts), rows)) + 1
    for batch in file.iter_batches(_BATCH_ROWS, list(range(needed)), list(columns)):
        yield batch
        rows -= batch.num_rows
        if rows <= 0:
            return


def _where(rows: Rows, chosen: pa.Array) -> Rows:
    chosen_rows: Rows = rows[chosen.to_numpy(zero_copy_only=False)]
    return chosen_rows
