"""Which types widen into which: when a schema is changed, a file of an older type read, a cast taken off a column.

There is one table of the kinds of values that hold all values of another. What differs between the formats is data: a
format says how many digits a decimal needs to hold its integers, and marks the columns (`schema.WIDEN_BY_TEXT`) whose
older files are read by way of text. A type that is in no table here is never turned into another.
"""

from collections.abc import Mapping

import pyarrow as pa

INTEGER_DIGITS: Mapping[int, int] = {8: 3, 16: 5, 32: 10, 64: 19}
"""How many decimal digits a signed integer of so many bits has."""

# Every value of the first kind is one of each of the others; of decimals, where they have digits enough.
_WIDER = {
    "integer": {"long", "double", "decimal"},
    "long": {"decimal"},
    "float": {"double"},
    "decimal": {"decimal"},
    "date": {"local timestamp"},
}
# What a file may hold besides: the same values in another size, unit or storage. Reading checks that each one fits.
_STORED = {
    "integer": {"integer", "unsigned long"},
    "long": {"integer", "long", "unsigned long", "interval"},
    "unsigned long": {"integer", "long", "unsigned long", "decimal"},
    "half": {"double"},
    "decimal": {"decimal"},
    "date": {"date"},
    "timestamp": {"timestamp", "local timestamp"},
    "local timestamp": {"timestamp", "local timestamp"},
    "interval": {"interval"},
    "text": {"text", "bytes"},
    "bytes": {"text", "bytes"},
}
# What a column marked with WIDEN_BY_TEXT reads from the text of its value. A whole number's is read as the nearest
# floating one, which is what Java's cast gives; a float's gives the double of the same digits.
_BY_TEXT = {
    "integer": {"float", "string"},
    "long": {"float", "double", "string"},
    "unsigned long": {"float", "double", "string"},
    "float": {"double", "string"},
    "double": {"string"},
    "date": {"string"},
}


def widens(old: pa.DataType, new: pa.DataType, integer_digits: Mapping[int, int] = INTEGER_DIGITS) -> bool:
    """Whether every value of a table's old type is one of the new type, which is another."""
    if pa.types.is_signed_integer(old) and pa.types.is_signed_integer(new):
        return bool(old.bit_width < new.bit_width)
    if old.equals(new) or not (_is_of_a_table(old) and _is_of_a_table(new)):
        return False
    return _kind(new) in _WIDER.get(_kind(old), ()) and has_room(old, new, integer_digits)


def is_read_as(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a file's type is read as the table's. Arrow itself would cast more: a double to a float, for one."""
    if pa.types.is_null(stored):
        return True
    kind, other = _kind(stored), _kind(wanted)
    return other in _WIDER.get(kind, ()) or other in _STORED.get(kind, ())


def is_read_by_text(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a file's type becomes that of a column marked with WIDEN_BY_TEXT by way of its text."""
    other = "string" if pa.types.is_string(wanted) else _kind(wanted)
    return other in _BY_TEXT.get(_kind(stored), ())


def keeps_order(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether SQL's cast can neither fail nor wrap around, and never turns two values the other way round.

    It may round: of two longs that become the same double neither comes to stand before the other.
    """
    if pa.types.is_float64(new):
        return _is_exact(old) or bool(pa.types.is_floating(old))
    if not (_is_exact(old) and _is_exact(new)):
        return False
    if pa.types.is_integer(new):
        return bool(pa.types.is_integer(old) and old.bit_width <= new.bit_width)
    return has_room(old, new)


def has_room(old: pa.DataType, new: pa.DataType, integer_digits: Mapping[int, int] = INTEGER_DIGITS) -> bool:
    """Whether a decimal has digits enough for the values of another type; true where the new type is no decimal."""
    if not pa.types.is_decimal(new):
        return True
    (old_whole, old_scale), (whole, scale) = digits(old, integer_digits), digits(new)
    return whole >= old_whole and scale >= old_scale


def digits(kind: pa.DataType, integer_digits: Mapping[int, int] = INTEGER_DIGITS) -> tuple[int, int]:
    """How many digits an integer or a decimal has before and after the point."""
    if pa.types.is_integer(kind):
        return integer_digits[kind.bit_width], 0
    return kind.precision - kind.scale, kind.scale


def _is_exact(kind: pa.DataType) -> bool:
    return bool(pa.types.is_signed_integer(kind) or pa.types.is_decimal(kind))


def _is_of_a_table(kind: pa.DataType) -> bool:
    """Whether a table's column may have the type: unsigned numbers and other units than Spark's are in files only."""
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return kind in (pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.date32())
    return not pa.types.is_unsigned_integer(kind)


def _kind(kind: pa.DataType) -> str:
    is_ = pa.types
    if is_.is_integer(kind):
        return "integer" if kind.bit_width <= 32 else "long" if is_.is_int64(kind) else "unsigned long"
    if is_.is_timestamp(kind):
        return "local timestamp" if kind.tz is None else "timestamp"
    if is_.is_decimal(kind):
        return "decimal"
    if is_.is_date(kind):
        return "date"
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        return "text"
    if is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_binary_view(kind) or is_.is_fixed_size_binary(kind):
        return "bytes"
    if is_.is_duration(kind):
        # A day-time interval is stored as its microseconds, with nothing beside them that says so.
        return "interval"
    return {pa.float16(): "half", pa.float32(): "float", pa.float64(): "double"}.get(kind, "")
