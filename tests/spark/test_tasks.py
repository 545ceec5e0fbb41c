"""Tasks cross to the JVM packed, many in one message."""

import struct

import pytest

from lakescan.spark.bridge import tasks as bridge_tasks


def unpacked(packed: bytearray) -> list[bytes]:
    """As `ArrowReaderFactory.unpack` does."""
    found, at = [], 0
    while at < len(packed):
        (length,) = struct.unpack_from(">i", packed, at)
        found.append(bytes(packed[at + 4 : at + 4 + length]))
        at += 4 + length
    return found


def test_tasks_are_packed_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_tasks, "_MESSAGE_BYTES", 100)
    tasks = [(b"p" * at, b"plain" * (at % 2), at) for at in range(40)]
    messages = list(bridge_tasks._packed(tasks))
    assert 1 < len(messages) < len(tasks)
    assert [task for packed in messages for task in unpacked(packed)] == [
        bridge_tasks.task_bytes(*task) for task in tasks
    ]


def test_no_task_is_an_empty_message() -> None:
    assert list(bridge_tasks._packed([])) == [bytearray()]


def test_a_hundred_thousand_tasks_are_few_messages() -> None:
    assert len(list(bridge_tasks._packed((b"p" * 500, b"", 1) for _ in range(100_000)))) < 10
