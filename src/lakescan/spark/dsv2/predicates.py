"""Spark's pushed predicates as expressions of ours.

Only what is known is read: operators and functions of Spark's own, columns, literals with an exact Arrow value. Every
other kind of expression, one of a later Spark included, is a function that nobody knows, which leaves it to Spark.
What an expression means, and whether it can be said exactly, is decided in `lakescan.predicate`.

`DescribedExpressions.java` tells all of them in one trip, as JSON.
"""

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lakescan.predicate import Call, Column, Expression, Literal
from lakescan.spark.bridge import Bridge, JavaObject
from lakescan.types.schema import primitive_type

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_EVERY_VALUE = 2**31 - 1
UNKNOWN = Call("UNKNOWN", ())
SHOWS_NULL_BYTES = (4, 3)
"""The release from which on Spark has a text for a NULL of bytes; it makes one of each predicate that was pushed."""


@dataclass(frozen=True)
class AskedFunction:
    """An aggregate function, by the name of its class, and what it is of."""

    kind: str
    is_distinct: bool
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class AskedAggregation:
    """What Spark offers to a scan to aggregate, before it is known whether that can be done."""

    keys: tuple[Expression, ...]
    functions: tuple[AskedFunction, ...]


def read_expressions(bridge: Bridge, expressions: JavaObject, most_values: int = _EVERY_VALUE) -> list[Expression]:
    """An array of V2 expressions, functions by the names that Spark gives them (EXTRACT by the field it takes); an IN
    of more values is not read."""
    return [_expression(told) for told in json.loads(bridge.described(expressions, most_values))]


def read_expression(bridge: Bridge, expression: JavaObject) -> Expression:
    """One of them."""
    (read,) = read_expressions(bridge, expression)
    return read


def has_null_bytes(expression: Expression) -> bool:
    """Whether a part of it is a NULL of bytes."""
    match expression:
        case Literal(value=None, type=type_):
            return bool(pa.types.is_binary(type_))
        case Call(arguments=arguments):
            return any(map(has_null_bytes, arguments))
    return False


def read_aggregation(bridge: Bridge, aggregation: JavaObject) -> AskedAggregation:
    told = json.loads(bridge.described_aggregation(aggregation))
    functions = (
        AskedFunction(function["kind"], function["distinct"], tuple(map(_expression, function["of"])))
        for function in told["functions"]
    )
    return AskedAggregation(tuple(map(_expression, told["keys"])), tuple(functions))


def _expression(told: Mapping[str, Any]) -> Expression:
    match told:
        case {"column": names}:
            return Column(tuple(names))
        case {"call": name, "of": parts, "type": type_, "values": values}:
            known = _type(type_)
            return Call(name, (*map(_expression, parts), *(_literal(value, known) for value in values)))
        case {"call": name, "of": parts, "type": type_}:
            return Call(name, tuple(map(_expression, parts)), _type(type_))
        case {"call": name, "of": parts}:
            return Call(name, tuple(map(_expression, parts)))
        case {"type": type_, "value": value}:
            return _literal(value, _type(type_))
        case _:
            return UNKNOWN


def _type(spark_json: str) -> pa.DataType | None:
    name = spark_json.strip('"')
    # Of an interval only its files know that it is a number.
    return None if name.startswith("interval") else primitive_type(name)


def _literal(text: str | None, type_: pa.DataType | None) -> Expression:
    """A value of which Java gave its text, in Catalyst's own form: a date as days, a time as microseconds."""
    if type_ is None or pa.types.is_nested(type_):
        return UNKNOWN
    if text is None:
        return Literal(None, type_)
    read = Decimal if pa.types.is_decimal(type_) else _READ_TEXT.get(type_)
    try:
        return UNKNOWN if read is None else Literal(read(text), type_)
    except (ArithmeticError, ValueError, OverflowError, pa.ArrowException):
        return UNKNOWN


def _day(word: str) -> date:
    return date(1970, 1, 1) + timedelta(days=int(word))


def _moment(word: str) -> datetime:
    return _EPOCH + timedelta(microseconds=int(word))


_READ_TEXT: dict[pa.DataType, Callable[[str], Any]] = {
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.int64()), int),
    **dict.fromkeys((pa.float32(), pa.float64()), float),
    pa.bool_(): lambda word: word == "true",
    pa.string(): str,
    pa.binary(): b64decode,
    pa.date32(): _day,
    pa.timestamp("us", "UTC"): _moment,
    pa.timestamp("us"): lambda word: _moment(word).replace(tzinfo=None),
}
