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
    text = json.dumps(dict(fields))
    if fields.get(_KEY) != FORMAT:
        raise InvalidOffset(text, f"its format is not {FORMAT}, the one that this release of Lakescan reads")
    if dict(fields) == not_begun():
        return None
    try:
        return read(fields)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidOffset(text, f"it is malformed ({error!r})") from error
