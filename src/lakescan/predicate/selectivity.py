"""Which share of a file's rows a predicate is expected to be true for, judged by the file's statistics.

This is a guess that takes values to be spread evenly between their bounds; it decides how a query is run, never its
answer. Where nothing is known the share is 1.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakescan.predicate.skipping import Bounds, Statistics
from lakescan.predicate.split import conjuncts, push_not_inwards
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

Shares = npt.NDArray[np.float64]

# Of a text, or of a number that need not be whole, nobody knows how many values it has. Where several files have the
# same least and the same greatest value, there are few of them: flags and kinds, not names.
_ONE_VALUE = 0.1
_ONE_OF_FEW = 0.25
_ONE_OF_TWO = 0.5
# Of a longer list of values some tell.
_LOOKED_AT = 16


def expected_shares(predicate: Predicate, statistics: Statistics) -> Shares:
    """For each file, between 0 and 1."""
    return np.clip(_share(push_not_inwards(predicate), statistics), 0.0, 1.0)


def _share(predicate: Predicate, statistics: Statistics) -> Shares:
    match predicate:
        case Constant(value):
            return np.full(len(statistics), 1.0 if value else 0.0)
        case And():
            return _of_all(conjuncts(predicate), statistics)
        case Or(left, right):
            neither = (1 - _share(left, statistics)) * (1 - _share(right, statistics))
            return 1 - neither
        case Comparison(_, column, Literal()):
            return _between([predicate], statistics.bounds(column), len(statistics))
        case In(column, literals):
            return _one_of(column, literals, statistics)
        case IsNull(column):
            return _nulls(statistics.bounds(column), len(statistics), unknown=1.0)
        case Not(IsNull(column)):
            return 1 - _nulls(statistics.bounds(column), len(statistics), unknown=0.0)
        case StartsWith(column, _) if (bounds := statistics.bounds(column)) is not None:
            return np.full(len(statistics), _one_value(bounds))
    return np.ones(len(statistics))


def _one_of(column: Column, literals: Sequence[Literal], statistics: Statistics) -> Shares:
    some = literals[:: 1 + len(literals) // _LOOKED_AT]
    bounds = statistics.bounds(column)
    shares = [_between([Comparison("=", column, literal)], bounds, len(statistics)) for literal in some]
    return np.minimum(1.0, len(literals) * np.mean(shares, axis=0)) if shares else np.zeros(len(statistics))


def _of_all(parts: Sequence[Predicate], statistics: Statistics) -> Shares:
    """Comparisons of one column are one interval. Filters are seldom independent of each other: the first counts whole,
    each further one by half of what the one before it does."""
    compared: dict[Column, list[Comparison]] = {}
    shares = []
    for part in parts:
        if isinstance(part, Comparison) and isinstance(part.right, Literal) and part.op not in ("<>", "<=>"):
            compared.setdefault(part.left, []).append(part)
        else:
            shares.append(_share(part, statistics))
    shares += [_between(of, statistics.bounds(column), len(statistics)) for column, of in compared.items()]
    if not shares:
        return np.ones(len(statistics))
    ordered = np.sort(np.stack(shares), axis=0)
    weights = np.power(0.5, np.arange(len(shares)))[:, np.newaxis]
    return np.asarray(np.prod(np.power(ordered, weights), axis=0))


def _between(comparisons: Iterable[Comparison], bounds: Bounds | None, files: int) -> Shares:
    """How much of what lies between a column's bounds satisfies all of these comparisons with a constant."""
    if bounds is None:
        return np.ones(files)
    low, high = -np.inf, np.inf
    lower, upper, step = _numbers(bounds)
    for comparison in comparisons:
        assert isinstance(comparison.right, Literal)
        value = _number(comparison.right, bounds)
        if comparison.op in ("=", "<=>"):
            if value is None or not step:
                return np.full(files, _one_value(bounds))
            low, high = max(low, value), min(high, value)
        elif value is not None and comparison.op in (">", ">="):
            low = max(low, value + (step if comparison.op == ">" else 0))
        elif value is not None and comparison.op in ("<", "<="):
            high = min(high, value - (step if comparison.op == "<" else 0))
    if lower is None or upper is None:
        return np.ones(files)
    # Bounds may be one value, or infinitely far apart.
    with np.errstate(all="ignore"):
        wanted = np.minimum(upper, high) - np.maximum(lower, low) + step
        width = upper - lower + step
        spread = np.where(np.isfinite(width), wanted / width, np.nan)
    # One value alone is wanted wholly or not at all.
    known = np.where(upper == lower, np.where((low <= lower) & (lower <= high), 1.0, 0.0), spread)
    return _known_or(np.clip(known, 0.0, 1.0), 1.0)


def _one_value(bounds: Bounds) -> float:
    """Which share of the rows has one value of a column whose values cannot be counted."""
    if pa.types.is_boolean(bounds.minimum.type):
        return _ONE_OF_TWO
    ends = (bounds.minimum, bounds.maximum)
    alike = len(bounds.minimum) > 1 and all(not end.null_count and len(end.unique()) == 1 for end in ends)
    return _ONE_OF_FEW if alike else _ONE_VALUE


def _numbers(bounds: Bounds) -> tuple[Shares | None, Shares | None, float]:
    """The bounds on a line of numbers, and the least distance of two values; nothing where they are on none."""
    if not _is_on_a_line(bounds.minimum.type):
        return None, None, 0.0
    whole = pa.types.is_integer(bounds.minimum.type) or pa.types.is_date(bounds.minimum.type)
    return _as_numbers(bounds.minimum), _as_numbers(bounds.maximum), 1.0 if whole else 0.0


def _number(literal: Literal, bounds: Bounds) -> float | None:
    if literal.value is None or not _is_on_a_line(bounds.minimum.type):
        return None
    kinds = (pa.types.is_date, pa.types.is_timestamp)
    if any(kind(literal.type) != kind(bounds.minimum.type) for kind in kinds) or not _is_on_a_line(literal.type):
        return None
    return float(_as_numbers(pa.array([literal.value], literal.type))[0])


def _is_on_a_line(type_: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_date32, pa.types.is_timestamp)
    return any(kind(type_) for kind in kinds)


def _as_numbers(values: pa.Array) -> Shares:
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = values.cast(pa.timestamp("us", values.type.tz), safe=False).cast(pa.int64())
    numbers: Shares = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers


def _nulls(bounds: Bounds | None, files: int, unknown: float) -> Shares:
    if bounds is None:
        return np.full(files, unknown)
    nulls, rows = (
        count.cast(pa.float64()).to_numpy(zero_copy_only=False) for count in (bounds.null_count, bounds.row_count)
    )
    return _known_or(nulls / np.maximum(rows, 1), unknown)


def _known_or(shares: Shares, unknown: float) -> Shares:
    """A bound that is not known leads to NaN."""
    return np.where(np.isnan(shares), unknown, shares)
