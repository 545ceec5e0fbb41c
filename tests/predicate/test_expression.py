"""Expressions that Spark pushes: which are predicates, and what the others imply."""

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakescan.predicate import Call, Column, Literal, bind, evaluate, exact, implied
from lakescan.predicate.nulls import is_null, is_true
from tests.strategies import COLUMNS, many, random_filter

UTC = timezone.utc
TS, NTZ, DAY = pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.date32()
SCHEMA = pa.schema(
    [
        ("d", DAY),
        ("ts", TS),
        ("n", NTZ),
        ("s", pa.string()),
        ("l", pa.int64()),
        ("i", pa.int32()),
        ("m", pa.decimal128(9, 2)),
    ]
)
D, T, N, S, L = (Column((name,)) for name in ["d", "ts", "n", "s", "l"])


def lit(value: Any, kind: pa.DataType) -> Literal:
    return Literal(value, kind)


def call(name: str, *arguments: Any, type: pa.DataType | None = None) -> Call:
    return Call(name, arguments, type)


def date_of(column: Column) -> Call:
    return call("CAST", column, type=DAY)


ONE = lit(1, pa.int64())
UNKNOWN = call("%", L, ONE)


def test_a_year_of_a_date_is_a_range_of_dates() -> None:
    predicate = implied(call("=", call("YEAR", D), lit(2024, pa.int32())), SCHEMA, "UTC")
    assert str(predicate) == "((`d` >= date32[day] '2024-01-01') AND (`d` < date32[day] '2025-01-01'))"


def test_a_zone_other_than_utc_widens_what_a_timestamp_is_compared_with() -> None:
    year = call(">=", call("YEAR", date_of(T)), lit(2024, pa.int32()))
    assert "'2024-01-01T00:00:00+00:00'" in str(implied(year, SCHEMA, "UTC"))
    assert "'2023-12-31T06:00:00+00:00'" in str(implied(year, SCHEMA, "America/St_Johns"))
    local = call(">=", call("YEAR", date_of(N)), lit(2024, pa.int32()))
    assert "'2024-01-01T00:00:00'" in str(implied(local, SCHEMA, "America/St_Johns"))


def test_what_is_not_known_implies_nothing_and_leaves_the_rest_of_an_and() -> None:
    first = call("=", L, ONE)
    assert str(implied(call("AND", first, UNKNOWN), SCHEMA, "UTC")) == "(`l` = int64 '1')"
    assert str(implied(call("OR", first, UNKNOWN), SCHEMA, "UTC")) == "TRUE"
    assert str(implied(call("NOT", call("OR", first, UNKNOWN)), SCHEMA, "UTC")) == "(`l` <> int64 '1')"
    assert str(implied(call("NOT", call("AND", first, UNKNOWN)), SCHEMA, "UTC")) == "TRUE"
    assert exact(call("AND", first, UNKNOWN), SCHEMA) is None


@pytest.mark.parametrize(
    "expression",
    [
        call("=", call("CAST", L, type=pa.int32()), lit(1, pa.int32())),
        call("=", call("CAST", S, type=pa.int32()), lit(1, pa.int32())),
        call("=", call("CAST", L, type=pa.decimal128(5, 0)), lit(Decimal(1), pa.decimal128(5, 0))),
        call("=", call("YEAR", T), lit(2024, pa.int32())),
        call("=", call("YEAR", D), lit(0, pa.int32())),
        call("=", call("YEAR", D), lit(99999, pa.int32())),
        call("=", call("MONTH", D), lit(1, pa.int32())),
        call("=", call("SUBSTRING", S, lit(2, pa.int32()), lit(2, pa.int32())), lit("ab", pa.string())),
        call("<=>", call("YEAR", D), lit(2024, pa.int32())),
        call("=", call("YEAR", Column(("missing",))), lit(2024, pa.int32())),
    ],
    ids=str,
)
def test_a_function_that_may_fail_or_does_not_keep_order_implies_nothing(expression: Call) -> None:
    assert str(implied(expression, SCHEMA, "UTC")) == "TRUE"
    assert exact(expression, SCHEMA) is None


@pytest.mark.parametrize("wanted", [True, False])
def test_a_case_of_true_and_false_is_the_condition_itself(wanted: bool) -> None:
    predicate = exact(call("<=>", call("=", L, ONE), lit(wanted, pa.bool_())), SCHEMA)
    assert predicate is not None
    rows = pa.table({"l": [1, 2, None]})
    assert evaluate(predicate, rows).to_pylist() == ([True, False, False] if wanted else [False, True, False])


@given(seed=st.integers(0, 2**32))
@many(200)
def test_is_null_of_any_condition_is_taken_apart_exactly(seed: int) -> None:
    random = Random(seed)
    schema = pa.schema([(name, COLUMNS[name]) for name in ("i", "d", "s")])
    predicate = bind(random_filter(random, schema, 3), schema)
    rows = pa.table(
        {"i": [1, None, 3, 7], "d": [0.1, float("nan"), None, 2.0], "s": ["a", "abc", None, ""]}, schema=schema
    )
    answer = evaluate(predicate, rows)
    assert evaluate(is_null(predicate), rows).to_pylist() == pc.is_null(answer).to_pylist()
    assert evaluate(is_true(predicate), rows).to_pylist() == pc.fill_null(answer, False).to_pylist()


OPS = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
TEXTS = ["", "a", "ab", "abc", "abd", "b", "bä", "\U0001f600", "z"]


def start_of(unit: str, day: date) -> date:
    """By counting days down, so not as the code does it."""
    is_first: dict[str, Callable[[date], bool]] = {
        "YEAR": lambda day: (day.month, day.day) == (1, 1),
        "QUARTER": lambda day: day.month in (1, 4, 7, 10) and day.day == 1,
        "MM": lambda day: day.day == 1,
        "WEEK": lambda day: day.isoweekday() == 1,
    }
    while not is_first[unit](day):
        day -= timedelta(days=1)
    return day


@given(seed=st.integers(0, 2**32))
@many(300)
def test_whatever_a_function_of_a_column_says_is_implied_for_the_column(seed: int) -> None:
    random = Random(seed)
    days = [date(2023, 11, 1) + timedelta(days=random.randint(0, 900)) for _ in range(12)]
    op, unit = random.choice(list(OPS)), random.choice(["YEAR", "QUARTER", "MM", "WEEK"])
    length, offset = random.randint(1, 3), timedelta(hours=random.randint(-12, 14))
    moments = [datetime(day.year, day.month, day.day, random.randint(0, 23), tzinfo=UTC) for day in days]
    texts = [random.choice(TEXTS) for _ in days]
    part, year = lit(random.choice(TEXTS), pa.string()), lit(random.choice([2023, 2024, 2025]), pa.int32())
    cut = lit(random.choice(days), DAY)
    checks = [
        (call(op, call("YEAR", D), year), "UTC", [OPS[op](day.year, year.value) for day in days]),
        (
            call(op, call("TRUNC", D, lit(unit, pa.string())), cut),
            "UTC",
            [OPS[op](start_of(unit, day), cut.value) for day in days],
        ),
        (
            call(op, call("YEAR", date_of(T)), year),
            "Somewhere/Else",
            [OPS[op]((moment + offset).year, year.value) for moment in moments],
        ),
        (
            call(op, call("SUBSTRING", S, lit(1, pa.int32()), lit(length, pa.int32())), part),
            "UTC",
            [OPS[op](text[:length].encode(), part.value.encode()) for text in texts],
        ),
    ]
    rows = pa.table({"d": pa.array(days, DAY), "ts": pa.array(moments, TS), "s": texts})
    for expression, zone, truth in checks:
        kept_rows = evaluate(implied(expression, SCHEMA, zone), rows).to_pylist()
        assert all(kept for kept, true in zip(kept_rows, truth, strict=True) if true), str(expression)
        negated = evaluate(implied(call("NOT", expression), SCHEMA, zone), rows).to_pylist()
        assert all(kept for kept, true in zip(negated, truth, strict=True) if not true), str(expression)
