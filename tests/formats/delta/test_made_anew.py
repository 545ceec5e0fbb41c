"""A table that is deleted and made anew at its path, moved or copied there: who has it open reads what is there."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import lakescan
from lakescan.predicate import Column
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.scan.snapshot import Table

COUNTED = Aggregation(
    (),
    (Aggregate("count_rows"), Aggregate("min", Column(("id",))), Aggregate("max", Column(("id",)))),
)


def written(path: Path, *commits: int, mode: Any = "append") -> None:
    """A row a commit; delta-rs writes all of it."""
    for id_ in commits:
        write_deltalake(path, pa.table({"id": pa.array([id_], pa.int64())}), mode=mode)


def checkpointed(path: Path) -> None:
    DeltaTable(path).create_checkpoint()
    # What the checkpoint has is nowhere else.
    for commit in range(DeltaTable(path).version()):
        (path / "_delta_log" / f"{commit:020d}.json").unlink()


def ids(table: Table) -> list[int]:
    rows = table.snapshot().scan().build().to_arrow()["id"].to_pylist()
    filtered = table.snapshot().scan().filter("id >= 0").build().to_arrow()["id"].to_pylist()
    assert sorted(filtered) == sorted(rows)
    return sorted(rows)


def counted(table: Table) -> list[int]:
    plan = table.snapshot().scan().aggregate(COUNTED).build()
    assert plan.metadata_only
    return list(plan.to_arrow().to_pylist()[0].values())


def deleted(path: Path, old: Path) -> None:
    shutil.rmtree(path)


def moved_away(path: Path, old: Path) -> None:
    path.rename(old)


def written_over(path: Path, old: Path) -> None:
    """Files of the same names are written in place, as cp does: the folder does not change."""
    new = old.with_name("new")
    written(new, 5, 6, 7)
    checkpointed(new)
    shutil.copytree(new, path, dirs_exist_ok=True)


@pytest.mark.parametrize("gone", [deleted, moved_away])
@pytest.mark.parametrize("after", [(), (8,)], ids=["checkpoint", "commit"])
def test_a_table_made_anew_is_not_taken_for_the_one_before(
    tmp_path: Path, gone: Callable[[Path, Path], None], after: tuple[int, ...]
) -> None:
    path = tmp_path / "t"
    written(path, 1, 2, 3)
    checkpointed(path)
    table = lakescan.open(path)
    assert (counted(table), ids(table)) == ([3, 1, 3], [1, 2, 3])
    gone(path, tmp_path / "old")
    written(path, 5, 6, 7)
    checkpointed(path)
    written(path, *after)
    expected = [5, 6, 7, *after]
    assert (counted(table), ids(table)) == ([len(expected), 5, max(expected)], expected)


def test_a_table_whose_files_are_written_over_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "t"
    written(path, 1, 2, 3)
    checkpointed(path)
    table = lakescan.open(path)
    assert (counted(table), ids(table)) == ([3, 1, 3], [1, 2, 3])
    written_over(path, tmp_path / "old")
    assert (counted(table), ids(table)) == ([3, 5, 7], [5, 6, 7])


def test_a_copy_that_took_another_way_is_told_from_what_it_is_put_in_place_of(tmp_path: Path) -> None:
    path, copy = tmp_path / "t", tmp_path / "copy"
    written(path, 1, 2)
    shutil.copytree(path, copy)
    written(path, 3)
    written(copy, 9)
    table = lakescan.open(path)
    first = table.snapshot()
    assert ids(table) == [1, 2, 3]
    shutil.rmtree(path)
    copy.rename(path)
    # Its id and its version are the same, and the log is another.
    second = table.snapshot()
    assert (first.identity.table, first.version) == (second.identity.table, second.version)
    assert first.identity != second.identity
    assert ids(table) == [1, 2, 9]
    assert counted(table) == [3, 1, 9]


def test_a_version_that_did_not_change_is_the_same_by_whichever_log_file_of_it_was_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "t"
    written(path, 1, 2)
    first, second = lakescan.open(path).snapshot(), lakescan.open(path).snapshot()
    assert first.identity == second.identity
    assert first.scan().spec.answer == second.scan().spec.answer
    assert first.identity != lakescan.open(path).snapshot(0).identity
    os.utime(path / "_delta_log" / f"{1:020d}.json", (1, 1))
    assert first.identity != lakescan.open(path).snapshot().identity


def test_the_zone_tells_versions_apart_where_partition_values_are_times_in_it(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    rows = pa.table({"id": [1], "at": pa.array([0], pa.timestamp("us", "UTC"))}, schema=schema)
    write_deltalake(tmp_path / "zoned", rows, partition_by=["at"])
    write_deltalake(tmp_path / "plain", rows)
    zoned, plain = (
        [lakescan.open(tmp_path / name, time_zone=zone).snapshot() for zone in ("UTC", "Asia/Tokyo")]
        for name in ("zoned", "plain")
    )
    assert zoned[0].identity != zoned[1].identity
    assert plain[0].identity == plain[1].identity
