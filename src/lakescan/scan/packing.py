"""Files packed into tasks of about equal size: small files share one, a large file is cut into pieces.

Every byte of every file is in exactly one task. A piece is a range of bytes; the reader gives each row group to
the piece that holds its first byte, so nothing has to be opened to plan.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakescan.reader.read_plan import ReadTask

TARGET_BYTES = 128 << 20
# A target that no file reaches: each file stays in one piece.
WHOLE = 1 << 62
# What opening a file costs, in bytes that could be read meanwhile; without it a task of tiny files is endless.
OPEN_BYTES = 4 << 20
# A file is cut into no more pieces: its size is only what its writer said, and where it is not so long most of them
# would open it for nothing.
_MOST_PIECES = 1024
ROW_COUNT = "row_count"
# The size and the number of rows are what a file is held against when it is opened.
_EVERY_TASK_NEEDS = ("path", "size", ROW_COUNT, "partition", "deletion_vector", "merged_with", "expected_records")


@dataclass(frozen=True)
class PackedTasks:
    """Tasks in columns: their pieces of files, one behind the other, and which of them is the first of each task."""

    pieces: pa.Table
    begins: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.begins)

    @property
    def ends(self) -> npt.NDArray[np.int64]:
        """Behind the last piece of each task."""
        return np.append(self.begins[1:], self.pieces.num_rows)[: len(self)]

    @property
    def bytes(self) -> npt.NDArray[np.float64]:
        """How many bytes of files each task is: of any number, as sizes are only what the log says."""
        sizes, start, length = (self.pieces[name].to_numpy() for name in ("size", "start", "length"))
        return self.sums(np.clip(sizes - start, 0, length).astype(np.float64))

    def sums(self, each: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """For each task the sum of what its pieces have."""
        return np.add.reduceat(each, self.begins) if len(self) else np.zeros(0)

    def tasks(self) -> list[ReadTask]:
        """An object for each."""
        return [
            ReadTask(self.pieces.slice(begin, end - begin)) for begin, end in zip(self.begins, self.ends, strict=True)
        ]


def pack(
    files: pa.Table, parallelism: int, target: int = TARGET_BYTES, besides: Collection[str] = ()
) -> list[ReadTask]:
    """The tasks of `packed`, an object for each."""
    return packed(files, parallelism, target, besides).tasks()


def packed(files: pa.Table, parallelism: int, target: int = TARGET_BYTES, besides: Collection[str] = ()) -> PackedTasks:
    """Tasks of at most about `target` bytes, smaller ones where that keeps `parallelism` workers busy.

    `besides` names further columns of `files` that the reader wants to know.
    """
    if not files.num_rows:
        return PackedTasks(_pieces(files, besides, *np.zeros((3, 0), np.int64)), np.zeros(0, np.int64))
    files = _by_work(files)
    sizes = files["size"].to_numpy()
    total = total_bytes(sizes) + OPEN_BYTES * len(sizes)
    # As many tasks as fill whole rounds of the workers: three tasks for two workers take as long as four smaller ones.
    rounds = -(-total // (target * max(1, parallelism)))
    target = max(OPEN_BYTES, min(target, -(-total // (rounds * max(1, parallelism)))))
    # Where a file would be cut into too many pieces, they are longer.
    longest = np.maximum(target, -(-sizes // _MOST_PIECES))
    counts = np.maximum(1, -(-sizes // longest))
    if "merged_with" in files.column_names:
        # What is merged is read whole.
        counts = np.where(files["merged_with"].is_valid().to_numpy(), 1, counts)
    owner = np.repeat(np.arange(len(sizes)), counts)
    part = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    start = part * longest[owner]
    # The last piece is open-ended: the log's size of a file is only what its writer said.
    length = np.where(part == counts[owner] - 1, np.iinfo(np.int64).max // 2, longest[owner])
    weight = (np.minimum(longest[owner], np.maximum(0, sizes[owner] - start)) + OPEN_BYTES).astype(np.float64)
    # A piece goes where its middle falls when all of them stand in a row that is cut into equal lengths.
    tasks = max(rounds * max(1, parallelism), -(-int(weight.sum()) // (target + OPEN_BYTES)))
    task = ((np.cumsum(weight) - weight / 2) * (tasks / weight.sum())).astype(np.int64)
    return PackedTasks(
        _pieces(files, besides, owner, start, length), np.flatnonzero(np.diff(task, prepend=-1)).astype(np.int64)
    )


def _pieces(
    files: pa.Table,
    besides: Collection[str],
    owner: npt.NDArray[np.int64],
    start: npt.NDArray[np.int64],
    length: npt.NDArray[np.int64],
) -> pa.Table:
    needed = [name for name in _EVERY_TASK_NEEDS if name in files.column_names]
    return (
        files.select([*needed, *sorted(set(besides) - set(needed))])
        .take(pa.array(owner))
        .append_column("start", pa.array(start))
        .append_column("length", pa.array(length))
        .combine_chunks()
    )


def total_bytes(sizes: npt.NDArray[np.int64]) -> int:
    """The sum of sizes, which may be more than a column can hold: they are only what the log says."""
    rough = float(sizes.sum(dtype=np.float64))
    return int(sizes.sum()) if abs(rough) < 2.0**62 else sum(sizes.tolist())


def piece_bytes(pieces: pa.Table) -> int:
    """How many bytes of files the pieces are."""
    sizes, start, length = (pieces[name].to_numpy() for name in ("size", "start", "length"))
    return total_bytes(np.clip(sizes - start, 0, length))


def _by_work(files: pa.Table) -> pa.Table:
    """Files that are wanted as they are before those with log files, so that few tasks have both kinds: a task of the
    first kind alone can do without a worker."""
    if "merged_with" not in files.column_names:
        return files
    merged = files["merged_with"].is_valid().to_numpy()
    return files.take(np.argsort(merged, kind="stable")) if np.any(merged) and not np.all(merged) else files
