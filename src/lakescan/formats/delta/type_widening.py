"""Which types a column may be widened to, and what its earlier types mean for what was written about it then.

Delta keeps old files as they are when a column's type is widened, and notes the change on the field. Values, partition
values and statistics of the old type are all values of the new one, with one exception: the bounds of a float are
written as the shortest text that names that float, and as a double the same text is another number.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from lakescan.types import widening

_CHANGES = "delta.typeChanges"
# The protocol's: a decimal has ten digits before the point for an integer of any size, and twenty for a long.
_INTEGER_DIGITS = {8: 10, 16: 10, 32: 10, 64: 20}


def widens(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether every value of the old type is one of the new type, which is another, by Delta's rules."""
    return widening.widens(old, new, _INTEGER_DIGITS)


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
