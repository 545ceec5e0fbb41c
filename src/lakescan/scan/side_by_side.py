"""Tasks read by several threads at once: their batches come in the order of the tasks, and only so many bytes wait.

Whoever takes the batches sets the pace. A task may expand to far more than its files have bytes, so what waits is
counted in bytes of Arrow: a thread that is ahead stops until the batches before its own are taken.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Generic, TypeVar

import pyarrow as pa

Task = TypeVar("Task")


@dataclass
class _Result:
    """What has been read of one task and not yet been taken."""

    batches: deque[pa.RecordBatch] = field(default_factory=deque)
    bytes: int = 0
    ended: bool = False
    error: BaseException | None = None

    def is_known(self) -> bool:
        return self.ended or bool(self.batches)


def side_by_side(
    tasks: Sequence[Task], read: Callable[[Task], Iterator[pa.RecordBatch]], threads: int, most_bytes: int
) -> Iterator[pa.RecordBatch]:
    """The batches of every task, in order; at most about `most_bytes` of them are held at a time."""
    shared = _Shared(tasks, read, most_bytes)
    started = [Thread(target=shared.work, name=f"lakescan-read-{at}", daemon=True) for at in range(threads)]
    for thread in started:
        thread.start()
    try:
        yield from shared.taken()
    finally:
        shared.stop()
        for thread in started:
            thread.join()


class _Shared(Generic[Task]):
    def __init__(
        self, tasks: Sequence[Task], read: Callable[[Task], Iterator[pa.RecordBatch]], most_bytes: int
    ) -> None:
        self._tasks, self._read, self._most_bytes = tasks, read, most_bytes
        self._changed = Condition()
        self._results = [_Result() for _ in tasks]
        self._next = 0
        self._head = 0
        self._waiting = 0
        self._stopped = False

    def taken(self) -> Iterator[pa.RecordBatch]:
        for at, result in enumerate(self._results):
            while True:
                with self._changed:
                    self._head = at
                    self._changed.notify_all()
                    self._changed.wait_for(result.is_known)
                    if not result.batches:
                        break
                    batch = result.batches.popleft()
                    result.bytes -= batch.nbytes
                    self._waiting -= batch.nbytes
                yield batch
            if result.error is not None:
                raise result.error

    def work(self) -> None:
        while True:
            with self._changed:
                at = self._next
                self._next += 1
                if self._stopped or at >= len(self._tasks):
                    return
            result = self._results[at]
            try:
                for batch in self._read(self._tasks[at]):
                    if not self._put(at, batch):
                        break
            except BaseException as error:
                result.error = error
            with self._changed:
                result.ended = True
                self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _put(self, at: int, batch: pa.RecordBatch) -> bool:
        """Whether the batch was still wanted."""
        result = self._results[at]
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._has_room(at))
            result.batches.append(batch)
            result.bytes += batch.nbytes
            self._waiting += batch.nbytes
            self._changed.notify_all()
            return not self._stopped

    def _has_room(self, at: int) -> bool:
        # The task whose turn it is goes on whatever the others hold, or nobody would.
        held = self._results[at].bytes if at == self._head else self._waiting
        return held < self._most_bytes
