"""One task to Arrow batches: the work of an executor, and of `to_arrow()` on the driver.

What leaves has exactly the plan's output schema. Deleted rows are dropped by their position in the file before
anything else looks at them; then partition values are filled in and the plan's filter is applied.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lakescan.columns import empty_structs
from lakescan.predicate import TRUE, evaluate
from lakescan.reader.aggregate import partial_rows
from lakescan.reader.align import align
from lakescan.reader.parquet_file import ParquetRows
from lakescan.reader.plan import DeletedRows, ReadPlan, ReadTask, ReadyRows
from lakescan.reader.top_rows import top_rows


def read_task(plan: ReadPlan, task: ReadTask | ReadyRows) -> Iterator[pa.RecordBatch]:
    """The rows of a task, file after file, in batches that are never empty."""
    if isinstance(task, ReadyRows):
        return iter(task.rows.to_batches())
    rows = _rows(plan, task)
    if plan.aggregation is not None:
        return partial_rows(rows, plan.aggregation, plan.aggregation.output(plan.schema))
    return rows if plan.top is None else top_rows(rows, plan.top)


def _rows(plan: ReadPlan, task: ReadTask) -> Iterator[pa.RecordBatch]:
    left, skip = plan.limit, task.skip_rows
    for piece in task.pieces.to_pylist():
        for batch in _read_piece(plan, piece):
            skipped = min(skip, batch.num_rows)
            batch = batch.slice(skipped, left)
            skip -= skipped
            if batch.num_rows:
                yield batch
            if left is not None:
                left -= batch.num_rows
                if left == 0:
                    return


def _read_piece(plan: ReadPlan, piece: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    stored = [at for at, field in enumerate(plan.schema) if field.name not in plan.partition_columns]
    schema = pa.schema([plan.schema.field(at) for at in stored])
    source = pa.schema([plan.source.field(at) for at in stored])
    rows = ParquetRows.open(plan.files.storage, plan.files.path(piece), schema, source)
    deleted = plan.files.deleted_rows(piece)
    for group in rows.groups(piece["start"], piece["length"], plan.skip):
        position = group.first_row
        for batch in rows.batches(group):
            start, position = position, position + batch.num_rows
            yield _finish(plan, _without(batch, deleted, start), piece["partition"])


def _without(batch: pa.RecordBatch, deleted: DeletedRows | None, start: int) -> pa.RecordBatch:
    positions = None if deleted is None else deleted.between(start, start + batch.num_rows)
    if positions is None or not len(positions):
        return batch
    if not batch.num_columns:
        return pa.RecordBatch.from_struct_array(empty_structs(batch.num_rows - len(positions)))
    live = np.ones(batch.num_rows, np.bool_)
    live[(positions - np.uint64(start)).astype(np.int64)] = False
    return batch.filter(pa.array(live))


def _finish(plan: ReadPlan, batch: pa.RecordBatch, partition: Mapping[str, Any]) -> pa.RecordBatch:
    """Partition values filled in, the filter applied, the columns that only it needed dropped."""
    if plan.partition_columns:
        batch = _with_partition(plan, batch, partition)
    if plan.filter != TRUE:
        batch = batch.filter(evaluate(plan.filter, batch), null_selection_behavior="drop")
    if plan.output.equals(plan.schema):
        return batch
    if not len(plan.output):
        return pa.RecordBatch.from_struct_array(empty_structs(batch.num_rows))
    columns = [
        align(column, read, wanted, wanted)
        for column, read, wanted in zip(batch.columns, plan.schema, plan.output, strict=False)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=plan.output)


def _with_partition(plan: ReadPlan, batch: pa.RecordBatch, partition: Mapping[str, Any]) -> pa.RecordBatch:
    stored = iter(batch.columns)
    columns = [
        pa.repeat(pa.scalar(partition[field.name], field.type), batch.num_rows)
        if field.name in plan.partition_columns
        else next(stored)
        for field in plan.schema
    ]
    if not columns:
        return batch
    return pa.RecordBatch.from_arrays(columns, schema=plan.schema)
