"""A predicate as people write it, for EXPLAIN and reports: no type before a plain value, no bracket that says nothing.

`str(predicate)` is exact and tells any two predicates apart; this text is only to be read. A long list is cut.
"""

import re
from collections.abc import Iterator

import pyarrow as pa

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

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_VALUES = 10


def readable(predicate: Predicate) -> str:
    """The predicate in SQL."""
    match predicate:
        case And():
            return " AND ".join(_inside(part) for part in _flat(predicate, And))
        case Or():
            return " OR ".join(_inside(part) for part in _flat(predicate, Or))
        case Not(IsNull(column)):
            return f"{_name(column)} IS NOT NULL"
        case Not(In(column, values)):
            return f"{_name(column)} NOT IN ({_listed(values)})"
        case Not(child):
            return f"NOT ({readable(child)})"
        case IsNull(column):
            return f"{_name(column)} IS NULL"
        case In(column, values):
            return f"{_name(column)} IN ({_listed(values)})"
        case Comparison(op, left, right):
            return f"{_name(left)} {op} {_name(right) if isinstance(right, Column) else _value(right)}"
        case StartsWith(column, prefix):
            return f"startswith({_name(column)}, {_value(Literal(prefix, pa.string()))})"
        case Constant():
            return str(predicate)


def _flat(predicate: Predicate, kind: type[And] | type[Or]) -> Iterator[Predicate]:
    """The parts of a chain, however it is nested; without recursion, since a chain may be long."""
    waiting = [predicate]
    while waiting:
        part = waiting.pop()
        if isinstance(part, And | Or) and type(part) is kind:
            waiting += [part.right, part.left]
        else:
            yield part


def _inside(predicate: Predicate) -> str:
    text = readable(predicate)
    return f"({text})" if isinstance(predicate, And | Or) else text


def _name(column: Column) -> str:
    parts = (name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`" for name in column.path)
    return ".".join(parts)


def _listed(values: tuple[Literal, ...]) -> str:
    rest = f", … {len(values) - _MOST_VALUES} more" if len(values) > _MOST_VALUES else ""
    return ", ".join(map(_value, values[:_MOST_VALUES])) + rest


def _value(literal: Literal) -> str:
    type_, value = literal.type, literal.value
    if value is None:
        return "NULL"
    if pa.types.is_integer(type_) or pa.types.is_decimal(type_) or pa.types.is_floating(type_):
        return str(value)
    if pa.types.is_date(type_):
        return f"DATE '{value}'"
    if pa.types.is_timestamp(type_):
        return f"TIMESTAMP{'' if type_.tz else '_NTZ'} '{value}'"
    if pa.types.is_binary(type_):
        return f"X'{value.hex()}'"
    return str(literal)
