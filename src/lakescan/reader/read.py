"""One task to Arrow batches: the work of an executor, and of `to_arrow()` on the driver.

What leaves has exactly the plan's output schema. Deleted rows are dropped by their position in the file before
anything else looks at them; then partition values and computed columns are filled in and the plan's filter is
applied.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import TRUE, Column, Predicate, columns_of, conjuncts, evaluate
from lakescan.reader.aggregate import partial_rows
from lakescan.reader.align import align, align_batch, find_fields
from lakescan.reader.dictionaries import decoded, with_types_of
from lakescan.reader.file_checks import Said, check_positions
from lakescan.reader.parquet_file import ParquetRows
from lakescan.reader.read_plan import DeletedRows, ReadPlan, ReadTask, ReadyRows
from lakescan.reader.top_rows import top_rows
from lakescan.types.columns import empty_structs

# Of no more than this share of the rows a copy is cheaper than to ask the rest of a filter of all.
_FEW = 0.25


def read_task(plan: ReadPlan, task: ReadTask | ReadyRows) -> Iterator[pa.RecordBatch]:
    """The rows of a task, file after file, in batches that are never empty."""
    if isinstance(task, ReadyRows):
        return iter(task.rows.to_batches())
    rows = (batch for _, batch in rows_of_pieces(plan, task))
    if plan.aggregation is not None:
        return partial_rows(rows, plan.aggregation, plan.aggregation.output(plan.schema))
    return rows if plan.top is None else top_rows(rows, plan.top)


def rows_of_pieces(plan: ReadPlan, task: ReadTask) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a task before any are put together, each batch with the number of the piece that it is of."""
    left, skip = plan.limit, task.skip_rows
    for at, piece in enumerate(_pieces(task.pieces)):
        for batch in _read_piece(plan, piece, 0 if at else task.from_row):
            skipped = min(skip, batch.num_rows)
            batch = batch.slice(skipped, left)
            skip -= skipped
            if batch.num_rows:
                yield at, batch
            if left is not None:
                left -= batch.num_rows
                if left == 0:
                    return


def _read_piece(plan: ReadPlan, piece: Mapping[str, Any], from_row: int) -> Iterator[pa.RecordBatch]:
    stored = [at for at, field in enumerate(plan.schema) if _is_stored(plan, field)]
    besides = [field for _, fields in _computed(plan) for field in fields]
    schema = pa.schema([plan.schema.field(at) for at in stored] + besides)
    source = pa.schema([plan.source.field(at) for at in stored] + besides)
    merged = plan.files.merged_rows(piece, source)
    if merged is not None:
        if piece["start"]:
            # Such a file cannot be cut: all of it is of the piece that begins it.
            return
        # Nothing may be skipped before merging: a newer row in a log file hides the older one only where both are seen.
        name = plan.files.storage.full_path(plan.files.path(piece))
        for batch in merged:
            yield _finish(plan, _aligned(name, batch, source, schema), piece)
        return
    named = plan.files.source(piece, source)
    said = Said(piece.get("size"), piece.get("row_count"))
    by_dictionary = _top_level(columns_of(plan.worker_filter)) | _keys(plan)
    rows = ParquetRows.open(plan.files.storage, plan.files.path(piece), schema, named, said, by_dictionary)
    deleted = plan.files.deleted_rows(piece)
    if deleted is not None:
        check_positions(rows.name, deleted.last, rows.num_rows)
    for group in rows.groups(piece["start"], piece["length"], plan.skip, plan.computed):
        position = group.first_row
        if position + group.num_rows <= from_row:
            continue
        if deleted is not None and len(deleted.between(position, position + group.num_rows)) == group.num_rows:
            continue
        for batch in rows.batches(group):
            start, position = position, position + batch.num_rows
            if start < from_row:
                batch = batch.slice(from_row - start)
                start = position - batch.num_rows
            # Positions travel with the rows, so that whatever drops rows drops theirs.
            numbered = _with_positions(batch, start) if plan.computed else batch
            yield _finish(plan, _without(numbered, deleted, start), piece)


def _pieces(pieces: pa.Table) -> Iterator[Mapping[str, Any]]:
    """Each piece by its columns' names; partition values stay Arrow's, whose times reach further than Python's."""
    plain = pieces.drop_columns(["partition"]).to_pylist()
    for piece, partition in zip(plain, pieces["partition"], strict=True):
        yield {**piece, "partition": partition}


def _is_stored(plan: ReadPlan, field: pa.Field) -> bool:
    return field.name not in plan.partition_columns and field.name not in plan.computed


def _computed(plan: ReadPlan) -> list[tuple[pa.Field, pa.Schema]]:
    """The computed columns of the plan's schema, and what is read of each file for them."""
    computed_fields = [field for field in plan.schema if field.name in plan.computed]
    return [(field, plan.computed[field.name].stored(field)) for field in computed_fields]


def _with_positions(batch: pa.RecordBatch, start: int) -> pa.RecordBatch:
    positions = pa.array(np.arange(start, start + batch.num_rows, dtype=np.int64))
    return pa.RecordBatch.from_arrays([*batch.columns, positions], names=[*batch.schema.names, "position"])


def _aligned(name: str, batch: pa.RecordBatch, source: pa.Schema, schema: pa.Schema) -> pa.RecordBatch:
    places = find_fields(source, batch.schema)
    stored = [None if at is None else (batch.column(at), batch.schema.field(at)) for at in places]
    return align_batch(name, batch.num_rows, stored, source, schema)


def _without(batch: pa.RecordBatch, deleted: DeletedRows | None, start: int) -> pa.RecordBatch:
    positions = None if deleted is None else deleted.between(start, start + batch.num_rows)
    if positions is None or not len(positions):
        return batch
    if not batch.num_columns:
        return pa.RecordBatch.from_struct_array(empty_structs(batch.num_rows - len(positions)))
    live = np.ones(batch.num_rows, np.bool_)
    live[(positions - np.uint64(start)).astype(np.int64)] = False
    return batch.filter(pa.array(live))


def _finish(plan: ReadPlan, batch: pa.RecordBatch, piece: Mapping[str, Any]) -> pa.RecordBatch:
    """Every column filled in, the filter applied, the columns that only it needed dropped."""
    if plan.partition_columns or plan.computed:
        batch = _filled(plan, batch, piece)
    wanted = plan.worker_filter
    if wanted != TRUE:
        batch = _filtered(batch, wanted)
    batch = decoded(batch, kept=_keys(plan))
    if plan.output.equals(plan.schema):
        return batch
    if not len(plan.output):
        return pa.RecordBatch.from_struct_array(empty_structs(batch.num_rows))
    columns = [
        column if isinstance(column, pa.DictionaryArray) else align(column, read, wanted, wanted)
        for column, read, wanted in zip(batch.columns, plan.schema, plan.output, strict=False)
    ]
    return with_types_of(columns, plan.output)


def _filtered(batch: pa.RecordBatch, predicate: Predicate) -> pa.RecordBatch:
    """The rows for which the predicate is true. Once few are left the rest of it is asked of these alone."""
    kept: pa.BooleanArray | None = None
    for part in conjuncts(predicate):
        passed = evaluate(part, batch)
        kept = passed if kept is None else pc.and_kleene(kept, passed)
        if kept.true_count <= _FEW * batch.num_rows:
            batch, kept = batch.filter(kept, null_selection_behavior="drop"), None
    # Rows that all pass, as those of most files that pass at all do, need not be copied.
    if kept is None or kept.true_count == batch.num_rows:
        return batch
    return batch.filter(kept, null_selection_behavior="drop")


def _keys(plan: ReadPlan) -> frozenset[str]:
    """The columns by which rows are grouped, which need no text before that."""
    return frozenset() if plan.aggregation is None else _top_level(plan.aggregation.keys)


def _top_level(columns: Iterable[Column]) -> frozenset[str]:
    return frozenset(column.path[0] for column in columns if len(column.path) == 1)


def _filled(plan: ReadPlan, batch: pa.RecordBatch, piece: Mapping[str, Any]) -> pa.RecordBatch:
    """The columns of the plan's schema from those of the file: its own, then what computed columns read."""
    if not len(plan.schema):
        return pa.RecordBatch.from_struct_array(empty_structs(batch.num_rows))
    read = iter(batch.columns)
    stored = {field.name: next(read) for field in plan.schema if _is_stored(plan, field)}
    computed = {
        field.name: plan.computed[field.name].values(
            field, piece, batch.columns[-1], [next(read) for _ in range(len(besides))]
        )
        for field, besides in _computed(plan)
    }
    partition = {
        field.name: pa.repeat(piece["partition"][field.name].cast(field.type), batch.num_rows)
        for field in plan.schema
        if field.name in plan.partition_columns
    }
    filled = stored | computed | partition
    return with_types_of([filled[field.name] for field in plan.schema], plan.schema)
