"""The one type in which two columns, or a column and a literal, are compared.

The choice is Spark's (ANSI mode, session time zone UTC): a float makes it a double, a date meets a timestamp at
midnight, text meets binary as its bytes. Integers and decimals are always compared exactly, in a decimal wide
enough for both, where Spark would round beyond 38 digits. Every cast keeps order, so it may be applied to bounds.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.types.widening import digits


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def is_exact_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_signed_integer(kind) or pa.types.is_decimal(kind))


def is_number(kind: pa.DataType) -> bool:
    return is_exact_number(kind) or bool(pa.types.is_floating(kind))


def is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def comparison_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type to compare in, or None when values of the two types cannot be compared."""
    if pa.types.is_nested(left) or pa.types.is_nested(right):
        return None
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if is_exact_number(left) and is_exact_number(right):
        return _exact_type(left, right)
    if is_number(left) and is_number(right):
        return pa.float64()
    if is_text(left) and is_text(right):
        return pa.large_string()
    if (is_text(left) or is_bytes(left)) and (is_text(right) or is_bytes(right)):
        return pa.large_binary()
    if is_time(left) and is_time(right):
        zoned = any(pa.types.is_timestamp(kind) and kind.tz is not None for kind in (left, right))
        return pa.timestamp("us", "UTC" if zoned else None)
    return None


def cast_to_compare(values: Any, wanted: pa.DataType) -> Any:
    """An array, chunked array or scalar in the type that `comparison_type` chose for it."""
    if values.type == wanted:
        return values
    if pa.types.is_floating(wanted) and pa.types.is_decimal(values.type):
        # Arrow's own cast is off by one in the last place for many decimals (0.012889293 is one); by way of
        # text the nearest double is found, as in Spark.
        return pc.cast(pc.cast(values, pa.string()), wanted)
    # Spark rounds a 64-bit integer to the nearest double; Arrow would refuse it unless told not to check.
    return pc.cast(values, wanted, safe=not pa.types.is_floating(wanted))


def _exact_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(left) and pa.types.is_integer(right):
        return pa.int64()
    (left_whole, left_scale), (right_whole, right_scale) = digits(left), digits(right)
    scale = max(left_scale, right_scale)
    precision = max(left_whole, right_whole) + scale
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
