"""What share of the rows a filter is expected to leave: near the truth where values are spread evenly, 1 where nothing
is known, and always a share."""

import sys
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakescan.predicate import Bounds, Column, bind, evaluate, parse
from lakescan.predicate.selectivity import expected_shares

from .strategies import COLUMNS, SCHEMA, pool, predicates
from .test_skipping import Known, one_file

HUNDRED = pa.table({"a": pa.array(range(1, 101), pa.int64())})


def share(text: str, known: Known, kind: pa.DataType | None = None) -> float:
    of = kind or next(iter(known.columns.values())).minimum.type
    (only,) = expected_shares(bind(parse(text), pa.schema([("a", of), ("b", of)])), known)
    return float(only)


@pytest.mark.parametrize(
    "text",
    [
        "a > 25",
        "a >= 25",
        "a < 25",
        "a <= 25",
        "a = 7",
        "a BETWEEN 20 AND 29",
        "a > 20 AND a <= 30 AND a > 10",
        "a IN (1, 2, 3, 300)",
        "a > 100",
        "a < 1 OR a > 90",
        "a IS NOT NULL",
        "a IS NULL",
        "a > 5 AND a < 3",
        "a <> 7",
        "NOT (a > 25)",
    ],
)
def test_whole_numbers_that_are_spread_evenly_are_expected_exactly(text: str) -> None:
    batch = HUNDRED.to_batches()[0]
    kept = evaluate(bind(parse(text), batch.schema), batch).true_count
    expected = share(text, one_file(pa.int64(), 1, 100, count=100))
    # Nothing is left out for one value that is not wanted.
    assert expected == pytest.approx(1.0 if text == "a <> 7" else kept / 100, abs=0.001)


@pytest.mark.parametrize(
    ("kind", "low", "high", "text", "expected"),
    [
        (pa.date32(), date(1992, 1, 1), date(1999, 1, 1), "a >= DATE '1995-07-02'", 0.5),
        (pa.float64(), 0.0, 10.0, "a > 7.5", 0.25),
        (pa.decimal128(9, 2), Decimal(0), Decimal(10), "a < 2.5", 0.25),
        (pa.int32(), 5, 5, "a = 5", 1.0),
        (pa.int32(), 5, 5, "a > 5", 0.0),
        (pa.float64(), 5.0, 5.0, "a < 4", 0.0),
        (pa.float64(), 5.0, 5.0, "a < 6", 1.0),
    ],
)
def test_every_type_on_a_line_is_taken_to_be_spread_evenly(
    kind: pa.DataType, low: Any, high: Any, text: str, expected: float
) -> None:
    assert share(text, one_file(kind, low, high)) == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize(
    ("low", "high"), [(float("-inf"), float("inf")), (-sys.float_info.max, sys.float_info.max), (float("nan"), 1.0)]
)
def test_of_bounds_that_are_infinitely_far_apart_or_no_numbers_every_row_is_expected(low: float, high: float) -> None:
    assert share("a > 5", one_file(pa.float64(), low, high)) == 1.0


@pytest.mark.parametrize("text", ["a > 5", "a = 5", "a IN (5, 6)", "a = b", "a IS NULL", "a > 5 AND b < 3"])
def test_where_nothing_is_known_every_row_is_expected(text: str) -> None:
    assert share(text, Known(1, {}), pa.int64()) == 1.0
    assert share(text, one_file(pa.int64(), None, None, None, None)) == 1.0


def test_of_filters_that_are_always_true_every_row_is_expected() -> None:
    assert share("TRUE AND TRUE", one_file(pa.int64(), 1, 100)) == 1.0


def test_of_a_text_without_statistics_every_row_is_expected() -> None:
    assert share("a = 'x'", Known(1, {}), pa.string()) == 1.0
    assert share("a LIKE 'x%'", Known(1, {}), pa.string()) == 1.0


def test_a_text_is_expected_in_one_row_of_ten() -> None:
    assert share("a = 'x'", one_file(pa.string(), "a", "z")) == pytest.approx(0.1)
    assert share("a IN ('x', 'y')", one_file(pa.string(), "a", "z")) == pytest.approx(0.2)
    assert share("a LIKE 'x%'", one_file(pa.string(), "a", "z")) == pytest.approx(0.1)
    assert share("a > 'x'", one_file(pa.string(), "a", "z")) == 1.0


def several(low: list[Any], high: list[Any], kind: pa.DataType) -> Known:
    """A file for each pair of bounds of the column a."""
    counts = pa.array([10] * len(low), pa.int64())
    return Known(len(low), {Column(("a",)): Bounds(pa.array(low, kind), pa.array(high, kind), counts, counts)})


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (["A", "A", "A"], ["R", "R", "R"], 0.25),  # a flag: every value is in every file
        (["Ann", "Bea", "Ann"], ["Zoe", "Zoe", "Zoe"], 0.1),  # names
        (["A", None, "A"], ["R", "R", "R"], 0.1),
        ([None, None, None], [None, None, None], 0.1),
    ],
)
def test_where_all_files_have_the_same_bounds_one_of_few_values_is_expected(
    low: list[Any], high: list[Any], expected: float
) -> None:
    known, schema = several(low, high, pa.string()), pa.schema([("a", pa.string())])
    assert expected_shares(bind(parse("a = 'R'"), schema), known).tolist() == pytest.approx([expected] * 3)
    assert expected_shares(bind(parse("a LIKE 'R%'"), schema), known).tolist() == pytest.approx([expected] * 3)
    assert expected_shares(bind(parse("a IN ('A', 'R')"), schema), known).tolist() == pytest.approx([2 * expected] * 3)


def test_of_two_values_each_is_expected_in_half_of_the_rows() -> None:
    assert share("a = TRUE", one_file(pa.bool_(), False, True)) == pytest.approx(0.5)


def test_a_further_filter_counts_by_half_since_filters_are_seldom_independent() -> None:
    known = one_file(pa.int64(), 1, 100, count=100)
    assert share("a <= 25 AND b <= 16", known) == pytest.approx(0.16 * 0.25**0.5)


def test_each_file_has_its_own_share() -> None:
    low, high = pa.array([1, 101, 1]), pa.array([100, 200, 200])
    bounds = Bounds(low, high, pa.array([0, 0, 0]), pa.array([100, 100, 200]))
    predicate = bind(parse("a > 150"), pa.schema([("a", pa.int64())]))
    shares = expected_shares(predicate, Known(3, {Column(("a",)): bounds}))
    assert shares.tolist() == pytest.approx([0.0, 0.5, 0.25])


@given(predicates(), st.data())
def test_any_filter_over_any_bounds_has_a_share(predicate: Any, data: st.DataObject) -> None:
    bounds = {}
    for column, kind in COLUMNS.items():
        ends = [data.draw(st.one_of(st.none(), st.sampled_from(pool(kind)))) for _ in range(2)]
        count = data.draw(st.one_of(st.none(), st.integers(0, 10)))
        counts = pa.array([count], pa.int64())
        bounds[column] = Bounds(pa.array(ends[:1], kind), pa.array(ends[1:], kind), counts, counts)
    (only,) = expected_shares(bind(predicate, SCHEMA), Known(1, bounds))
    assert 0.0 <= only <= 1.0
    assert not np.isnan(only)
