"""Which files hold only rows that the predicate wants, judged by their statistics alone.

`always_true` is True only where every row, whatever the rows are that the statistics allow, makes the predicate
TRUE: no row may make it FALSE, and none NULL. Where anything is unknown it is False.
"""

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate.nulls import is_null
from lakescan.predicate.skipping import Statistics, may_match
from lakescan.predicate.split import negate
from lakescan.predicate.tree import And, Not, Or, Predicate


def always_true(predicate: Predicate, statistics: Statistics) -> pa.BooleanArray:
    """For each file, True when every row of it makes the predicate TRUE."""
    return pc.invert(may_match(_not_true(predicate), statistics))


def _not_true(predicate: Predicate) -> Predicate:
    """TRUE exactly where the predicate is FALSE or NULL."""
    match predicate:
        case And(left, right):
            return Or(_not_true(left), _not_true(right))
        case Or(left, right):
            return And(_not_true(left), _not_true(right))
        case Not(child):
            return _not_false(child)
        case _:
            return Or(negate(predicate), is_null(predicate))


def _not_false(predicate: Predicate) -> Predicate:
    """TRUE exactly where the predicate is TRUE or NULL."""
    match predicate:
        case And(left, right):
            return And(_not_false(left), _not_false(right))
        case Or(left, right):
            return Or(_not_false(left), _not_false(right))
        case Not(child):
            return _not_true(child)
        case _:
            return Or(predicate, is_null(predicate))
