"""Which files, or row groups, may hold a row that the predicate wants, judged by their statistics alone.

`may_match` is False only where no row can make the predicate TRUE, whatever the rows are that the statistics
allow; where anything is unknown it is True. A bound need not be attained. NaN, greater than every number, lies
outside the bounds, and may be in any float column of which the statistics do not say that it has none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate.coercion import cast_to_compare, comparison_type, is_text
from lakescan.predicate.split import push_not_inwards
from lakescan.predicate.tree import (
    And,
    Column,
    Comparison,
    Constant,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Predicate,
    StartsWith,
)


@dataclass(frozen=True)
class Bounds:
    """What is known of one column, one entry a file; a null entry is unknown.

    `minimum` and `maximum` are in the column's own type, and no non-null value lies outside them (NaN apart).
    `null_count` counts the rows in which the column reads as NULL, so also those in which its struct is NULL.
    `nan_free` is true where no value is NaN; it matters for floats only.
    """

    minimum: pa.Array
    maximum: pa.Array
    null_count: pa.Array
    row_count: pa.Array
    nan_free: pa.Array | None = None


class Statistics(Protocol):
    """The statistics of a list of files."""

    def __len__(self) -> int: ...

    def bounds(self, column: Column) -> Bounds | None:
        """The bounds of a column, or None when nothing is known of it in any file."""


@dataclass(frozen=True)
class _Side:
    """One side of a comparison; arrays with an entry a file, or scalars that hold for all files."""

    lower: Any
    upper: Any
    may_be_nan: Any
    may_have_value: Any
    may_have_null: Any
    may_be_other: Any
    """Whether it may have a value that is not NaN."""


# Not by `pa.scalar`: where pandas is installed it imports it, which would take longer than importing Lakescan.
_UNKNOWN = pa.nulls(1)[0]
_YES, _NO = pc.is_null(pa.nulls(1))[0], pc.is_valid(pa.nulls(1))[0]
_ANYTHING = _Side(_UNKNOWN, _UNKNOWN, _YES, _YES, _YES, _YES)
_NULL = _Side(_UNKNOWN, _UNKNOWN, _NO, _NO, _YES, _NO)
_NAN = _Side(_UNKNOWN, _UNKNOWN, _YES, _YES, _NO, _NO)


def may_match(predicate: Predicate, statistics: Statistics) -> pa.BooleanArray:
    """For each file, False when no row of it can make the predicate TRUE."""
    answer = _may(push_not_inwards(predicate), statistics)
    return pa.repeat(answer, len(statistics)) if isinstance(answer, pa.Scalar) else answer


def _may(predicate: Predicate, statistics: Statistics) -> Any:
    match predicate:
        case Constant(value):
            return _YES if value else _NO
        case And(left, right):
            return pc.and_(_may(left, statistics), _may(right, statistics))
        case Or(left, right):
            return pc.or_(_may(left, statistics), _may(right, statistics))
        case Comparison(op, column, right):
            return _COMPARISONS[op](_side(column, statistics), _side(right, statistics))
        case Not(Comparison("<=>", column, right)):
            return _null_safe_different(_side(column, statistics), _side(right, statistics))
        case IsNull(column):
            return _side(column, statistics).may_have_null
        case Not(IsNull(column)):
            return _side(column, statistics).may_have_value
        case In(column, literals):
            return _one_of(_side(column, statistics), literals)
        case Not(In(column, literals)):
            return _none_of(_side(column, statistics), literals)
        case StartsWith(column, prefix):
            return _starts_with(_side(column, statistics), prefix)
        case Not(StartsWith(column, prefix)):
            return _not_starts_with(_side(column, statistics), prefix)
    raise AssertionError(f"{predicate} is not in negation normal form")


def _side(operand: Column | Literal, statistics: Statistics) -> _Side:
    if isinstance(operand, Literal):
        return _constant(operand)
    bounds = statistics.bounds(operand)
    if bounds is None:
        return _ANYTHING
    has_rows = _unless_no(pc.not_equal(bounds.row_count, 0))
    return _Side(
        lower=_without_nan(bounds.minimum),
        upper=_without_nan(bounds.maximum),
        may_be_nan=_may_be_nan(bounds),
        may_have_value=pc.and_(has_rows, _unless_no(pc.not_equal(bounds.null_count, bounds.row_count))),
        may_have_null=pc.and_(has_rows, _unless_no(pc.not_equal(bounds.null_count, 0))),
        may_be_other=_YES,
    )


def _may_be_nan(bounds: Bounds) -> Any:
    if not (pa.types.is_floating(bounds.minimum.type) or pa.types.is_floating(bounds.maximum.type)):
        return _NO
    # Some writers leave NaN out of their bounds, so the bounds alone never tell.
    return _YES if bounds.nan_free is None else pc.invert(pc.fill_null(bounds.nan_free, False))


def _constant(literal: Literal) -> _Side:
    if literal.value is None:
        return _NULL
    if isinstance(literal.value, float) and literal.value != literal.value:
        return _NAN
    return _Side(literal.scalar, literal.scalar, _NO, _YES, _NO, _YES)


def _unless_no(answer: Any) -> Any:
    return pc.fill_null(answer, True)


def _without_nan(bound: pa.Array) -> pa.Array:
    if not pa.types.is_floating(bound.type):
        return bound
    return pc.if_else(pc.is_nan(bound), pa.scalar(None, bound.type), bound)


def _ordered(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """`compare` on two bounds: True where it holds or where a bound is unknown."""
    common = comparison_type(left.type, right.type)
    if common is None or pa.types.is_null(common):
        # Statistics in a type that has no order with the literal's say nothing about it, so the file stays. Any
        # other failure means that the statistics are not what they claim to be, and must be seen.
        return _YES
    return _unless_no(compare(cast_to_compare(left, common), cast_to_compare(right, common)))


def _both_have_values(left: _Side, right: _Side) -> Any:
    return pc.and_(left.may_have_value, right.may_have_value)


def _less(left: _Side, right: _Side) -> Any:
    # NaN is greater than everything else and less than nothing.
    below = pc.or_(right.may_be_nan, pc.and_(right.may_be_other, _ordered(pc.less, left.lower, right.upper)))
    return pc.and_(pc.and_(left.may_be_other, below), _both_have_values(left, right))


def _less_or_equal(left: _Side, right: _Side) -> Any:
    ordered = pc.and_(_both_others(left, right), _ordered(pc.less_equal, left.lower, right.upper))
    return pc.and_(pc.or_(right.may_be_nan, ordered), _both_have_values(left, right))


def _equal(left: _Side, right: _Side) -> Any:
    below = _ordered(pc.less_equal, left.lower, right.upper)
    above = _ordered(pc.less_equal, right.lower, left.upper)
    same = pc.and_(_both_others(left, right), pc.and_(below, above))
    both_nan = pc.and_(left.may_be_nan, right.may_be_nan)
    return pc.and_(pc.or_(both_nan, same), _both_have_values(left, right))


def _both_others(left: _Side, right: _Side) -> Any:
    return pc.and_(left.may_be_other, right.may_be_other)


def _different(left: _Side, right: _Side) -> Any:
    return pc.or_(_less(left, right), _less(right, left))


def _null_safe_equal(left: _Side, right: _Side) -> Any:
    return pc.or_(_equal(left, right), pc.and_(left.may_have_null, right.may_have_null))


def _null_safe_different(left: _Side, right: _Side) -> Any:
    one_null = pc.or_(
        pc.and_(left.may_have_null, right.may_have_value), pc.and_(left.may_have_value, right.may_have_null)
    )
    return pc.or_(_different(left, right), one_null)


_COMPARISONS: dict[str, Callable[[_Side, _Side], Any]] = {
    "=": _equal,
    "<>": _different,
    "<": _less,
    "<=": _less_or_equal,
    ">": lambda left, right: _less(right, left),
    ">=": lambda left, right: _less_or_equal(right, left),
    "<=>": _null_safe_equal,
}


def _starts_with(side: _Side, prefix: str) -> Any:
    wanted = pa.scalar(prefix.encode(), pa.large_binary())
    # Cutting every value to the prefix's length keeps their order, and the values wanted become the prefix.
    fits = pc.and_(
        _ordered(pc.less_equal, _head(side.lower, prefix), wanted),
        _ordered(pc.less_equal, wanted, _head(side.upper, prefix)),
    )
    return pc.and_(fits, side.may_have_value)


def _not_starts_with(side: _Side, prefix: str) -> Any:
    wanted = pa.scalar(prefix.encode(), pa.large_binary())
    # Where both bounds begin with the prefix so does everything between them, attained or not.
    other = pc.or_(
        _ordered(pc.not_equal, _head(side.lower, prefix), wanted),
        _ordered(pc.not_equal, _head(side.upper, prefix), wanted),
    )
    return pc.and_(other, side.may_have_value)


def _head(bound: Any, prefix: str) -> Any:
    if not is_text(bound.type):
        return _UNKNOWN
    return pc.binary_slice(pc.cast(bound, pa.large_binary()), 0, len(prefix.encode()))


def _one_of(side: _Side, literals: tuple[Literal, ...]) -> Any:
    """IN: the bounds enclose one of the values, or both may be NaN."""
    values = [literal for literal in literals if literal.value is not None]
    others = [literal for literal in values if literal.value == literal.value]
    enclosed = pc.and_(side.may_be_other, _enclose_one(side.lower, side.upper, others))
    if len(others) < len(values):
        enclosed = pc.or_(enclosed, side.may_be_nan)
    return pc.and_(enclosed, side.may_have_value)


def _none_of(side: _Side, literals: tuple[Literal, ...]) -> Any:
    """NOT IN: never where a value is NULL; else, unless every value of the file is the same and is in the list."""
    if any(literal.value is None for literal in literals):
        return _NO
    if not literals:
        return _YES
    several = pc.or_(_ordered(pc.not_equal, side.lower, side.upper), side.may_be_nan)
    others = [literal for literal in literals if literal.value == literal.value]
    return pc.and_(pc.or_(several, pc.invert(_enclose_one(side.lower, side.upper, others))), side.may_have_value)


def _enclose_one(lower: Any, upper: Any, literals: list[Literal]) -> Any:
    """For each file, whether one of the values lies within the bounds: one search a file, however many values."""
    if not literals:
        return _NO
    common = reduce(_common, (literal.type for literal in literals), _common(lower.type, upper.type))
    if common is None or pa.types.is_null(lower.type) or pa.types.is_null(upper.type):
        return _YES
    wanted = pa.array([cast_to_compare(literal.scalar, common).as_py() for literal in literals], common)
    parts = [wanted, cast_to_compare(lower, common), cast_to_compare(upper, common)]
    # Ranks stand for values of any type, and are numbers that numpy can search.
    ranks = pc.rank(pa.concat_arrays(parts), tiebreaker="dense").to_numpy()
    values = np.unique(ranks[: len(wanted)])
    low, high = np.split(ranks[len(wanted) :], 2)
    low = np.where(parts[1].is_null().to_numpy(zero_copy_only=False), 0, low)
    high = np.where(parts[2].is_null().to_numpy(zero_copy_only=False), len(ranks) + 1, high)
    next_value = np.append(values, len(ranks) + 2)[np.searchsorted(values, low)]
    return pa.array(next_value <= high)


def _common(left: pa.DataType | None, right: pa.DataType) -> pa.DataType | None:
    return None if left is None else comparison_type(left, right)
