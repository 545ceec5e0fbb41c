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


def changes(table: DeltaBuilder, start: int, end: int | None = None) -> list[tuple[str, int, int]]:
    actual = open_delta(table.path).changes(start, end).to_arrow().to_pylist()
    return sorted((row["_change_type"], row["id"], row["_commit_version"]) for row in actual)
