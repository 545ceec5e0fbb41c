"""A scan's tasks as Spark takes them, and what it is told of how rows are spread over them.

`ArrowReaderFactory.java` takes a task apart again: how many bytes a worker would read, what Spark's own reader is told
of its files (nothing where it cannot read them), and the task as a worker takes it.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql.types import StructType

from lakescan.spark.bridge.java_classes import executor_class
from lakescan.spark.bridge.jvm import READ, Bridge
from lakescan.spark.bridge.proxy import JavaObject

_MESSAGE_BYTES = 8 << 20

Task: TypeAlias = tuple[bytes, bytes, int]
"""Pickled for a worker; for Spark's own reader, empty where it cannot; the bytes that a worker reads."""


def input_partitions(bridge: Bridge, tasks: Iterable[Task]) -> JavaObject:
    """The tasks, in their order."""
    made = bridge.java_class("java.util.ArrayList")()
    kinds = [made.getClass(), bridge.java_class("java.lang.Class").forName("[B")]
    unpack = executor_class(bridge, "ArrowReaderFactory").getMethod("unpack", bridge.array("java.lang.Class", kinds))
    # A trip to the JVM for each task would take longer than all else of planning.
    return [unpack.invoke(None, bridge.array("java.lang.Object", [made, packed])) for packed in _packed(tasks)][-1]


def _packed(tasks: Iterable[Task]) -> Iterator[bytearray]:
    """The tasks one after the other, each with its length before it, in parts that fit a message; at least one."""
    packed = bytearray()
    for task in starmap(task_bytes, tasks):
        packed += struct.pack(">i", len(task)) + task
        if len(packed) > _MESSAGE_BYTES:
            yield packed
            packed = bytearray()
    yield packed


def keyed_partitions(
    bridge: Bridge, tasks: Iterable[Task], keys: pa.Table, schema: StructType, key_of_task: Sequence[int]
) -> JavaObject:
    """The tasks, each with the row of `keys` that its rows have in the columns of `schema`."""
    methods = executor_class(bridge, "KeyedPartition").getMethods()
    (of,) = [method for method in methods if method.getName() == "of"]
    rows = bridge.internal_rows(keys, schema)
    key_numbers = bytearray(struct.pack(f">{len(key_of_task)}i", *key_of_task))
    arguments = [input_partitions(bridge, tasks), key_numbers, rows]
    return of.invoke(None, bridge.array("java.lang.Object", arguments))


def partitioning(bridge: Bridge, names: Sequence[str], keys: int) -> JavaObject:
    """That each task has one of so many values of these columns; nothing where there are none."""
    kind = READ + "partitioning."
    if not names:
        return bridge.java_class(kind + "UnknownPartitioning")(0)
    return bridge.java_class(kind + "KeyGroupedPartitioning")(bridge.identities(names, "Expression"), keys)


def joins_by_partitioning(bridge: Bridge) -> bool:
    """Whether Spark would make use of a scan's partitioning."""
    return bridge.spark.conf.get("spark.sql.sources.v2.bucketing.enabled") == "true"


def task_bytes(pickled: bytes, plain: bytes, size: int) -> bytes:
    """A task as it travels."""
    return struct.pack(">qi", size, len(plain)) + plain + pickled
