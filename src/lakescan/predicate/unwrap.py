"""Order-keeping functions taken off a column: `year(d) = 2024` is `d >= 2024-01-01 AND d < 2025-01-01`.

What is returned is TRUE wherever the comparison is, and TRUE everywhere when nothing better is known; it is for
skipping only. A timestamp's date depends on the session's time zone, whose rules two libraries may see
differently: in any zone but UTC the bounds are moved by the largest offset a zone can have, never by a guess.
"""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone

import pyarrow as pa

from lakescan.errors import AmbiguousColumn, InvalidFilter, UnknownColumn
from lakescan.predicate.bind import bind, resolve
from lakescan.predicate.expression import Call, Expression
from lakescan.predicate.split import conjoin, disjoin
from lakescan.predicate.tree import TRUE, Column, Comparison, Literal, Or, Predicate, StartsWith
from lakescan.types.calendar_units import DATE_UNITS, FARTHEST_OFFSET, next_start, start_of
from lakescan.types.widening import keeps_order

UTC_ZONES = frozenset({"UTC", "Z", "GMT", "Etc/UTC", "Etc/GMT", "+00:00", "UTC+00:00", "GMT+00:00"})

_DATE = pa.date32()


def unwrap(op: str, left: Expression, right: Literal, schema: pa.Schema, zone: str) -> Predicate:
    """A predicate on a column that is TRUE wherever `left op right` is."""
    try:
        return _unwrapped(op, left, right, schema, zone)
    except (InvalidFilter, UnknownColumn, AmbiguousColumn, OverflowError, ValueError):
        # No such column, no such type, or a date beyond the calendar: nothing is known.
        return TRUE


def _unwrapped(op: str, left: Expression, right: Literal, schema: pa.Schema, zone: str) -> Predicate:
    if right.value is None or op not in ("=", "<>", "<", "<=", ">", ">="):
        return TRUE

    def inside(inner: Expression) -> Callable[[str, Literal], Predicate]:
        return lambda op, value: _unwrapped(op, inner, value, schema, zone)

    match left:
        case Column():
            # A date beside a timestamp would be compared in one zone or another: only a date's own column will do.
            same = resolve(left, schema)[1] == right.type
            return bind(Comparison(op, left, right), schema) if same else TRUE
        case Call("YEAR", (inner,)):
            first, after = date(right.value, 1, 1), date(right.value + 1, 1, 1)
            return _between_steps(op, inside(inner), Literal(first, _DATE), Literal(after, _DATE))
        case Call("TRUNC", (inner, Literal(str() as unit, _))) if unit.upper() in DATE_UNITS:
            start = start_of(DATE_UNITS[unit.upper()], right.value)
            after = next_start(DATE_UNITS[unit.upper()], right.value)
            first = start if start == right.value else after
            return _between_steps(op, inside(inner), Literal(first, _DATE), Literal(after, _DATE))
        case Call("SUBSTRING", (Column() as column, Literal(0 | 1, _), Literal(int() as length, _))):
            return _prefix(op, column, str(right.value), length, schema)
        case Call("CAST", (inner,), kind) if kind is not None:
            return _cast(op, inner, kind, right, schema, zone)
    return TRUE


def _between_steps(op: str, on: Callable[[str, Literal], Predicate], first: Literal, after: Literal) -> Predicate:
    """For a function that rises in steps: `first` is where it reaches the value, `after` where it passes it."""
    match op:
        case "<":
            return on("<", first)
        case "<=":
            return on("<", after)
        case ">":
            return on(">=", after)
        case ">=":
            return on(">=", first)
        case "=":
            return conjoin([on(">=", first), on("<", after)])
        case _:
            return disjoin([on("<", first), on(">=", after)])


def _prefix(op: str, column: Column, value: str, length: int, schema: pa.Schema) -> Predicate:
    if len(value) > length:
        return TRUE
    whole = bind(Comparison("=", column, Literal(value, pa.string())), schema)
    begins = bind(StartsWith(column, value), schema)
    same = begins if len(value) == length else whole
    match op:
        case "=":
            return same
        case "<=":
            return Or(bind(Comparison("<", column, Literal(value, pa.string())), schema), same)
        case "<" | ">" | ">=":
            return bind(Comparison(op, column, Literal(value, pa.string())), schema)
        case _:
            return TRUE


def _cast(op: str, inner: Expression, kind: pa.DataType, right: Literal, schema: pa.Schema, zone: str) -> Predicate:
    if not isinstance(inner, Column):
        return TRUE
    source = resolve(inner, schema)[1]
    if pa.types.is_timestamp(source) and kind == _DATE:
        return _date_of_timestamp(op, inner, source, right.value, schema, zone)
    if keeps_order(source, kind):
        return bind(Comparison(op, inner, right), schema)
    return TRUE


def _date_of_timestamp(
    op: str, column: Column, kind: pa.DataType, day: date, schema: pa.Schema, zone: str
) -> Predicate:
    exact = kind.tz is None or zone in UTC_ZONES
    margin = timedelta(0) if exact else FARTHEST_OFFSET
    if op == "<>" and not exact:
        return TRUE

    def on(op: str, moment: Literal) -> Predicate:
        moved = moment.value + margin if op == "<" else moment.value - margin
        return bind(Comparison(op, column, Literal(moved, kind)), schema)

    first, after = (Literal(_midnight(one_day, kind), kind) for one_day in (day, day + timedelta(days=1)))
    return _between_steps(op, on, first, after)


def _midnight(day: date, kind: pa.DataType) -> datetime:
    return datetime.combine(day, time(), timezone.utc if kind.tz else None)
