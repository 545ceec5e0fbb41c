"""What a column's earlier types mean for what was written about it then.

Delta keeps old files as they are when a column's type is widened, and notes the change on the field. Values, partition
values and statistics of the old type are all values of the new one, with one exception: the bounds of a float are
written as the shortest text that names that float, and as a double the same text is another number.
"""

from collections.abc import Iterator, Mapping
from typing import Any

_CHANGES = "delta.typeChanges"


def once_float(schema: Mapping[str, Any]) -> frozenset[tuple[str, ...]]:
    """The doubles of a JSON schema that were floats, by their path through structs."""
    return frozenset(_once_float(schema, ()))


def _once_float(struct: Mapping[str, Any], parent: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for field in struct["fields"]:
        path = (*parent, field["name"])
        if isinstance(field["type"], Mapping) and field["type"].get("type") == "struct":
            yield from _once_float(field["type"], path)
        changes = (field.get("metadata") or {}).get(_CHANGES) or ()
        if any(change.get("fromType") == "float" and not change.get("fieldPath") for change in changes):
            yield path
