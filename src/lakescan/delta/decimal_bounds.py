"""Bounds of decimals, widened by what a double may have lost of them.

Some writers (delta-rs) write a decimal's statistics by way of a double, which keeps 15 digits: the least value
1.00000000000000000001 is in the log as 1.0. A bound of more digits, counted from the type's last decimal place on, is
therefore only near the value.
"""

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

_DIGITS_OF_A_DOUBLE = 15
# A double is off by less than one part in 2**52; a power of ten that is more than that.
_LOST = pa.scalar(Decimal("0.000000000000001"), pa.decimal256(15, 15))


def below(values: pa.Array) -> pa.Array:
    """A bound that no value whose rounded form is given lies below; null where the type has none."""
    return _moved(values, pc.subtract)


def above(values: pa.Array) -> pa.Array:
    return _moved(values, pc.add)


def is_kept_by_a_double(values: pa.Array) -> pa.Array:
    """Where the bound is the value itself: so few digits that a double loses none of them."""
    type_ = values.type
    if type_.precision <= _DIGITS_OF_A_DOUBLE:
        return values.is_valid()
    smallest_lost = pa.scalar(Decimal(1).scaleb(_DIGITS_OF_A_DOUBLE - type_.scale), pa.decimal256(76, type_.scale))
    return pc.fill_null(pc.less(pc.abs(_wide(values)), smallest_lost), False)


def _moved(values: pa.Array, move: pc.Function) -> pa.Array:
    type_ = values.type
    if type_.precision <= _DIGITS_OF_A_DOUBLE:
        return values
    slack = pc.round(pc.multiply(pc.abs(values.cast(_roomy(type_))), _LOST), type_.scale, "up")
    moved = move(_wide(values), slack.cast(pa.decimal256(75, type_.scale)))
    too_large = pa.scalar(Decimal(1).scaleb(type_.precision - type_.scale), pa.decimal256(76, type_.scale))
    fits = pc.less(pc.abs(moved), too_large)
    widened = pc.if_else(fits, moved, pa.scalar(None, moved.type)).cast(type_)
    return pc.if_else(is_kept_by_a_double(values), values, widened)


def _roomy(type_: pa.DataType) -> pa.DataType:
    # A rounded bound may have a digit more than the type allows, and Arrow's JSON reader lets it pass.
    return pa.decimal256(45, type_.scale)


def _wide(values: pa.Array) -> pa.Array:
    """The same values in a type that has room for a sum."""
    return values.cast(pa.decimal256(75, values.type.scale))
