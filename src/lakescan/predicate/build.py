"""Predicates written in Python: `col("a") > 5`.

Every operator gives a plain node of the tree, the same that the SQL parser gives for the same filter.
Names are not checked here: `bind` does that against a schema.
"""

import re
from collections.abc import Iterable
from typing import Any

from lakescan.errors import InvalidFilter
from lakescan.predicate.literals import literal
from lakescan.predicate.tree import And, Column, Comparison, In, IsNull, Literal, Predicate, StartsWith

_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")


class ColumnBuilder:
    """A column that waits for an operator."""

    # Equality gives a predicate, so a builder can have no hash.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, column: Column) -> None:
        self.column = column

    def __eq__(self, other: Any) -> Comparison:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: Any) -> Comparison:  # type: ignore[override]
        return self._compare("<>", other)

    def __lt__(self, other: Any) -> Comparison:
        return self._compare("<", other)

    def __le__(self, other: Any) -> Comparison:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> Comparison:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> Comparison:
        return self._compare(">=", other)

    def eq_null_safe(self, other: Any) -> Comparison:
        """Equality in which NULL equals NULL."""
        return self._compare("<=>", other)

    def isin(self, values: Iterable[Any]) -> In:
        return In(self.column, tuple(value if isinstance(value, Literal) else literal(value) for value in values))

    def is_null(self) -> IsNull:
        return IsNull(self.column)

    def is_not_null(self) -> Predicate:
        return ~IsNull(self.column)

    def startswith(self, prefix: str) -> StartsWith:
        return StartsWith(self.column, prefix)

    def between(self, low: Any, high: Any) -> Predicate:
        """Both ends included."""
        return And(self._compare(">=", low), self._compare("<=", high))

    def _compare(self, op: str, other: Any) -> Comparison:
        if isinstance(other, ColumnBuilder):
            return Comparison(op, self.column, other.column)
        return Comparison(op, self.column, other if isinstance(other, Column | Literal) else literal(other))


def col(*names: str) -> ColumnBuilder:
    """A column by name: `col("a.b")` and `col("a", "b")` are the field b of the struct a.

    A single name is split at its dots, except inside backticks; several names are taken as they are.
    """
    return ColumnBuilder(Column(_parts(names[0]) if len(names) == 1 else names))


def _parts(name: str) -> tuple[str, ...]:
    parts: list[str] = []
    position = 0
    while match := _PART.match(name, position):
        parts.append((match[1] or "").replace("``", "`") or match[2])
        if match.end() == len(name):
            return tuple(parts)
        if name[match.end()] != ".":
            break
        position = match.end() + 1
    raise InvalidFilter(name, "it is not a column name; put a name with special characters in backticks.")
