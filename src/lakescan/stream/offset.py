"""What the offsets of all formats have in common: JSON with a format version, and nothing else before the first batch.

An offset that another release wrote, or that somebody edited, is refused by name and never taken for a beginning.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from lakescan.errors import InvalidOffset

FORMAT = 1
_KEY = "lakescanOffset"
_Offset = TypeVar("_Offset")


def not_begun() -> dict[str, Any]:
    """The offset of a stream before its first batch: where it starts is decided when that batch is."""
    return {_KEY: FORMAT}


def parsed(fields: Mapping[str, Any], read: Callable[[Mapping[str, Any]], _Offset]) -> _Offset | None:
    """What `read` makes of the offset, None for a stream that has not begun."""
    if fields.get(_KEY) != FORMAT:
        text = json.dumps(dict(fields))
        raise InvalidOffset(text, f"its format is not {FORMAT}, the one that this release of Lakescan reads")
    return None if dict(fields) == not_begun() else well_formed(fields, read)


def well_formed(fields: Mapping[str, Any], read: Callable[[Mapping[str, Any]], _Offset]) -> _Offset:
    """What `read` makes of the offset; an error that shows it where `read` can make nothing of it."""
    try:
        return read(fields)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidOffset(json.dumps(dict(fields)), f"it is malformed ({error!r})") from error


def is_own(fields: Mapping[str, Any]) -> bool:
    """Whether Lakescan wrote the offset, in whatever form."""
    return _KEY in fields
