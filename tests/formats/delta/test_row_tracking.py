"""The hidden `_metadata` column, compared with what Delta Spark gives for tables that it wrote."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakescan
from lakescan.errors import UnknownColumn
from lakescan.reader.read import read_task
from lakescan.reader.read_plan import ReadTask
from lakescan.scan.plan import Plan
from tests.expected import copied, in_order, tables
from tests.tables import DeltaBuilder, open_delta

# Spark tells where a split begins; Delta also shows what row ids are worked out from.
_NOT_OURS = {"base_row_id", "default_row_commit_version"}


def _with_relative_path(row: dict[str, Any], root: Path) -> dict[str, Any]:
    metadata = dict(row["_metadata"])
    metadata["file_path"] = metadata["file_path"].removeprefix(f"file:{root}/")
    return {**row, "_metadata": metadata}


@pytest.mark.parametrize("name", tables())
def test_every_version_gives_the_metadata_that_delta_spark_gives(name: str, tmp_path: Path) -> None:
    root, expected = copied(name, tmp_path)
    table = lakescan.open(root)
    for version, rows in enumerate(expected["versions"]):
        snapshot = table.snapshot(version)
        actual = snapshot.scan().select(*snapshot.schema.names, "_metadata").build().to_arrow().to_pylist()
        shown = [_with_relative_path(row, root) for row in actual]
        # Delta shows a row's index only where it tracks rows.
        ours = [_only(row, rows[0]["_metadata"].keys() - _NOT_OURS) for row in shown] if rows else shown
        theirs = [_only(row, row["_metadata"].keys() - _NOT_OURS) for row in rows]
        assert in_order(ours) == in_order(theirs)


def _only(row: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {**row, "_metadata": {name: row["_metadata"][name] for name in names}}


def test_ids_come_from_the_checkpoint_too(tmp_path: Path) -> None:
    root, expected = copied("row_tracking", tmp_path)
    version = 6
    checkpoint = open_delta(root).snapshot(version).segment.checkpoint
    assert checkpoint is not None
    assert checkpoint.version == 5
    rows = lakescan.open(root).snapshot(version).scan().select("id", "_metadata.row_id").build().to_arrow()
    ids = {row["id"]: row["_metadata"]["row_id"] for row in rows.to_pylist()}
    assert ids == {row["id"]: row["_metadata"]["row_id"] for row in expected["versions"][version]}


def test_the_column_is_never_in_a_scan_that_does_not_name_it(tmp_path: Path) -> None:
    root, _ = copied("row_tracking", tmp_path)
    snapshot = lakescan.open(root).snapshot()
    assert "_metadata" not in snapshot.schema.names
    assert snapshot.scan().build().to_arrow().column_names == ["id", "v"]


def test_ids_exist_only_where_rows_are_tracked(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("a", pa.int64())]))
    table.append(pa.table({"a": [1]}))
    scan = lakescan.open(table.path).snapshot().scan()
    assert scan.select("_metadata").build().schema.field("_metadata").type.names == [
        "file_path",
        "file_name",
        "file_size",
        "file_block_start",
        "file_block_length",
        "file_modification_time",
        "row_index",
    ]
    with pytest.raises(UnknownColumn, match="row_id"):
        scan.select("_metadata.row_id")


def test_fields_of_the_column_are_given_together_where_the_first_was_named(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("a", pa.int64())]))
    table.append(pa.table({"a": [1, 2]}))
    scan = lakescan.open(table.path).snapshot().scan()
    rows = scan.select("_metadata.row_index", "a", "_metadata.file_name").build().to_arrow()
    assert rows.to_pylist() == [
        {"_metadata": {"file_name": "part-00001.parquet", "row_index": 0}, "a": 1},
        {"_metadata": {"file_name": "part-00001.parquet", "row_index": 1}, "a": 2},
    ]


def test_a_filter_may_name_the_column_without_selecting_it(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("a", pa.int64())]))
    table.append(pa.table({"a": [10, 11, 12]}))
    table.append(pa.table({"a": [20, 21]}))
    scan = lakescan.open(table.path).snapshot().scan().filter("_metadata.row_index = 1").select("a")
    rows = scan.build().to_arrow()
    assert rows.column_names == ["a"]
    assert sorted(rows["a"].to_pylist()) == [11, 21]


def test_a_column_of_the_table_with_that_name_is_the_tables(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("_metadata", pa.int64())]))
    table.append(pa.table({"_metadata": [7]}))
    assert lakescan.open(table.path).snapshot().scan().select("_metadata").build().to_arrow().to_pylist() == [
        {"_metadata": 7}
    ]


def test_a_stored_id_wins_over_the_position_and_null_does_not(tmp_path: Path) -> None:
    names = {
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-x",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-x",
    }
    table = DeltaBuilder(tmp_path / "t", pa.schema([("a", pa.int64())]), properties=names)
    stored = pa.table({"a": [1, 2, 3], "_row-id-col-x": [None, 7, None], "_row-commit-version-col-x": [None, 0, None]})
    added = table.add(stored.cast(pa.schema([(name, pa.int64()) for name in stored.column_names])))
    table.commit({"add": {**added["add"], "baseRowId": 100, "defaultRowCommitVersion": 1}})
    table.commit(table.add(pa.table({"a": [4]})))
    rows = lakescan.open(table.path).snapshot().scan().select("a", "_metadata.row_id", "_metadata.row_commit_version")
    by_a = {row["a"]: tuple(row["_metadata"].values()) for row in rows.build().to_arrow().to_pylist()}
    # A file that was added without an id has none to give.
    assert by_a == {1: (100, 1), 2: (7, 0), 3: (102, 1), 4: (None, None)}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_index_is_right_whatever_is_skipped_split_and_deleted(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    rows = data.draw(st.integers(1, 200))
    group = data.draw(st.integers(1, 50))
    deleted = data.draw(st.sets(st.integers(0, rows - 1), max_size=rows))
    low = data.draw(st.integers(0, rows))
    pieces = data.draw(st.integers(1, 5))
    root = tmp_path_factory.mktemp("table")
    table = DeltaBuilder(root, pa.schema([("a", pa.int64())]), features=["deletionVectors"])
    added = table.append(pa.table({"a": range(rows)}), row_group_size=group)
    if deleted:
        table.delete(added, deleted)
    scan = lakescan.open(root).snapshot().scan().filter(f"a >= {low}").select("_metadata.row_index", "a").build()
    indexed = []
    for task in _cut(scan, pieces):
        for batch in read_task(scan.read_plan, task):
            indexed += [(row["_metadata"]["row_index"], row["a"]) for row in batch.to_pylist()]
    assert sorted(indexed) == [(row, row) for row in range(low, rows) if row not in deleted]


def _cut(scan: Plan, pieces: int) -> list[ReadTask]:
    """The scan's file cut into so many pieces, which packing does only to large ones."""
    tasks = []
    for task in scan.tasks():
        assert isinstance(task, ReadTask)
        (piece,) = task.pieces.to_pylist()
        step = -(-scan.planned.files["size"][0].as_py() // pieces)
        for at in range(pieces):
            cut = piece | {"start": at * step, "length": step}
            tasks.append(ReadTask(pa.Table.from_pylist([cut], task.pieces.schema)))
    return tasks
