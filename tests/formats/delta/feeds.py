"""Tables with the change data feed on, written commit by commit, and their changes in short."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.tables import DeltaBuilder, open_delta

ON = {"delta.enableChangeDataFeed": "true"}
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string())])


def feed(root: Path, **arguments: Any) -> DeltaBuilder:
    return DeltaBuilder(root, SCHEMA, properties=ON, features=["deletionVectors"], **arguments)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "v": [f"v{at}" for at in ids]}, schema=SCHEMA)


def three_commits(root: Path) -> DeltaBuilder:
    """Version 1 has three rows, version 2 two more, version 3 deletes one of the first; a second apart."""
    table = feed(root)
    first = table.append(rows(1, 2, 3))
    table.append(rows(4, 5))
    table.delete(first, [0])
    for version in range(4):
        table.set_time(version, version)
    return table


def changes(table: DeltaBuilder, start: int, end: int | None = None) -> list[tuple[str, int, int]]:
    actual = open_delta(table.path).changes(start, end).to_arrow().to_pylist()
    return sorted((row["_change_type"], row["id"], row["_commit_version"]) for row in actual)
