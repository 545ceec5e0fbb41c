"""Questions that need no Spark: a count of rows, or some columns, of one table, perhaps filtered and limited.

A statement is recognised only where every part of it is known, and its condition only where the planner evaluates it
exactly as Spark would. All others are left to Spark, so that an answer never depends on who gave it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from lakescan.errors import InvalidFilter
from lakescan.predicate.sql import condition
from lakescan.predicate.sql_text import as_sqlglot_reads_it
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.scan.plan import Plan
from lakescan.scan.snapshot import Snapshot

_COUNT_NAME = "count(1)"
_WORDS = ("expressions", "where", "limit", "from", "from_")


@dataclass(frozen=True)
class Question:
    """A statement that has been recognised."""

    sql: str
    table: tuple[str, ...]
    """The parts of the table's name."""
    columns: tuple[tuple[str, str], ...] | None
    """Each column and the name it gets, None for all as they are."""
    count_as: str | None
    """The name of the count, where rows are counted."""
    where: exp.Expression | None
    limit: int | None


class _NeedsSpark(Exception):
    """A part of a statement that only Spark knows to answer."""


def recognised(sql: str) -> Question | None:
    """The question that a statement asks, None where it takes Spark to answer it."""
    try:
        return _question(sql, cast(exp.Expression, sqlglot.parse_one(as_sqlglot_reads_it(sql), dialect="spark")))
    except (SqlglotError, ValueError, RecursionError, _NeedsSpark):
        return None


def _question(sql: str, statement: exp.Expression) -> Question:
    if not isinstance(statement, exp.Select):
        raise _NeedsSpark
    _only(statement, *_WORDS)
    table, limit = _table(statement.find(exp.From)), _limit(statement.args.get("limit"))
    filtered = statement.args.get("where")
    where = None if filtered is None else filtered.this
    wanted = statement.expressions
    count_as = _count_name(wanted[0]) if len(wanted) == 1 else None
    if count_as is None:
        return Question(sql, table, _columns(wanted), None, where, limit)
    if limit is not None:
        # A limit on the one row of a count would have to be looked at; nobody writes it.
        raise _NeedsSpark
    return Question(sql, table, (), count_as, where, None)


def planned(question: Question, snapshot: Snapshot) -> Plan | None:
    """How the planner and Arrow answer it, None where its condition is Spark's to evaluate."""
    builder = snapshot.scan()
    try:
        if question.where is not None:
            builder = builder.filter(condition(question.where, question.sql))
    except InvalidFilter:
        return None
    if question.count_as is not None:
        return builder.aggregate(Aggregation((), (Aggregate("count_rows"),))).build()
    if question.columns is not None:
        names = [name for name, _ in question.columns]
        if not _are_columns(names, snapshot.schema):
            return None
        builder = builder.select(*names)
    return (builder if question.limit is None else builder.limit(question.limit)).build()


def output_schema(question: Question, plan: Plan) -> pa.Schema:
    """The answer's columns by the names that the statement gives them."""
    if question.count_as is not None:
        return pa.schema([pa.field(question.count_as, pa.int64(), nullable=False)])
    if question.columns is None:
        return plan.schema
    given = [name for _, name in question.columns]
    return pa.schema([field.with_name(name) for field, name in zip(plan.schema, given, strict=True)])


def location_of(question: Question, tables: Mapping[str, str], is_format: Callable[[str], bool]) -> str | None:
    """Where the table is: one that was named, or the path after a format's name; None where Spark has to look."""
    *above, name = question.table
    if not above or above == ["lake"]:
        return tables.get(name)
    return name if len(above) == 1 and is_format(above[0]) else None


def _only(node: exp.Expression, *known: str) -> None:
    if any(value for key, value in node.args.items() if key not in known):
        raise _NeedsSpark


def _table(source: exp.Expression | None) -> tuple[str, ...]:
    if source is None or not isinstance(source.this, exp.Table):
        raise _NeedsSpark
    _only(source.this, "this", "db", "catalog")
    if not all(isinstance(part, exp.Identifier) for part in source.this.parts):
        raise _NeedsSpark
    return tuple(part.name for part in source.this.parts)


def _limit(limit: exp.Expression | None) -> int | None:
    if limit is None:
        return None
    _only(limit, "expression")
    number = limit.expression
    if not isinstance(number, exp.Literal) or number.is_string or not number.name.isdigit():
        raise _NeedsSpark
    return int(number.name)


def _count_name(wanted: exp.Expression) -> str | None:
    """The name of a count of rows, None where it is none."""
    counted = wanted.this if isinstance(wanted, exp.Alias) else wanted
    if not isinstance(counted, exp.Count):
        return None
    _only(counted, "this", "big_int")
    if not isinstance(counted.this, exp.Star) and counted.this != exp.Literal.number(1):
        raise _NeedsSpark
    return wanted.alias if isinstance(wanted, exp.Alias) else _COUNT_NAME


def _columns(wanted: list[exp.Expression]) -> tuple[tuple[str, str], ...] | None:
    """Each column and its name, None for a star."""
    if len(wanted) == 1 and isinstance(wanted[0], exp.Star):
        _only(wanted[0])
        return None
    columns: list[tuple[str, str]] = []
    for one in wanted:
        column = one.this if isinstance(one, exp.Alias) else one
        if not isinstance(column, exp.Column) or len(column.parts) != 1 or not isinstance(column.this, exp.Identifier):
            raise _NeedsSpark
        columns.append((column.name, one.alias if isinstance(one, exp.Alias) else column.name))
    if not columns or len({name.lower() for name, _ in columns}) < len(columns):
        raise _NeedsSpark
    return tuple(columns)


def _are_columns(names: list[str], schema: pa.Schema) -> bool:
    """Whether each is one of the table's own columns, so no dot, hidden column or function without brackets."""
    known = [name.lower() for name in schema.names]
    return all(known.count(name.lower()) == 1 for name in names)
