"""Spark's pushed predicates as ours.

A predicate is translated whole or not at all: what our tree cannot say exactly stays with Spark. Collated
strings, casts and functions are such, and so is any comparison whose literal has no exact Arrow value.
"""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa

from lakescan.errors import InvalidFilter, UnknownColumn, UnsupportedType
from lakescan.predicate import And, Column, Comparison, In, IsNull, Literal, Not, Or, Predicate, StartsWith, bind
from lakescan.predicate.tree import Constant
from lakescan.schema import primitive_type
from lakescan.spark.bridge import JavaObject

_COMPARISONS = {"=": "=", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class _Untranslatable(Exception):
    """Part of the predicate has no equal in our tree."""


def translate(predicate: JavaObject, schema: pa.Schema) -> Predicate | None:
    """The same predicate over the table's schema, or None."""
    try:
        return bind(_predicate(predicate), schema)
    except (_Untranslatable, InvalidFilter, UnknownColumn, UnsupportedType):
        return None


def _predicate(found: JavaObject) -> Predicate:
    name, children = found.name(), list(found.children())
    if name in ("AND", "OR"):
        return reduce(And if name == "AND" else Or, map(_predicate, children))
    if name == "NOT":
        return Not(_predicate(children[0]))
    if name in ("ALWAYS_TRUE", "ALWAYS_FALSE"):
        return Constant(name == "ALWAYS_TRUE")
    if name == "IS_NULL":
        return IsNull(_column(children[0]))
    if name == "IS_NOT_NULL":
        return Not(IsNull(_column(children[0])))
    if name == "IN":
        return In(_column(children[0]), tuple(map(_literal, children[1:])))
    if name == "STARTS_WITH":
        prefix = _literal(children[1])
        if not isinstance(prefix.value, str):
            raise _Untranslatable
        return StartsWith(_column(children[0]), prefix.value)
    if name in _COMPARISONS:
        return _comparison(name, *children)
    raise _Untranslatable


def _comparison(name: str, left: JavaObject, right: JavaObject) -> Predicate:
    if _kind(left) == "LiteralValue":
        return Comparison(_MIRRORED[name], _column(right), _literal(left))
    if _kind(right) == "LiteralValue":
        return Comparison(_COMPARISONS[name], _column(left), _literal(right))
    # Two columns: their types say nothing here of collations, which decide what equal means.
    raise _Untranslatable


def _kind(expression: JavaObject) -> str:
    return str(expression.getClass().getSimpleName())


def _column(expression: JavaObject) -> Column:
    if _kind(expression) != "FieldReference":
        raise _Untranslatable
    return Column(tuple(expression.fieldNames()))


def _literal(expression: JavaObject) -> Literal:
    if _kind(expression) != "LiteralValue":
        raise _Untranslatable
    type_name = str(expression.dataType().json()).strip('"')
    type_ = primitive_type(type_name)
    if type_ is None:
        raise _Untranslatable
    try:
        return Literal(_value(expression.value(), type_), type_)
    except (OverflowError, ValueError, pa.ArrowException) as error:
        raise _Untranslatable from error


def _value(found: Any, type_: pa.DataType) -> Any:
    """Catalyst's own form of a value (days, microseconds, UTF8String, Decimal) as Python's."""
    if found is None:
        return None
    if pa.types.is_date(type_):
        return date(1970, 1, 1) + timedelta(days=found)
    if pa.types.is_timestamp(type_):
        moment = _EPOCH + timedelta(microseconds=found)
        return moment if type_.tz else moment.replace(tzinfo=None)
    if pa.types.is_string(type_):
        return found if isinstance(found, str) else found.toString()
    if pa.types.is_decimal(type_):
        return Decimal(found.toString())
    return bytes(found) if pa.types.is_binary(type_) else found
