import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakescan
from lakescan.errors import MissingDataFile, MissingDeletionVector
from lakescan.reader.read import read_task
from lakescan.reader.read_plan import ReadTask
from lakescan.scan import packing
from lakescan.scan.plan import Plan
from tests.tables import DeltaBuilder

IDS = pa.schema([("id", pa.int64())])


def table_of(path: Path, schema: pa.Schema = IDS, **arguments: Any) -> DeltaBuilder:
    return DeltaBuilder(path, schema, **arguments)


def scan_of(builder: DeltaBuilder, filter: str | None = None, columns: Iterable[str] | None = None) -> Plan:
    scan = lakescan.open(builder.path).snapshot().scan()
    scan = scan.filter(filter) if filter else scan
    return (scan if columns is None else scan.select(*columns)).build()


def rows_of(scan: Plan, tasks: list[ReadTask]) -> list[dict[str, Any]]:
    return [row for task in tasks for batch in read_task(scan.read_plan, task) for row in batch.to_pylist()]


def small_pieces(scan: Plan, target: int) -> list[ReadTask]:
    with patch.object(packing, "OPEN_BYTES", 1):
        return packing.pack(scan.planned.files, 1, target)


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=3),
    group=st.integers(1, 25),
    deleted=st.sets(st.integers(0, 59)),
    target=st.integers(300, 4000),
    low=st.integers(-5, 240),
    wanted=st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_vectors_skipped_row_groups_and_split_files_together_give_each_live_row_once(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    group: int,
    deleted: set[int],
    target: int,
    low: int,
    wanted: bool,
) -> None:
    builder = table_of(tmp_path_factory.mktemp("t"))
    expected, first = [], 0
    for number, size in enumerate(sizes):
        ids = range(first, first + size)
        add = builder.append(pa.table({"id": ids}), row_group_size=group, stats=number % 2 == 0)
        gone = {position for position in deleted if position < size} if number != 1 else set()
        if gone:
            builder.delete(add, gone, storage="uip"[number % 3])
        expected += [n for n in ids if n - first not in gone and n >= low]
        first += size
    columns = ["id"] if wanted else []
    scan = scan_of(builder, f"id >= {low}", columns)
    pieces = small_pieces(scan, target)
    rows = rows_of(scan, pieces)
    if wanted:
        assert sorted(row["id"] for row in rows) == sorted(expected)
    else:
        assert len(rows) == len(expected)
    assert scan.to_arrow().num_rows == len(expected)


def test_the_plan_and_its_tasks_travel_by_pickle(tmp_path: Path) -> None:
    builder = table_of(tmp_path)
    add = builder.append(pa.table({"id": range(10)}))
    builder.delete(add, [0, 9])
    scan = scan_of(builder, "id <> 5")
    plan, tasks = pickle.loads(pickle.dumps((scan.read_plan, scan.tasks())))
    ids = [row["id"] for task in tasks for batch in read_task(plan, task) for row in batch.to_pylist()]
    assert ids == [1, 2, 3, 4, 6, 7, 8]
    assert len(pickle.dumps(tasks[0])) < 10_000


def test_a_task_of_a_large_table_carries_only_its_own_files(tmp_path: Path) -> None:
    builder = table_of(tmp_path)
    builder.append(pa.table({"id": [1]}))
    template = builder.add(pa.table({"id": [1]}))["add"]
    builder.commit(*[{"add": {**template, "path": f"file-{n:06d}.parquet"}} for n in range(5_000)])
    scan = scan_of(builder)
    sizes = [len(pickle.dumps(task)) for task in scan.tasks()]
    assert len(sizes) > 100
    assert max(sizes) < 20_000


def test_batches_have_exactly_the_output_schema_and_are_never_empty(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.string()), ("x", pa.int32())])
    builder = table_of(tmp_path, schema, partition_by=["p"])
    builder.append(pa.table({"id": [1, 2]}), partition={"p": "one"})
    builder.append(pa.table({"id": [3, 4], "x": pa.array([3, 4], pa.int16())}), partition={"p": None})
    scan = scan_of(builder, "id IN (1, 4)")
    batches = [batch for task in scan.tasks() for batch in read_task(scan.read_plan, task)]
    assert all(batch.schema.equals(schema, check_metadata=True) and batch.num_rows for batch in batches)
    assert [row for batch in batches for row in batch.to_pylist()] == [
        {"id": 1, "p": "one", "x": None},
        {"id": 4, "p": None, "x": 4},
    ]


def test_columns_that_only_the_filter_needs_do_not_leave(tmp_path: Path) -> None:
    inner = pa.struct([("x", pa.int64()), ("y", pa.int64())])
    schema = pa.schema([("id", pa.int64()), ("s", inner), ("p", pa.string())])
    builder = table_of(tmp_path, schema, partition_by=["p"])
    table = pa.table({"id": [1, 2, 3], "s": pa.array([{"x": 1, "y": 10}, None, {"x": 3, "y": 30}], inner)})
    builder.append(table, partition={"p": "one"})
    assert scan_of(builder, "s.y = 30 OR p = 'two'", ["id"]).to_arrow().to_pylist() == [{"id": 3}]
    assert scan_of(builder, "id = 3", []).to_arrow().num_rows == 1
    only_x = pa.schema([("s", pa.struct([("x", pa.int64())]))])
    scan = lakescan.open(builder.path).snapshot().scan().filter("s.y = 30").project(only_x).build()
    assert scan.to_arrow().to_pylist() == [{"s": {"x": 3}}]


def test_a_task_stops_reading_at_its_limit(tmp_path: Path) -> None:
    builder = table_of(tmp_path)
    builder.append(pa.table({"id": range(5)}), stats=False)
    (builder.root / builder.append(pa.table({"id": range(5)}), stats=False)["add"]["path"]).unlink()
    rows = lakescan.open(builder.path).snapshot().scan().filter("id >= 0").limit(3).build().to_arrow()
    assert rows["id"].to_pylist() == [0, 1, 2]


def test_a_missing_data_file_is_an_error_and_never_a_partial_answer(tmp_path: Path) -> None:
    builder = table_of(tmp_path)
    builder.append(pa.table({"id": [1]}))
    gone = builder.root / builder.append(pa.table({"id": [2]}))["add"]["path"]
    gone.unlink()
    with pytest.raises(MissingDataFile, match=str(gone)):
        scan_of(builder).to_arrow()
    with pytest.raises(MissingDataFile):
        scan_of(builder, columns=[]).to_arrow()


def test_a_missing_deletion_vector_is_an_error_and_never_the_deleted_rows(tmp_path: Path) -> None:
    builder = table_of(tmp_path)
    builder.delete(builder.append(pa.table({"id": [1, 2]})), [0])
    (vector,) = builder.root.glob("deletion_vector_*.bin")
    vector.unlink()
    with pytest.raises(MissingDeletionVector, match=str(vector)):
        scan_of(builder).to_arrow()


def test_rows_of_a_table_without_columns_are_counted(tmp_path: Path) -> None:
    builder = table_of(tmp_path, pa.schema([]))
    add = builder.append(pa.table({"hidden": range(10)}), stats=False)
    builder.delete(add, [3, 4])
    rows = scan_of(builder).to_arrow()
    assert (rows.num_rows, rows.num_columns) == (8, 0)


def test_an_empty_data_file_gives_no_rows(tmp_path: Path) -> None:
    builder = table_of(tmp_path)
    builder.append(pa.table({"id": pa.array([], pa.int64())}))
    assert scan_of(builder).to_arrow().to_pydict() == {"id": []}
    assert scan_of(builder, columns=[]).to_arrow().num_rows == 0
