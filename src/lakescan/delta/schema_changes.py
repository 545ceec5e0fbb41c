"""Whether rows of an older version of a table can be given in the schema of a newer one.

They can when every field of the older schema is still there under its physical name, in the same type or a wider
one, and is not required where it may be null. A field may have been added, renamed or moved meanwhile; a field that
was dropped, or whose type was changed in a way that loses values, is named.
"""

from collections.abc import Iterable

import pyarrow as pa

from lakescan.delta.protocol import Metadata
from lakescan.delta.type_widening import widens


def lost_in(older: Metadata, newer: Metadata) -> str | None:
    """What the newer schema has no place for, None where it has one for everything."""
    if _partition_names(older) != _partition_names(newer):
        then, now = (", ".join(found.partition_columns) or "none" for found in (older, newer))
        return f"the partition columns were {then} and are {now}"
    return _lost_fields(
        list(zip(older.schema, older.source_schema, strict=True)),
        list(zip(newer.schema, newer.source_schema, strict=True)),
        "",
    )


_Pairs = list[tuple[pa.Field, pa.Field]]


def _lost_fields(older: _Pairs, newer: _Pairs, parent: str) -> str | None:
    now = {twin.name: (field, twin) for field, twin in newer}
    return _first(
        f"the column {parent}{field.name} was dropped"
        if twin.name not in now
        else _lost_field((field, twin), now[twin.name], f"{parent}{field.name}")
        for field, twin in older
    )


def _lost_field(older: tuple[pa.Field, pa.Field], newer: tuple[pa.Field, pa.Field], path: str) -> str | None:
    if older[0].nullable and not newer[0].nullable:
        return f"the column {path} could be null and no longer can"
    return _lost_type(older[0].type, older[1].type, newer[0].type, newer[1].type, path)


def _lost_type(
    older: pa.DataType, older_twin: pa.DataType, newer: pa.DataType, newer_twin: pa.DataType, path: str
) -> str | None:
    if older.id != newer.id or not pa.types.is_nested(older):
        kept = older == newer or pa.types.is_null(older) or widens(older, newer)
        return None if kept else f"the column {path} was {older} and is {newer}"
    if pa.types.is_struct(older):
        return _lost_fields(
            list(zip(older, older_twin, strict=True)), list(zip(newer, newer_twin, strict=True)), f"{path}."
        )
    children = zip(_children(older), _children(older_twin), _children(newer), _children(newer_twin), strict=True)
    return _first(
        _lost_field((then, then_twin), (now, now_twin), f"{path}.{then.name}")
        for then, then_twin, now, now_twin in children
    )


def _children(type_: pa.DataType) -> list[pa.Field]:
    return [type_.key_field, type_.item_field] if pa.types.is_map(type_) else [type_.value_field]


def _partition_names(metadata: Metadata) -> list[str]:
    twins = dict(zip(metadata.schema.names, metadata.source_schema.names, strict=True))
    return [twins[field.name] for field in metadata.partition_fields]


def _first(found: Iterable[str | None]) -> str | None:
    return next((text for text in found if text), None)
