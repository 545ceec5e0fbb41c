from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakescan.predicate import FALSE, TRUE, Bounds, Column, Constant, Predicate, bind, col, evaluate, may_match, parse
from tests.examples import examples

from .strategies import COLUMNS, NAN, SCHEMA, pool, predicates, rows, sort_key, table_of, value_at


@dataclass(frozen=True)
class Known:
    """Statistics held in a dictionary."""

    files: int
    columns: dict[Column, Bounds]

    def __len__(self) -> int:
        return self.files

    def bounds(self, column: Column) -> Bounds | None:
        return self.columns.get(column)


def one_file(kind: pa.DataType, low: Any, high: Any, nulls: int | None = 0, count: int | None = 10) -> Known:
    """One file with the columns a and b, both with these bounds."""
    bounds = Bounds(
        pa.array([low], kind), pa.array([high], kind), pa.array([nulls], pa.int64()), pa.array([count], pa.int64())
    )
    return Known(1, {Column(("a",)): bounds, Column(("b",)): bounds})


def keeps(predicate: Predicate | str, known: Known, kind: pa.DataType | None = None) -> bool:
    predicate = parse(predicate) if isinstance(predicate, str) else predicate
    columns = known.columns
    of = kind or (next(iter(columns.values())).minimum.type if columns else pa.int64())
    answer = may_match(bind(predicate, pa.schema([("a", of), ("b", of)])), known)
    assert isinstance(answer, pa.BooleanArray)
    assert answer.null_count == 0
    assert len(answer) == 1
    return bool(answer[0].as_py())


@st.composite
def bounds_of(draw: st.DrawFn, column: Column, groups: list[list[dict[str, Any]]]) -> Bounds | None:
    """True bounds of each group, made as poor as a writer may make them."""
    kind = COLUMNS[column]
    floating = pa.types.is_floating(kind)
    if draw(st.integers(0, 9)) == 0:
        return None
    lows, highs, nulls, counts = [], [], [], []
    for group in groups:
        values = [value_at(column, row) for row in group]
        present = sorted((v for v in values if v is not None), key=lambda v: sort_key(v, floating))
        shown = [v for v in present if v == v] if draw(st.booleans()) else present
        lows.append(_poorer(draw, kind, shown[0] if shown else None, is_low=True))
        highs.append(_poorer(draw, kind, shown[-1] if shown else None, is_low=False))
        nulls.append(draw(st.sampled_from([len(values) - len(present)] * 4 + [None])))
        counts.append(draw(st.sampled_from([len(values)] * 4 + [None])))
    return Bounds(
        pa.array(lows, kind), pa.array(highs, kind), pa.array(nulls, pa.int64()), pa.array(counts, pa.int64())
    )


def _poorer(draw: st.DrawFn, kind: pa.DataType, bound: Any, is_low: bool) -> Any:
    how = draw(st.sampled_from(["exact", "exact", "wide", "cut", "unknown"]))
    if bound is None or how == "unknown":
        return None
    if how == "wide":
        floating = pa.types.is_floating(kind)
        mine = sort_key(bound, floating)
        keys = [(value, sort_key(value, floating)) for value in pool(kind)]
        return draw(st.sampled_from([value for value, key in keys if (key <= mine if is_low else key >= mine)]))
    if how == "cut" and isinstance(bound, str):
        return bound[:1] if is_low else bound[:1] + "\U0010ffff"
    return bound


@settings(max_examples=examples(700), deadline=None)
@given(predicates(), st.lists(rows(4), max_size=4), st.data())
def test_a_skipped_file_holds_no_row_that_is_wanted(
    predicate: Predicate, groups: list[list[dict[str, Any]]], data: st.DataObject
) -> None:
    drawn = {column: data.draw(bounds_of(column, groups)) for column in COLUMNS}
    known = Known(len(groups), {column: bounds for column, bounds in drawn.items() if bounds is not None})
    bound = bind(predicate, SCHEMA)
    kept = may_match(bound, known)
    assert (len(kept), kept.null_count) == (len(groups), 0)
    for group, keep in zip(groups, kept.to_pylist(), strict=True):
        assert keep or True not in evaluate(bound, table_of(group)).to_pylist()


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(-5, 5), st.integers(-5, 5), st.integers(-8, 8), st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
def test_exact_integer_bounds_keep_a_file_only_if_some_value_between_them_matches(
    one: int, other: int, value: int, op: str
) -> None:
    low, high = sorted((one, other))
    between = pa.table({"a": pa.array(range(low, high + 1), pa.int64())})
    possible = True in evaluate(parse(f"a {op} {value}"), between).to_pylist()
    assert keeps(f"a {op} {value}", one_file(pa.int64(), low, high)) == possible


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a = 9", False),
        ("a = 10", True),
        ("a = 20", True),
        ("a = 21", False),
        ("a < 10", False),
        ("a <= 10", True),
        ("a > 20", False),
        ("a >= 20", True),
        ("a <> 15", True),
        ("a <=> 9", False),
        ("a <=> NULL", False),
        ("NOT a <=> 15", True),
        ("a IN (1, 15)", True),
        ("a IN (1, 30, NULL)", False),
        ("a NOT IN (1, 2)", True),
        ("a NOT IN (1, NULL)", False),
        ("a IS NULL", False),
        ("a IS NOT NULL", True),
        ("a = NULL", False),
        ("a BETWEEN 21 AND 30", False),
        ("NOT a >= 10", False),
        ("NOT (a < 10 OR a > 20)", True),
        ("a = 9 OR a = 15", True),
        ("a = 15 AND a = 9", False),
        ("a = 9.5", False),
        ("a = 10.5", True),
        ("a > 20.5", False),
        ("a > 20.5D", False),
        ("a = b", True),
        ("FALSE", False),
        ("NULL", False),
        ("TRUE", True),
    ],
)
def test_bounds_of_ten_to_twenty_rule_out_what_lies_outside(text: str, kept: bool) -> None:
    assert keeps(text, one_file(pa.int32(), 10, 20)) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [("a <> 5", False), ("a NOT IN (5)", False), ("NOT a <=> 5", False), ("a NOT IN (4)", True), ("a <> b", False)],
)
def test_a_file_of_one_value_is_skipped_when_that_value_is_unwanted(text: str, kept: bool) -> None:
    assert keeps(text, one_file(pa.int64(), 5, 5)) == kept


def test_null_safe_inequality_wants_nulls_too() -> None:
    assert keeps("NOT a <=> 5", one_file(pa.int64(), 5, 5, nulls=1))
    assert keeps("NOT a <=> 5", one_file(pa.int64(), 5, 5, nulls=None))
    assert not keeps("a <> 5", one_file(pa.int64(), 5, 5, nulls=1))


@pytest.mark.parametrize("text", ["a = 1", "a <> 1", "a IN (1)", "a NOT IN (1)", "a < b", "a <=> 1", "a IS NOT NULL"])
def test_a_column_of_nulls_only_matches_no_comparison(text: str) -> None:
    assert not keeps(text, one_file(pa.int64(), None, None, nulls=10, count=10))
    assert keeps(text, one_file(pa.int64(), None, None, nulls=10, count=11))


def test_a_column_of_nulls_only_matches_where_null_is_wanted() -> None:
    nulls_only = one_file(pa.int64(), None, None, nulls=10, count=10)
    for text in ("a IS NULL", "a <=> NULL", "NOT a <=> 1", "a <=> b"):
        assert keeps(text, nulls_only)
    assert not keeps("NOT a <=> b", nulls_only)


def test_a_file_without_rows_is_skipped() -> None:
    for text in ("a = 1", "a IS NULL", "a IS NOT NULL", "NOT a <=> 1"):
        assert not keeps(text, one_file(pa.int64(), None, None, nulls=None, count=0))


def test_the_unknown_is_kept() -> None:
    nothing = Known(1, {})
    unknown = one_file(pa.int64(), None, None, nulls=None, count=None)
    untyped = one_file(pa.null(), None, None, nulls=None, count=None)
    for text in ("a = 1", "a <> 1", "a IS NULL", "a IS NOT NULL", "a IN (1)", "a NOT IN (1)", "a < b", "a <=> b"):
        assert keeps(text, nothing)
        assert keeps(text, unknown)
        assert keeps(text, untyped, pa.int64())
    assert not keeps("a = NULL", nothing)


def test_one_known_bound_is_enough() -> None:
    assert not keeps("a = 1", one_file(pa.int64(), 5, None))
    assert not keeps("a = 9", one_file(pa.int64(), None, 5))
    assert keeps("a = 9", one_file(pa.int64(), 5, None))


def test_constants_answer_for_every_file() -> None:
    for constant, answer in ((TRUE, True), (FALSE, False), (Constant(None), False)):
        assert may_match(constant, Known(3, {})).to_pylist() == [answer] * 3
        assert may_match(constant, Known(0, {})).to_pylist() == []


@pytest.mark.parametrize(
    ("predicate", "kept"),
    [
        (col("a") > 30, True),
        (col("a") >= 30, True),
        (col("a") != 15, True),
        (col("a") == 30, False),
        (col("a") == 5, False),
        (col("a") < 5, False),
        (col("a") <= 5, False),
        (col("a") == NAN, True),
        (col("a") < NAN, True),
        (col("a") <= NAN, True),
        (col("a") >= NAN, True),
        (col("a") != NAN, True),
        (col("a").isin([5, 30]), False),
        (col("a").isin([5, NAN]), True),
        (~col("a").isin([10.0]), True),
        (col("a") == col("b"), True),
        (col("a") > col("b"), True),
    ],
)
def test_a_nan_may_hide_behind_the_bounds_of_a_float_column(predicate: Predicate, kept: bool) -> None:
    for kind in (pa.float32(), pa.float64()):
        assert keeps(predicate, one_file(kind, 10.0, 20.0)) == kept


def test_equal_float_bounds_do_not_rule_out_a_hidden_nan() -> None:
    assert keeps(col("a") != 5.0, one_file(pa.float64(), 5.0, 5.0))
    assert keeps(~col("a").eq_null_safe(5.0), one_file(pa.float64(), 5.0, 5.0))


def test_a_nan_bound_is_unknown() -> None:
    assert keeps(col("a") < 5, one_file(pa.float64(), NAN, NAN))
    assert keeps(col("a") == 5, one_file(pa.float64(), NAN, NAN))
    assert keeps(col("a") == 50, one_file(pa.float64(), 1.0, NAN))


def test_minus_zero_and_zero_bounds_are_one_number() -> None:
    assert keeps(col("a") == 0.0, one_file(pa.float64(), -1.0, -0.0))
    assert keeps(col("a") == -0.0, one_file(pa.float64(), 0.0, 1.0))


@pytest.mark.parametrize(
    ("prefix", "kept"),
    [("", True), ("b", True), ("bm", True), ("a", False), ("bc", False), ("d", False), ("c\u00e9", False), ("c", True)],
)
def test_a_prefix_is_judged_by_the_heads_of_the_bounds(prefix: str, kept: bool) -> None:
    assert keeps(col("a").startswith(prefix), one_file(pa.string(), "bd", "c")) == kept


def test_not_startswith_is_ruled_out_when_both_bounds_begin_with_the_prefix() -> None:
    assert not keeps("NOT startswith(a, 'ab')", one_file(pa.string(), "ab", "abz", nulls=3))
    assert not keeps("NOT startswith(a, '')", one_file(pa.string(), "ab", "abz"))
    assert keeps("NOT startswith(a, 'ab')", one_file(pa.string(), "a", "abz"))
    assert keeps("NOT startswith(a, 'ab')", one_file(pa.string(), "ab", "ac"))
    assert keeps("NOT startswith(a, 'ab')", one_file(pa.string(), "ab", None))


def test_truncated_text_bounds_still_keep_what_they_cover() -> None:
    truncated = one_file(pa.string(), "ab", "ac\U0010ffff")
    assert keeps("a = 'abcdef'", truncated)
    assert keeps("a = 'acz'", truncated)
    assert not keeps("a = 'aa'", truncated)


def test_columns_are_compared_by_both_bounds() -> None:
    low, high = one_file(pa.int8(), 1, 2), one_file(pa.decimal128(5, 2), Decimal("2.00"), Decimal("3.00"))
    known = Known(1, {Column(("a",)): low.columns[Column(("a",))], Column(("b",)): high.columns[Column(("b",))]})
    schema = pa.schema([("a", pa.int8()), ("b", pa.decimal128(5, 2))])
    answers = {op: may_match(bind(parse(f"a {op} b"), schema), known)[0].as_py() for op in ("<", "<=", "=", ">=", ">")}
    assert answers == {"<": True, "<=": True, "=": True, ">=": True, ">": False}


def test_dates_meet_timestamps_in_bounds_too() -> None:
    days = one_file(pa.date32(), date(2020, 1, 1), date(2020, 1, 2))
    assert keeps(col("a") == datetime(2020, 1, 2), days)
    assert not keeps(col("a") > datetime(2020, 1, 2, tzinfo=timezone.utc), days)


def test_a_long_rounded_to_a_double_is_judged_as_it_is_compared() -> None:
    assert keeps(col("a") == 2.0**53, one_file(pa.int64(), 2**53 + 1, 2**53 + 1))


def test_bounds_of_a_type_without_order_to_the_literal_say_nothing() -> None:
    assert may_match(col("a") == "x", one_file(pa.int64(), 1, 2)).to_pylist() == [True]
    assert may_match(col("a").startswith("x"), one_file(pa.int64(), 1, 2)).to_pylist() == [True]


def test_each_file_gets_its_own_answer() -> None:
    bounds = Bounds(
        pa.array([1, 5, None, 9]), pa.array([4, 8, None, 9]), pa.array([0, 1, None, 0]), pa.array([3, 3, None, 3])
    )
    known = Known(4, {Column(("a",)): bounds})
    assert may_match(parse("a > 4 AND a < 9"), known).to_pylist() == [False, True, True, False]
    assert may_match(parse("a IS NULL OR a = 9"), known).to_pylist() == [False, True, True, True]
