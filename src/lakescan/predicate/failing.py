"""Which expressions may fail for some row: an overflow, a division by zero, a text that is no number.

Spark evaluates the conditions of a filter in their order and stops at the first that is not true. So a condition that
comes behind one that may fail must not drop rows before it, or the failure would go unseen. What is not known to give
an answer for every row is taken to be able to fail.
"""

import pyarrow as pa

from lakescan.errors import AmbiguousColumn, UnknownColumn
from lakescan.predicate.bind import resolve
from lakescan.predicate.expression import Call, Expression
from lakescan.predicate.tree import OPERATORS, Column
from lakescan.types.widening import keeps_order

_ALWAYS_ANSWERS = OPERATORS | frozenset(
    {
        *("AND", "OR", "NOT", "IS_NULL", "IS_NOT_NULL", "IN", "STARTS_WITH", "ENDS_WITH", "CONTAINS"),
        *("CASE_WHEN", "COALESCE", "GREATEST", "LEAST", "&", "|", "^", "~"),
        *("SUBSTRING", "UPPER", "LOWER", "BIT_LENGTH", "CHAR_LENGTH", "CONCAT", "TRANSLATE", "TRIM", "LTRIM", "RTRIM"),
        *("TRUNC", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "QUARTER", "YEAR"),
        *("DAY_OF_WEEK", "DAY_OF_YEAR", "WEEK", "YEAR_OF_WEEK"),
    }
)


def may_fail(expression: Expression, schema: pa.Schema) -> bool:
    """Whether there can be a row for which the expression has no value but an error."""
    match expression:
        case Call("CAST", (inner,), kind):
            return kind is None or not _always_casts(inner, kind, schema)
        case Call(name, arguments):
            return name not in _ALWAYS_ANSWERS or any(may_fail(part, schema) for part in arguments)
    return False


def _always_casts(inner: Expression, kind: pa.DataType, schema: pa.Schema) -> bool:
    if pa.types.is_string(kind):
        return not may_fail(inner, schema)
    if not isinstance(inner, Column):
        return False
    try:
        source = resolve(inner, schema)[1]
    except (AmbiguousColumn, UnknownColumn):
        return False
    to_a_day = pa.types.is_timestamp(source) and pa.types.is_date(kind)
    return to_a_day or keeps_order(source, kind)
