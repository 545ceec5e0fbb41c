"""A small engine for streams, without Spark: it asks in the order in which Spark asks, and forgets what Spark forgets.

Each restart makes everything anew from the options and the last offset, as text, as a new process would.
"""

import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lakescan.formats.delta.stream.pinned_stream import PinnedDeltaStream
from lakescan.formats.delta.table import DeltaTable
from lakescan.formats.registry import open_table, pin_stream
from lakescan.io.storage import Storage
from lakescan.reader.read import read_task
from lakescan.stream.stream import Limits, PinnedStream, Stream, StreamTask


def pin(path: str, **options: object) -> PinnedDeltaStream:
    return PinnedDeltaStream.of(DeltaTable(Storage.at(path)), _texts(options))


def _texts(options: Mapping[str, object]) -> dict[str, str]:
    return {key: str(value) if not isinstance(value, bool) else str(value).lower() for key, value in options.items()}


def read(tasks: list[StreamTask], schema: pa.Schema) -> list[dict[str, Any]]:
    """What executors make of the tasks, which they get as bytes."""
    sent = pickle.loads(pickle.dumps(tasks))
    batches = [batch for sent_task in sent for batch in read_task(sent_task.plan, sent_task.task)]
    rows: list[dict[str, Any]] = pa.Table.from_batches(batches, schema).to_pylist()
    return rows


@dataclass
class Engine:
    """A query and its checkpoint."""

    path: str
    options: Mapping[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    """What the sink has, of finished batches."""
    offsets: list[str] = field(default_factory=list)
    """The checkpoint: the end of each batch, and whether the last one is finished."""
    finished: int = 0
    notes: list[dict[str, Any]] = field(default_factory=list)
    """What the stream's progress says of each batch."""

    def __post_init__(self) -> None:
        self._stream: Stream | None = None
        self._pinned: PinnedStream | None = None

    def restart(self) -> None:
        self._stream = None

    @property
    def stream(self) -> Stream:
        if self._stream is None:
            self._pinned = pickle.loads(pickle.dumps(pin_stream(open_table(self.path), _texts(self.options))))
            assert self._pinned
            self._stream = self._pinned.open(self._pinned.schema)
        return self._stream

    @property
    def pinned(self) -> PinnedStream:
        assert self.stream
        assert self._pinned
        return self._pinned

    def batch(self, crash: bool = False, limits: Limits | None = None) -> int:
        """One batch; with a crash, its offset is written and its rows are lost. The number of rows given."""
        start = self._start()
        if not self.decide(limits):
            return 0
        end = self.offsets[-1]
        tasks = self.stream.plan(json.loads(start), json.loads(end), 2)
        rows = read(tasks, self.pinned.schema)
        if crash:
            self.restart()
            return 0
        self.rows.extend(rows)
        self.finished += 1
        self.stream.commit(json.loads(end))
        return len(rows)

    def decide(self, limits: Limits | None = None) -> bool:
        """Write the end of the next batch to the checkpoint; False where there is nothing to read."""
        start = self._start()
        if len(self.offsets) == self.finished:
            end = json.dumps(dict(self.stream.next_offset(json.loads(start), limits or self.pinned.limits)))
            if end == start:
                return False
            self.offsets.append(end)
            self.notes.append(self.stream.newest_offset().get("batch", {}))
        return True

    def drain(self) -> None:
        """Batches until there is nothing more."""
        while True:
            before = self.finished
            self.batch()
            if self.finished == before:
                return

    def _start(self) -> str:
        if self.finished:
            return self.offsets[self.finished - 1]
        return json.dumps(dict(self.stream.initial_offset()))
