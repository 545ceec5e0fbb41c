"""Python values as literals.

A value always gets a type that holds it exactly: an integer beyond 64 bits becomes a decimal, a decimal keeps
all its digits. A value that no supported type can hold raises InvalidFilter; nothing is ever rounded.
"""

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lakescan.errors import InvalidFilter
from lakescan.predicate.tree import Literal

NULL = Literal(None, pa.null())
MOST_DIGITS = 38


def literal(value: Any) -> Literal:
    """The literal for a Python value: bool, int, float, str, bytes, date, datetime, Decimal or None."""
    match value:
        case None:
            return NULL
        case bool():
            return Literal(value, pa.bool_())
        case int():
            return Literal(value, pa.int64()) if -(2**63) <= value < 2**63 else decimal_literal(Decimal(value))
        case float():
            return Literal(value, pa.float64())
        case str():
            return Literal(value, pa.string())
        case bytes():
            return Literal(value, pa.binary())
        case Decimal():
            return decimal_literal(value)
        case datetime(tzinfo=None):
            return Literal(value, pa.timestamp("us"))
        case datetime():
            return Literal(value.astimezone(timezone.utc), pa.timestamp("us", "UTC"))
        case date():
            return Literal(value, pa.date32())
    raise InvalidFilter(repr(value), f"a value of the Python type {type(value).__name__} has no place in a filter.")


def decimal_literal(value: Decimal) -> Literal:
    """The literal of the narrowest decimal type that holds every digit written."""
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise InvalidFilter(str(value), "a decimal must be a finite number.")
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale, 1)
    if precision > MOST_DIGITS:
        raise InvalidFilter(str(value), f"a decimal holds at most {MOST_DIGITS} digits.")
    return Literal(value, pa.decimal128(precision, scale))
