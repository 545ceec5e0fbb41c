"""Files of one version of a table given in the schema of another: its columns and partition columns by their names.

Which column is which is decided by `delta.schema_changes`; a column that the version does not have is null.
"""

from collections.abc import Sequence

import pyarrow as pa

from lakescan.formats.delta.changes.schema_changes import Fields, children
from lakescan.formats.delta.log.protocol import Metadata

# A name that no file has: a column that the version does not have is null in its files, whatever they hold.
_ABSENT = "\0absent"


def source_of(output: pa.Schema, stream: Metadata, version: Metadata) -> pa.Schema:
    """The stream's columns as the files of a version name them; the changes between the two are known to be safe."""
    return pa.schema(_sources(list(output), Fields.of(stream), Fields.of(version)))


def _sources(wanted: Sequence[pa.Field], stream: Fields, version: Fields) -> list[pa.Field]:
    at_stream = {field.name: at for at, field in enumerate(stream.logical)}
    made = []
    for field in wanted:
        at = at_stream[field.name]
        before = version.find(stream, at)
        if before is None:
            made.append(pa.field(_ABSENT, field.type))
        else:
            physical_field = version.physical[before]
            made.append(physical_field.with_type(_source_type(field.type, stream.inside(at), version.inside(before))))
    return made


def _source_type(wanted: pa.DataType, stream: Fields, version: Fields) -> pa.DataType:
    if pa.types.is_struct(wanted):
        return pa.struct(_sources(list(wanted), stream, version))
    inside = children(wanted)
    if not inside:
        return wanted
    made = [
        version.physical[at].with_type(_source_type(field.type, stream.inside(at), version.inside(at)))
        for at, field in enumerate(inside)
    ]
    return pa.map_(*made) if pa.types.is_map(wanted) else pa.list_(made[0])


def partition_names(stream: Metadata, version: Metadata) -> dict[str, str]:
    """The stream's names of a version's partition columns, by the version's own names."""
    newer, older = Fields.of(stream), Fields.of(version)
    logical = {}
    for at, field in enumerate(newer.logical):
        before = older.find(newer, at)
        if before is not None:
            logical[older.logical[before].name] = field.name
    return {field.name: logical[field.name] for field in version.partition_fields if field.name in logical}
