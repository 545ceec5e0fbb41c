"""Columns of a checkpoint are read by their places, and its dates in the calendar that its footer names."""

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.formats.delta.log import replay as delta_replay
from lakescan.predicate import Column, Predicate, col
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.scan.snapshot import Snapshot
from tests.sample_tables import sample_table
from tests.tables import DeltaBuilder

OLD = ["checkpoint_old_micros", "checkpoint_old_int96"]
# A large checkpoint's row groups are chosen by their footers.
SIZES = pytest.mark.parametrize("most_rows", [1, 1 << 16], ids=["large", "small"])


@pytest.fixture
def size(most_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_replay, "_MANY_ROWS", most_rows)


def files(snapshot: Snapshot, predicate: Predicate) -> int:
    return len(snapshot.scan().skip_unless(predicate).build().files())


def ids(snapshot: Snapshot, predicate: Predicate | str) -> list[Any]:
    return sorted(snapshot.scan().filter(predicate).build().to_arrow()["id"].to_pylist())


@SIZES
@pytest.mark.usefixtures("size")
@pytest.mark.parametrize("name", OLD)
def test_dates_and_moments_of_the_old_calendar_are_those_that_the_writer_meant(
    name: str, sample: Callable[[str], Path]
) -> None:
    known = [{**row, "at": datetime.fromisoformat(row["t"])} for row in sample_table(name).rows]
    for row in known:
        day = date.fromisoformat(row["d"])
        for predicate in (
            col("d") == day,
            col("day") == day,
            col("s.d") == day,
            (col("d") <= day) & (col("d") >= day),
            col("t") == row["at"],
        ):
            snapshot = lakescan.open(sample(name)).snapshot()
            assert ids(snapshot, predicate) == [row["id"]], predicate
            assert files(snapshot, predicate) == 1, predicate
        assert ids(lakescan.open(sample(name)).snapshot(), col("d") < day) == list(range(row["id"]))
    extremes = (Aggregate("min", Column(("d",))), Aggregate("max", Column(("d",))))
    plan = lakescan.open(sample(name)).snapshot().scan().aggregate(Aggregation((), extremes)).build()
    assert plan.metadata_only
    found = [value.isoformat() for value in plan.to_arrow().to_pylist()[0].values()]
    assert found == [known[0]["d"], known[-1]["d"]]


@SIZES
@pytest.mark.usefixtures("size")
@pytest.mark.parametrize("first", ["dotted", "nested"])
def test_a_column_with_a_dot_in_its_name_is_not_a_field_of_the_struct_of_that_name(first: str, tmp_path: Path) -> None:
    struct = pa.struct([("b", pa.int64())])
    columns = [("id", pa.int64()), ("a.b", pa.int64()), ("a", struct)]
    schema = pa.schema(columns if first == "dotted" else [columns[0], columns[2], columns[1]])
    table = DeltaBuilder(tmp_path, schema)
    for at in range(12):
        table.append(
            pa.table({"id": [at], "a.b": [100 + at], "a": pa.array([{"b": -at}], struct)}).select(schema.names)
        )
    table.checkpoint(stats="parsed", parsed=schema, row_group_size=2)
    for at in range(12):
        dotted, nested = col("`a.b`") == 100 + at, col("a", "b") == -at
        for predicate in (dotted, nested):
            snapshot = lakescan.open(tmp_path).snapshot()
            assert ids(snapshot, predicate) == [at]
            assert files(snapshot, predicate) == 1


@SIZES
@pytest.mark.usefixtures("size")
@pytest.mark.parametrize("stats", ["json", "parsed", "both"])
def test_a_part_of_a_checkpoint_may_have_no_rows(stats: str, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    table = DeltaBuilder(tmp_path, schema)
    for at in range(3):
        table.append(pa.table({"id": [at]}))
    # More parts than actions.
    parts = table.checkpoint(parts=9, stats=stats, parsed=None if stats == "json" else schema)
    assert len(parts) == 9
    table.append(pa.table({"id": [3]}))
    assert ids(lakescan.open(tmp_path).snapshot(), "id >= 1") == [1, 2, 3]
    assert files(lakescan.open(tmp_path).snapshot(), col("id") == 1) == 1
    count = Aggregation((), (Aggregate("count_rows"), Aggregate("max", Column(("id",)))))
    plan = lakescan.open(tmp_path).snapshot().scan().aggregate(count).build()
    assert plan.metadata_only
    assert list(plan.to_arrow().to_pylist()[0].values()) == [4, 3]
