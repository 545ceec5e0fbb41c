"""Rows by group: the number of each row's group, and what a function comes to in each.

Groups are numbered in the order in which they first appear, and a function's values come in that order. Everything is
exactly as Spark has it: NaN is the greatest float, and floats are added one after the other from 0.0.
"""

from collections.abc import Collection
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Codes: TypeAlias = npt.NDArray[np.int64]


def group_codes(keys: list[pa.ChunkedArray], count: int) -> tuple[Codes, Codes]:
    """(the number of each row's group, the first row of each group); without keys all rows are one group."""
    codes = np.zeros(count, np.int64)
    if not count:
        # Arrow makes no dictionary of nested values, and without rows none is needed.
        return codes, codes
    groups = 1
    for key in keys:
        coded = pa.types.is_dictionary(key.type)
        encoded = flat(key) if coded else flat(key).dictionary_encode(null_encoding="encode")
        # A dictionary that came with the data has its own order, and may have values of no row; null is none of them.
        values = len(encoded.dictionary) + coded
        indices = pc.fill_null(encoded.indices, values - 1).to_numpy(zero_copy_only=False).astype(np.int64)
        combined = groups > 1 or coded
        codes, groups = numbered(codes * values + indices, groups * values) if combined else (indices, values)
    return codes, first_rows(codes, groups)


def numbered(values: Codes, below: int) -> tuple[Codes, int]:
    """(each value's number in the order in which they first appear, how many there are); none is negative."""
    if below > len(values):
        encoded = pa.array(values).dictionary_encode()
        return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)
    firsts = first_rows(values, below, absent=len(values))
    present = np.flatnonzero(firsts < len(values))
    order = present[np.argsort(firsts[present])]
    numbers = np.empty(below, np.int64)
    numbers[order] = np.arange(len(order))
    return numbers[values], len(order)


def first_rows(codes: Codes, groups: int, absent: int = 0) -> Codes:
    """The first row of each group."""
    firsts = np.full(groups, absent, np.int64)
    # Where an index repeats, numpy keeps the value assigned last: going backwards, the first row.
    firsts[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return firsts


def extremes(values: pa.ChunkedArray | pa.Array, codes: Codes, groups: int, function: str) -> pa.Array:
    """The least or greatest value of each group in Spark's order, the first of equal ones; null where it has none."""
    valid = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False) if len(values) else [])
    present, owner = values.take(pa.array(valid, pa.int64())), codes[valid]
    order = _ordered(present, owner, function)
    holders, at = np.unique(owner[order], return_index=True)
    places: npt.NDArray[Any] = np.full(groups, -1, np.int64)
    places[holders] = order[at]
    return flat(present.take(pa.array(places, mask=places < 0)))


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


def group_extremes(values: pa.ChunkedArray | pa.Array, codes: Codes, groups: int, function: str) -> pa.Array:
    """`extremes` of groups as `group_codes` numbers them: of many types without sorting."""
    if not is_plain(values.type):
        return extremes(values, codes, groups, function)
    return by_arrow([(function, flat(values))], codes)[0]


def is_plain(type_: pa.DataType) -> bool:
    """Whether Arrow orders values of the type as Spark does."""
    return bool(pa.types.is_integer(type_) or pa.types.is_temporal(type_) or pa.types.is_decimal(type_))


def by_arrow(asked: Collection[tuple[str, pa.Array]], codes: Codes) -> list[pa.Array]:
    """Each function of its values, group by group."""
    table = pa.table({"code": pa.array(codes), **{str(at): values for at, (_, values) in enumerate(asked)}})
    functions = [(str(at), function) for at, (function, _) in enumerate(asked)]
    # Codes number the groups in the order in which Arrow, on one thread, gives them back.
    grouped = table.group_by("code", use_threads=False).aggregate(functions)
    return [flat(grouped[f"{at}_{function}"]) for at, function in functions]


def float_sums(values: pa.Array, codes: Codes, groups: int) -> pa.Array:
    """The sum of each group's values, null where it has none."""
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    numbers = values.filter(pa.array(valid)).to_numpy()
    # bincount adds each value to its group's sum, from 0.0, in the order given: as Spark does.
    sums = np.bincount(codes[valid], weights=numbers, minlength=groups)
    return pa.array(sums, mask=np.bincount(codes[valid], minlength=groups) == 0)


def flat(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The values in one piece."""
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
