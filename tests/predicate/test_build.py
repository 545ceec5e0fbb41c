from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakescan.errors import InvalidFilter
from lakescan.predicate import And, Column, Comparison, In, IsNull, Literal, Not, Or, StartsWith, col
from lakescan.predicate.literals import literal

A = Column(("a",))
ONE = Literal(1, pa.int64())


def test_operators_give_the_nodes_they_are_named_for() -> None:
    assert (col("a") == 1) == Comparison("=", A, ONE)
    assert (col("a") != 1) == Comparison("<>", A, ONE)
    assert (col("a") < 1) == Comparison("<", A, ONE)
    assert (col("a") <= 1) == Comparison("<=", A, ONE)
    assert (col("a") > 1) == Comparison(">", A, ONE)
    assert (col("a") >= 1) == Comparison(">=", A, ONE)
    assert col("a").eq_null_safe(None) == Comparison("<=>", A, Literal(None, pa.null()))
    assert col("a").isin([1, None]) == In(A, (ONE, Literal(None, pa.null())))
    assert col("a").is_null() == IsNull(A)
    assert col("a").is_not_null() == Not(IsNull(A))
    assert col("a").startswith("x") == StartsWith(A, "x")
    assert col("a").between(1, 1) == And(Comparison(">=", A, ONE), Comparison("<=", A, ONE))


def test_a_literal_on_the_left_turns_the_operator_round() -> None:
    # A type checker takes `int.__eq__` for what answers; at run time it passes, and the column's is asked.
    assert (1 < col("a")) == Comparison(">", A, ONE)  # noqa: SIM300
    assert (1 == col("a")) == Comparison("=", A, ONE)  # type: ignore[comparison-overlap]  # noqa: SIM300


def test_predicates_combine_with_the_bit_operators() -> None:
    p, q = col("a") == 1, col("b").is_null()
    assert (p & q) == And(p, q)
    assert (p | q) == Or(p, q)
    assert ~p == Not(p)


def test_columns_compare_with_columns() -> None:
    assert (col("a") < col("b")) == Comparison("<", A, Column(("b",)))
    assert (col("a") < Column(("b",))) == Comparison("<", A, Column(("b",)))


def test_dots_separate_names_except_in_backticks() -> None:
    assert col("a.b").column == col("a", "b").column == Column(("a", "b"))
    assert col("`a.b`.c").column == Column(("a.b", "c"))
    assert col("`a``b`").column == Column(("a`b",))
    assert col("a.b", "c").column == Column(("a.b", "c"))


@pytest.mark.parametrize("name", ["", "a.", ".a", "a..b", "`a", "a`b`", "`a`b"])
def test_a_malformed_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidFilter):
        col(name)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, pa.bool_()),
        (2**63 - 1, pa.int64()),
        (-(2**63), pa.int64()),
        (2**63, pa.decimal128(19, 0)),
        (1.5, pa.float64()),
        ("x", pa.string()),
        (b"x", pa.binary()),
        (date(2020, 1, 1), pa.date32()),
        (datetime(2020, 1, 1), pa.timestamp("us")),
        (Decimal("1.250"), pa.decimal128(4, 3)),
        (Decimal("0.001"), pa.decimal128(3, 3)),
        (Decimal("1E+3"), pa.decimal128(4, 0)),
        (None, pa.null()),
    ],
)
def test_a_python_value_becomes_a_literal_that_holds_it_exactly(value: Any, kind: pa.DataType) -> None:
    assert literal(value).type == kind
    assert literal(value).value == value


def test_an_aware_datetime_becomes_utc() -> None:
    two_hours_east = timezone(timedelta(hours=2))
    assert literal(datetime(2020, 1, 1, 2, tzinfo=two_hours_east)) == literal(datetime(2020, 1, 1, tzinfo=timezone.utc))


@pytest.mark.parametrize("value", [[1], object(), Decimal("NaN"), Decimal("Infinity"), 10**38, Decimal("1E-39")])
def test_a_value_that_no_type_holds_is_refused(value: Any) -> None:
    with pytest.raises(InvalidFilter):
        literal(value)
