"""What travels in blocks are the very tasks of the plan, for workers and for Spark's own reader; no Spark is needed."""

import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import StructType

import lakescan
from lakescan.reader.read import read_task
from lakescan.reader.read_plan import ReadyRows
from lakescan.scan import packing
from lakescan.scan.packing import packed
from lakescan.scan.plan import Plan, ScanTasks
from lakescan.spark.bridge.tasks import TaskBlock
from lakescan.spark.dsv2.plain_files import plain_columns, plain_pieces
from lakescan.spark.dsv2.task_blocks import DividedScan
from lakescan.spark.dsv2.worker import partition_reader
from tests.tables import DeltaBuilder

MB = 1 << 20


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    schema = pa.schema([("p", pa.int32()), ("id", pa.int64())])
    table = DeltaBuilder(tmp_path_factory.mktemp("blocks"), schema, ["p"], features=["deletionVectors"])
    for p in ("1", None, "3"):
        added = table.append(pa.table({"id": [1, 2, 3]}), partition={"p": p})
    table.delete(added, [1])
    return lakescan.open(table.path).snapshot().scan().build()


def divided(plan: Plan, tasks: ScanTasks) -> DividedScan:
    schema = StructType.fromJson(json.loads(plan.spec.snapshot.schema_json))
    return DividedScan(plan, tasks, plain_columns(plan.read_plan, schema))


def of_sizes(plan: Plan, sizes: list[int], elsewhere: list[bool]) -> pa.Table:
    """Files of these sizes, some of which are where only workers can read them."""
    files = plan.planned.files.take(np.arange(len(sizes)) % plan.planned.files.num_rows)
    paths = [f"s3://bucket/{at}" if far else f"{at}.parquet" for at, far in enumerate(elsewhere)]
    columns = {"path": pa.array(paths, pa.string()), "size": pa.array(sizes, pa.int64())}
    for name, column in columns.items():
        files = files.set_column(files.column_names.index(name), name, column)
    return files.append_column("row_count", pa.array([3] * len(sizes), pa.int64()))


def travelled(blocks: list[TaskBlock]) -> list[tuple[int, list[Any], list[Any]]]:
    """Each task's bytes, pieces for a worker and pieces for Spark's reader, as they are taken from its block."""
    found = []
    for block in blocks:
        pieces = pickle.loads(block.worker).pieces
        for size, first, count, plain in block.tasks:
            told = pa.ipc.open_stream(block.plain).read_all().slice(first, count).to_pylist() if plain else []
            found.append((int(size), pieces.slice(first, count).to_pylist(), told))
    return found


@given(st.lists(st.tuples(st.integers(0, 400 * MB), st.booleans()), max_size=120), st.integers(1, 8))
def test_every_task_of_a_plan_is_in_one_block(plan: Plan, files: list[tuple[int, bool]], parallelism: int) -> None:
    sizes, elsewhere = [size for size, _ in files], [far for _, far in files]
    made = packed(of_sizes(plan, sizes, elsewhere), parallelism)
    scan = divided(plan, ScanTasks((), made))
    alone = made.tasks()
    streams = plain_pieces(plan.read_plan, scan.columns, alone)
    expected = [
        (int(size), task.pieces.to_pylist(), pa.ipc.open_stream(stream).read_all().to_pylist() if stream else [])
        for task, stream, size in zip(alone, streams, plan.bytes_of(made), strict=True)
    ]
    blocks = list(scan.blocks())
    assert travelled(blocks) == expected
    by = dict(scan.readers)
    assert by.get("Spark's own Parquet reader", 0) == sum(map(bool, streams))
    assert sum(by.values()) == len(alone)
    longest = max((task.pieces.num_rows for task in alone), default=0)
    assert all(pickle.loads(block.worker).pieces.num_rows < 16 + longest for block in blocks)


def test_tasks_that_do_more_come_first_and_alone(plan: Plan) -> None:
    skipping = replace(plan, planned=replace(plan.planned, skip_rows=2))
    scan = divided(skipping, skipping.divided(2))
    first, *rest = scan.blocks()
    task = pickle.loads(first.worker)
    assert (task.skip_rows, len(first.tasks), first.plain) == (2, 1, b"")
    assert first.tasks["bytes"][0] > 0
    assert sum(len(block.tasks) for block in rest) == len(skipping.tasks(2)) - 1
    assert scan.why_workers == ("an offset",)
    ready = ReadyRows(pa.table({"n": [3]}))
    (block,) = divided(plan, ScanTasks((ready,), packed(of_sizes(plan, [], []), 1))).blocks()
    assert pickle.loads(block.worker) == ready


def test_a_hundred_thousand_tasks_are_few_thousand_small_blocks(plan: Plan) -> None:
    made = packed(of_sizes(plan, [120 * MB] * 100_000, [False] * 100_000), 2)
    assert len(made) > 90_000
    sizes = [len(block.to_bytes()) for block in divided(plan, ScanTasks((), made)).blocks()]
    assert len(sizes) < 10_000
    assert max(sizes) < 20_000


def test_a_worker_reads_the_rows_of_its_task_alone(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "OPEN_BYTES", 1)
    made = plan.divided(3)
    (block,) = divided(plan, made).blocks()
    assert len(block.tasks) > 1
    read = partition_reader(plan.read_plan)
    by_task = []
    for _, first, count, _ in block.tasks:
        told = {"task": [block.worker], "first": [int(first)], "pieces": [int(count)], "row": [0]}
        by_task.append([row for batch in read(iter([pa.record_batch(told)])) for row in batch.to_pylist()])
    tasks = made.packed.tasks()
    assert by_task == [
        [row for batch in read_task(plan.read_plan, task) for row in batch.to_pylist()] for task in tasks
    ]
    assert sum(map(len, by_task)) == 8
