"""Filters on partition columns that are generated from other columns, derived from the filters on those.

A table says by which SQL expression a column is generated; where the expression keeps order, `ts >= x` makes
`day >= f(x)`. What is derived is TRUE (or NULL, where an empty text became a NULL partition value) wherever the
given filter is TRUE, so it only ever drops files that cannot match. A timestamp's date and hour were taken in the
writer's time zone, which no table records: values are moved by the largest offset that a zone can have. Dates and
timestamps are those of the years 1 to 9999, as Spark has them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import takewhile
from typing import Any

import pyarrow as pa

from lakescan.errors import AmbiguousColumn, UnknownColumn
from lakescan.predicate import (
    TRUE,
    And,
    Column,
    Comparison,
    In,
    Literal,
    Or,
    Predicate,
    StartsWith,
    conjoin,
    disjoin,
    push_not_inwards,
)
from lakescan.predicate.bind import resolve
from lakescan.scan.generation_expression import Generation, read_generation
from lakescan.types.calendar_units import DATE_UNITS, FARTHEST_OFFSET, LENGTHS, date_of, start_of

_MOST_VALUES = 100
_PARTS = ("year", "month", "day", "hour")


@dataclass(frozen=True)
class _Step:
    """One partition column: its least and greatest value for a value of the base column."""

    column: Column
    type: pa.DataType
    low: Callable[[Any], Any]
    high: Callable[[Any], Any]


@dataclass(frozen=True)
class _Derivation:
    """Partition columns that together rise with a base column: the first decides, then the second, and so on."""

    base: Column
    type: pa.DataType
    steps: tuple[_Step, ...]
    prefix: int | None = None
    """How many characters of a text the column holds."""
    cyclic: bool = False
    """A month, a day or an hour alone, which begins anew: only an equality says something of it."""


def derived_filter(
    predicate: Predicate, expressions: Mapping[str, str], partition_columns: tuple[str, ...], schema: pa.Schema
) -> Predicate:
    """What the filter implies for the partition columns among those that are generated, TRUE where nothing."""
    generations = {name: read_generation(text) for name, text in expressions.items() if name in partition_columns}
    derivations = _derivations({name: how for name, how in generations.items() if how is not None}, schema)
    if not derivations:
        return TRUE
    whole = push_not_inwards(predicate)
    return conjoin(_implied(whole, derivation) for derivation in derivations)


def _derivations(generations: Mapping[str, Generation], schema: pa.Schema) -> list[_Derivation]:
    made = []
    by_base: dict[tuple[Column, pa.DataType], dict[str, Column]] = {}
    for name, how in generations.items():
        try:
            base, kind = resolve(how.base, schema)
        except (AmbiguousColumn, UnknownColumn):
            continue
        if how.function in _PARTS and _is_moment(kind):
            by_base.setdefault((base, kind), {})[how.function] = Column((name,))
            continue
        step = _step(Column((name,)), schema.field(name).type, how, kind)
        if step:
            made.append(_Derivation(base, kind, (step,), how.length))
    for (base, kind), parts in by_base.items():
        made.extend(_of_parts(base, kind, parts))
    return made


def _of_parts(base: Column, kind: pa.DataType, parts: Mapping[str, Column]) -> list[_Derivation]:
    """YEAR, MONTH, DAY and HOUR: those that follow each other from the year on together, the others alone."""
    together = list(takewhile(parts.__contains__, _PARTS))
    steps = {part: _moved(column, pa.int32(), _part(part), _offset(kind)) for part, column in parts.items()}
    made = [_Derivation(base, kind, tuple(steps[part] for part in together))] if together else []
    alone = [part for part in parts if part not in together]
    return made + [
        _Derivation(base, kind, (steps[part],), cyclic=True)
        for part in alone
        # An hour in some zone or other can be any hour.
        if part != "hour" or not _offset(kind)
    ]


def _step(column: Column, target: pa.DataType, how: Generation, base: pa.DataType) -> _Step | None:
    match how.function:
        case "identity" if target == base:
            return _Step(column, target, _same, _same)
        case "date" if _is_moment(base):
            return _moved(column, target, date_of, _offset(base))
        case "format" if _is_moment(base):
            # Spark formats timestamps, and the midnight of a date, or a local time, may not exist in its zone.
            margin = timedelta(days=1) if pa.types.is_date(base) else FARTHEST_OFFSET
            return _moved(column, target, lambda moment: moment.strftime(_padded(how.pattern, moment)), margin)
        case "trunc" if _is_moment(base) and how.unit in DATE_UNITS.values():
            return _moved(column, target, lambda moment: start_of(how.unit, moment), _offset(base))
        case "date_trunc" if pa.types.is_timestamp(base) and target == base and how.unit in LENGTHS:
            length = LENGTHS[how.unit]
            return _Step(column, target, lambda moment: moment - length, _same)
        case "prefix" if pa.types.is_string(base) and how.length is not None:
            cut = how.length
            return _Step(column, target, lambda text: text[:cut], lambda text: text[:cut])
    return None


def _moved(column: Column, target: pa.DataType, of: Callable[[Any], Any], margin: timedelta) -> _Step:
    return _Step(column, target, lambda moment: of(moment - margin), lambda moment: of(moment + margin))


def _offset(base: pa.DataType) -> timedelta:
    """How far the writer's zone may have moved a value of the base column."""
    return FARTHEST_OFFSET if pa.types.is_timestamp(base) and base.tz is not None else timedelta(0)


def _implied(predicate: Predicate, of: _Derivation) -> Predicate:
    match predicate:
        case And(left, right):
            return conjoin([_implied(left, of), _implied(right, of)])
        case Or(left, right):
            return disjoin([_implied(left, of), _implied(right, of)])
        case Comparison(op, column, Literal(value, kind)) if column == of.base and kind == of.type:
            return TRUE if value is None else _compared(op, value, of)
        case In(column, values) if column == of.base and all(value.type == of.type for value in values):
            return _one_of([value.value for value in values if value.value is not None], of)
        case StartsWith(column, prefix) if column == of.base and of.prefix is not None:
            step = of.steps[0]
            if len(prefix) < of.prefix:
                return StartsWith(step.column, prefix)
            return Comparison("=", step.column, Literal(prefix[: of.prefix], step.type))
        case _:
            return TRUE


def _one_of(values: list[Any], of: _Derivation) -> Predicate:
    if len(values) > _MOST_VALUES and not of.cyclic:
        return conjoin([_compared(">=", min(values), of), _compared("<=", max(values), of)])
    return disjoin(_compared("=", value, of) for value in values)


def _compared(op: str, value: Any, of: _Derivation) -> Predicate:
    try:
        if of.cyclic:
            return _among(value, of.steps[0]) if op in ("=", "<=>") else TRUE
        low, high = _next(value, 1) if op == ">" else value, _next(value, -1) if op == "<" else value
        match op:
            case ">" | ">=":
                return _at(">", of.steps, lambda step: step.low(low))
            case "<" | "<=":
                return _at("<", of.steps, lambda step: step.high(high))
            case "=" | "<=>":
                least = _at(">", of.steps, lambda step: step.low(value))
                most = _at("<", of.steps, lambda step: step.high(value))
                return conjoin([least, most])
    except (OverflowError, ValueError):
        # Beyond the calendar: nothing is known.
        return TRUE
    return TRUE


def _at(op: str, steps: tuple[_Step, ...], value: Callable[[_Step], Any]) -> Predicate:
    """The columns together are at least (`>`), or at most (`<`), the values."""
    first, rest = steps[0], steps[1:]
    edge = Literal(value(first), first.type)
    if not rest:
        return Comparison(f"{op}=", first.column, edge)
    return Or(Comparison(op, first.column, edge), And(Comparison("=", first.column, edge), _at(op, rest, value)))


def _among(value: Any, step: _Step) -> Predicate:
    """A month or a day is that of the value, or of one of the ends of what a zone may have made of it."""
    candidates = {step.low(value), step.high(value)}
    if isinstance(value, datetime) and value.tzinfo:
        candidates.add(step.low(value + FARTHEST_OFFSET))
    return In(step.column, tuple(Literal(one, step.type) for one in sorted(candidates)))


def _next(value: Any, towards: int) -> Any:
    """The neighbouring value; of a text, which has none that can be written, the value itself."""
    if isinstance(value, datetime):
        return value + timedelta(microseconds=towards)
    if isinstance(value, date):
        return value + timedelta(days=towards)
    return value


def _is_moment(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _same(value: Any) -> Any:
    return value


def _part(name: str) -> Callable[[Any], int]:
    return lambda moment: int(getattr(moment, name, 0))


def _padded(pattern: str, moment: Any) -> str:
    # strftime leaves out the zeros before a year of fewer than four digits on some systems.
    return pattern.replace("%Y", f"{moment.year:04d}")
