"""Files for a limit and an offset, on tables small enough to say which."""

from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.scan import limit
from lakescan.scan.plan import Plan
from lakescan.scan.pruning import live_rows
from lakescan.scan.snapshot import Snapshot
from tests.tables import DeltaBuilder


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    return DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]), features=["deletionVectors"])


def rows(first: int, count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64())})


def snapshot(table: DeltaBuilder) -> Snapshot:
    return lakescan.open(table.path).snapshot()


def names(scan: Plan) -> list[str]:
    return [Path(path).name for path in scan.files()["path"].to_pylist()]


def test_the_fewest_files_fill_a_limit(table: DeltaBuilder) -> None:
    for name, first, count in (("a", 0, 3), ("b", 10, 9), ("c", 20, 4), ("d", 30, 8)):
        table.append(rows(first, count), name=name)
    assert names(snapshot(table).scan().limit(9).build()) == ["b"]
    assert names(snapshot(table).scan().limit(10).build()) == ["b", "d"]
    assert names(snapshot(table).scan().limit(100).build()) == ["a", "b", "c", "d"]


def test_no_row_needs_no_file(table: DeltaBuilder) -> None:
    table.append(rows(0, 3), name="a")
    assert names(snapshot(table).scan().limit(0).build()) == []


def test_a_deleted_row_fills_nothing(table: DeltaBuilder) -> None:
    added = table.append(rows(0, 5), name="a")
    table.append(rows(10, 4), name="b")
    table.delete(added, [0, 1])
    assert names(snapshot(table).scan().limit(4).build()) == ["b"]
    assert sorted(names(snapshot(table).scan().limit(5).build())) == ["a", "b"]


def test_a_file_without_a_count_fills_nothing(table: DeltaBuilder) -> None:
    table.append(rows(0, 50), name="a", stats=False)
    table.append(rows(100, 3), name="b")
    assert names(snapshot(table).scan().limit(3).build()) == ["b"]
    assert names(snapshot(table).scan().limit(4).build()) == ["a", "b"]


def test_under_a_filter_only_files_that_pass_whole_fill_a_limit(table: DeltaBuilder) -> None:
    for name, first in (("a", 0), ("b", 10), ("c", 20)):
        table.append(rows(first, 10), name=name)
    scan = snapshot(table).scan().filter("id >= 5").limit(12).build()
    assert names(scan) == ["b", "c"]
    assert scan.to_arrow().num_rows == 12
    assert names(snapshot(table).scan().filter("id >= 5").limit(21).build()) == ["a", "b", "c"]


def test_the_largest_files_are_asked_first_and_the_others_only_where_they_must(
    table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limit, "_ASKED_FIRST", 1)
    table.append(rows(0, 10), name="a")
    table.append(rows(100, 2000), name="b")
    asked: list[int] = []

    def ask(snapshot: Snapshot, files: pa.Table) -> pa.Array:
        asked.append(len(files))
        return live_rows(snapshot, files)

    monkeypatch.setattr(limit, "live_rows", ask)
    assert names(snapshot(table).scan().limit(2000).build()) == ["b"]
    assert asked == [1]
    assert names(snapshot(table).scan().limit(2005).build()) == ["a", "b"]
    assert asked == [1, 1, 2]


def test_an_offset_drops_whole_files_and_the_first_rows_of_the_next(table: DeltaBuilder) -> None:
    for name, first in (("a", 0), ("b", 10), ("c", 20)):
        added = table.append(rows(first, 10), name=name)
    table.delete(added, [0])
    scan = snapshot(table).scan().offset(13).build()
    left = [int(value) for value in scan.to_arrow()["id"].to_pylist()]
    assert len(left) == 29 - 13
    assert len(names(scan)) == 2
    assert snapshot(table).scan().offset(29).build().to_arrow().num_rows == 0
    assert snapshot(table).scan().offset(100).build().to_arrow().num_rows == 0


def test_an_offset_is_refused_where_rows_are_not_counted_or_filtered(table: DeltaBuilder) -> None:
    table.append(rows(0, 10), name="a")
    assert limit.can_skip(snapshot(table).scan().build())
    assert not limit.can_skip(snapshot(table).scan().filter("id > 3").build())
    table.append(rows(10, 10), name="b", stats=False)
    assert not limit.can_skip(snapshot(table).scan().build())
