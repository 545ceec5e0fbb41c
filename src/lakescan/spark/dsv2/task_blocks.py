"""A plan's tasks as they travel to executors: in blocks of a few tasks. Nothing is made for a file or a task alone.

A block is two Arrow streams of the pieces of its tasks, one for workers and one for Spark's own reader. A task brings
its whole block to its executor: some kilobytes, as much as a stream of its own would be.
"""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, repeat

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.reader.read_plan import ReadTask, ReadyRows, pickled_tasks, streams_of
from lakescan.scan.packing import PackedTasks
from lakescan.scan.plan import Plan, ScanTasks
from lakescan.spark.bridge.tasks import TASK, TaskBlock, block_of_one
from lakescan.spark.dsv2.plain_files import PlainColumns, told_pieces, why_workers

# A block has no more pieces than that and those of one task.
_PIECES = 16


@dataclass(frozen=True)
class DividedScan:
    """A plan's tasks, and what Spark's own reader is told of their pieces."""

    plan: Plan
    tasks: ScanTasks
    columns: PlainColumns | str
    """Why no task of the scan is read by Spark's own reader, where that is so."""

    @cached_property
    def readers(self) -> tuple[tuple[str, int], ...]:
        """Who reads, and how many tasks."""
        ready = sum(isinstance(task, ReadyRows) for task in self.tasks.first)
        by_spark = int(np.count_nonzero(self._is_plain))
        counts = {
            "Spark's own Parquet reader": by_spark,
            "Arrow in Python workers": len(self.tasks.first) - ready + len(self._packed) - by_spark,
            "the log alone": ready,
        }
        return tuple((reader, count) for reader, count in counts.items() if count)

    @cached_property
    def why_workers(self) -> tuple[str, ...]:
        """Why workers read what they do."""
        of_workers = np.repeat(~self._is_plain, self._packed.ends - self._packed.begins)
        offset = any(isinstance(task, ReadTask) for task in self.tasks.first)
        pieces = self._packed.pieces.filter(pa.array(of_workers))
        return why_workers(self.plan.read_plan, self.columns, offset, pieces)

    def blocks(self) -> Iterator[TaskBlock]:
        """The tasks, in their order."""
        for task in self.tasks.first:
            alone = PackedTasks(task.pieces, np.zeros(1, np.int64)) if isinstance(task, ReadTask) else None
            size = 0 if alone is None else int(self.plan.bytes_of(alone)[0])
            yield block_of_one(pickle.dumps(task), b"", size)
        begins = self._packed.begins
        first_tasks = np.flatnonzero(np.diff(begins // _PIECES, prepend=-1))
        first_pieces = begins[first_tasks]
        tasks = np.zeros(len(begins), TASK)
        tasks["bytes"], tasks["plain"] = self.plan.bytes_of(self._packed), self._is_plain
        tasks["first"] = begins - np.repeat(first_pieces, np.diff(first_tasks, append=len(begins)))
        tasks["pieces"] = self._packed.ends - begins
        of_blocks = np.split(tasks, first_tasks[1:]) if len(tasks) else []
        edges = list(pairwise([*first_pieces.tolist(), self._packed.pieces.num_rows]))
        can = np.logical_or.reduceat(self._is_plain, first_tasks) if len(tasks) else np.zeros(0, np.bool_)
        workers = pickled_tasks(_short(self._packed.pieces), edges)
        told = streams_of(_short(self._told), edges) if self._told is not None else repeat(b"")
        for of_block, worker, plain, is_plain in zip(of_blocks, workers, told, can, strict=False):
            yield TaskBlock(of_block, worker, plain if is_plain else b"")

    @property
    def _packed(self) -> PackedTasks:
        return self.tasks.packed

    @cached_property
    def _told(self) -> pa.RecordBatch | None:
        return told_pieces(self.plan.read_plan, self.columns, self._packed.pieces)

    @cached_property
    def _is_plain(self) -> npt.NDArray[np.bool_]:
        """Of each task whether Spark's own reader can read a piece of it."""
        if self._told is None:
            return np.zeros(len(self._packed), np.bool_)
        has_path = pc.is_valid(self._told.column(0)).to_numpy(zero_copy_only=False)
        return self._packed.sums(has_path.astype(np.float64)) > 0


def _short(pieces: pa.Table | pa.RecordBatch) -> pa.RecordBatch:
    """The same in one batch. Of a column without a value, but for partition values, nothing travels but its name."""
    none = pa.nulls(pieces.num_rows)
    table = pa.table(
        {
            name: none if column.null_count == len(column) and not name.startswith("partition") else column
            for name, column in zip(pieces.schema.names, pieces.columns, strict=True)
        }
    )
    return pa.RecordBatch.from_struct_array(table.to_struct_array().combine_chunks())
