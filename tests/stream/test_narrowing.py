"""A batch with some of its columns and files gives what the whole batch gives of them."""

from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.formats.registry import pin_stream
from lakescan.predicate import TRUE, Predicate, bind, parse
from lakescan.reader.read import read_task
from lakescan.reader.read_plan import ReadyRows
from lakescan.stream.narrowing import narrowed
from lakescan.stream.stream import PinnedStream, StreamTask
from tests.formats.hudi.builder import HudiBuilder
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.int32()), ("text", pa.string())])


@pytest.fixture
def built(tmp_path: Path) -> DeltaBuilder:
    made = DeltaBuilder(tmp_path, SCHEMA, ["part"], properties={"delta.enableChangeDataFeed": "true"})
    for part in ("0", "1", None):
        made.append(pa.table({"id": [1, 2], "text": ["a", "b"]}), partition={"part": part})
    return made


def batch(path: Path | str, **options: str) -> tuple[PinnedStream, list[StreamTask]]:
    pinned = pin_stream(lakescan.open(path), options)
    assert pinned is not None
    stream = pinned.open(pinned.schema)
    return pinned, stream.plan(stream.initial_offset(), stream.end_offset(), 2)


def rows(tasks: list[StreamTask]) -> pa.Table:
    return pa.concat_tables(pa.Table.from_batches([part]) for task in tasks for part in read_task(task.plan, task.task))


def bound(pinned: PinnedStream, text: str) -> Predicate:
    return bind(parse(text), pinned.schema)


def test_columns_come_in_the_order_asked_for(built: DeltaBuilder) -> None:
    _, tasks = batch(built.path, startingVersion="0")
    table = rows(narrowed(tasks, ["text", "part"], TRUE))
    assert table.equals(rows(tasks).select(["text", "part"]))
    assert table.num_rows == 6


def test_files_of_other_partitions_are_left_out_and_no_row_is_filtered(built: DeltaBuilder) -> None:
    pinned, tasks = batch(built.path, startingVersion="0")
    kept = narrowed(tasks, ["id", "part"], bound(pinned, "part >= 1 AND id = 1"))
    assert rows(kept).to_pylist() == [{"id": 1, "part": 1}, {"id": 2, "part": 1}]
    assert rows(narrowed(tasks, ["id"], bound(pinned, "part IS NULL"))).to_pylist() == [{"id": 1}, {"id": 2}]
    assert narrowed(tasks, ["id"], bound(pinned, "part = 7")) == []
    assert rows(narrowed(tasks, ["id"], bound(pinned, "id = 7 OR part = 0"))).num_rows == 6


def test_changes_are_narrowed_by_their_commits_too(built: DeltaBuilder) -> None:
    pinned, tasks = batch(built.path, startingVersion="0", readChangeFeed="true")
    changes = rows(narrowed(tasks, ["id", "_change_type"], bound(pinned, "_commit_version = 2")))
    assert changes.to_pylist() == [{"id": 1, "_change_type": "insert"}, {"id": 2, "_change_type": "insert"}]


def test_a_column_that_the_batch_itself_filters_by_is_still_read(tmp_path: Path) -> None:
    table = HudiBuilder(tmp_path)
    table.upsert(0, pa.table({"id": pa.array([1, 2], pa.int64()), "value": ["a", "b"]}))
    first = table.upsert(0, pa.table({"id": pa.array([2, 3], pa.int64()), "value": ["c", "d"]}))
    _, tasks = batch(tmp_path, startingVersion=str(first))
    assert any(task.plan.filter != TRUE for task in tasks)
    actual = rows(narrowed(tasks, ["value"], TRUE))
    assert actual.column_names == ["value"]
    assert sorted(actual["value"].to_pylist()) == sorted(rows(tasks)["value"].to_pylist())


def test_rows_that_are_known_already_lose_columns_only(built: DeltaBuilder) -> None:
    _, (task, *_) = batch(built.path, startingVersion="0")
    ready = StreamTask(task.plan, ReadyRows(pa.table({"id": [1], "part": [2], "text": ["c"]}, schema=SCHEMA)))
    assert rows(narrowed([ready], ["text"], TRUE)).to_pylist() == [{"text": "c"}]
