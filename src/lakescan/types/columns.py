"""Struct columns by exact name: Arrow's own lookups read a leading dot or bracket in a name as a path."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def member(struct: pa.Array | pa.ChunkedArray, *path: str) -> Any:
    """The child (an array) at a path of names, null where any parent is null; None where there is no such child."""
    for name in path:
        at = struct.type.get_field_index(name) if pa.types.is_struct(struct.type) else -1
        if at < 0:
            return None
        # Arrow's function costs as much as the struct is wide; a struct without nulls has its members as they are.
        is_plain = isinstance(struct, pa.StructArray) and not struct.null_count
        struct = struct.field(at) if is_plain else pc.struct_field(struct, [at])
    return struct


def empty_structs(count: int) -> pa.StructArray:
    """Rows of a struct without fields; no other constructor keeps their number."""
    return pa.Array.from_buffers(pa.struct([]), count, [None])


def nested(type_: pa.DataType, leaves: Mapping[tuple[str, ...], pa.Array], count: int) -> pa.Array:
    """Rows of a struct from its leaves by path; null where a leaf is not given."""
    if not pa.types.is_struct(type_):
        return leaves.get((), pa.nulls(count, type_))
    if not type_.num_fields:
        return empty_structs(count)
    members = []
    for field in type_:
        below = {path[1:]: values for path, values in leaves.items() if path[:1] == (field.name,)}
        members.append(nested(field.type, below, count))
    return pa.StructArray.from_arrays(members, fields=list(type_))
