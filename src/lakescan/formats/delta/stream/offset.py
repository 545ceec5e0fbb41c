"""Where a stream is: the next file to give, as a version and a position in it, and where the stream began.

An offset is written as Delta Spark writes its own, so either engine goes on from the other's checkpoint. It names the
table by its id, so that a replaced table is noticed. Spark compares offsets by their text, so one behind a version,
where there may be nothing more to read, is Delta's letter by letter: else Delta would find a new batch in it. One
inside of a version, or before anything was given, also says that it is Lakescan's and where the stream began, in fields
that Delta passes over.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lakescan.stream.offset import is_own, not_begun, parsed, well_formed

# Delta's name for the form of an offset, and the forms that there are; the second was never used.
_FORM = "sourceVersion"
_FIRST, _THIRD = 1, 3
# Delta's index before all files of a version, by the form.
_BEFORE_FILES = {_FIRST: -1, _THIRD: -100}
# Before all files as well, at a change of the schema: when it is met, and when it has been written down.
_AT_A_CHANGE = (-20, -19)
# Behind all files: Delta never writes it.
_BEHIND_FILES = (1 << 63) - 1 - 100


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

    def is_behind(self, other: "Position") -> bool:
        return (self.version, self.index) > (other.version, other.index)


@dataclass(frozen=True)
class StreamOffset:
    """A stream that has begun."""

    table_id: str
    origin: Position | None
    """Where it began; None where the offset does not say it."""
    position: Position
    by_delta: bool = False
    """Whether Delta Spark may have written it."""

    def at(self, position: Position) -> "StreamOffset":
        return replace(self, position=position, by_delta=False)

    def to_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            _FORM: _FIRST,
            "reservoirId": self.table_id,
            "reservoirVersion": self.position.version,
            # Delta names the last file that was given, or none with the index that its oldest form has for this.
            "index": self.position.index - 1,
            "isStartingVersion": self.position.snapshot,
        }
        if not self.position.index and self.origin != self.position:
            return fields
        fields |= not_begun()
        if self.origin is not None:
            fields |= {"originVersion": self.origin.version, "originSnapshot": self.origin.snapshot}
        return fields


def parse_offset(fields: Mapping[str, Any]) -> StreamOffset | None:
    """The offset, None for a stream that has not begun."""
    return well_formed(fields, _delta_offset) if _FORM in fields else parsed(fields, _offset_before_deltas)


def _delta_offset(fields: Mapping[str, Any]) -> StreamOffset:
    form, index = _integer(fields, _FORM), _integer(fields, "index")
    if form not in _BEFORE_FILES:
        raise ValueError(f"{_FORM} is {form}, and not one of {', '.join(map(str, _BEFORE_FILES))}")
    if not isinstance(fields["isStartingVersion"], bool):
        raise TypeError("isStartingVersion is neither true nor false")
    if index in (_BEFORE_FILES[form], _BEFORE_FILES[_THIRD], *_AT_A_CHANGE):
        given = 0
    elif 0 <= index < _BEHIND_FILES:
        given = index + 1
    else:
        raise ValueError(f"the index {index} is of no file")
    position = Position(_integer(fields, "reservoirVersion"), given, fields["isStartingVersion"])
    return _offset(str(fields["reservoirId"]), position, fields)


def _offset_before_deltas(fields: Mapping[str, Any]) -> StreamOffset:
    """An offset that a release of Lakescan wrote which had a form of its own."""
    position = Position(int(fields["version"]), int(fields["index"]), bool(fields["initialSnapshot"]))
    return _offset(str(fields["tableId"]), position, fields)


def _offset(table_id: str, position: Position, fields: Mapping[str, Any]) -> StreamOffset:
    if position.version < 0 or position.index < 0:
        raise ValueError("a version or a position in it is negative")
    origin = (
        Position(int(fields["originVersion"]), 0, bool(fields["originSnapshot"])) if "originVersion" in fields else None
    )
    return StreamOffset(table_id, origin, position, not is_own(fields))


def _integer(fields: Mapping[str, Any], name: str) -> int:
    value = fields[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is no whole number")
    return value
