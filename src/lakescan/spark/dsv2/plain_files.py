"""Tasks whose rows are wanted as their files hold them: Spark's own Parquet reader decodes these in the executor.

Nothing may be left to do but decoding, as the plan and the task say themselves: no row filtered, deleted, merged,
counted or cut off, every column in the file under one name and of a simple type. What only a file's footer says is
looked at where the file is opened, by `PlainFiles.java`; a file that differs is read by a worker, as every other task.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import pyarrow as pa
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from lakescan.reader.plan import ReadPlan, ReadTask, ReadyRows
from lakescan.scan.packing import ROW_COUNT
from lakescan.spark.dsv2.columns import plain_field
from lakescan.types.columns import member
from lakescan.types.schema import FIELD_ID

_NUMBERS = (ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, DecimalType)
_SIMPLE = (*_NUMBERS, BooleanType, StringType, BinaryType, DateType, TimestampType, TimestampNTZType)


@dataclass(frozen=True)
class PlainColumns:
    """The columns of a scan: those stored in files, as they are named there, and those of the partition."""

    stored: StructType
    partitions: StructType
    places: tuple[int, ...]
    """For each column of the scan, where it is among the stored ones with the partition's behind them."""


def plain_columns(plan: ReadPlan, schema: StructType) -> PlainColumns | None:
    """The columns of a scan whose files may be plain, None where no task of it can be."""
    if not plan.only_decodes or not len(plan.output):
        return None
    notes = schema.jsonValue()
    stored, partitions = [], []
    for field, source, wanted in zip(plan.schema, plan.source, schema.fields, strict=True):
        if not isinstance(wanted.dataType, _SIMPLE) or plain_field(notes, (wanted.name,)) is None:
            return None
        if field.name in plan.partition_columns:
            partitions.append(StructField(field.name, wanted.dataType, wanted.nullable))
        elif _is_stored_as_it_is(field, source):
            stored.append(StructField(source.name, wanted.dataType, wanted.nullable))
        else:
            return None
    if not stored:
        return None
    of_the_partition = [field.name in plan.partition_columns for field in plan.schema]
    order = sorted(range(len(of_the_partition)), key=of_the_partition.__getitem__)
    return PlainColumns(StructType(stored), StructType(partitions), tuple(map(order.index, range(len(order)))))


def plain_pieces(plan: ReadPlan, columns: PlainColumns | None, tasks: Sequence[ReadTask | ReadyRows]) -> list[bytes]:
    """What an executor needs to read each task by itself, as an Arrow stream; empty where a worker has to."""
    known = [task.pieces for task in tasks if isinstance(task, ReadTask) and task.only_decodes]
    if columns is None or not known or len(known) < len(tasks):
        return [b""] * len(tasks)
    # All tasks at once: a call of Arrow's takes longer than what it does for the few files of one.
    told = _told(plan, columns, pa.concat_tables(known).combine_chunks())
    ends = accumulate(pieces.num_rows for pieces in known)
    spans = ((end - pieces.num_rows, pieces.num_rows) for end, pieces in zip(ends, known, strict=True))
    return [_stream(told.slice(first, count)) for first, count in spans]


def _told(plan: ReadPlan, columns: PlainColumns, pieces: pa.Table) -> pa.RecordBatch:
    types = {field.name: field.type for field in plan.schema}
    values = {
        f"partition {at}": member(pieces["partition"], name).cast(types[name])
        for at, name in enumerate(columns.partitions.names)
    }
    said = {name: pieces[name] for name in ("start", "length", "size", ROW_COUNT)}
    found = {"path": plan.files.plain_paths(pieces), **said, **values}
    return pa.RecordBatch.from_struct_array(pa.table(found).to_struct_array().combine_chunks())


def _stream(pieces: pa.RecordBatch) -> bytes:
    if pieces.column(0).null_count:
        return b""
    sink = pa.BufferOutputStream()
    with pa.RecordBatchStreamWriter(sink, pieces.schema) as stream:
        stream.write_batch(pieces)
    return bytes(sink.getvalue())


def _is_stored_as_it_is(field: pa.Field, source: pa.Field) -> bool:
    return field.type.equals(source.type) and FIELD_ID not in (source.metadata or {})
