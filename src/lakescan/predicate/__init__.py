"""Filters: built in Python or parsed from SQL, bound to a schema, evaluated on rows, and judged on statistics.

A predicate means exactly what it means in Spark SQL (ANSI mode, session time zone UTC), or it is refused with
InvalidFilter; no step approximates.
"""

from lakescan.predicate.bind import bind
from lakescan.predicate.build import col
from lakescan.predicate.evaluate import evaluate
from lakescan.predicate.expression import Call, Expression, columns_in, exact
from lakescan.predicate.implied import implied
from lakescan.predicate.skipping import Bounds, Statistics, may_match
from lakescan.predicate.split import conjoin, conjuncts, disjoin, push_not_inwards, split_by_columns
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
    columns_of,
)


def parse(text: str) -> Predicate:
    """A filter in Spark SQL; what cannot be read exactly is refused."""
    # The parser takes longer to load than everything else that a scan needs.
    from lakescan.predicate.sql import parse as parsed

    return parsed(text)


__all__ = [
    "FALSE",
    "TRUE",
    "And",
    "Bounds",
    "Call",
    "Column",
    "Comparison",
    "Constant",
    "Expression",
    "In",
    "IsNull",
    "Literal",
    "Not",
    "Or",
    "Predicate",
    "StartsWith",
    "Statistics",
    "bind",
    "col",
    "columns_in",
    "columns_of",
    "conjoin",
    "conjuncts",
    "disjoin",
    "evaluate",
    "exact",
    "implied",
    "may_match",
    "parse",
    "push_not_inwards",
    "split_by_columns",
]
