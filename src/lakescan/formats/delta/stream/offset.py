"""Where a stream is: the next file to give, as a version and a position in it, and where the stream began.

An offset is JSON with a format version. It names the table by its id, so that a replaced table is noticed. It
carries the stream's origin, so that a first batch that is run again after a failure begins where it began
before, even if the table has grown since. What a batch held travels beside it, for the stream's progress only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lakescan.stream.offset import not_begun, parsed


@dataclass(frozen=True)
class Position:
    """The next file to give: of a commit or, while the initial snapshot is read, of the snapshot at that version."""

    version: int
    index: int = 0
    snapshot: bool = False

    @property
    def last_version(self) -> int:
        """The newest version of which something has been given."""
        return self.version if self.index or self.snapshot else self.version - 1

    def after_version(self) -> "Position":
        return Position(self.version + 1)


@dataclass(frozen=True)
class StreamOffset:
    """A stream that has begun."""

    table_id: str
    origin: Position | None
    """Where it began; None where it began before this was known and is past that."""
    position: Position
    notes: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def at(self, position: Position, notes: Mapping[str, Any]) -> "StreamOffset":
        return replace(self, position=position, notes=notes)

    def to_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            **not_begun(),
            "tableId": self.table_id,
            "version": self.position.version,
            "index": self.position.index,
            "initialSnapshot": self.position.snapshot,
        }
        if self.origin is not None:
            fields |= {"originVersion": self.origin.version, "originSnapshot": self.origin.snapshot}
        return {**fields, "batch": dict(self.notes)} if self.notes else fields


def parse_offset(fields: Mapping[str, Any]) -> StreamOffset | None:
    """The offset, None for a stream that has not begun."""
    return parsed(fields, _offset)


def _offset(fields: Mapping[str, Any]) -> StreamOffset:
    position = Position(int(fields["version"]), int(fields["index"]), bool(fields["initialSnapshot"]))
    if position.version < 0 or position.index < 0:
        raise ValueError("a version or a position in it is negative")
    origin = (
        Position(int(fields["originVersion"]), 0, bool(fields["originSnapshot"])) if "originVersion" in fields else None
    )
    return StreamOffset(str(fields["tableId"]), origin, position, fields.get("batch", {}))
