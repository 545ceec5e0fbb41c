"""Filters of PySpark's Python data sources as predicates.

They only skip: Spark evaluates every filter on the rows, so what cannot be said exactly is simply not used.
"""

from typing import Any

import pyarrow as pa

from lakescan.errors import InvalidFilter, UnknownColumn
from lakescan.predicate import Column, Comparison, In, IsNull, Not, Predicate, StartsWith, bind
from lakescan.predicate.literals import literal

_COMPARISONS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}


def translate(found: Any, schema: pa.Schema) -> Predicate | None:
    """The filter over the table's schema, None where it has no equal."""
    try:
        made = _predicate(found)
        return None if made is None else bind(made, schema)
    except (InvalidFilter, UnknownColumn, pa.ArrowException):
        return None


def _predicate(found: Any) -> Predicate | None:
    kind = type(found).__name__
    if kind == "Not":
        inside = _predicate(found.child)
        return None if inside is None else Not(inside)
    if kind in ("IsNull", "IsNotNull"):
        null = IsNull(Column(tuple(found.attribute)))
        return null if kind == "IsNull" else Not(null)
    if kind == "In":
        return In(Column(tuple(found.attribute)), tuple(literal(value) for value in found.value))
    if kind == "StringStartsWith":
        return StartsWith(Column(tuple(found.attribute)), found.value)
    if kind in _COMPARISONS:
        return Comparison(_COMPARISONS[kind], Column(tuple(found.attribute)), literal(found.value))
    return None
