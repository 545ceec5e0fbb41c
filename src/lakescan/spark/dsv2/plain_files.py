"""Tasks that executors read by themselves, with Spark's own Parquet reader, and those that are left to workers.

Executors leave out deleted rows and rows that a filter drops; a worker aggregates, merges, sorts, computes columns and
reads what Spark's reader does not. What the plan and the task say is decided here. What only a file's footer says is
looked at where the file is opened, by `PlainFiles.java`; a file that differs is read by a worker, and only that file.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeGuard

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from lakescan.io.locations import store_of
from lakescan.predicate import TRUE
from lakescan.reader.read_plan import ReadPlan, ReadTask, ReadyRows, streams_of
from lakescan.scan.packing import ROW_COUNT, total_bytes
from lakescan.spark.dsv2.comparable_columns import ComparableColumns
from lakescan.spark.dsv2.filter_words import FilterWords, only_drops_nulls
from lakescan.spark.dsv2.variant_fields import is_extracted
from lakescan.types.columns import member
from lakescan.types.schema import FIELD_ID, is_variant

ELSEWHERE = "files that are not on this machine"
_NUMBERS = (ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, DecimalType)
# A file that is to be filtered is looked at in the executor where leaving out pages of it may pay: what is known of its
# pages is read from its end, and then a worker may read it all the same.
WORTH_LOOKING_AT_PAGES = 4 << 20
# A worker is started in the time in which an executor decodes and filters more than that.
SMALL_SCAN = 16 << 20
# What `PlainFiles.java` calls a column of its own.
_POSITIONS = "_tmp_metadata_row_index"
# Where Spark's StructFields have the id of a Parquet column.
_SPARKS_FIELD_ID = "parquet.field.id"
_SIMPLE = (*_NUMBERS, BooleanType, StringType, BinaryType, DateType, TimestampType, TimestampNTZType)


@dataclass(frozen=True)
class PlainColumns:
    """The columns of a scan: those stored in files, as they are named there, and those of the partition."""

    stored: StructType
    partitions: StructType
    places: tuple[int, ...]
    """For each column of the scan, where it is among the stored ones with the partition's behind them."""
    filters: bytes | None = None
    """What `PushedFilters.java` is told."""
    filters_always: bool = False
    """Whether executors filter every file that they can read, however small it is."""
    not_opened: str = ELSEWHERE
    """Why executors open no file in the table's store, where it is in one; empty where they do."""


def plain_columns(plan: ReadPlan, schema: StructType, small: bool = False) -> PlainColumns | str:
    """The columns of a scan that executors may read by themselves; why none of its tasks can do without a worker, where
    that is so. Of a `small` scan executors filter rows too."""
    more = _more_than_decoding(plan)
    if more:
        return more
    order = sorted(range(len(plan.schema)), key=lambda at: plan.schema.field(at).name in plan.partition_columns)
    comparable, stored, partitions = ComparableColumns(schema.jsonValue()), [], []
    for at in order:
        field, source = plan.schema.field(at), plan.source.field(at)
        own = at < len(plan.output)
        # A filter is pushed only where its columns are plain ones.
        wanted = schema.fields[at] if own else StructField(field.name, from_arrow_type(field.type, True))
        stored_field = _stored(wanted, field, source)
        simple = isinstance(wanted.dataType, _SIMPLE)
        if own and comparable.field((wanted.name,)) is None:
            return f"the type of {field.name}"
        if field.name in plan.partition_columns and simple:
            partitions.append(StructField(field.name, wanted.dataType, wanted.nullable))
        elif field.name in plan.partition_columns or stored_field is None or source.name == _POSITIONS:
            return f"the type of {field.name}"
        else:
            stored.append(stored_field)
    if not stored:
        return "no column of the files"
    places = tuple(order.index(at) for at in range(len(plan.output)))
    words = FilterWords([plan.schema.field(at) for at in order])
    not_null, wanted_rows = words.not_null(plan.filter), words.part(plan.skip)
    rows = words.whole(plan.filter) if not_null is None else ""
    if rows is None:
        return "a filter that Arrow evaluates"
    filters = words.stream(rows, not_null or "", wanted_rows, small) if rows or not_null or wanted_rows else None
    return PlainColumns(StructType(stored), StructType(partitions), places, filters, small)


def is_small(files: pa.Table) -> bool:
    """Whether a scan of these files is done before a worker would have started."""
    return total_bytes(files["size"].to_numpy()) <= SMALL_SCAN


def _more_than_decoding(plan: ReadPlan) -> str:
    """What a worker has to do to rows, beyond filtering them; nothing where executors can do without one."""
    named = {"aggregates": plan.aggregation, "top-n": plan.top, "columns of metadata": plan.computed}
    for what, needed in named.items():
        if needed:
            return what
    # Spark takes no more rows than its limit, whoever reads them; a filter, and what it skips, is looked at below.
    rest = replace(plan, filter=TRUE, unclaimed=TRUE, skip=TRUE, limit=None, output=plan.schema)
    if not rest.only_decodes or list(plan.schema)[: len(plan.output)] != list(plan.output):
        return "more to do than decoding"
    return "" if len(plan.output) else "no columns"


def told_pieces(plan: ReadPlan, columns: PlainColumns | str, pieces: pa.Table) -> pa.RecordBatch | None:
    """What an executor needs to read each piece by itself; one without a path is a worker's. None where all are."""
    return None if isinstance(columns, str) or not pieces.num_rows else _told(plan, columns, pieces)


def plain_pieces(plan: ReadPlan, columns: PlainColumns | str, tasks: Sequence[ReadTask | ReadyRows]) -> list[bytes]:
    """What an executor needs to read each task by itself, as an Arrow stream; empty where a worker has to."""
    known = [task.pieces for task in tasks if _is_plain(task)]
    # All tasks at once: a call of Arrow's takes longer than what it does for the few files of one.
    told = told_pieces(plan, columns, pa.concat_tables(known).combine_chunks()) if known else None
    if told is None:
        return [b""] * len(tasks)
    ends = accumulate(pieces.num_rows for pieces in known)
    edges = [(end - len(pieces), end) for end, pieces in zip(ends, known, strict=True)]
    can = [told.column(0).slice(begin, end - begin).null_count < end - begin for begin, end in edges]
    streams = (stream if wanted else b"" for stream, wanted in zip(streams_of(told, edges), can, strict=True))
    return [next(streams) if _is_plain(task) else b"" for task in tasks]


def why_workers(plan: ReadPlan, columns: PlainColumns | str, offset: bool, pieces: pa.Table) -> tuple[str, ...]:
    """Why workers read these pieces, and one task with an offset where there is one: for people."""
    if not offset and not pieces.num_rows:
        return ()
    return (columns,) if isinstance(columns, str) else tuple(_why(plan, columns, offset, pieces))


def _why(plan: ReadPlan, columns: PlainColumns, offset: bool, pieces: pa.Table) -> list[str]:
    """Why workers read these pieces of a scan whose columns are plain."""
    reasons = ["an offset"] if offset else []
    if pieces.num_rows:
        merged = "merged_with" in pieces.column_names and pieces["merged_with"].null_count < pieces.num_rows
        near = _files(plan, columns, pieces)["path"].null_count < pieces.num_rows
        reasons += ["log files to merge"] if merged else []
        reasons += ["small files to filter"] if near else [] if merged else [columns.not_opened or ELSEWHERE]
    return reasons


def _files(plan: ReadPlan, columns: PlainColumns, pieces: pa.Table) -> pa.Table:
    """`PLAIN_FILES`, without the paths of files that executors cannot open."""
    files = plan.files.plain_files(pieces)
    if not columns.not_opened or not store_of(plan.files.storage.location):
        return files
    return files.set_column(0, files.schema.field(0), pa.nulls(files.num_rows, pa.string()))


def _is_plain(task: ReadTask | ReadyRows) -> TypeGuard[ReadTask]:
    return isinstance(task, ReadTask) and task.only_decodes


def _told(plan: ReadPlan, columns: PlainColumns, pieces: pa.Table) -> pa.RecordBatch:
    types = {field.name: field.type for field in plan.schema}
    values = {
        f"partition {at}": member(pieces["partition"], name).cast(types[name])
        for at, name in enumerate(columns.partitions.names)
    }
    said = {name: pieces[name] for name in ("start", "length", "size", ROW_COUNT)}
    files = _files(plan, columns, pieces)
    paths = files["path"]
    if plan.filter != TRUE and not only_drops_nulls(plan.filter) and not columns.filters_always:
        paths = pc.if_else(pc.less(pc.fill_null(pieces["size"], 0), WORTH_LOOKING_AT_PAGES), None, paths)
    told = {"path": paths, **said, **{name: files[name] for name in files.column_names[1:]}, **values}
    return pa.RecordBatch.from_struct_array(pa.table(told).to_struct_array().combine_chunks())


def _stored(wanted: StructField, field: pa.Field, source: pa.Field) -> StructField | None:
    """A column as its files name it and its fields; None where they may hold it in another type."""
    kind = _stored_type(wanted.dataType, field.type, source.type)
    field_id = (source.metadata or {}).get(FIELD_ID)
    notes = {} if field_id is None else {_SPARKS_FIELD_ID: int(field_id)}
    return None if kind is None else StructField(source.name, kind, wanted.nullable, notes)


def _stored_type(wanted: DataType, type_: pa.DataType, source: pa.DataType) -> DataType | None:
    if is_variant(type_):
        # Spark's reader gives it whole, or what is taken out of it.
        return wanted if isinstance(wanted, VariantType) or is_extracted(wanted) else None
    match wanted:
        case StructType():
            fields = [_stored(*each) for each in zip(wanted.fields, type_, source, strict=True)]
            known = [field for field in fields if field is not None]
            return StructType(known) if known and len(known) == len(fields) else None
        case ArrayType():
            element = _stored_type(wanted.elementType, type_.value_type, source.value_type)
            return None if element is None else ArrayType(element, wanted.containsNull)
        case MapType():
            key = _stored_type(wanted.keyType, type_.key_type, source.key_type)
            value = _stored_type(wanted.valueType, type_.item_type, source.item_type)
            return None if key is None or value is None else MapType(key, value, wanted.valueContainsNull)
    return wanted if isinstance(wanted, _SIMPLE) and type_.equals(source) else None
