"""What a Spark Python worker runs: a pickled task in, Arrow batches out.

The batches have the columns of `worker_schema`: those of the scan, or, where it has none, one that stands for the
rows. PySpark 4.0 takes a batch without columns for one without rows, which would make every count zero.

Before the rows of each file goes a batch without rows. By it Spark's side (`ArrowReaderFactory.java`) knows which file
the rows are of, for `input_file_name()`; the first of them names the files.
"""

import gc
import os
import pickle
import socket
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    IntegerType,
    MapType,
    StructField,
    StructType,
    YearMonthIntervalType,
)

from lakescan.errors import LakescanError
from lakescan.reader.file_metadata import block_length
from lakescan.reader.read import read_task, rows_of_pieces
from lakescan.reader.read_plan import ReadPlan, ReadTask, ReadyRows
from lakescan.stream.stream import StreamTask

_ROW = "row"
_FILES = "lakescan.files"
_Item = TypeVar("_Item")
_Made = TypeVar("_Made")
Reader = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def partition_reader(plan: ReadPlan) -> Reader:
    """The function that Spark sends to its workers; it gets its task, and which part of that to read."""

    def read(tasks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _rows_of_tasks(tasks, lambda task: StreamTask(plan, task))

    return read


def stream_reader(tasks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same for a stream, whose tasks each have their plan: one batch may read versions of several schemas."""
    return _rows_of_tasks(tasks, lambda task: task)


def _rows_of_tasks(tasks: Iterator[pa.RecordBatch], planned: Callable[[Any], StreamTask]) -> Iterator[pa.RecordBatch]:
    send_at_once()
    keep_what_is_loaded()
    for batch in tasks:
        for pickled, *part in zip(*map(pa.Array.to_pylist, batch.columns), strict=True):
            planned_task = planned(pickle.loads(pickled))
            try:
                yield from _rows_after_their_file(planned_task.plan, _part(planned_task.task, *part))
            except LakescanError as error:
                # The message says it all: which file, what is wrong, what to do. Our own frames only hide it.
                raise error.with_traceback(None) from None


def shipped(work: Callable[[_Item], _Made]) -> Callable[[_Item], _Made]:
    """The function as it travels: nothing of it is unpickled before a worker knows that it can be.

    A wheel of Lakescan's among the files that Spark sent is used as it is: PySpark has workers import from those that
    end in .zip, .egg and .jar alone.
    """
    pickled: bytes = cloudpickle.dumps(work)  # type: ignore[no-untyped-call]

    def unpacked(item: _Item) -> _Made:
        import glob
        import importlib.util
        import os
        import pickle
        import sys

        if importlib.util.find_spec("lakescan") is None:
            # The folder of the files that Spark sent is among these.
            folders = tuple(sys.path)
            sys.path += [wheel for folder in folders for wheel in glob.glob(os.path.join(folder, "lakescan-*.whl"))]
        try:
            import lakescan  # noqa: F401
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                f"Lakescan is not installed where Spark's Python workers run ({sys.executable}). Install it there, in "
                "the release that the driver has, or set spark.pyspark.python to an interpreter that has it."
            ) from None
        # What it gives, not a generator around it: that would be one more frame in every error.
        made: _Made = pickle.loads(pickled)(item)
        return made

    # Annotations travel with a function, and these are names of this module: a worker without Lakescan has none.
    unpacked.__annotations__ = {}
    return unpacked


def send_at_once() -> None:
    """Have this process's TCP connections send what they are given, however little it is.

    Spark's worker leaves them as they are made: what follows the last batch waits until Spark's side of the connection
    has confirmed that batch, which it does after 40 ms. That was most of the time of a short task.
    """
    open_files = "/dev/fd"  # Windows has none
    for name in os.listdir(open_files) if os.path.isdir(open_files) else ():
        path = os.path.join(open_files, name)
        # The listing's own number is closed by now.
        if not os.path.exists(path) or not stat.S_ISSOCK(os.stat(path).st_mode):
            continue
        with socket.socket(fileno=os.dup(int(name))) as connection:
            if connection.family in (socket.AF_INET, socket.AF_INET6):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@cache
def keep_what_is_loaded() -> None:
    """Spark has a worker collect garbage after every task, which goes through all that it ever imported: 20 ms."""
    gc.freeze()


def worker_schema(schema: StructType) -> StructType:
    """The columns that batches have on their way from a worker to Spark."""
    return _sendable(schema) if schema.fields else StructType([StructField(_ROW, BooleanType())])


def _sendable(type_: Any) -> Any:
    """The type with year-month intervals as what Spark holds them as, a number: PySpark has no Arrow type for them."""
    if isinstance(type_, YearMonthIntervalType):
        return IntegerType()
    if isinstance(type_, ArrayType):
        return ArrayType(_sendable(type_.elementType), type_.containsNull)
    if isinstance(type_, MapType):
        return MapType(_sendable(type_.keyType), _sendable(type_.valueType), type_.valueContainsNull)
    if isinstance(type_, StructType):
        fields = type_.fields
        return StructType([StructField(f.name, _sendable(f.dataType), f.nullable, f.metadata) for f in fields])
    return type_


def _part(task: ReadTask | ReadyRows, first: int, pieces: int, row: int) -> ReadTask | ReadyRows:
    """The task's pieces from `first` on, without those that Spark's own reader takes; of the first one the rows from
    `row` of its file on."""
    if isinstance(task, ReadyRows):
        return task
    return replace(task, pieces=task.pieces.slice(first, min(pieces, task.pieces.num_rows)), from_row=row)


def _rows_after_their_file(plan: ReadPlan, task: ReadTask | ReadyRows) -> Iterator[pa.RecordBatch]:
    if isinstance(task, ReadyRows) or plan.aggregation is not None or plan.top is not None:
        # Rows of several files put together.
        yield from map(_with_a_column, read_task(plan, task))
        return
    last, marker = -1, None
    for at, batch in rows_of_pieces(plan, task):
        whole = _with_a_column(batch)
        if marker is None:
            marker = _marker(whole, plan, task)
        yield from [marker] * (at - last)
        yield whole
        last = at


def _marker(batch: pa.RecordBatch, plan: ReadPlan, task: ReadTask) -> pa.RecordBatch:
    """A batch without rows; its first column names the task's pieces, a line each: first byte, length, location."""
    pieces = task.pieces.drop_columns(["partition"]).to_pylist()
    lines = (
        f"{piece['start']}\t{block_length(piece)}\t{plan.files.storage.uri(plan.files.path(piece))}" for piece in pieces
    )
    first = batch.schema.field(0)
    named = batch.schema.set(0, first.with_metadata({**(first.metadata or {}), _FILES: "\n".join(lines)}))
    return pa.RecordBatch.from_arrays(batch.slice(0, 0).columns, schema=named)


def _with_a_column(batch: pa.RecordBatch) -> pa.RecordBatch:
    if batch.num_columns:
        return batch
    return pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows, pa.bool_())], names=[_ROW])
