"""Partial aggregates: the bits that Spark's own addition and comparison give, whatever the batches."""

import struct
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakescan.predicate import Column
from lakescan.reader import aggregate
from lakescan.reader.aggregate import merge, partial_rows
from lakescan.reader.aggregation import Aggregate, Aggregation, Function

NAN = float("nan")
FLOATS = st.one_of(st.none(), st.floats(), st.sampled_from([0.0, -0.0, NAN, 0.1, 1e16, -1e16]))


def batches(columns: dict[str, Sequence[Any]], types: dict[str, pa.DataType], sizes: int) -> list[pa.RecordBatch]:
    table = pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})
    return [table.slice(at, sizes).combine_chunks().to_batches()[0] for at in range(0, table.num_rows, sizes)]


def partials(rows: list[pa.RecordBatch], schema: pa.Schema, keys: Sequence[str], *functions: Function) -> pa.Table:
    how = Aggregation(
        tuple(Column((key,)) for key in keys),
        tuple(Aggregate(function, None if function == "count_rows" else Column(("v",))) for function in functions),
    )
    output = how.output(schema)
    return pa.Table.from_batches(list(partial_rows(rows, how, output)), output)


def bits(value: float | None) -> str:
    return "null" if value is None else "nan" if value != value else struct.pack(">d", value).hex()


@given(
    values=st.lists(st.tuples(st.sampled_from(["a", "b", None]), FLOATS), min_size=1, max_size=30),
    size=st.integers(1, 7),
)
@settings(deadline=None)
def test_floats_are_added_and_compared_row_after_row_as_spark_does(
    values: list[tuple[str | None, float | None]], size: int
) -> None:
    types = {"k": pa.string(), "v": pa.float64()}
    rows = batches({"k": [k for k, _ in values], "v": [v for _, v in values]}, types, size)
    partial = partials(rows, pa.schema(list(types.items())), ["k"], "sum", "min", "max", "count")
    wanted: dict[str | None, tuple[float | None, float | None, float | None, int]] = {}
    for key, value in values:
        total, least, most, count = wanted.get(key, (None, None, None, 0))
        if value is not None:
            total = (0.0 if total is None else total) + value
            least = value if least is None or _less(value, least) else least
            most = value if most is None or _less(most, value) else most
            count += 1
        wanted[key] = total, least, most, count
    got = {row["key_0"]: tuple(row.values())[1:] for row in partial.to_pylist()}
    assert {k: (*map(bits, v[:3]), v[3]) for k, v in got.items()} == {
        k: (*map(bits, v[:3]), v[3]) for k, v in wanted.items()
    }


def _less(left: float, right: float) -> bool:
    """Spark's order: NaN above everything, zeros equal."""
    return left == left and (right != right or left < right)


@pytest.fixture
def merged_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch is merged by itself: none waits for others."""
    monkeypatch.setattr(aggregate, "_GATHERED", 1)


@pytest.mark.usefixtures("merged_at_once")
def test_a_sum_of_longs_that_may_overflow_is_left_to_spark() -> None:
    types = {"v": pa.int64()}
    rows = batches({"v": [1, 2, 2**62, 2**62, 5]}, types, 2)
    partial = partials(rows, pa.schema(list(types.items())), [], "sum", "count_rows")
    assert partial.to_pylist() == [
        {"value_0": 3, "value_1": 2},
        {"value_0": 2**62, "value_1": 1},
        {"value_0": 2**62, "value_1": 1},
        {"value_0": 5, "value_1": 1},
    ]


@pytest.mark.usefixtures("merged_at_once")
def test_too_many_groups_leave_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregate, "MOST_GROUPS", 3)
    types = {"k": pa.int64(), "v": pa.int64()}
    rows = batches({"k": [1, 1, 2, 3, 4, 4, 4], "v": [1] * 7}, types, 3)
    partial = partials(rows, pa.schema(list(types.items())), ["k"], "sum")
    assert partial["key_0"].to_pylist() == [1, 2, 3, 4, 4]
    assert partial["value_0"].to_pylist() == [2, 1, 1, 2, 1]


@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["a", "b"]), st.none() | st.integers(-99_999, 99_999)), min_size=1, max_size=60
    ),
    size=st.integers(1, 20),
    gathered=st.sampled_from([1, 1 << 18]),
)
@settings(deadline=None)
def test_sums_of_decimals_are_exact_and_none_has_more_digits_than_what_is_added(
    rows: list[tuple[str, int | None]], size: int, gathered: int
) -> None:
    """Spark casts a partial sum to the type of the column, and adds the sums up as if they were rows of it."""
    types = {"k": pa.string(), "v": pa.decimal128(5, 2)}
    values = [None if digits is None else Decimal(digits).scaleb(-2) for _, digits in rows]
    given_ = batches({"k": [key for key, _ in rows], "v": values}, types, size)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(aggregate, "_GATHERED", gathered)
        partial = partials(given_, pa.schema(list(types.items())), ["k"], "sum", "count", "count_rows")
    assert partial.schema.field("value_0").type == pa.decimal128(15, 2)
    assert all(row["value_0"] is None or abs(row["value_0"]) < 1000 for row in partial.to_pylist())
    for key in {key for key, _ in rows}:
        mine = [row for row in partial.to_pylist() if row["key_0"] == key]
        wanted = [value for (other, _), value in zip(rows, values, strict=True) if other == key]
        sums = [row["value_0"] for row in mine if row["value_0"] is not None]
        assert sum(sums) == sum(value for value in wanted if value is not None)
        assert bool(sums) == any(value is not None for value in wanted)
        assert sum(row["value_1"] for row in mine) == sum(value is not None for value in wanted)
        assert sum(row["value_2"] for row in mine) == len(wanted)


def test_a_group_whose_sums_fit_is_one_row_beside_one_whose_sums_do_not() -> None:
    types = {"k": pa.string(), "v": pa.decimal128(5, 2)}
    values = [Decimal("1.00")] * 300 + [Decimal("999.99")] * 3 + [Decimal("100.00")] * 40
    rows = batches({"k": ["small"] * 300 + ["large"] * 3 + ["many"] * 40, "v": values}, types, 343)
    partial = partials(rows, pa.schema(list(types.items())), ["k"], "sum", "count_rows").to_pylist()
    by_group = {key: [row for row in partial if row["key_0"] == key] for key in ("small", "large", "many")}
    assert [row["value_0"] for row in by_group["small"]] == [Decimal(300)]
    assert [row["value_0"] for row in by_group["large"]] == [Decimal("999.99")] * 3
    assert len(by_group["many"]) < 12
    assert sum(row["value_0"] for row in by_group["many"]) == 4000


def test_small_decimals_are_told_apart_from_the_largest_of_their_group() -> None:
    """Each of the largest is ten thousand million times what surely fits: beside their sum a small one is nothing."""
    kind, huge, small = pa.decimal128(38, 0), 120_000, 1_000
    values = [Decimal(10**38 - 1)] * huge + [Decimal(10**26)] * small
    partial = partials(batches({"v": values}, {"v": kind}, huge + small), pa.schema([("v", kind)]), [], "sum")
    sums = [int(value) for value in partial["value_0"].to_pylist()]
    assert sums.count(10**38 - 1) == huge
    others = [value for value in sums if value != 10**38 - 1]
    assert sum(others) == small * 10**26
    assert max(others) < 10**28
    assert len(others) < small // 10


def test_decimals_of_any_size_are_added_exactly() -> None:
    kind = pa.decimal128(38, 10)
    values = [Decimal(10**27 + at).scaleb(-10) for at in range(200)]
    rows = batches({"v": values}, {"v": kind}, 64)
    partial = partials(rows, pa.schema([("v", kind)]), [], "sum").to_pylist()
    assert sum(int(row["value_0"] * 10**10) for row in partial) == sum(10**27 + at for at in range(200))
    assert len(partial) < 100


def test_narrow_integers_are_added_as_longs() -> None:
    types = {"v": pa.int8()}
    partial = partials(batches({"v": [127, 127, None]}, types, 3), pa.schema(list(types.items())), [], "sum", "count")
    assert partial.to_pylist() == [{"value_0": 254, "value_1": 2}]
    assert partial.schema.field("value_0").type == pa.int64()


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        (pa.bool_(), False, True),
        (pa.string(), "Z", "a\U0001f600"),
        (pa.date32(), date(1969, 1, 1), date(2024, 1, 1)),
        (pa.timestamp("us"), datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 1)),
        (pa.decimal128(5, 1), Decimal("-0.1"), Decimal("1000.5")),
    ],
)
def test_least_and_greatest_of_every_type(kind: pa.DataType, low: Any, high: Any) -> None:
    rows = batches({"v": [high, None, low, high]}, {"v": kind}, 3)
    assert partials(rows, pa.schema([("v", kind)]), [], "min", "max").to_pylist() == [{"value_0": low, "value_1": high}]


def test_merging_nothing_gives_nothing() -> None:
    how = Aggregation((Column(("k",)),), (Aggregate("count_rows"),))
    output = how.output(pa.schema([("k", pa.int64())]))
    assert merge(output.empty_table(), how).num_rows == 0
