"""A scan's tasks as Spark takes them, and what it is told of how rows are spread over them.

Tasks travel in blocks of a few: `TaskInBlock.java` is one of them, and carries the block with it. A block says which
pieces of files each of its tasks has, and describes them twice: for a worker, and for Spark's own reader.
"""

import struct
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import StructType

from lakescan.spark.bridge.jvm import EXPRESSIONS, READ, Bridge
from lakescan.spark.bridge.proxy import JavaObject
from lakescan.spark.bridge.trips import scan_parts

_MESSAGE_BYTES = 1 << 20
TASK = np.dtype([("bytes", ">i8"), ("first", ">i4"), ("pieces", ">i4"), ("plain", "i1")])
"""About how many bytes a worker reads; the first of its pieces among those of the block, and how many it has; whether
Spark's own reader can read any of them."""
_EVERY_PIECE = 2**31 - 1


@dataclass(frozen=True)
class TaskBlock:
    """Some tasks, and what is known of their pieces."""

    tasks: npt.NDArray[np.void]
    """A `TASK` each."""
    worker: bytes
    """The pieces, pickled for a worker."""
    plain: bytes
    """The pieces as an Arrow stream for Spark's own reader; empty where it can read none."""

    def to_bytes(self) -> bytes:
        """As `TaskInBlock.java` reads it."""
        lengths = struct.pack(">ii", len(self.tasks), len(self.plain))
        return b"".join([lengths, self.tasks.tobytes(), self.plain, self.worker])


def block_of_one(worker: bytes, plain: bytes, size: int) -> TaskBlock:
    """A task that has all pieces of its block."""
    return TaskBlock(np.array([(size, 0, _EVERY_PIECE, bool(plain))], TASK), worker, plain)


def input_partitions(bridge: Bridge, blocks: Iterable[TaskBlock]) -> JavaObject:
    """The tasks, in their order."""
    lengths_and_blocks = (part for block in blocks for part in _with_length(block.to_bytes()))
    message = bytearray()
    for part in lengths_and_blocks:
        message += part
        if len(message) > _MESSAGE_BYTES:
            break
    else:
        return scan_parts(bridge).tasks(message)
    # Py4J sends bytes as text, which takes some ten times as long as a file. The JVM is on this machine.
    context: Any = bridge.spark.sparkContext
    with tempfile.TemporaryDirectory(dir=context._temp_dir) as folder:
        path = Path(folder) / "tasks"
        with path.open("wb") as file:
            file.write(message)
            file.writelines(lengths_and_blocks)
        return scan_parts(bridge).tasksInFile(str(path))


def _with_length(block: bytes) -> tuple[bytes, bytes]:
    return struct.pack(">i", len(block)), block


def keyed_partitions(
    bridge: Bridge, blocks: Iterable[TaskBlock], keys: pa.Table, schema: StructType, key_of_task: Sequence[int]
) -> JavaObject:
    """The tasks, each with the row of `keys` that its rows have in the columns of `schema`."""
    rows = bridge.internal_rows(keys, schema)
    key_numbers = bytearray(np.array(key_of_task, ">i4").tobytes())
    return scan_parts(bridge).keyed(input_partitions(bridge, blocks), key_numbers, rows)


def partitioning(bridge: Bridge, names: Sequence[str], keys: int) -> JavaObject:
    """That each task has one of so many values of these columns; nothing where there are none."""
    kind = READ + "partitioning."
    if not names:
        return bridge.java_class(kind + "UnknownPartitioning")(0)
    return bridge.java_class(kind + "KeyGroupedPartitioning")(bridge.identities(names, "Expression"), keys)


def ordering(bridge: Bridge, names: Sequence[str]) -> JavaObject:
    """That the rows of each task are in the order of these columns, the smallest first."""
    kind = bridge.java_class(EXPRESSIONS + "Expressions")
    ascending = bridge.java_class(EXPRESSIONS + "SortDirection").ASCENDING
    column = bridge.java_class(EXPRESSIONS + "FieldReference").column
    return bridge.array(EXPRESSIONS + "SortOrder", [kind.sort(column(name), ascending) for name in names])


def joins_by_partitioning(bridge: Bridge) -> bool:
    """Whether Spark would make use of a scan's partitioning."""
    return bridge.spark.conf.get("spark.sql.sources.v2.bucketing.enabled") == "true"
