"""The predicate tree: immutable nodes that say which rows are wanted.

Every node is hashable, picklable and compares by meaning: two predicates are equal exactly when their texts
are equal, so `str(predicate)` can stand for the predicate in a cache key. Literals are held in the one form
that their Arrow type gives them, so that `Decimal("1")` and `Decimal("1.00")` of one type are the same literal.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias, cast

import pyarrow as pa

OPERATORS = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>"})


class _Combinable:
    """The operators `&`, `|` and `~`, for every node that is a predicate."""

    def __and__(self, other: Predicate) -> And:
        return And(cast("Predicate", self), other)

    def __or__(self, other: Predicate) -> Or:
        return Or(cast("Predicate", self), other)

    def __invert__(self) -> Not:
        return Not(cast("Predicate", self))

    def __bool__(self) -> bool:
        # `p and q` would silently drop p: Python asks for the truth of p and there is none.
        raise TypeError("A predicate is neither true nor false. Combine predicates with &, | and ~.")


@dataclass(frozen=True)
class Column:
    """A column by its path: ("a",) is a top-level column, ("a", "b") the field b of the struct a."""

    path: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.path:
            raise ValueError("A column needs at least one name.")

    def __str__(self) -> str:
        return ".".join("`" + name.replace("`", "``") + "`" for name in self.path)


@dataclass(frozen=True, eq=False)
class Literal:
    """A constant of an Arrow type; the value None is the NULL of that type."""

    value: Any
    type: pa.DataType

    def __post_init__(self) -> None:
        # Arrow imports pandas, where it is installed, for the first scalar that it makes: not while this is imported.
        if self.value is not None:
            object.__setattr__(self, "value", pa.scalar(self.value, self.type).as_py())

    @property
    def scalar(self) -> pa.Scalar:
        return pa.scalar(self.value, self.type)

    def __str__(self) -> str:
        if self.value is None:
            return "NULL" if pa.types.is_null(self.type) else f"CAST(NULL AS {self.type})"
        if pa.types.is_boolean(self.type):
            return str(self.value).upper()
        prefix = "" if self.type == pa.string() else f"{self.type} "
        return prefix + _quoted(_text_of(self.value))

    # NaN is not equal to itself in Python, and -0.0 is the same number as 0.0: the text knows both.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self.type == other.type and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


@dataclass(frozen=True)
class Comparison(_Combinable):
    """`left op right`; `<=>` is the equality that takes NULL for a value."""

    op: str
    left: Column
    right: Column | Literal

    def __post_init__(self) -> None:
        if self.op not in OPERATORS:
            raise ValueError(f"{self.op!r} is not one of {', '.join(sorted(OPERATORS))}.")

    def __str__(self) -> str:
        return f"({self.left} {self.op} {self.right})"


@dataclass(frozen=True)
class In(_Combinable):
    """`column IN (values)`: the OR of the equalities, so FALSE when there are no values."""

    column: Column
    values: tuple[Literal, ...]

    def __str__(self) -> str:
        return f"({self.column} IN ({', '.join(map(str, self.values))}))"


@dataclass(frozen=True)
class IsNull(_Combinable):
    """`column IS NULL`: never NULL itself."""

    column: Column

    def __str__(self) -> str:
        return f"({self.column} IS NULL)"


@dataclass(frozen=True)
class StartsWith(_Combinable):
    """Whether the text of a string column begins with `prefix`, byte by byte."""

    column: Column
    prefix: str

    def __str__(self) -> str:
        return f"startswith({self.column}, {_quoted(self.prefix)})"


@dataclass(frozen=True)
class And(_Combinable):
    left: Predicate
    right: Predicate

    def __str__(self) -> str:
        return f"({self.left} AND {self.right})"


@dataclass(frozen=True)
class Or(_Combinable):
    left: Predicate
    right: Predicate

    def __str__(self) -> str:
        return f"({self.left} OR {self.right})"


@dataclass(frozen=True)
class Not(_Combinable):
    child: Predicate

    def __str__(self) -> str:
        return f"(NOT {self.child})"


@dataclass(frozen=True)
class Constant(_Combinable):
    """TRUE, FALSE, or NULL when the value is None."""

    value: bool | None

    def __str__(self) -> str:
        return "NULL" if self.value is None else str(self.value).upper()


Predicate: TypeAlias = Comparison | In | IsNull | StartsWith | And | Or | Not | Constant

TRUE = Constant(True)
FALSE = Constant(False)


def columns_of(predicate: Predicate) -> frozenset[Column]:
    """Every column that the predicate reads."""
    match predicate:
        case Constant():
            return frozenset()
        case Not(child):
            return columns_of(child)
        case And(left, right) | Or(left, right):
            return columns_of(left) | columns_of(right)
        case Comparison(_, column, Column() as other):
            return frozenset({column, other})
        case Comparison(_, column, _):
            return frozenset({column})
        case In(column, _) | IsNull(column) | StartsWith(column, _):
            return frozenset({column})


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _text_of(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return repr(value + 0.0)
    return str(value)
