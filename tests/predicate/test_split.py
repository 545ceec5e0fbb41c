from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from hypothesis import given, settings

from lakescan.predicate import (
    FALSE,
    TRUE,
    And,
    Column,
    Comparison,
    Constant,
    Literal,
    Not,
    Or,
    Predicate,
    bind,
    col,
    columns_of,
    conjoin,
    conjuncts,
    evaluate,
    push_not_inwards,
    split_by_columns,
)
from lakescan.predicate.split import combine, negate
from tests.examples import examples

from .strategies import SCHEMA, predicates, rows, table_of

A, B, C = col("a") == 1, col("b") == 2, col("c") == 3


def nots_are_over_leaves(predicate: Predicate) -> bool:
    match predicate:
        case And(left, right) | Or(left, right):
            return nots_are_over_leaves(left) and nots_are_over_leaves(right)
        case Not(child):
            return not isinstance(child, And | Or | Not | Constant) and not (
                isinstance(child, Comparison) and child.op != "<=>"
            )
        case _:
            return True


@settings(max_examples=examples(300), deadline=None)
@given(predicates(), rows())
def test_pushing_not_inwards_changes_no_answer(predicate: Predicate, given_rows: list[Any]) -> None:
    table = table_of(given_rows)
    pushed = push_not_inwards(predicate)
    assert nots_are_over_leaves(pushed)
    assert evaluate(bind(pushed, SCHEMA), table) == evaluate(bind(predicate, SCHEMA), table)
    assert evaluate(bind(negate(predicate), SCHEMA), table) == evaluate(bind(Not(predicate), SCHEMA), table)


@settings(max_examples=examples(200), deadline=None)
@given(predicates(), rows())
def test_splitting_by_columns_loses_nothing(predicate: Predicate, given_rows: list[Any]) -> None:
    table = table_of(given_rows)
    names = {"i64", "s", "box"}
    inside, outside = split_by_columns(predicate, names)
    assert all(column.path[0] in names for column in columns_of(inside))
    assert evaluate(bind(And(inside, outside), SCHEMA), table) == evaluate(bind(predicate, SCHEMA), table)


def test_conjuncts_come_from_left_to_right() -> None:
    assert conjuncts((A & (B & TRUE)) & (C | A)) == (A, B, C | A)
    assert conjuncts(TRUE) == ()
    assert conjuncts(FALSE) == (FALSE,)


def test_conjoin_undoes_conjuncts() -> None:
    assert conjoin([]) == TRUE
    assert conjoin([A]) == A
    assert conjoin(conjuncts(A & B & C)) == A & B & C


def test_parts_of_one_side_go_to_that_side_and_constants_to_the_first() -> None:
    mixed = A | B
    assert split_by_columns(A & B & mixed & FALSE, ["a"]) == (A & FALSE, B & mixed)
    assert split_by_columns(A, ["a"]) == (A, TRUE)
    assert split_by_columns(col("a.x") == 1, ["a"])[1] == TRUE


def test_not_stays_only_where_no_operator_says_the_same() -> None:
    assert push_not_inwards(Not(A & Not(B))) == Or(col("a") != 1, B)
    for leaf in (col("a").eq_null_safe(1), col("a").is_null(), col("a").isin([1]), col("a").startswith("x")):
        assert push_not_inwards(Not(leaf)) == Not(leaf)
        assert push_not_inwards(Not(Not(leaf))) == leaf
    assert push_not_inwards(Not(Constant(None))) == Constant(None)


def test_thousands_of_parts_do_not_nest_thousands_deep() -> None:
    many = combine(Or, [col("a") == number for number in range(5000)])
    table = pa.table({"a": [4999, 5000]})
    assert evaluate(bind(many, table.schema), table).to_pylist() == [True, False]


def test_conditions_that_come_one_by_one_do_not_nest_as_deep() -> None:
    whole: Predicate = TRUE
    for at in range(500):
        whole = conjoin([whole, Comparison("<>", Column(("id",)), Literal(at, pa.int64()))])

    assert max(depths(whole)) <= 10


def depths(predicate: Predicate, depth: int = 0) -> Iterator[int]:
    yield depth
    if isinstance(predicate, And):
        yield from depths(predicate.left, depth + 1)
        yield from depths(predicate.right, depth + 1)
