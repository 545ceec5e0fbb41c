"""Expressions as an engine writes them, functions included, and the predicates that some of them are.

`exact` gives the predicate with the same answer (TRUE, FALSE or NULL) as the expression for every row, or nothing.
What is left can still serve for skipping: see `implied`.
"""

from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from lakescan.errors import AmbiguousColumn, InvalidFilter, UnknownColumn
from lakescan.predicate.bind import bind
from lakescan.predicate.nulls import is_null, is_true
from lakescan.predicate.split import combine
from lakescan.predicate.tree import (
    OPERATORS,
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

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Call:
    """A function or an operator by its name in upper case; `type` is what a CAST makes."""

    name: str
    arguments: tuple["Expression", ...]
    type: pa.DataType | None = None

    def __str__(self) -> str:
        # Only to be read: it does not tell the types of numbers.
        shown = [str(one.value) if isinstance(one, Literal) else str(one) for one in self.arguments]
        if self.name == "CAST":
            return f"CAST({shown[0]} AS {self.type})"
        if not self.name.isidentifier() and len(shown) == 2:
            return f"({shown[0]} {self.name} {shown[1]})"
        return f"{self.name}({', '.join(shown)})"


Expression: TypeAlias = Column | Literal | Call


def columns_in(expression: Expression) -> frozenset[Column]:
    """Every column that the expression reads."""
    match expression:
        case Column():
            return frozenset({expression})
        case Call(_, arguments):
            return frozenset().union(*map(columns_in, arguments))
    return frozenset()


class _Inexpressible(Exception):
    """Part of the expression has no equal among predicates."""


def exact(expression: Expression, schema: pa.Schema) -> Predicate | None:
    """The predicate that is the expression, bound to the schema, or None."""
    try:
        return bind(_predicate(expression), schema)
    except (_Inexpressible, InvalidFilter, UnknownColumn, AmbiguousColumn):
        return None


def _predicate(expression: Expression) -> Predicate:
    match expression:
        case Literal(value, kind) if pa.types.is_boolean(kind):
            return Constant(value)
        case Column():
            return Comparison("=", expression, Literal(True, pa.bool_()))
        case Call("AND", parts):
            return combine(And, [_predicate(part) for part in parts])
        case Call("OR", parts):
            return combine(Or, [_predicate(part) for part in parts])
        case Call("NOT", (child,)):
            return Not(_predicate(child))
        case Call("IS_NULL", (child,)):
            return IsNull(child) if isinstance(child, Column) else is_null(_predicate(child))
        case Call("IS_NOT_NULL", (child,)):
            return Not(IsNull(child) if isinstance(child, Column) else is_null(_predicate(child)))
        case Call("IN", (Column() as column, *values)):
            return In(column, tuple(map(_literal, values)))
        case Call("STARTS_WITH", (Column() as column, Literal(str() as prefix, _))):
            return StartsWith(column, prefix)
        case Call("<=>", (Call() as child, Literal(bool() as wanted, _))):
            # CASE WHEN c THEN TRUE ELSE FALSE END comes like this.
            inner = _predicate(child)
            return is_true(inner if wanted else Not(inner))
        case Call(op, (Column() as left, Literal() | Column() as right)) if op in OPERATORS:
            return Comparison(op, left, right)
        case Call(op, (Literal() as left, Column() as right)) if op in OPERATORS:
            return Comparison(MIRRORED.get(op, op), right, left)
    raise _Inexpressible


def _literal(expression: Expression) -> Literal:
    if not isinstance(expression, Literal):
        raise _Inexpressible
    return expression
