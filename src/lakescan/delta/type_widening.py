"""Which types a column may be widened to, and what its earlier types mean for what was written about it then.

Delta keeps old files as they are when a column's type is widened, and notes the change on the field. Values, partition
values and statistics of the old type are all values of the new one, with one exception: the bounds of a float are
written as the shortest text that names that float, and as a double the same text is another number.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

_CHANGES = "delta.typeChanges"
_INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]


def widens(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether every value of the old type is one of the new type, which is another, by Delta's rules."""
    if old.equals(new):
        return False
    if old in _INTEGERS:
        if new in _INTEGERS:
            return _INTEGERS.index(old) < _INTEGERS.index(new)
        if pa.types.is_decimal(new):
            return bool(new.precision - new.scale >= (20 if old == pa.int64() else 10))
        return bool(new == pa.float64() and old != pa.int64())
    if pa.types.is_decimal(old) and pa.types.is_decimal(new):
        whole = new.precision - new.scale >= old.precision - old.scale
        return bool(whole and new.scale >= old.scale)
    return bool((old == pa.float32() and new == pa.float64()) or (old == pa.date32() and new == pa.timestamp("us")))


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
