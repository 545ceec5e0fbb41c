import pickle
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakescan.predicate import Column, Comparison, In, Literal, Not, Predicate, StartsWith, col, columns_of
from tests.examples import examples

from .strategies import COLUMNS, NAN, literals, predicates


@given(predicates(), predicates())
def test_texts_are_equal_exactly_when_predicates_are(left: Predicate, right: Predicate) -> None:
    assert (str(left) == str(right)) == (left == right)
    assert left != right or hash(left) == hash(right)


@settings(max_examples=examples(500))
@given(st.data())
def test_literals_print_alike_only_when_type_and_value_are_alike(data: st.DataObject) -> None:
    left, right = (data.draw(literals(data.draw(st.sampled_from(list(COLUMNS.values()))))) for _ in range(2))
    both_nan = left.value != left.value and right.value != right.value
    assert (str(left) == str(right)) == (left.type == right.type and (left.value == right.value or both_nan))


@given(predicates())
def test_a_predicate_survives_pickling(predicate: Predicate) -> None:
    copy = pickle.loads(pickle.dumps(predicate))
    assert copy == predicate
    assert (hash(copy), str(copy)) == (hash(predicate), str(predicate))


def test_names_and_strings_that_look_like_sql_do_not_collide() -> None:
    tricky = [
        col("a", "b") == 1,
        Comparison("=", Column(("a.b",)), Literal(1, pa.int64())),
        Comparison("=", Column(("a`.`b",)), Literal(1, pa.int64())),
        StartsWith(Column(("a",)), "x') OR startswith(`a`, 'y"),
        StartsWith(Column(("a",)), "x") | StartsWith(Column(("a",)), "y"),
        In(Column(("a",)), (Literal("x', 'y", pa.string()),)),
        In(Column(("a",)), (Literal("x", pa.string()), Literal("y", pa.string()))),
    ]
    assert len({str(predicate) for predicate in tricky}) == len(tricky)


def test_literals_of_different_types_print_differently() -> None:
    ones = [Literal(1, pa.int8()), Literal(1, pa.int64()), Literal(1.0, pa.float64()), Literal("1", pa.string())]
    ones += [Literal(Decimal(1), pa.decimal128(2, 1)), Literal(True, pa.bool_()), Literal(b"1", pa.binary())]
    ones += [Literal(None, pa.int8()), Literal(None, pa.null())]
    assert len({str(one) for one in ones}) == len(ones)


def test_one_number_of_one_type_is_one_literal() -> None:
    assert Literal(NAN, pa.float64()) == Literal(float("nan"), pa.float64())
    assert Literal(-0.0, pa.float64()) == Literal(0.0, pa.float64())
    assert Literal(Decimal("1"), pa.decimal128(5, 2)) == Literal(Decimal("1.00"), pa.decimal128(5, 2))


def test_a_literal_gives_its_scalar() -> None:
    assert Literal(5, pa.int16()).scalar == pa.scalar(5, pa.int16())
    assert not Literal(None, pa.null()).scalar.is_valid


def test_columns_of_finds_every_column_once() -> None:
    predicate = Not((col("a") == col("b.c")) & col("a").is_null() | col("d").isin([1]) & col("e").startswith("x"))
    assert columns_of(predicate) == {Column(("a",)), Column(("b", "c")), Column(("d",)), Column(("e",))}


def test_a_predicate_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="&"):
        bool(col("a") == 1)


def test_an_unknown_operator_or_an_empty_path_is_refused() -> None:
    with pytest.raises(ValueError, match="is not one of"):
        Comparison("~", Column(("a",)), Column(("b",)))
    with pytest.raises(ValueError, match="at least one name"):
        Column(())
