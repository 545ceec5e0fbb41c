"""A batch of a stream with only the columns and the files that a query wants of it.

Offsets count all files, whatever is wanted of them, so a query that asks for less has the same batches. A file is left
out by the values of its partition alone: whoever gets the rows still evaluates the filter.
"""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from lakescan.predicate import TRUE, Predicate, columns_of, split_by_columns
from lakescan.reader.read_plan import ReadPlan, ReadTask, ReadyRows
from lakescan.scan.pruning import matching_partitions
from lakescan.stream.stream import StreamTask


def narrowed(tasks: Sequence[StreamTask], columns: Sequence[str], wanted: Predicate) -> list[StreamTask]:
    """The tasks with these columns, in this order, and without files of which no row makes `wanted` true."""
    plans = {id(task.plan): _with_columns(task.plan, columns) for task in tasks}
    kept = [StreamTask(plans[id(task.plan)], _matching(task, columns, wanted)) for task in tasks]
    return [task for task in kept if isinstance(task.task, ReadyRows) or task.task.pieces.num_rows]


def _with_columns(plan: ReadPlan, columns: Sequence[str]) -> ReadPlan:
    needed = {column.path[0] for predicate in (plan.worker_filter, plan.skip) for column in columns_of(predicate)}
    names = [*columns, *(name for name in plan.schema.names if name in needed and name not in columns)]
    places = {name: at for at, name in enumerate(plan.schema.names)}
    return replace(
        plan,
        output=pa.schema([plan.output.field(name) for name in columns]),
        schema=pa.schema([plan.schema.field(places[name]) for name in names]),
        source=pa.schema([plan.source.field(places[name]) for name in names]),
        computed={name: column for name, column in plan.computed.items() if name in names},
    )


def _matching(task: StreamTask, columns: Sequence[str], wanted: Predicate) -> ReadTask | ReadyRows:
    read_task = task.task
    if isinstance(read_task, ReadyRows):
        return ReadyRows(read_task.rows.select(columns))
    by_partition, _ = split_by_columns(wanted, tuple(task.plan.partition_columns))
    # Rows that are not given are counted from the task's first file on.
    if by_partition == TRUE or read_task.skip_rows:
        return read_task
    return replace(read_task, pieces=matching_partitions(read_task.pieces, by_partition))
