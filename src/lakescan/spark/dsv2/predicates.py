"""Spark's pushed predicates as expressions of ours.

Only what is known is read: operators and functions of Spark's own, columns, literals with an exact Arrow value. Every
other kind of expression, one of a later Spark included, is a function that nobody knows, which leaves it to Spark.
What an expression means, and whether it can be said exactly, is decided in `lakescan.predicate`.
"""

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lakescan.predicate import Call, Column, Expression, Literal
from lakescan.spark.bridge import Bridge, JavaObject
from lakescan.types.schema import primitive_type

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_QUOTED = re.compile(r"'((?:[^']|'')*)'(?:, |$)", re.DOTALL)
_FEW = 4
# Classes whose name says what they do. A user's function (UserDefinedScalarFunc) may be called anything.
_NAMED = frozenset({"Predicate", "Not", "GeneralScalarExpression"})
# Deeper nesting is left to Spark: every step after this one takes some of Python's stack for each level.
_DEEPEST = 60
UNKNOWN = Call("UNKNOWN", ())
# What Java shows in place of bytes that are no text, and a character like any other.
_REPLACED = "\ufffd"


def read_expression(bridge: Bridge, expression: JavaObject, depth: int = 0) -> Expression:
    """A V2 expression, functions by the names that Spark gives them (EXTRACT by the field it takes)."""
    kind = bridge.kind_of(expression)
    if kind == "FieldReference":
        return Column(tuple(expression.fieldNames()))
    if kind == "LiteralValue":
        return _literal(expression) or UNKNOWN
    if kind in ("AlwaysTrue", "AlwaysFalse"):
        return Literal(kind == "AlwaysTrue", pa.bool_())
    if depth > _DEEPEST:
        return UNKNOWN
    if kind in ("And", "Or"):
        return Call(
            kind.upper(), tuple(read_expression(bridge, part, depth + 1) for part in _chain(bridge, expression, kind))
        )
    if kind == "Cast":
        return Call(
            "CAST", (read_expression(bridge, expression.expression(), depth + 1),), _type(expression.dataType())
        )
    if kind == "Extract":
        return Call(str(expression.field()), (read_expression(bridge, expression.source(), depth + 1),))
    if kind not in _NAMED:
        return UNKNOWN
    name, children = str(expression.name()), expression.children()
    if name == "IN" and len(children) > _FEW:
        return _in(bridge, expression, children, depth)
    return Call(name, tuple(read_expression(bridge, child, depth + 1) for child in children))


def _chain(bridge: Bridge, expression: JavaObject, kind: str) -> list[JavaObject]:
    """The parts of which `expression` is the AND or OR, in order: a chain made in a loop nests a level for each."""
    parts, pending = [], [expression]
    while pending:
        part = pending.pop()
        if bridge.kind_of(part) == kind:
            pending += [part.right(), part.left()]
        else:
            parts.append(part)
    return parts


def _in(bridge: Bridge, expression: JavaObject, children: JavaObject, depth: int) -> Expression:
    """An IN list read in one call: thousands of values would otherwise be thousands of trips to the JVM."""
    column, first = read_expression(bridge, children[0], depth + 1), children[1]
    type_ = _type(first.dataType()) if bridge.kind_of(first) == "LiteralValue" else None
    if type_ is not None and isinstance(column, Column) and len(expression.references()) == 1:
        values = _values_of_text(bridge.text_of_all(children), len(children) - 1, type_)
        if values is not None:
            return Call("IN", (column, *[Literal(value, type_) for value in values]))
    return Call("IN", (column, *[read_expression(bridge, child, depth + 1) for child in children[1:]]))


def _values_of_text(text: str, count: int, type_: pa.DataType) -> list[Any] | None:
    """The last `count` values of an array as text, None where it cannot be read without doubt."""
    read = _READ_TEXT.get(type_) or (Decimal if pa.types.is_decimal(type_) else None)
    if pa.types.is_string(type_):
        quoted = _QUOTED.findall(text)
        # The first element is a column, whose name might hold quotes too; a NULL has none. How a quote inside a value
        # is written is not the same in every version of Spark.
        whole = sum(map(len, quoted)) + len(quoted) * len("'', ") - len(", ")
        if (
            len(quoted) != count
            or any("'" in value or _REPLACED in value for value in quoted)
            or text.find(", '") + len(", ") + whole != len(text)
        ):
            return None
        return list(quoted)
    words = text.split(", ")[-count:]
    if read is None or len(words) != count:
        return None
    try:
        return [None if word == "null" else read(word) for word in words]
    except (ArithmeticError, ValueError, OverflowError):
        return None


def _day(word: str) -> date:
    return date(1970, 1, 1) + timedelta(days=int(word))


def _moment(word: str) -> datetime:
    return _EPOCH + timedelta(microseconds=int(word))


_READ_TEXT: dict[pa.DataType, Callable[[str], Any]] = {
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.int64()), int),
    **dict.fromkeys((pa.float32(), pa.float64()), float),
    pa.date32(): _day,
    pa.timestamp("us", "UTC"): _moment,
    pa.timestamp("us"): lambda word: _moment(word).replace(tzinfo=None),
}


def _type(java_type: JavaObject) -> pa.DataType | None:
    name = str(java_type.json()).strip('"')
    # Of an interval only its files know that it is a number.
    return None if name.startswith("interval") else primitive_type(name)


def _literal(expression: JavaObject) -> Literal | None:
    type_ = _type(expression.dataType())
    if type_ is None or pa.types.is_nested(type_):
        return None
    try:
        return Literal(_value(expression.value(), type_), type_)
    except (OverflowError, ValueError, pa.ArrowException):
        return None


def _value(internal: Any, type_: pa.DataType) -> Any:
    """Catalyst's own form of a value (days, microseconds, UTF8String, Decimal) as Python's."""
    if internal is None:
        return None
    if pa.types.is_date(type_):
        return date(1970, 1, 1) + timedelta(days=internal)
    if pa.types.is_timestamp(type_):
        moment = _EPOCH + timedelta(microseconds=internal)
        return moment if type_.tz else moment.replace(tzinfo=None)
    if pa.types.is_string(type_):
        return internal if isinstance(internal, str) else _text(internal)
    if pa.types.is_decimal(type_):
        return Decimal(internal.toString())
    return bytes(internal) if pa.types.is_binary(type_) else internal


def _text(utf8: JavaObject) -> str:
    text = str(utf8.toString())
    # UnicodeDecodeError is a ValueError: a literal that is no text has no Arrow value.
    return bytes(utf8.getBytes()).decode() if _REPLACED in text else text
