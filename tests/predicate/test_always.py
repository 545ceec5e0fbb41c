"""What surely holds for every row of a file, by its statistics alone."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakescan.predicate import Bounds, Column, Predicate, bind, evaluate, parse
from lakescan.predicate.always import always_true
from tests.examples import examples

from .strategies import COLUMNS, SCHEMA, predicates, rows, table_of
from .test_skipping import Known, bounds_of


@settings(max_examples=examples(500), deadline=None)
@given(predicates(), st.lists(rows(4), max_size=4), st.data())
def test_every_row_of_a_file_that_surely_passes_passes(
    predicate: Predicate, groups: list[list[dict[str, Any]]], data: st.DataObject
) -> None:
    drawn = {column: data.draw(bounds_of(column, groups)) for column in COLUMNS}
    known = Known(len(groups), {column: bounds for column, bounds in drawn.items() if bounds is not None})
    bound = bind(predicate, SCHEMA)
    sure = always_true(bound, known)
    assert (len(sure), sure.null_count) == (len(groups), 0)
    for group, passes in zip(groups, sure.to_pylist(), strict=True):
        assert not passes or set(evaluate(bound, table_of(group)).to_pylist()) <= {True}


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("a = 7", True),
        ("b = 7", False),
        ("a = 7 AND b = 7", False),
        ("b = 7 AND a = 7", False),
        ("a = 7 OR b = 7", True),
        ("NOT (a = 8 OR b = 8)", False),
        ("NOT (a = 8 AND b = 8)", True),
        ("a IS NOT NULL AND a <= 7", True),
    ],
)
def test_a_file_passes_surely_by_the_side_that_decides(text: str, sure: bool) -> None:
    numbers = pa.array([7], pa.int64())
    none, ten = pa.array([0], pa.int64()), pa.array([10], pa.int64())
    # Every a is 7; nothing is known of b.
    known = Known(1, {Column(("a",)): Bounds(numbers, numbers, none, ten)})
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    assert always_true(bind(parse(text), schema), known).to_pylist() == [sure]
