"""Filters written in Spark SQL.

A text is either turned into the predicate that has exactly its meaning, or refused with an InvalidFilter that
names the part which cannot be used. Nothing is approximated, and names are left for `bind` to check.
"""

import re
from decimal import Decimal
from math import isinf
from typing import Any, NoReturn, cast

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from lakescan.errors import InvalidFilter
from lakescan.predicate.coercion import is_number, is_text
from lakescan.predicate.literals import MOST_DIGITS, NULL, literal
from lakescan.predicate.split import combine
from lakescan.predicate.sql_text import as_sqlglot_reads_it
from lakescan.predicate.text import value_of_text
from lakescan.predicate.tree import (
    FALSE,
    TRUE,
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

_OPERATORS: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CASTS: dict[Any, pa.DataType] = {
    exp.DataType.Type.BOOLEAN: pa.bool_(),
    exp.DataType.Type.TINYINT: pa.int8(),
    exp.DataType.Type.SMALLINT: pa.int16(),
    exp.DataType.Type.INT: pa.int32(),
    exp.DataType.Type.BIGINT: pa.int64(),
    exp.DataType.Type.FLOAT: pa.float32(),
    exp.DataType.Type.DOUBLE: pa.float64(),
    exp.DataType.Type.DATE: pa.date32(),
    exp.DataType.Type.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    exp.DataType.Type.TIMESTAMPLTZ: pa.timestamp("us", "UTC"),
    exp.DataType.Type.TIMESTAMPNTZ: pa.timestamp("us"),
}
_WHOLE = re.compile(r"\d+", re.ASCII)
_POINT = re.compile(r"\d+\.\d*", re.ASCII)
_EXPONENT = re.compile(r"\d+(\.\d*)?[eE][+-]?\d+", re.ASCII)


class _Unusable(Exception):
    """A part of the text that has no place in a predicate."""


def parse(text: str) -> Predicate:
    """The predicate that a Spark SQL condition means; InvalidFilter when it cannot be expressed exactly."""
    try:
        # In brackets the text can be nothing but one expression: no clause or second statement can follow it.
        statement = sqlglot.parse_one(f"SELECT (\n{_readable(text)}\n)", dialect="spark")
        whole = statement.args["expressions"][0]
        if not isinstance(whole, exp.Paren):
            raise _Unusable("it must be one condition")
        return _predicate(whole.this)
    except SqlglotError as error:
        raise InvalidFilter(text, f"it is not a condition in Spark SQL ({_first_line(error)}).") from None
    except _Unusable as unusable:
        raise InvalidFilter(text, f"{unusable}.") from None
    except RecursionError:
        raise InvalidFilter(text, "it is nested too deeply.") from None


def condition(node: exp.Expression, text: str) -> Predicate:
    """The predicate that a parsed condition means, of a text that `as_sqlglot_reads_it` let pass."""
    try:
        return _predicate(node)
    except _Unusable as unusable:
        raise InvalidFilter(text, f"{unusable}.") from None
    except RecursionError:
        raise InvalidFilter(text, "it is nested too deeply.") from None


def _predicate(node: exp.Expression) -> Predicate:
    match node:
        case exp.Paren():
            return _predicate(node.this)
        case exp.And():
            return combine(And, _parts(node))
        case exp.Or():
            return combine(Or, _parts(node))
        case exp.Not():
            return Not(_predicate(node.this))
        case exp.Boolean():
            return TRUE if node.this else FALSE
        case exp.Null():
            return Constant(None)
        case exp.Column() | exp.Dot():
            return Comparison("=", _column(node), literal(True))
        case exp.Is():
            return _is_null(node)
        case exp.In():
            _only(node, "this", "expressions")
            column, values = _column(node.this), tuple(_literal(value) for value in node.expressions)
            return In(column, values) if values else _refuse(node, "has an empty list")
        case exp.Between():
            _only(node, "this", "low", "high")
            low, high = node.args["low"], node.args["high"]
            return And(_compared(node, ">=", node.this, low), _compared(node, "<=", node.this, high))
        case exp.Like():
            return _like(node)
        case exp.StartsWith():
            return StartsWith(_column(node.this), _string(node.expression))
        case exp.Binary() if type(node) in _OPERATORS:
            return _compared(node, _OPERATORS[type(node)], node.this, node.expression)
    _refuse(node, "is not a condition that can be pushed to a table")


def _parts(node: exp.Connector) -> list[Predicate]:
    # A chain of a thousand ORs is a thousand levels deep in sqlglot's tree; flatten() walks it without recursion.
    return [_predicate(cast(exp.Expression, part)) for part in node.flatten()]


def _compared(node: exp.Expression, op: str, left: exp.Expression, right: exp.Expression) -> Comparison:
    if _is_column(left):
        return Comparison(op, _column(left), _column(right) if _is_column(right) else _literal(right))
    if _is_column(right):
        return Comparison(_FLIPPED.get(op, op), _column(right), _literal(left))
    _literal(left), _literal(right)
    _refuse(node, "compares no column")


def _is_null(node: exp.Is) -> Predicate:
    if not isinstance(node.expression, exp.Null):
        _refuse(node, "is not IS NULL or IS NOT NULL")
    return IsNull(_column(node.this))


def _like(node: exp.Like) -> Predicate:
    _only(node, "this", "expression", "negate")
    column, pattern = _column(node.this), _string(node.expression)
    prefix = pattern.removesuffix("%")
    if any(special in prefix for special in "%_\\"):
        _refuse(node, "is not a plain prefix pattern such as 'abc%'")
    begins = StartsWith(column, prefix)
    # LIKE compares texts. The equality alone would let `bind` read the pattern as a number for a number column,
    # for which '05' is not what Spark's text of 5 looks like; beside startswith only a text column is accepted.
    matched = begins if pattern != prefix else And(begins, Comparison("=", column, literal(pattern)))
    return Not(matched) if node.args.get("negate") else matched


def _is_column(node: exp.Expression) -> bool:
    return isinstance(node.unnest(), exp.Column | exp.Dot)


def _column(node: exp.Expression) -> Column:
    inner = node.unnest()
    parts = inner.parts if isinstance(inner, exp.Column | exp.Dot) else []
    if not parts or not all(isinstance(part, exp.Identifier) for part in parts):
        _refuse(node, "is not a column")
    return Column(tuple(part.this for part in parts))


def _string(node: exp.Expression) -> str:
    if not isinstance(node, exp.Literal) or not node.is_string:
        _refuse(node, "is not a string")
    return str(node.this)


def _literal(node: exp.Expression) -> Literal:
    match node:
        case exp.Paren():
            return _literal(node.this)
        case exp.Null():
            return NULL
        case exp.Boolean():
            return literal(bool(node.this))
        case exp.Literal():
            return literal(node.this) if node.is_string else _number(node, node.this)
        case exp.HexString():
            return _binary(node)
        case exp.Cast():
            return _cast(node)
        case exp.Neg(this=exp.Literal(is_string=False) as number):
            return _number(node, f"-{number.this}")
        case exp.Neg(this=exp.Cast() as inner):
            return _negative(node, _cast(inner))
    _refuse(node, "is neither a column nor a constant")


def _number(node: exp.Expression, text: str) -> Literal:
    digits = text.removeprefix("-")
    try:
        if _WHOLE.fullmatch(digits):
            return literal(int(text))
        if _POINT.fullmatch(digits):
            return literal(Decimal(text))
        if _EXPONENT.fullmatch(digits) and not isinf(float(text)):
            return literal(float(text))
    except InvalidFilter:
        _refuse(node, "has more digits than a decimal holds")
    _refuse(node, "is not a number")


def _negative(node: exp.Neg, inner: Literal) -> Literal:
    value = inner.value
    if not is_number(inner.type):
        _refuse(node, "is not a number")
    # Unary minus would round a decimal to the 28 digits of Python's default context.
    return Literal(value.copy_negate() if isinstance(value, Decimal) else -value, inner.type)


def _binary(node: exp.HexString) -> Literal:
    digits = str(node.this)
    try:
        return literal(bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2)))
    except ValueError:
        _refuse(node, "is not hexadecimal")


def _cast(node: exp.Cast) -> Literal:
    _only(node, "this", "to")
    wanted = _cast_type(node.to)
    if wanted is None or not isinstance(node.this, exp.Literal | exp.Neg):
        _refuse(node, "is not a cast of a constant that can be worked out exactly")
    source = _literal(node.this)
    if not is_text(source.type) and not is_number(wanted):
        _refuse(node, "casts a number to something else")
    try:
        return Literal(value_of_text(str(source.value), wanted), wanted)
    except ValueError as refused:
        _refuse(node, f"cannot be used, {refused}")


def _cast_type(to: exp.DataType) -> pa.DataType | None:
    sizes = [int(size.name) for size in to.expressions]
    if to.this == exp.DataType.Type.DECIMAL and len(sizes) == 2 and 0 <= sizes[1] <= sizes[0] <= MOST_DIGITS:
        return pa.decimal128(*sizes)
    return None if sizes else _CASTS.get(to.this)


def _only(node: exp.Expression, *known: str) -> None:
    """Refuses a node with an option that this module does not know, which could change its meaning."""
    if any(value for name, value in node.args.items() if name not in known):
        _refuse(node, "uses an option that is not supported")


def _refuse(node: exp.Expression, why: str) -> NoReturn:
    written = node.sql(dialect="spark", comments=False, unsupported_level=sqlglot.ErrorLevel.IGNORE)
    raise _Unusable(f"{written} {why}")


def _readable(text: str) -> str:
    try:
        return as_sqlglot_reads_it(text)
    except ValueError as refused:
        raise _Unusable(str(refused)) from None


def _first_line(error: SqlglotError) -> str:
    return str(error).splitlines()[0].split(" Line ")[0].rstrip(".")
