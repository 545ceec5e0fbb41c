"""Which of Delta's bounds are the very least and greatest value of a file, and not only limits of them.

What cannot be told from a cut, rounded or normalised value is null. Writers differ, and the log does not say
which one wrote a file, so the rule for a type is the one that holds for all of them:

- integers, dates and booleans are written as they are;
- decimals pass through a double in some writers (delta-rs), which keeps 15 digits: the least value
  1.00000000000000000001 is in the log as 1.0;
- timestamps are cut to the millisecond by most, so only one that has a finer part is known not to be cut;
- floats: a zero may have lost its sign (Parquet writes -0.0 as a minimum and 0.0 as a maximum), and a NaN may be left
  out of both bounds: a maximum that is a number is the greatest of the numbers, and whether there is a NaN, which
  Spark sorts above them, is for whoever uses it to ask;
- a double that was a float when the file was written has bounds in a float's digits;
- text is cut to a prefix whose length is the writer's choice.
"""

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

_DIGITS_OF_A_DOUBLE = 15


def exact_minimum(values: pa.Array, once_float: bool) -> pa.Array:
    if once_float:
        return pa.nulls(len(values), values.type)
    if pa.types.is_floating(values.type):
        return _only(values, pc.and_(pc.invert(pc.is_nan(values)), pc.not_equal(values, 0.0)))
    return _exact(values)


def exact_maximum(values: pa.Array, once_float: bool) -> pa.Array:
    if once_float:
        return pa.nulls(len(values), values.type)
    return _only(values, pc.not_equal(values, 0.0)) if pa.types.is_floating(values.type) else _exact(values)


def _exact(values: pa.Array) -> pa.Array:
    type_ = values.type
    if pa.types.is_timestamp(type_):
        return _only(values, pc.not_equal(pc.microsecond(values), 0))
    written_whole = pa.types.is_integer(type_) or pa.types.is_date(type_) or pa.types.is_boolean(type_)
    if pa.types.is_decimal(type_):
        return _only(values, is_kept_by_a_double(values))
    if written_whole:
        return values
    return pa.nulls(len(values), type_)


def _only(values: pa.Array, chosen: pa.Array) -> pa.Array:
    return pc.if_else(chosen, values, pa.scalar(None, values.type))


def is_kept_by_a_double(values: pa.Array) -> pa.Array:
    """Where the bound is the value itself: so few digits that a double loses none of them."""
    type_ = values.type
    if type_.precision <= _DIGITS_OF_A_DOUBLE:
        return values.is_valid()
    smallest_lost = pa.scalar(Decimal(1).scaleb(_DIGITS_OF_A_DOUBLE - type_.scale), pa.decimal256(76, type_.scale))
    return pc.fill_null(pc.less(pc.abs(_wide(values)), smallest_lost), False)


def _wide(values: pa.Array) -> pa.Array:
    """The same values in a type that has room for a sum."""
    return values.cast(pa.decimal256(75, values.type.scale))
