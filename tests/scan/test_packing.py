from collections import defaultdict
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakescan.scan import packing
from lakescan.scan.packing import OPEN_BYTES, TARGET_BYTES, pack

MB = 1 << 20


def files_of(sizes: list[int]) -> pa.Table:
    return pa.table(
        {
            "path": [f"f{at}" for at in range(len(sizes))],
            "size": pa.array(sizes, pa.int64()),
            "partition": pa.array([{"p": at} for at in range(len(sizes))], pa.struct([("p", pa.int64())])),
            "deletion_vector": pa.nulls(len(sizes)),
        }
    )


def bytes_in(pieces: pa.Table, sizes: list[int]) -> int:
    """What a task really reads of its files."""
    return sum(
        max(0, min(sizes[int(piece["path"][1:])], piece["start"] + piece["length"]) - piece["start"])
        for piece in pieces.to_pylist()
    )


SIZES = st.lists(st.one_of(st.integers(0, 50), st.integers(0, 5000), st.integers(10**9, 10**12)), max_size=20)


@given(sizes=SIZES, parallelism=st.integers(0, 12), target=st.integers(1, 2000), opening=st.integers(1, 100))
@settings(max_examples=200, deadline=None)
def test_every_byte_of_every_file_is_in_exactly_one_task(
    sizes: list[int], parallelism: int, target: int, opening: int
) -> None:
    sizes = [min(size, target * 200) for size in sizes]
    with patch.object(packing, "OPEN_BYTES", opening):
        tasks = pack(files_of(sizes), parallelism, target)
    pieces = defaultdict(list)
    for task in tasks:
        assert task.pieces.num_rows
        for piece in task.pieces.to_pylist():
            pieces[piece["path"]].append((piece["start"], piece["length"]))
            assert piece["partition"] == {"p": int(piece["path"][1:])}
    assert sorted(pieces) == sorted(f"f{at}" for at in range(len(sizes)))
    for at, size in enumerate(sizes):
        end = 0
        for start, length in sorted(pieces[f"f{at}"]):
            assert start == end
            end = start + length
        # What the writer said of a file's size need not be true: the last piece takes whatever follows.
        assert end > max(size, 1 << 61)


@given(sizes=SIZES, parallelism=st.integers(1, 8))
@settings(max_examples=100, deadline=None)
def test_no_task_reads_much_more_than_the_target(sizes: list[int], parallelism: int) -> None:
    sizes = [min(size, 10**10) for size in sizes]
    for task in pack(files_of(sizes), parallelism):
        assert bytes_in(task.pieces, sizes) <= 2 * (TARGET_BYTES + OPEN_BYTES)
        assert task.pieces.num_rows <= 2 * (TARGET_BYTES + OPEN_BYTES) // OPEN_BYTES


def test_many_small_files_share_tasks_and_a_large_file_is_cut() -> None:
    assert len(pack(files_of([1024] * 1000), 1)) < 50
    assert len(pack(files_of([1024 * MB]), 1)) >= 8


def test_a_large_table_is_read_in_whole_rounds_of_the_workers() -> None:
    assert len(pack(files_of([300 * MB]), 2)) == 4
    assert len(pack(files_of([100 * MB]), 4)) == 4


def test_a_small_table_is_not_cut_to_shreds_for_many_workers() -> None:
    assert len(pack(files_of([10 * MB]), 64)) <= 4


@pytest.mark.parametrize("parallelism", [0, 1, 8])
def test_no_files_are_no_tasks(parallelism: int) -> None:
    assert pack(files_of([]), parallelism) == []


def test_equal_files_are_shared_out_equally() -> None:
    tasks = pack(files_of([43 << 20] * 8), parallelism=2)
    assert [task.pieces.num_rows for task in tasks] == [2, 2, 2, 2]


@given(kinds=st.lists(st.booleans(), min_size=1, max_size=40), parallelism=st.integers(1, 6))
@settings(max_examples=100, deadline=None)
def test_at_most_one_task_has_files_with_log_files_and_files_without(kinds: list[bool], parallelism: int) -> None:
    logs = pa.array([["a.log"] if merged else None for merged in kinds], pa.list_(pa.string()))
    files = files_of([8 * MB] * len(kinds)).append_column("merged_with", logs)
    tasks = pack(files, parallelism, 32 * MB)
    without_logs = [task.pieces["merged_with"].null_count for task in tasks]
    assert sum(0 < nulls < task.pieces.num_rows for nulls, task in zip(without_logs, tasks, strict=True)) <= 1
    # Files of a kind stay in their order.
    read = [path for task in tasks for path in task.pieces["path"].to_pylist()]
    assert list(dict.fromkeys(read)) == [f"f{at}" for kind in (False, True) for at, k in enumerate(kinds) if k == kind]
