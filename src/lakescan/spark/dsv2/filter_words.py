"""Filters as `PushedFilters.java` reads them: words, a line each, with their constants as one row of an Arrow stream.

Only what Spark's own expressions say with the same meaning is written: comparisons, IN, IS NULL, prefixes, AND, OR and
NOT over whole columns and constants of a column's own type.
"""

from collections.abc import Sequence

import pyarrow as pa

from lakescan.predicate import (
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
    conjoin,
)

_CONSTANTS = {True: "true", False: "false", None: "unknown"}


class _Inexpressible(Exception):
    """A filter that has no words."""


class FilterWords:
    """Filters over some columns, which words count from zero; together they have one list of constants."""

    def __init__(self, columns: Sequence[pa.Field]) -> None:
        self._places = {field.name: at for at, field in enumerate(columns)}
        self._types = {field.name: field.type for field in columns}
        self._literals: list[pa.Array] = []

    def whole(self, predicate: Predicate) -> str | None:
        """All of a filter; None where there are no words for some of it."""
        try:
            return "" if predicate == TRUE else "\n".join(self._words(predicate))
        except _Inexpressible:
            return None

    def part(self, predicate: Predicate) -> str:
        """What a filter implies for pages: those of its conditions that there are words for. Few pages are all null."""
        conditions = [condition for condition in _conditions(predicate) if _not_null(condition) is None]
        return self.whole(conjoin([condition for condition in conditions if self.whole(condition) is not None])) or ""

    def not_null(self, predicate: Predicate) -> str | None:
        """Where the columns are of which a filter drops nulls; None where it drops anything else."""
        columns = [_not_null(condition) for condition in _conditions(predicate)]
        known = [column for column in columns if column is not None]
        try:
            return " ".join(str(self._place(column)) for column in known) if len(known) == len(columns) else None
        except _Inexpressible:
            return None

    def stream(self, rows: str, not_null: str, wanted: str, always: bool) -> bytes:
        """What rows must pass, which columns must not be null in them, and which rows are wanted at all; whether the
        executor is to filter rows whatever is known of pages."""
        schema = pa.schema(
            [(str(at), literal.type) for at, literal in enumerate(self._literals)],
            {"rows": rows, "not_null": not_null, "wanted": wanted, "always": str(always).lower()},
        )
        sink = pa.BufferOutputStream()
        with pa.RecordBatchStreamWriter(sink, schema) as stream:
            stream.write_batch(pa.RecordBatch.from_arrays(self._literals, schema=schema))
        return bytes(sink.getvalue())

    def _words(self, predicate: Predicate) -> list[str]:
        match predicate:
            case And(left, right):
                return [*self._words(left), *self._words(right), "and"]
            case Or(left, right):
                return [*self._words(left), *self._words(right), "or"]
            case Not(child):
                return [*self._words(child), "not"]
            case Constant(value):
                return [_CONSTANTS[value]]
            case IsNull(column):
                return [self._column(column), "null"]
            case Comparison(op, column, right):
                other = self._column(right) if isinstance(right, Column) else self._literal(column, right)
                return [self._column(column), other, op]
            case In(column, values) if values:
                return [self._column(column), *(self._literal(column, value) for value in values), f"in {len(values)}"]
            case StartsWith(column, prefix):
                return [self._column(column), self._literal(column, Literal(prefix, pa.string())), "starts"]
        raise _Inexpressible

    def _place(self, column: Column) -> int:
        if len(column.path) > 1 or column.path[0] not in self._places:
            raise _Inexpressible
        return self._places[column.path[0]]

    def _column(self, column: Column) -> str:
        place = self._place(column)
        if pa.types.is_nested(self._type(column)):
            raise _Inexpressible
        return f"column {place}"

    def _literal(self, column: Column, literal: Literal) -> str:
        if column.path[0] not in self._types or not literal.type.equals(self._type(column)):
            raise _Inexpressible
        self._literals.append(pa.array([literal.value], literal.type))
        return f"literal {len(self._literals) - 1}"

    def _type(self, column: Column) -> pa.DataType:
        return self._types[column.path[0]]


def only_drops_nulls(predicate: Predicate) -> bool:
    """Whether a filter only drops nulls, as one does that Spark infers from a join: next to all rows pass it."""
    return all(_not_null(condition) is not None for condition in _conditions(predicate))


def _not_null(predicate: Predicate) -> Column | None:
    """The column of which a condition drops nulls and nothing else."""
    match predicate:
        case Not(IsNull(column)):
            return column
    return None


def _conditions(predicate: Predicate) -> list[Predicate]:
    if isinstance(predicate, And):
        return [*_conditions(predicate.left), *_conditions(predicate.right)]
    return [predicate]
