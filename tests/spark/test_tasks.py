"""Tasks cross to the JVM in blocks, many in one message or in a file."""

import numpy as np
import pytest
from pyspark.sql import SparkSession

from lakescan.spark.bridge import Bridge, JavaObject
from lakescan.spark.bridge import tasks as bridge_tasks
from lakescan.spark.bridge.java_classes import executor_class
from lakescan.spark.bridge.tasks import TASK, TaskBlock, block_of_one, input_partitions

pytestmark = pytest.mark.spark
BLOCKS = [
    TaskBlock(np.array([(at, 0, 2, 0), (7 << 40, 2, 1 + at, 1), (3, 3 + at, 1, 1)], TASK), b"worker %d" % at, b"p" * at)
    for at in range(5)
]


def told(bridge: Bridge, partitions: JavaObject) -> list[tuple[int, int, int, bytes | None, bytes]]:
    """What the JVM reads in each task."""
    kinds = executor_class(bridge, "TaskInBlock").getClasses()
    (constructor,) = next(kind for kind in kinds if kind.getSimpleName() == "Told").getConstructors()
    found = []
    for number, partition in enumerate(partitions):
        assert partition.index() == number
        task = constructor.newInstance(bridge.array("java.lang.Object", [partition]))
        fields = {field.getName(): field.get(task) for field in task.getClass().getFields()}
        plain = None if fields["plain"] is None else bytes(fields["plain"])
        found.append((fields["bytes"], fields["first"], fields["pieces"], plain, bytes(fields["worker"])))
    return found


def expected(blocks: list[TaskBlock]) -> list[tuple[int, int, int, bytes | None, bytes]]:
    return [
        (int(size), int(first), int(pieces), block.plain if plain else None, block.worker)
        for block in blocks
        for size, first, pieces, plain in block.tasks
    ]


@pytest.mark.parametrize("in_one_message", [10**6, 100, 0])
def test_tasks_reach_the_jvm_in_their_order_by_message_and_by_file(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, in_one_message: int
) -> None:
    monkeypatch.setattr(bridge_tasks, "_MESSAGE_BYTES", in_one_message)
    bridge = Bridge(spark)
    assert told(bridge, input_partitions(bridge, BLOCKS)) == expected(BLOCKS)


def test_no_task_is_no_partition(spark: SparkSession) -> None:
    assert len(input_partitions(Bridge(spark), [])) == 0


def test_a_task_alone_has_all_pieces_of_its_block(spark: SparkSession) -> None:
    bridge, blocks = Bridge(spark), [block_of_one(b"worker", b"plain", 5), block_of_one(b"another", b"", 0)]
    made = told(bridge, input_partitions(bridge, blocks))
    assert made == [(5, 0, 2**31 - 1, b"plain", b"worker"), (0, 0, 2**31 - 1, None, b"another")]
