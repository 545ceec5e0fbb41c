"""Random Delta tables whose structs, arrays and maps have NOT NULL at any level, and what is in them, in Python."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from tests.tables import DeltaBuilder

_LEAVES: dict[pa.DataType, list[Any]] = {
    pa.int32(): [-5, 0, 1, 2, 7],
    pa.int64(): [-(2**60), 0, 1, 3],
    pa.float64(): [-1.5, 0.0, 2.5],
    pa.string(): ["", "a", "ab", "b"],
    pa.bool_(): [True, False],
    pa.date32(): [date(1500, 1, 1), date(2024, 1, 1), date(2024, 2, 29)],
    pa.timestamp("us", "UTC"): [
        datetime(2024, 1, 1, tzinfo=timezone.utc) + timedelta(hours=at, milliseconds=at) for at in range(4)
    ],
    pa.timestamp("us"): [datetime(2024, 1, 1) + timedelta(hours=at) for at in range(4)],
    pa.decimal128(9, 2): [Decimal("-1.50"), Decimal("0.00"), Decimal("3.25")],
}


def random_field(random: Random, name: str, depth: int) -> pa.Field:
    return pa.field(name, _type(random, depth), nullable=random.random() < 0.5)


def _type(random: Random, depth: int) -> pa.DataType:
    kind = random.choice(["struct", "struct", "list", "map", "leaf"]) if depth else "leaf"
    if kind == "struct":
        return pa.struct([random_field(random, name, depth - 1) for name in "xyz"[: random.randint(1, 3)]])
    if kind == "list":
        return pa.list_(random_field(random, "element", depth - 1))
    if kind == "map":
        return pa.map_(pa.string(), random_field(random, "value", depth - 1))
    return random.choice(list(_LEAVES))


def random_value(random: Random, field: pa.Field) -> Any:
    if field.nullable and random.random() < 0.3:
        return None
    kind = field.type
    if pa.types.is_struct(kind):
        return {child.name: random_value(random, child) for child in kind}
    if pa.types.is_map(kind):
        return [(key, random_value(random, kind.item_field)) for key in "kl"[: random.randint(0, 2)]]
    if pa.types.is_list(kind):
        return [random_value(random, kind.value_field) for _ in range(random.randint(0, 2))]
    return random.choice(_LEAVES[kind])


@dataclass(frozen=True)
class RequiredTable:
    """A table and its rows; `id` tells them apart."""

    schema: pa.Schema
    rows: list[dict[str, Any]]
    path: str

    @property
    def leaves(self) -> list[tuple[tuple[str, ...], pa.DataType]]:
        """The paths of values that are no arrays, maps or structs."""
        return list(_leaves(self.schema, ()))

    def values(self, path: tuple[str, ...]) -> dict[int, Any]:
        """The value at a path in each row, by the row's id."""
        by_id = {}
        for row in self.rows:
            value: Any = row
            for name in path:
                value = None if value is None else value[name]
            by_id[row["id"]] = value
        return by_id


def _leaves(fields: Any, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    for field in fields:
        path = (*above, field.name)
        if pa.types.is_struct(field.type):
            yield from _leaves(field.type, path)
        elif not pa.types.is_nested(field.type):
            yield path, field.type


def random_table(random: Random, root: Path) -> RequiredTable:
    """Up to three files, of several row groups, with statistics or without, written with NOT NULL or without it."""
    fields = [random_field(random, name, 3) for name in "abc"[: random.randint(1, 3)]]
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), *fields])
    built = DeltaBuilder(root, schema, features=["timestampNtz"])
    rows: list[dict[str, Any]] = []
    for _ in range(random.randint(1, 3)):
        count = random.randint(1, 5)
        new = [{"id": len(rows) + at, **{f.name: random_value(random, f) for f in fields}} for at in range(count)]
        rows += new
        written = schema if random.random() < 0.6 else pa.schema([_loose(field) for field in schema])
        table = pa.Table.from_pylist(new, schema=written)
        built.append(table, stats=random.random() < 0.8, row_group_size=random.choice([1, 2, 1000]))
    return RequiredTable(schema, rows, built.path)


def _loose(field: pa.Field) -> pa.Field:
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_loose(child) for child in kind])
    elif pa.types.is_map(kind):
        kind = pa.map_(kind.key_type, _loose(kind.item_field))
    elif pa.types.is_list(kind):
        kind = pa.list_(_loose(kind.value_field))
    return pa.field(field.name, kind)
