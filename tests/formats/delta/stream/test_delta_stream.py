"""Batches: admission, commits that are no appends, deletion vectors, offsets and progress."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakescan.errors import (
    InvalidOffset,
    InvalidOption,
    NotAnAppend,
    TableReplaced,
    VersionNotFound,
)
from lakescan.stream.admission import Admission
from lakescan.stream.stream import Limits
from tests.formats.delta.stream.engine import Engine, pin
from tests.tables import DeltaBuilder

ID = pa.schema([("id", pa.int64())])


def ids(first: int, last: int, name: str = "id") -> pa.Table:
    return pa.table({name: pa.array(range(first, last + 1), pa.int64())})


def table(root: Path, **arguments: Any) -> DeltaBuilder:
    return DeltaBuilder(root, ID, features=["deletionVectors"], **arguments)


def drained(built: DeltaBuilder, **options: Any) -> list[int]:
    engine = Engine(built.path, options)
    engine.drain()
    return sorted(row["id"] for row in engine.rows)


def batches(engine: Engine) -> list[list[int]]:
    """The ids of each batch, until there is nothing more."""
    given: list[list[int]] = []
    while True:
        before, finished = len(engine.rows), engine.finished
        engine.batch()
        if engine.finished == finished:
            return given
        given.append(sorted(row["id"] for row in engine.rows[before:]))


# Admission


def test_a_batch_takes_files_up_to_the_limit_of_files(tmp_path: Path) -> None:
    built = table(tmp_path)
    built.commit(*[built.add(ids(at, at)) for at in range(5)])
    built.append(ids(5, 5))
    engine = Engine(built.path, {"startingVersion": 0, "maxFilesPerTrigger": 2})
    assert batches(engine) == [[0, 1], [2, 3], [4, 5]]


def test_both_limits_hold_at_once_and_one_file_always_passes() -> None:
    both = Admission(Limits(files=3, bytes=100))
    sizes = pa.chunked_array([[40, 40, 40, 40]])
    assert both.admit(sizes) == 2
    assert not both.full
    by_files = Admission(Limits(files=3, bytes=1000))
    assert by_files.admit(sizes) == 3
    assert by_files.full
    assert by_files.admit(sizes) == 0
    alone = Admission(Limits(bytes=1))
    assert alone.admit(sizes) == 1
    assert alone.full


def test_without_a_limit_a_batch_takes_a_thousand_files() -> None:
    assert pin_limits({}) == Limits(files=1000)
    assert pin_limits({"maxBytesPerTrigger": "10m"}) == Limits(bytes=10 << 20)
    assert pin_limits({"maxBytesPerTrigger": "1g", "maxFilesPerTrigger": "7"}) == Limits(7, 1 << 30)


def pin_limits(options: dict[str, str]) -> Limits:
    from lakescan.formats.delta.stream.options import StreamOptions

    return StreamOptions.of(options).limits


def test_the_initial_snapshot_is_split_in_the_order_of_file_times(tmp_path: Path) -> None:
    built = table(tmp_path)
    adds = [built.add(ids(at, at)) for at in range(4)]
    for add, time in zip(adds, (30, 10, 40, 20), strict=True):
        add["add"]["modificationTime"] = time
    built.commit(*adds)
    engine = Engine(built.path, {"maxFilesPerTrigger": 1})
    assert engine.decide()
    built.append(ids(4, 4))
    assert batches(engine) == [[1], [3], [0], [2], [4]]


def test_available_now_ends_where_the_table_ended_when_it_began(tmp_path: Path) -> None:
    built = table(tmp_path)
    built.append(ids(0, 0))
    built.append(ids(1, 1))
    engine = Engine(built.path, {"maxFilesPerTrigger": 1})
    engine.stream.fix_end()
    built.append(ids(2, 2))
    assert batches(engine) == [[0], [1]]
    engine.restart()
    engine.stream.fix_end()
    built.append(ids(3, 3))
    assert batches(engine) == [[2]]


# Commits that are not appends


def history(root: Path, kind: str) -> DeltaBuilder:
    """1: ids 0 to 9; 2: a commit of the kind; 3: id 99."""
    built = table(root)
    first = built.append(ids(0, 9))
    note = {"commitInfo": {"operation": kind.upper()}}
    if kind == "delete":
        built.commit(note, built.remove(first))
    elif kind == "vector":
        new = {"add": {**first["add"], "deletionVector": built.vector([1, 2])}}
        built.commit(note, built.remove(first), new)
    elif kind == "update":
        built.commit(note, built.remove(first), built.add(ids(0, 9)))
    elif kind == "update by vector":
        new = {"add": {**first["add"], "deletionVector": built.vector([1])}}
        built.commit(note, built.remove(first), new, built.add(ids(1, 1)))
    elif kind == "restore":
        vector = {"add": {**first["add"], "deletionVector": built.vector([1, 2])}}
        built.commit(built.remove(first), vector)
        built.commit(note, built.remove(vector), first)
    elif kind == "optimize":
        added, removed = built.add(ids(0, 9)), built.remove(first)
        added["add"]["dataChange"] = removed["remove"]["dataChange"] = False
        built.commit(note, removed, added)
    built.append(ids(99, 99))
    return built


@pytest.mark.parametrize("kind", ["delete", "vector", "update", "update by vector"])
def test_a_commit_that_is_no_append_stops_the_stream_and_is_named(tmp_path: Path, kind: str) -> None:
    built = history(tmp_path, kind)
    engine = Engine(built.path, {"startingVersion": 0})
    with pytest.raises(NotAnAppend, match=f"Version 2 .*{kind.upper()}.*skipChangeCommits"):
        engine.drain()
    assert sorted(row["id"] for row in engine.rows) == list(range(10))


TEN = list(range(10))


@pytest.mark.parametrize(
    ("kind", "option", "expected"),
    [
        ("delete", "ignoreDeletes", [*TEN, 99]),
        ("vector", "ignoreDeletes", [*TEN, 99]),
        ("delete", "ignoreChanges", [*TEN, 99]),
        # As Delta Spark: the rows that are left in a file come again when its deletion vector grows.
        ("vector", "ignoreChanges", sorted([*TEN, 0, *range(3, 10), 99])),
        ("update", "ignoreChanges", sorted([*TEN, *TEN, 99])),
        ("update by vector", "ignoreChanges", sorted([*TEN, *TEN, 99])),
        ("restore", "ignoreChanges", sorted([*TEN, 0, *range(3, 10), *TEN, 99])),
        ("vector", "ignoreFileDeletion", sorted([*TEN, 0, *range(3, 10), 99])),
        ("delete", "skipChangeCommits", [*TEN, 99]),
        ("vector", "skipChangeCommits", [*TEN, 99]),
        ("update", "skipChangeCommits", [*TEN, 99]),
        ("update by vector", "skipChangeCommits", [*TEN, 99]),
    ],
)
def test_each_option_passes_the_commits_it_names(tmp_path: Path, kind: str, option: str, expected: list[int]) -> None:
    assert drained(history(tmp_path, kind), startingVersion=0, **{option: True}) == expected


@pytest.mark.parametrize("kind", ["update", "update by vector"])
def test_ignore_deletes_does_not_pass_a_change(tmp_path: Path, kind: str) -> None:
    with pytest.raises(NotAnAppend, match="changes or rewrites"):
        drained(history(tmp_path, kind), startingVersion=0, ignoreDeletes=True)


def test_a_commit_that_changes_no_data_gives_no_rows(tmp_path: Path) -> None:
    assert drained(history(tmp_path, "optimize"), startingVersion=0) == [*TEN, 99]


def test_rows_deleted_by_the_version_that_is_read_never_appear(tmp_path: Path) -> None:
    built = table(tmp_path)
    built.commit(built.add(ids(0, 9), vector=built.vector([3, 4])))
    assert drained(built, startingVersion=0) == [0, 1, 2, 5, 6, 7, 8, 9]
    assert drained(built) == [0, 1, 2, 5, 6, 7, 8, 9]


# Offsets and progress


def test_a_replaced_table_is_an_error(tmp_path: Path) -> None:
    built = table(tmp_path / "one")
    built.append(ids(0, 0))
    engine = Engine(built.path, {"startingVersion": 0})
    engine.drain()
    shutil.rmtree(built.path)
    other = table(tmp_path / "two")
    for at in range(4):
        other.append(ids(at, at))
    Path(other.path).rename(built.path)
    engine.restart()
    with pytest.raises(TableReplaced, match="another table"):
        engine.drain()


def test_a_table_that_ends_before_the_streams_place_is_an_error(tmp_path: Path) -> None:
    built = table(tmp_path)
    for at in range(4):
        built.append(ids(at, at))
    engine = Engine(built.path, {"startingVersion": 0})
    engine.drain()
    for version in (2, 3, 4):
        (built.log / f"{version:020d}.json").unlink()
    engine.restart()
    with pytest.raises(VersionNotFound, match="commits 0 to 1"):
        engine.drain()


@pytest.mark.parametrize(
    "offset",
    [
        {},
        {"lakescanOffset": 2, "version": 1},
        {"lakescanOffset": 1, "version": "x"},
        {"lakescanOffset": 1, "tableId": "a", "version": 1, "index": -1, "initialSnapshot": False},
    ],
)
def test_an_offset_of_another_format_is_refused(tmp_path: Path, offset: dict[str, Any]) -> None:
    built = table(tmp_path)
    stream = Engine(built.path).stream
    with pytest.raises(InvalidOffset, match="checkpoint"):
        stream.next_offset(offset, Limits())


def test_a_first_batch_run_again_after_the_table_grew_gives_the_same_rows(tmp_path: Path) -> None:
    built = table(tmp_path)
    built.append(ids(0, 4))
    engine = Engine(built.path)
    engine.batch(crash=True)
    built.append(ids(5, 9))
    built.checkpoint()
    assert batches(engine) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_each_batch_says_what_it_read_and_how_far_behind_it_is(tmp_path: Path) -> None:
    built = table(tmp_path)
    for at in range(4):
        built.append(ids(at, at))
    engine = Engine(built.path, {"startingVersion": 1, "maxFilesPerTrigger": 3})
    engine.drain()
    first, second = engine.notes
    size = sum(file.stat().st_size for file in list(built.root.glob("part-*"))[:1])
    assert first == {
        "fromVersion": 1, "toVersion": 3, "files": 3, "bytes": 3 * size, "newestVersion": 4, "versionsBehind": 1
    }  # fmt: skip
    assert (second["fromVersion"], second["toVersion"], second["files"], second["versionsBehind"]) == (4, 4, 1, 0)
    assert engine.stream.newest_offset()["newestVersion"] == 4


def test_an_engine_without_admission_control_reads_all_there_is(tmp_path: Path) -> None:
    built = table(tmp_path)
    built.append(ids(0, 4))
    engine = Engine(built.path)
    stream, schema = engine.stream, engine.pinned.schema
    end = stream.end_offset()
    built.append(ids(5, 9))
    from tests.formats.delta.stream.engine import read

    first = read(stream.plan(stream.initial_offset(), end, 2), schema)
    again = read(Engine(built.path).stream.plan(stream.initial_offset(), end, 2), schema)
    assert sorted(row["id"] for row in first) == sorted(row["id"] for row in again) == list(range(5))
    rest = read(stream.plan(end, stream.end_offset(), 2), schema)
    assert sorted(row["id"] for row in rest) == list(range(5, 10))


# Options


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"startingVerison": "1"}, "no such option.*startingVersion"),
        ({"startingVersion": "-1"}, "neither a version's number"),
        ({"startingVersion": "1", "startingTimestamp": "2024-01-01"}, "startingVersion is given too"),
        ({"startingVersionMode": "loose"}, "neither 'exact' nor 'relaxed'"),
        ({"maxFilesPerTrigger": "0"}, "not a number above zero"),
        ({"maxBytesPerTrigger": "many"}, "not a number above zero"),
        ({"ignoreChanges": "yes"}, "neither 'true' nor 'false'"),
    ],
)
def test_an_option_that_cannot_be_is_refused(tmp_path: Path, options: dict[str, str], said: str) -> None:
    built = table(tmp_path)
    with pytest.raises(InvalidOption, match=said):
        pin(built.path, **options)
