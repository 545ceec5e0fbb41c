"""The difference of two versions of a table's schema, column by column.

A column is the same column where column mapping says so: by its physical name where both versions are mapped.
A version from before the mapping knows only logical names; there a column is found by the physical name that the
mapping gave it or, where it gave a new one, by the logical name. A column that is not found is never guessed. Streams
ask for everything that changed (`changes`), the change feed whether older rows still have a place (`lost_in`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from lakescan.formats.delta.log.protocol import Metadata
from lakescan.formats.delta.type_widening import widens

ADDED, DROPPED, RENAMED, WIDENED, RETYPED = "added", "dropped", "renamed", "widened", "retyped"
REQUIRED, REPARTITIONED = "required", "repartitioned"


@dataclass(frozen=True)
class Change:
    """What became of one column between two versions, or of the list of partition columns."""

    kind: str
    column: str = ""
    old: pa.DataType | str = ""
    new: pa.DataType | str = ""

    @property
    def text(self) -> str:
        match self.kind:
            case "renamed":
                return f"the column {self.column} was renamed to {self.new}"
            case "widened":
                return f"the type of {self.column} was widened from {self.old} to {self.new}"
            case "retyped":
                return f"the type of {self.column} was changed from {self.old} to {self.new}"
            case "required":
                return f"the column {self.column} could be null and no longer can"
            case "repartitioned":
                return f"the partition columns were changed from {self.old} to {self.new}"
        return f"the column {self.column} was {self.kind}"


@dataclass(frozen=True)
class Fields:
    """Some columns of a version (all, or those inside a struct), in both their names."""

    logical: Sequence[pa.Field]
    physical: Sequence[pa.Field]
    mapped: bool

    @staticmethod
    def of(metadata: Metadata) -> "Fields":
        return Fields(list(metadata.schema), list(metadata.physical_schema), metadata.mapping_mode != "none")

    @staticmethod
    def by_physical_name(metadata: Metadata) -> "Fields":
        """Found again by no other name than files have, whatever the mapping says."""
        return Fields(list(metadata.schema), list(metadata.physical_schema), mapped=True)

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
    """Everything that became of the columns between two versions, and of which of them the table is partitioned by.

    That a column can no longer be null is left out: the rows of the older version still have their place.
    """
    differing = _differences(older, newer, Fields.of(older), Fields.of(newer))
    return [change for change in differing if change.kind != REQUIRED]


def lost_in(older: Metadata, newer: Metadata) -> str | None:
    """What of the older version's rows the newer schema has no place for, None where it has one for everything.

    A column may have been added, renamed, moved or widened meanwhile. Files are read by the newer physical names, so
    a column is found again by these alone.
    """
    named = Fields.by_physical_name
    lost = [change for change in _differences(older, newer, named(older), named(newer)) if _loses(change)]
    # Of several the layout comes first: it concerns every row.
    first = min(lost, key=lambda change: change.kind != REPARTITIONED, default=None)
    if first is not None and first.kind == REPARTITIONED:
        return f"the partition columns were {first.old} and are {first.new}"
    if first is not None and first.kind == RETYPED:
        return f"the column {first.column} was {first.old} and is {first.new}"
    return None if first is None else first.text


def _loses(change: Change) -> bool:
    if change.kind == RETYPED:
        # A column of nulls loses nothing.
        return bool(change.old != pa.null())
    return change.kind in (DROPPED, REQUIRED, REPARTITIONED)


def _differences(older: Metadata, newer: Metadata, before: Fields, after: Fields) -> Iterator[Change]:
    yield from _changes(before, after, "")
    if [before.find(after, at) for at in newer.partition_places] != list(older.partition_places):
        then, now = (", ".join(metadata.partition_columns) or "none" for metadata in (older, newer))
        yield Change(REPARTITIONED, old=then, new=now)


def _changes(older: Fields, newer: Fields, path: str) -> Iterator[Change]:
    kept = set()
    for at, field in enumerate(newer.logical):
        name = f"{path}{field.name}"
        before = older.find(newer, at)
        if before is None:
            yield Change(ADDED, name)
            continue
        kept.add(before)
        old = older.logical[before]
        if old.name != field.name:
            yield Change(RENAMED, f"{path}{old.name}", new=field.name)
        yield from _field_changes(old, field, older.inside(before), newer.inside(at), name)
    for before, field in enumerate(older.logical):
        if before not in kept:
            yield Change(DROPPED, f"{path}{field.name}")


def _field_changes(old: pa.Field, new: pa.Field, older: Fields, newer: Fields, name: str) -> Iterator[Change]:
    if old.nullable and not new.nullable:
        yield Change(REQUIRED, name)
    if pa.types.is_struct(old.type) and pa.types.is_struct(new.type):
        yield from _changes(older, newer, f"{name}.")
    elif same_nesting(old.type, new.type):
        for at, (before, after) in enumerate(zip(older.logical, newer.logical, strict=True)):
            yield from _field_changes(before, after, older.inside(at), newer.inside(at), f"{name}.{after.name}")
    elif widens(old.type, new.type):
        yield Change(WIDENED, name, old.type, new.type)
    elif not old.type.equals(new.type):
        yield Change(RETYPED, name, old.type, new.type)


def same_nesting(one: pa.DataType, other: pa.DataType) -> bool:
    return bool(
        (pa.types.is_list(one) and pa.types.is_list(other)) or (pa.types.is_map(one) and pa.types.is_map(other))
    )
