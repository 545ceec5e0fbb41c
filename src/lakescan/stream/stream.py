"""What a table format gives an engine that reads it as a stream: a schema fixed at first sight, offsets and tasks.

An offset is a JSON object that only the format understands. The engine keeps it and gives it back, perhaps in
another process; the batch between two offsets is always the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from lakescan.reader.read_plan import ReadPlan, ReadTask, ReadyRows

Offset = Mapping[str, Any]


@dataclass(frozen=True)
class Limits:
    """How much one batch may hold; at least one file whatever the limits are."""

    files: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class StreamTask:
    """One piece of a batch, for an executor."""

    plan: ReadPlan
    task: ReadTask | ReadyRows


class Stream(Protocol):
    """A stream that runs: it is asked for offsets and tasks in the order in which an engine does."""

    def at_checkpoint(self, source: str) -> None:
        """In which folder of its checkpoint an engine that has one keeps what is this source's own."""

    def initial_offset(self) -> Offset: ...

    def fix_end(self) -> None:
        """Whatever is committed from now on is not read."""

    def newest_offset(self) -> Offset:
        """What a stream that has read everything would have reached; shown in its progress and never gone on from."""

    def next_offset(self, start: Offset, limits: Limits) -> Offset:
        """The end of the batch that begins at `start`: `start` itself where there is nothing to read."""

    def end_offset(self) -> Offset:
        """The end of everything there is, for an engine that does not say where its batch begins."""

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[StreamTask]:
        """The tasks of a batch."""

    def commit(self, end: Offset) -> None:
        """The batch is done; nothing before its end is asked for again."""


class PinnedStream(Protocol):
    """A stream as a query was given it, with the schema it had then. Picklable."""

    @property
    def schema_json(self) -> str:
        """The rows' schema as JSON (see `types/schema.py`)."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def needs_admission_control(self) -> str | None:
        """A given option that needs an engine which says how much it wants to read; None where there is none."""

    def open(self, output: pa.Schema) -> Stream:
        """The stream, with these columns of its schema."""
