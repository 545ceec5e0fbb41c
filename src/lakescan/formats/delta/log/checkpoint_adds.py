"""The adds in a checkpoint's file as every source gives them: typed, whole and in UTF-8, or an error that says why.

A checkpoint's columns are whatever its writer made them; a column that is missing or of another kind, or an add that
lacks something, must not pass for a table with fewer files.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakescan.errors import CorruptLog
from lakescan.formats.delta.log.actions import DELETION_VECTOR, ROWS, adds_schema
from lakescan.formats.delta.log.whole_actions import broken_action, broken_text, broken_vector
from lakescan.types.columns import empty_structs, member

COLUMNS = ("path", "size", "modificationTime", "partitionValues", "deletionVector")


def typed_adds(actions: pa.Array, partition_names: Sequence[str], file: str, rows: npt.NDArray[np.int64]) -> pa.Table:
    """The adds of a column `add`, null where a row is another action, as `adds_schema`; `rows` are their numbers."""
    path, size = (_column(actions, name, type_, file) for name, type_ in (("path", pa.string()), ("size", pa.int64())))
    if path is None or size is None:
        raise CorruptLog(file, f"its add column has no {'path' if path is None else 'size'}")
    places = _present(pc.or_(path.is_valid(), size.is_valid()))
    live = _chosen(actions, places)
    vector = member(live, "deletionVector")
    vector = pa.nulls(len(live), DELETION_VECTOR) if vector is None else _described(vector, file)
    columns = [_chosen(path, places), _chosen(size, places)]
    whole = pa.StructArray.from_arrays([*columns, vector], names=["path", "size", "deletionVector"])
    wrong = broken_action("add", whole)
    if wrong is not None:
        raise CorruptLog(file, wrong)
    modified = _column(live, "modificationTime", pa.int64(), file)
    texts = member(live, "partitionValues")
    if partition_names and texts is not None and texts.null_count:
        raise CorruptLog(file, "its adds have no map of partition values, and the table is partitioned")
    adds = pa.table(
        [
            *columns,
            pa.nulls(len(live), pa.int64()) if modified is None else modified,
            partition_texts(texts, partition_names, len(live), file),
            vector,
            pa.array(rows[places]),
        ],
        schema=adds_schema(partition_names),
    )
    if broken_text(adds.columns):
        raise CorruptLog(file, "a path or a partition value of its adds is no UTF-8 text")
    return adds


def sized_adds(actions: pa.Array, file: str, rows: pa.Array | None = None) -> pa.Table:
    """Size, deletion vector and, where it was read, path of each add; an error where a path or a size stands alone.

    Where `rows` are given, one number for each row of the column, also the numbers of the adds.

    Where no path was read, rows without a size are other actions.
    """
    path, size = (_column(actions, name, type_, file) for name, type_ in (("path", pa.string()), ("size", pa.int64())))
    size = pa.nulls(len(actions), pa.int64()) if size is None else size
    if path is not None and pc.any(pc.xor(path.is_valid(), size.is_valid())).as_py():
        raise CorruptLog(file, "it has an add action without a path or without a size")
    places = _present(size.is_valid())
    vector = member(actions, "deletionVector")
    vector = pa.nulls(len(actions), DELETION_VECTOR) if vector is None else _described(vector, file)
    columns = {"size": size, "deletion_vector": vector} | ({} if path is None else {"path": path})
    columns |= {} if rows is None else {ROWS: rows}
    return pa.table({name: _chosen(column, places) for name, column in columns.items()})


def unnamed_adds(
    actions: pa.Array, texts: pa.Array | None, partition_names: Sequence[str], file: str, rows: npt.NDArray[np.int64]
) -> pa.Table:
    """The adds of a column without paths as `adds_schema`: nothing is known of a file but its size, its deletion vector
    and, where they are given, its partition values. Rows without a size are other actions."""
    schema = adds_schema(partition_names)
    adds = sized_adds(actions, file, pa.array(rows))
    wrong = broken_vector(adds["deletion_vector"], "an add action")
    if wrong is None and pc.any(pc.less(adds["size"], 0)).as_py():
        wrong = "it has an add action with a negative size"
    if wrong is not None:
        raise CorruptLog(file, wrong)
    columns = {"row": adds[ROWS], "size": adds["size"], "deletion_vector": adds["deletion_vector"]}
    if texts is not None:
        places = _present(member(actions, "size").is_valid())
        columns["partition"] = _chosen(texts, places)
        if partition_names and columns["partition"].null_count:
            raise CorruptLog(file, "its adds have no map of partition values, and the table is partitioned")
        if broken_text([columns["partition"]]):
            raise CorruptLog(file, "a partition value of its adds is no UTF-8 text")
    known = [columns.get(field.name, pa.nulls(adds.num_rows, field.type)) for field in schema]
    return pa.table(known, schema=schema)


def _present(chosen: pa.Array) -> npt.NDArray[np.int64]:
    return np.flatnonzero(chosen.to_numpy(zero_copy_only=False))


def _chosen(column: pa.Array, places: npt.NDArray[np.int64]) -> pa.Array:
    """The values at these places; those of neighbours, as the adds of a checkpoint mostly are, need no copy."""
    if len(places) and places[-1] - places[0] == len(places) - 1:
        return column.slice(places[0], len(places))
    return column.take(pa.array(places, pa.int64()))


def refuse_both(metadata: pq.FileMetaData, file: str) -> None:
    """An error where some row is both an add and a remove action, as far as the file counts its nulls."""
    places = {column.path: at for at, column in enumerate(metadata.schema)}
    if "add.path" not in places or "remove.path" not in places:
        return
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        known = [group.column(places[name]).statistics for name in ("add.path", "remove.path")]
        if all(statistics is not None and statistics.has_null_count for statistics in known):
            actions = sum(group.num_rows - statistics.null_count for statistics in known)
            if actions > group.num_rows:
                raise CorruptLog(file, "one of its rows is both an add and a remove action")


def filled_out(struct: pa.Array, wanted: pa.StructType) -> pa.Array:
    """The struct with exactly these fields; those that it lacks are null."""
    columns = [member(struct, field.name) for field in wanted]
    filled = [
        pa.nulls(len(struct), field.type) if column is None else column.cast(field.type)
        for column, field in zip(columns, wanted, strict=True)
    ]
    return pa.StructArray.from_arrays(filled, fields=list(wanted), mask=struct.is_null())


def _described(vector: pa.Array, file: str) -> pa.Array:
    if not pa.types.is_struct(vector.type):
        raise CorruptLog(file, f"the deletionVector of its add column is of the type {vector.type}")
    if vector.null_count == len(vector):
        return pa.nulls(len(vector), DELETION_VECTOR)
    filled = filled_out(vector, DELETION_VECTOR)
    # Some writers have a struct for every file, with nothing in it where no row is deleted.
    empty = pa.array(np.logical_and.reduce([column.is_null() for column in filled.flatten()]))
    return pc.if_else(empty, pa.scalar(None, DELETION_VECTOR), filled)


def _column(struct: pa.Array, name: str, type_: pa.DataType, file: str) -> Any:
    column = member(struct, name)
    if column is None or column.type.equals(type_):
        return column
    if pa.types.is_nested(column.type):
        raise CorruptLog(file, f"the {name} of its add column is of the type {column.type}")
    return column.cast(type_)


def partition_texts(values: pa.Array | None, names: Sequence[str], count: int, file: str) -> pa.Array:
    """The partition values as a struct of texts, null where there is no map of them."""
    if not names:
        return empty_structs(count)
    texts = pa.map_(pa.string(), pa.string())
    if values is None or not pa.types.is_map(values.type):
        raise CorruptLog(file, "its adds have no map of partition values, and the table is partitioned")
    values = values if values.type.equals(texts) else values.cast(texts)
    columns = [_looked_up(values, name) for name in names]
    mask = values.is_null() if values.null_count else None
    return pa.StructArray.from_arrays(columns, names=list(names), mask=mask)


def _looked_up(values: pa.MapArray, name: str) -> pa.Array:
    """The first item under a name in each map. Where each has it once they lie in order, and Arrow need not search."""
    if not len(values):
        return pa.array([], pa.string())
    offsets = values.offsets.to_numpy()
    keys = values.keys.slice(offsets[0], offsets[-1] - offsets[0])
    hits = np.flatnonzero(pc.equal(keys, name).to_numpy(zero_copy_only=False)) + offsets[0]
    if len(hits) != len(values) or np.any(hits < offsets[:-1]) or np.any(hits >= offsets[1:]):
        return pc.map_lookup(values, pa.scalar(name), "first")
    if hits[-1] - hits[0] == len(hits) - 1:
        return values.items.slice(hits[0], len(hits))
    return values.items.take(pa.array(hits))
