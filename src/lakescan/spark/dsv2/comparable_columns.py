"""Columns of Spark's schema (as JSON) whose values compare by their bits and bytes, as Arrow compares them.

A string with a collation does not: what is equal and what comes first is the collation's business. Nor does a
column with a CHAR in it, whose values Spark pads when it reads them. An interval is a number only to its files.
"""

import re
from typing import Any

_COLLATIONS = "__COLLATIONS"
_CHAR = re.compile(r"\bchar\(")
_PADDED = "__CHAR_VARCHAR_TYPE_STRING"


def plain_field(schema: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any] | None:
    """The field at a path of names, None where there is none or where its values compare in a way of their own."""
    fields: list[dict[str, Any]] = schema["fields"]
    reached: dict[str, Any] | None = None
    for name in path:
        reached = next((field for field in fields if field["name"] == name), None)
        if reached is None or not _compares_plainly(reached):
            return None
        inside = reached["type"]
        fields = inside["fields"] if isinstance(inside, dict) and inside["type"] == "struct" else []
    return reached


def _compares_plainly(field: dict[str, Any]) -> bool:
    metadata = field.get("metadata") or {}
    kind = str(metadata.get(_PADDED, field["type"])).lower()
    special = "collate" in kind or kind.startswith("interval") or _CHAR.search(kind) is not None
    return _COLLATIONS not in metadata and not special
