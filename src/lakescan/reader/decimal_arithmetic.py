"""Sums, differences and products of decimals, digit for digit what Spark computes.

The type of a result is the one that Spark gives it. Only what cannot round is taken: where Spark would have to cut
digits behind the point, an expression has no type here. A result that needs more digits than a decimal has is an error,
as it is in Spark; `largest` tells beforehand whether that can happen.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import Call, Column, Expression, Literal, columns_in
from lakescan.types.columns import member
from lakescan.types.schema import field_at

MOST_DIGITS = 38
# Spark keeps at least this many digits behind the point, however many there are before it.
_KEPT_SCALE = 6
_DIGITS_OF_INTEGERS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
_LONGEST = 2**63 - 1
_EXACT = {"+": np.add, "-": np.subtract, "*": np.multiply}
_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}

Longs: TypeAlias = npt.NDArray[np.int64]


def decimal_type(value: Expression, schema: pa.Schema) -> pa.Decimal128Type | None:
    """The type that Spark gives to the expression, None where it is none of decimals or might be rounded."""
    match value:
        case Column(path):
            field = field_at(schema, path)
            return field.type if field is not None and pa.types.is_decimal128(field.type) else None
        case Literal(Decimal(), type_) if pa.types.is_decimal128(type_):
            return type_
        case Call("CAST", (child,), wanted) if wanted is not None and pa.types.is_decimal128(wanted):
            return wanted if _holds(wanted, child, schema) else None
        case Call("+" | "-" | "*" as name, (left, right)):
            one, other = decimal_type(left, schema), decimal_type(right, schema)
            return None if one is None or other is None else _result_type(name, one, other)
    return None


def _holds(wanted: pa.Decimal128Type, child: Expression, schema: pa.Schema) -> bool:
    """Whether every value of the child is one of the wanted type."""
    field = field_at(schema, child.path) if isinstance(child, Column) else None
    if field is not None and field.type in _DIGITS_OF_INTEGERS:
        return bool(wanted.precision - wanted.scale >= _DIGITS_OF_INTEGERS[field.type])
    given = decimal_type(child, schema)
    return (
        given is not None
        and wanted.scale >= given.scale
        and wanted.precision - wanted.scale >= given.precision - given.scale
    )


def _result_type(name: str, one: pa.Decimal128Type, other: pa.Decimal128Type) -> pa.Decimal128Type | None:
    if name == "*":
        digits, scale = one.precision + other.precision + 1, one.scale + other.scale
    else:
        scale = max(one.scale, other.scale)
        digits = max(one.precision - one.scale, other.precision - other.scale) + scale + 1
    if digits <= MOST_DIGITS:
        return pa.decimal128(digits, scale)
    # Arrow's widest decimal has one digit less than a product of two of the widest here.
    return pa.decimal128(MOST_DIGITS, scale) if scale <= _KEPT_SCALE and digits <= 2 * MOST_DIGITS else None


def largest(value: Expression, schema: pa.Schema, of_column: Callable[[Column], float]) -> float:
    """What no value of the expression or of a part of it exceeds, whatever its sign; infinite where it may be too large
    for its type."""
    match value:
        case Column():
            return of_column(value)
        case Literal(number, _):
            return abs(float(number))
        case Call("CAST", (child,)):
            return largest(child, schema, of_column)
        case Call(name, (left, right)):
            one, other = largest(left, schema, of_column), largest(right, schema, of_column)
            result, type_ = (one * other if name == "*" else one + other), decimal_type(value, schema)
            # Bounds that a writer gave by way of a double may be off in their last digits.
            fits = type_ is not None and result * 1.01 < 10.0 ** (type_.precision - type_.scale)
            return result if fits else float("inf")
    return float("inf")


def computed(value: Expression, batch: pa.RecordBatch) -> pa.Array:
    """The expression's values for the rows of a batch, of its `decimal_type`."""
    type_ = decimal_type(value, batch.schema)
    assert type_ is not None, f"{value} is no expression of decimals"
    longs = _as_longs(value, batch)
    if longs is None:
        return _by_arrow(value, batch).cast(type_)
    valid = reduce(pc.and_, [column_of(batch, column).is_valid() for column in columns_in(value)])
    return decimals(np.broadcast_to(longs.values, batch.num_rows), type_, valid)


def column_of(batch: pa.RecordBatch, column: Column) -> pa.Array:
    top_level = batch.column(batch.schema.get_field_index(column.path[0]))
    return member(top_level, *column.path[1:]) if len(column.path) > 1 else top_level


def unscaled(values: pa.Array) -> Longs | None:
    """Decimals without their point, zero where there is none; None where one of them is no 64-bit integer."""
    if not len(values):
        return np.empty(0, np.int64)
    if values.null_count:
        values = pc.fill_null(values, pa.scalar(0, values.type))
    words = np.frombuffer(values.buffers()[1], np.int64)[2 * values.offset :][: 2 * len(values)]
    low, high = words[::2], words[1::2]
    return np.ascontiguousarray(low) if np.array_equal(low >> 63, high) else None


def decimals(longs: Longs, type_: pa.Decimal128Type, valid: pa.Array) -> pa.Array:
    """The reverse of `unscaled`."""
    words = np.empty((len(longs), 2), np.int64)
    words[:, 0] = longs
    words[:, 1] = longs >> 63
    # An array of its own: one that is a slice would not begin with its buffer.
    mask = None if valid.true_count == len(valid) else pa.array(valid.to_numpy(zero_copy_only=False)).buffers()[1]
    return pa.Array.from_buffers(type_, len(longs), [mask, pa.py_buffer(words)])


@dataclass(frozen=True)
class _Longs:
    """Numbers without their point, of which none is larger than `largest`."""

    values: Longs
    largest: int
    scale: int

    def at(self, scale: int) -> "_Longs | None":
        factor = 10 ** (scale - self.scale)
        if max(1, self.largest) * factor > _LONGEST:
            return None
        return self if factor == 1 else _Longs(self.values * factor, self.largest * factor, scale)


def _as_longs(value: Expression, batch: pa.RecordBatch) -> _Longs | None:
    """The expression by 64-bit integers, None where one might not do."""
    match value:
        case Column():
            return _column_as_longs(column_of(batch, value))
        case Literal(number, type_):
            digits = int(number.scaleb(type_.scale))
            return _Longs(np.array(digits, np.int64), abs(digits), type_.scale) if abs(digits) <= _LONGEST else None
        case Call("CAST", (child,), type_):
            given = _as_longs(child, batch)
            return None if given is None or type_ is None else given.at(type_.scale)
        case Call(name, (left, right)):
            one, other = _as_longs(left, batch), _as_longs(right, batch)
            return None if one is None or other is None else _combined(name, one, other)
    return None


def _combined(name: str, one: _Longs, other: _Longs) -> _Longs | None:
    if name == "*":
        most, scale = one.largest * other.largest, one.scale + other.scale
        return None if most > _LONGEST else _Longs(_EXACT[name](one.values, other.values), most, scale)
    scale = max(one.scale, other.scale)
    left, right = one.at(scale), other.at(scale)
    if left is None or right is None or left.largest + right.largest > _LONGEST:
        return None
    return _Longs(_EXACT[name](left.values, right.values), left.largest + right.largest, scale)


def _column_as_longs(values: pa.Array) -> _Longs | None:
    whole = pa.types.is_integer(values.type)
    longs = pc.fill_null(values, 0).cast(pa.int64()).to_numpy() if whole else unscaled(values)
    if longs is None:
        return None
    most = max(abs(int(longs.min())), abs(int(longs.max()))) if len(longs) else 0
    return _Longs(longs, most, 0 if whole else values.type.scale)


def _by_arrow(value: Expression, batch: pa.RecordBatch) -> pa.Array | pa.Scalar:
    """The expression by decimals of twice as many digits."""
    type_ = decimal_type(value, batch.schema)
    wide = None if type_ is None else pa.decimal256(type_.precision, type_.scale)
    match value:
        case Column():
            given = column_of(batch, value)
            return given if wide is None else given.cast(wide)
        case Literal(number, _):
            return pa.scalar(number, wide)
        case Call("CAST", (child,)):
            return _by_arrow(child, batch).cast(wide)
        case Call(name, (left, right)):
            return _CHECKED[name](_by_arrow(left, batch), _by_arrow(right, batch)).cast(wide)
    raise AssertionError(f"{value} is no expression of decimals")
