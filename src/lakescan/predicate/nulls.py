"""IS NULL of a whole condition, as a condition on columns.

`(a = 1 AND b > 2) IS NULL` can be judged by statistics only once it is taken apart: NULL comes from a column or a
literal that is NULL, and only where no other part decides the answer. What is returned is never NULL itself.
"""

from lakescan.predicate.tree import (
    FALSE,
    TRUE,
    And,
    Column,
    Comparison,
    Constant,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    StartsWith,
)


def is_null(predicate: Predicate) -> Predicate:
    """TRUE exactly where the predicate is NULL, else FALSE."""
    match predicate:
        case Constant(value):
            return TRUE if value is None else FALSE
        case Not(child):
            return is_null(child)
        case And(left, right):
            return Or(And(is_null(left), _not_false(right)), And(_not_false(left), is_null(right)))
        case Or(left, right):
            return Or(And(is_null(left), _not_true(right)), And(_not_true(left), is_null(right)))
        case IsNull() | Comparison("<=>", _, _):
            return FALSE
        case Comparison(_, left, Column() as right):
            return Or(IsNull(left), IsNull(right))
        case Comparison(_, left, right):
            return IsNull(left) if isinstance(right, Column) or right.value is not None else TRUE
        case StartsWith(column, _):
            return IsNull(column)
        case In(_, ()):
            return FALSE
        case In(column, values):
            known = tuple(value for value in values if value.value is not None)
            if len(known) == len(values):
                return IsNull(column)
            return Or(IsNull(column), Not(In(column, known)))


def is_true(predicate: Predicate) -> Predicate:
    """TRUE exactly where the predicate is TRUE, else FALSE."""
    return And(predicate, Not(is_null(predicate)))


def _not_false(predicate: Predicate) -> Predicate:
    return Or(predicate, is_null(predicate))


def _not_true(predicate: Predicate) -> Predicate:
    return Or(Not(predicate), is_null(predicate))
