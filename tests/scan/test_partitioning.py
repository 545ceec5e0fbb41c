"""Tasks by partition value: every byte of every file once, and no task with two values."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakescan
from lakescan.scan import partitioning
from lakescan.scan.partitioning import is_key, keys_of, tasks_by_key
from lakescan.scan.settings import Settings
from tests.tables import DeltaBuilder

TYPES = {
    pa.int32(): st.integers(-3, 3),
    pa.string(): st.sampled_from(["", "a", "A", "b c"]),
    pa.date32(): st.sampled_from([date(2024, 1, 1), date(1, 1, 1)]),
    pa.bool_(): st.booleans(),
    pa.decimal128(4, 1): st.sampled_from([Decimal("1.0"), Decimal("1.5"), Decimal("-1.0")]),
}


@st.composite
def files(draw: st.DrawFn) -> tuple[pa.Table, list[str]]:
    types = draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=3))
    names = [f"p{at}" for at in range(len(types))]
    count = draw(st.integers(1, 12))
    columns = [
        pa.array(draw(st.lists(st.none() | TYPES[type_], min_size=count, max_size=count)), type_) for type_ in types
    ]
    sizes = draw(st.lists(st.integers(0, 400 << 20), min_size=count, max_size=count))
    partition = pa.StructArray.from_arrays(columns, names)
    table = pa.table(
        {
            "path": [f"file {at}" for at in range(count)],
            "size": pa.array(sizes, pa.int64()),
            "partition": partition,
            "deletion_vector": pa.nulls(count, pa.struct([("cardinality", pa.int64())])),
        }
    )
    some = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    return table, some


@given(files())
def test_every_byte_is_in_one_task_and_every_task_has_one_key(drawn: tuple[pa.Table, list[str]]) -> None:
    table, names = drawn
    made = tasks_by_key(table, names, [])
    spans: dict[str, list[tuple[int, int]]] = {}
    for task, key in zip(made.tasks.tasks(), made.key_of_task, strict=True):
        for piece in task.pieces.to_pylist():
            assert {name: piece["partition"][name] for name in names} == made.keys.slice(key, 1).to_pylist()[0]
            spans.setdefault(piece["path"], []).append((piece["start"], piece["length"]))
    assert sorted(spans) == sorted(table["path"].to_pylist())
    for found in spans.values():
        starts, ends = zip(*[(start, start + length) for start, length in sorted(found)], strict=True)
        assert (0, *ends[:-1]) == starts
    distinct = {tuple(row["partition"][name] for name in names) for row in table.to_pylist()}
    assert made.keys.num_rows == len(distinct)


def test_values_that_differ_only_for_one_side_are_no_key() -> None:
    assert not is_key(pa.float64())
    assert not is_key(pa.float32())
    assert not is_key(pa.binary())


@pytest.fixture
def builder(tmp_path: Path) -> DeltaBuilder:
    """Six files of three values of `p`, one of them NULL, and one of `d`, a double."""
    found = DeltaBuilder(tmp_path, pa.schema([("p", pa.int32()), ("d", pa.float64()), ("id", pa.int64())]), ["p", "d"])
    for at, p in enumerate(("1", "2", None, "1", "2", None)):
        found.append(pa.table({"id": [at]}), partition={"p": p, "d": "0.5"})
    return found


def keys(builder: DeltaBuilder, *columns: str, **asked: Any) -> tuple[str, ...]:
    scan = lakescan.open(builder.path).snapshot().scan().with_settings(Settings(**{"by_partition": True, **asked}))
    return (scan.select(*columns) if columns else scan).build().partition_keys


def test_keys_are_the_partition_columns_of_the_output(builder: DeltaBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert keys(builder) == ("p",)
    assert keys(builder, "id", "d") == ()
    assert keys(builder, by_partition=False) == ()
    monkeypatch.setattr("lakescan.scan.plan.MOST_KEYS", 2)
    assert keys(builder) == ()


def test_a_limit_leaves_no_keys(builder: DeltaBuilder) -> None:
    scan = lakescan.open(builder.path).snapshot().scan().with_settings(Settings(by_partition=True))
    assert scan.limit(1).build().partition_keys == ()
    assert scan.filter("p = 5").build().partition_keys == ()


def test_nulls_are_a_key_of_their_own(builder: DeltaBuilder) -> None:
    plan = lakescan.open(builder.path).snapshot().scan().build()
    found, group = keys_of(plan.planned.files, ["p"])
    assert sorted(found["p"].to_pylist(), key=str) == [1, 2, None]
    assert np.bincount(group.to_numpy()).tolist() == [2, 2, 2]
    assert partitioning.MOST_KEYS > 3
