"""A scan's tasks as Spark takes them.

`ArrowReaderFactory.java` takes a task apart again: how many bytes a worker would read, what Spark's own reader is told
of its files (nothing where it cannot read them), and the task as a worker takes it.
"""

import struct
from collections.abc import Iterable
from itertools import starmap
from typing import TypeAlias

from lakescan.spark.bridge.jvm import PYTHON, READ, Bridge
from lakescan.spark.bridge.proxy import JavaObject

Task: TypeAlias = tuple[bytes, bytes, int]
"""Pickled for a worker; for Spark's own reader, empty where it cannot; the bytes that a worker reads."""


def input_partitions(bridge: Bridge, tasks: Iterable[Task]) -> JavaObject:
    """The tasks, in their order."""
    partition = bridge.java_class(PYTHON + "PythonInputPartition")
    made = [partition(at, bytearray(task)) for at, task in enumerate(starmap(task_bytes, tasks))]
    return bridge.array(READ + "InputPartition", made)


def task_bytes(pickled: bytes, plain: bytes, size: int) -> bytes:
    """A task as it travels."""
    return struct.pack(">qi", size, len(plain)) + plain + pickled
