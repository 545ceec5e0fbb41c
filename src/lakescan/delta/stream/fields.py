"""Columns of one version of a table found again in another version: what changed, and how files of the one are
given in the schema of the other.

A column is the same column where column mapping says so: by its physical name where both versions are mapped.
A version from before the mapping knows only logical names; there a column is found by the physical name that the
mapping gave it or, where it gave a new one, by the logical name. A column that is not found is never guessed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from lakescan.delta.protocol import Metadata
from lakescan.delta.type_widening import widens

ADDED, DROPPED, RENAMED, WIDENED, RETYPED = "added", "dropped", "renamed", "widened", "retyped"
REPARTITIONED = "repartitioned"
# A name that no file has: a column that the version does not have is null in its files, whatever they hold.
_ABSENT = "\0absent"


@dataclass(frozen=True)
class Change:
    """What became of one column between two versions."""

    kind: str
    text: str


@dataclass(frozen=True)
class Fields:
    """Some columns of a version (all, or those inside a struct), in both their names."""

    logical: Sequence[pa.Field]
    physical: Sequence[pa.Field]
    mapped: bool

    @staticmethod
    def of(metadata: Metadata) -> "Fields":
        return Fields(list(metadata.schema), list(metadata.source_schema), metadata.mapping_mode != "none")

    def inside(self, at: int) -> "Fields":
        return Fields(children(self.logical[at].type), children(self.physical[at].type), self.mapped)

    @cached_property
    def _by_logical(self) -> dict[str, int]:
        return {field.name: at for at, field in enumerate(self.logical)}

    @cached_property
    def _by_physical(self) -> dict[str, int]:
        return {field.name: at for at, field in enumerate(self.physical)}

    def find(self, newer: "Fields", at: int) -> int | None:
        """Where this older version has the column that the newer one has at `at`."""
        logical, physical = newer.logical[at].name, newer.physical[at].name
        if self.mapped and newer.mapped:
            return self._by_physical.get(physical)
        if not newer.mapped:
            return self._by_logical.get(logical)
        if physical in self._by_logical:
            return self._by_logical[physical]
        return None if logical in newer._by_physical else self._by_logical.get(logical)


def children(type_: pa.DataType) -> list[pa.Field]:
    """The fields right inside a type."""
    if pa.types.is_struct(type_):
        return list(type_)
    if pa.types.is_map(type_):
        return [type_.key_field, type_.item_field]
    return [type_.value_field] if pa.types.is_list(type_) else []


def changes(older: Metadata, newer: Metadata) -> list[Change]:
    """Everything that became of the columns between two versions, and of which of them the table is partitioned by."""
    before, after = Fields.of(older), Fields.of(newer)
    found = list(_changes(before, after, ""))
    if [before.find(after, at) for at in newer.partition_places] != list(older.partition_places):
        then, now = (", ".join(metadata.partition_columns) or "none" for metadata in (older, newer))
        found.append(Change(REPARTITIONED, f"the partition columns were changed from {then} to {now}"))
    return found


def _changes(older: Fields, newer: Fields, path: str) -> Iterator[Change]:
    found = set()
    for at, field in enumerate(newer.logical):
        name = f"{path}{field.name}"
        before = older.find(newer, at)
        if before is None:
            yield Change(ADDED, f"the column {name} was added")
            continue
        found.add(before)
        old = older.logical[before]
        if old.name != field.name:
            yield Change(RENAMED, f"the column {path}{old.name} was renamed to {field.name}")
        yield from _type_changes(old.type, field.type, older.inside(before), newer.inside(at), name)
    for before, field in enumerate(older.logical):
        if before not in found:
            yield Change(DROPPED, f"the column {path}{field.name} was dropped")


def _type_changes(old: pa.DataType, new: pa.DataType, older: Fields, newer: Fields, name: str) -> Iterator[Change]:
    if pa.types.is_struct(old) and pa.types.is_struct(new):
        yield from _changes(older, newer, f"{name}.")
    elif same_nesting(old, new):
        for at, (before, after) in enumerate(zip(older.logical, newer.logical, strict=True)):
            below = f"{name}.{after.name}"
            yield from _type_changes(before.type, after.type, older.inside(at), newer.inside(at), below)
    elif widens(old, new):
        yield Change(WIDENED, f"the type of {name} was widened from {old} to {new}")
    elif not old.equals(new):
        yield Change(RETYPED, f"the type of {name} was changed from {old} to {new}")


def same_nesting(one: pa.DataType, other: pa.DataType) -> bool:
    return bool(
        (pa.types.is_list(one) and pa.types.is_list(other)) or (pa.types.is_map(one) and pa.types.is_map(other))
    )


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
            twin = version.physical[before]
            made.append(twin.with_type(_source_type(field.type, stream.inside(at), version.inside(before))))
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
