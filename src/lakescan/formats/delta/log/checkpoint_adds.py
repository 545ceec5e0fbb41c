"""The adds in a checkpoint's file as every source gives them: typed, whole and in UTF-8, or an error that says why.

A checkpoint's columns are whatever its writer made them; a column that is missing or of another kind, or an add that
lacks something, must not pass for a table with fewer files.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakescan.errors import CorruptLog
from lakescan.formats.delta.log.actions import DELETION_VECTOR, adds_schema
from lakescan.formats.delta.log.whole_actions import broken_action, broken_text
from lakescan.types.columns import empty_structs, member

COLUMNS = ("path", "size", "modificationTime", "partitionValues", "deletionVector")


def typed_adds(found: pa.Array, partition_names: Sequence[str], file: str) -> pa.Table:
    """The adds of a column `add`, null where a row is another action, as `adds_schema`."""
    path, size = (_column(found, name, type_, file) for name, type_ in (("path", pa.string()), ("size", pa.int64())))
    if path is None or size is None:
        raise CorruptLog(file, f"its add column has no {'path' if path is None else 'size'}")
    present = pc.or_(path.is_valid(), size.is_valid())
    places = pa.array(np.flatnonzero(present.to_numpy(zero_copy_only=False)), pa.int64())
    live = found.take(places)
    vector = member(live, "deletionVector")
    vector = pa.nulls(len(live), DELETION_VECTOR) if vector is None else _described(vector, file)
    columns = [path.take(places), size.take(places)]
    whole = pa.StructArray.from_arrays([*columns, vector], names=["path", "size", "deletionVector"])
    wrong = broken_action("add", whole)
    if wrong is not None:
        raise CorruptLog(file, wrong)
    modified = _column(live, "modificationTime", pa.int64(), file)
    adds = pa.table(
        [
            *columns,
            pa.nulls(len(live), pa.int64()) if modified is None else modified,
            _partition_texts(member(live, "partitionValues"), partition_names, len(live), file),
            vector,
            places,
        ],
        schema=adds_schema(partition_names),
    )
    if broken_text(adds.columns):
        raise CorruptLog(file, "a path or a partition value of its adds is no UTF-8 text")
    return adds


def refuse_both(metadata: pq.FileMetaData, file: str) -> None:
    """An error where some row is both an add and a remove action, as far as the file counts its nulls."""
    places = {column.path: at for at, column in enumerate(metadata.schema)}
    if "add.path" not in places or "remove.path" not in places:
        return
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        known = [group.column(places[name]).statistics for name in ("add.path", "remove.path")]
        if all(found is not None and found.has_null_count for found in known):
            actions = sum(group.num_rows - found.null_count for found in known)
            if actions > group.num_rows:
                raise CorruptLog(file, "one of its rows is both an add and a remove action")


def filled_out(found: pa.Array, wanted: pa.StructType) -> pa.Array:
    """The struct with exactly these fields; those that it lacks are null."""
    columns = [member(found, field.name) for field in wanted]
    filled = [
        pa.nulls(len(found), field.type) if column is None else column.cast(field.type)
        for column, field in zip(columns, wanted, strict=True)
    ]
    return pa.StructArray.from_arrays(filled, fields=list(wanted), mask=found.is_null())


def _described(vector: pa.Array, file: str) -> pa.Array:
    if not pa.types.is_struct(vector.type):
        raise CorruptLog(file, f"the deletionVector of its add column is of the type {vector.type}")
    filled = filled_out(vector, DELETION_VECTOR)
    # Some writers have a struct for every file, with nothing in it where no row is deleted.
    empty = pa.array(np.logical_and.reduce([column.is_null() for column in filled.flatten()]))
    return pc.if_else(empty, pa.scalar(None, DELETION_VECTOR), filled)


def _column(found: pa.Array, name: str, type_: pa.DataType, file: str) -> Any:
    column = member(found, name)
    if column is None or column.type.equals(type_):
        return column
    if pa.types.is_nested(column.type):
        raise CorruptLog(file, f"the {name} of its add column is of the type {column.type}")
    return column.cast(type_)


def _partition_texts(values: pa.Array | None, names: Sequence[str], count: int, file: str) -> pa.Array:
    if not names:
        return empty_structs(count)
    texts = pa.map_(pa.string(), pa.string())
    if values is None or not pa.types.is_map(values.type) or values.null_count:
        raise CorruptLog(file, "its adds have no map of partition values, and the table is partitioned")
    values = values if values.type.equals(texts) else values.cast(texts)
    columns = [pc.map_lookup(values, pa.scalar(name), "first") for name in names]
    return pa.StructArray.from_arrays(columns, names=list(names))
