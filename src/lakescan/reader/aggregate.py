"""Partial aggregates by Arrow, bit for bit what Spark's own partial aggregation of the same rows gives.

Every row is first a partial row of its own; merging then makes one of each group, in the order in which groups
first appear. Where merging could differ from Spark it is not done and the partial rows leave as they are, for
Spark to add up: that is so where a sum of longs might overflow, and where groups are so many that merging gains
nothing. Floats are added one after the other, as Spark adds them, never pairwise.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import Column
from lakescan.reader.aggregation import COUNTS, Aggregate, Aggregation
from lakescan.types.columns import member

_MOST_GROUPS = 1 << 16
_SAFE_SUM = float(1 << 62)

Codes = npt.NDArray[np.int64]


def can_aggregate(asked: Aggregate, type_: pa.DataType) -> bool:
    """Whether the function over a column of this type can be computed here exactly as Spark does."""
    if asked.function == "count":
        return not pa.types.is_null(type_)
    if asked.function == "count_distinct":
        return False
    if asked.function == "sum":
        return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_))
    return not (pa.types.is_nested(type_) or pa.types.is_null(type_) or pa.types.is_binary(type_))


def can_group(type_: pa.DataType) -> bool:
    """Whether rows can be grouped by a column of this type: equality must be equality of bits."""
    return not (pa.types.is_nested(type_) or pa.types.is_null(type_) or pa.types.is_floating(type_))


def partial_rows(batches: Iterable[pa.RecordBatch], how: Aggregation, output: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches' partial rows, as `how.output(...)` names them: as few as stays exact, in bounded memory."""
    merged, merging = output.empty_table(), True
    for batch in batches:
        rows = pa.concat_tables([merged, _each_row(batch, how, output)])
        if merging and _can_merge(rows, how):
            rows = merged = merge(rows, how)
            if merged.num_rows <= _MOST_GROUPS:
                continue
        # From here on rows leave as they come, so that whoever adds them up does it in the order of the data.
        merged, merging = output.empty_table(), False
        yield from rows.combine_chunks().to_batches()
    yield from merged.to_batches()


def merge(rows: pa.Table, how: Aggregation) -> pa.Table:
    """Partial rows of the same groups made one, in the order in which the groups first appear."""
    rows = rows.combine_chunks()
    codes, firsts = group_codes([rows.column(at) for at in range(len(how.keys))], rows.num_rows)
    keys = [rows.column(at).take(pa.array(firsts)) for at in range(len(how.keys))]
    values = [
        _merged(asked, rows.column(len(how.keys) + at), codes, len(firsts)) for at, asked in enumerate(how.aggregates)
    ]
    if not keys and not values:
        return rows.slice(0, len(firsts))
    return pa.Table.from_arrays([*keys, *values], schema=rows.schema)


def identity(how: Aggregation, output: pa.Schema) -> pa.Table:
    """The partial row of no rows at all: counts are zero, everything else is null."""
    counts = [asked.function in COUNTS for asked in how.aggregates]
    row = {field.name: 0 if count else None for field, count in zip(output, counts, strict=True)}
    return pa.Table.from_pylist([row], schema=output)


def group_codes(keys: list[pa.ChunkedArray], count: int) -> tuple[Codes, Codes]:
    """(the number of each row's group, the first row of each group); without keys all rows are one group."""
    codes = np.zeros(count, np.int64)
    groups = min(1, count)
    for key in keys:
        encoded = _encoded(key)
        combined = codes * len(encoded.dictionary) + encoded.indices.to_numpy()
        renumbered = _encoded(pa.chunked_array([pa.array(combined)]))
        codes, groups = renumbered.indices.to_numpy().astype(np.int64), len(renumbered.dictionary)
    firsts = np.zeros(groups, np.int64)
    # Where an index repeats, numpy keeps the value assigned last: going backwards, the first row.
    firsts[codes[::-1]] = np.arange(count - 1, -1, -1)
    return codes, firsts


def extremes(values: pa.ChunkedArray | pa.Array, codes: Codes, groups: int, function: str) -> pa.Array:
    """The least or greatest value of each group in Spark's order, the first of equal ones; null where it has none."""
    valid = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False) if len(values) else [])
    present, owner = values.take(pa.array(valid, pa.int64())), codes[valid]
    order = _ordered(present, owner, function)
    holders, at = np.unique(owner[order], return_index=True)
    places: npt.NDArray[Any] = np.full(groups, -1, np.int64)
    places[holders] = order[at]
    return _flat(present.take(pa.array(places, mask=places < 0)))


def _ordered(values: pa.ChunkedArray | pa.Array, owner: Codes, function: str) -> npt.NDArray[Any]:
    """Rows sorted by group and, in a group, from the wanted end of Spark's order; equal values stay in order."""
    if pa.types.is_floating(values.type):
        numbers = values.to_numpy()
        nan = np.isnan(numbers)
        # NaN is greater than every number, and zeros are equal whatever their sign.
        return np.lexsort((numbers, nan, owner) if function == "min" else (-numbers, ~nan, owner))
    table = pa.table({"owner": pa.array(owner), "value": values})
    direction = "ascending" if function == "min" else "descending"
    order: npt.NDArray[Any] = pc.sort_indices(table, [("owner", "ascending"), ("value", direction)]).to_numpy()
    return order


def _each_row(batch: pa.RecordBatch, how: Aggregation, output: pa.Schema) -> pa.Table:
    """A partial row for each row."""
    values = [_column(batch, key) for key in how.keys]
    for asked in how.aggregates:
        if asked.column is None:
            values.append(pa.array(np.ones(batch.num_rows, np.int64)))
        elif asked.function == "count":
            values.append(_column(batch, asked.column).is_valid().cast(pa.int64()))
        else:
            values.append(_column(batch, asked.column))
    return pa.Table.from_arrays(
        [value.cast(field.type) for value, field in zip(values, output, strict=True)], schema=output
    )


def _column(batch: pa.RecordBatch, column: Column) -> pa.Array:
    top_level = batch.column(batch.schema.get_field_index(column.path[0]))
    return member(top_level, *column.path[1:]) if len(column.path) > 1 else top_level


def _can_merge(rows: pa.Table, how: Aggregation) -> bool:
    """Whether no sum of longs can overflow, in whatever order the values are added."""
    sums = [rows.column(len(how.keys) + at) for at, asked in enumerate(how.aggregates) if asked.function == "sum"]
    return all(_magnitude(values) < _SAFE_SUM for values in sums if pa.types.is_integer(values.type))


def _magnitude(values: pa.ChunkedArray) -> float:
    return float(np.abs(pc.fill_null(values, 0).to_numpy().astype(np.float64)).sum())


def _merged(asked: Aggregate, values: pa.ChunkedArray, codes: Codes, groups: int) -> pa.Array:
    if asked.function in ("min", "max"):
        return group_extremes(values, codes, groups, asked.function)
    if pa.types.is_floating(values.type):
        return _float_sums(values, codes, groups)
    return _by_arrow("sum", values, codes)


def group_extremes(values: pa.ChunkedArray | pa.Array, codes: Codes, groups: int, function: str) -> pa.Array:
    """`extremes` of groups as `group_codes` numbers them: of many types without sorting."""
    plain = pa.types.is_integer(values.type) or pa.types.is_temporal(values.type) or pa.types.is_decimal(values.type)
    return _by_arrow(function, values, codes) if plain else extremes(values, codes, groups, function)


def _by_arrow(function: str, values: pa.ChunkedArray | pa.Array, codes: Codes) -> pa.Array:
    # Codes number the groups in the order in which Arrow, on one thread, gives them back.
    table = pa.table({"code": pa.array(codes), "value": values})
    return _flat(table.group_by("code", use_threads=False).aggregate([("value", function)])[f"value_{function}"])


def _float_sums(values: pa.ChunkedArray, codes: Codes, groups: int) -> pa.Array:
    valid = values.is_valid().to_numpy()
    numbers = values.filter(pa.array(valid)).to_numpy()
    # bincount adds each value to its group's sum, from 0.0, in the order given: as Spark does.
    sums = np.bincount(codes[valid], weights=numbers, minlength=groups)
    return pa.array(sums, mask=np.bincount(codes[valid], minlength=groups) == 0)


def _encoded(values: pa.ChunkedArray) -> pa.DictionaryArray:
    return _flat(values).dictionary_encode(null_encoding="encode")


def _flat(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
