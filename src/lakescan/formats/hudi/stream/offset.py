"""Where a stream of a Hudi table is: an instant of the timeline, and where the stream began.

An offset is JSON with a format version. It carries the stream's origin, so that a first batch that is run again after
a failure begins where it began before, even if the table has grown since. What a batch held travels beside it, for the
stream's progress only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lakescan.stream.offset import not_begun, parsed


@dataclass(frozen=True)
class Position:
    """What has been given: while the initial snapshot is read, so many of its slices; then every commit up to one."""

    instant: str
    slices: int | None = None
    """None where the snapshot has been read, or was not asked for."""
    before: bool = False
    """Whether the commit of the instant itself is still to be given."""


@dataclass(frozen=True)
class StreamOffset:
    """A stream that has begun."""

    origin: Position | None
    """Where it began; None where it began before this was known and is past that."""
    position: Position
    notes: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def at(self, position: Position, notes: Mapping[str, Any]) -> "StreamOffset":
        return replace(self, position=position, notes=notes)

    def to_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {**not_begun(), **_json(self.position)}
        if self.origin is not None:
            fields["origin"] = _json(self.origin)
        return {**fields, "batch": dict(self.notes)} if self.notes else fields


def parse_offset(fields: Mapping[str, Any]) -> StreamOffset | None:
    """The offset, None for a stream that has not begun."""
    return parsed(fields, _offset)


def _offset(fields: Mapping[str, Any]) -> StreamOffset:
    origin = _position(fields["origin"]) if "origin" in fields else None
    return StreamOffset(origin, _position(fields), fields.get("batch", {}))


def _json(position: Position) -> dict[str, Any]:
    return {"instant": position.instant, "slices": position.slices, "before": position.before}


def _position(fields: Mapping[str, Any]) -> Position:
    slices = fields["slices"]
    if not str(fields["instant"]).isdigit() or (slices is not None and int(slices) < 0):
        raise ValueError("an instant is digits, and slices are counted from zero")
    return Position(str(fields["instant"]), None if slices is None else int(slices), bool(fields["before"]))
