"""Writes tables of the toy format."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tests.tables import spark_schema
from tests.toy_format import MANIFEST


class ToyBuilder:
    """A table in a folder; each `add` is a version of one file."""

    def __init__(self, root: Path, schema: pa.Schema) -> None:
        self.path, self._root = str(root), root
        self._manifest: dict[str, Any] = {"schema": spark_schema(schema), "versions": []}
        root.mkdir()

    def add(self, rows: pa.Table, said_size: int | None = None) -> str:
        """The name of the new file; a size may be said that it does not have."""
        name = f"{len(self._manifest['versions'])}.csv"
        csv.write_csv(rows, self._root / name)
        bounds = {column: pc.min_max(rows[column]).as_py() for column in rows.column_names}
        statistics = {
            "row_count": rows.num_rows,
            "minimum": {column: both["min"] for column, both in bounds.items()},
            "maximum": {column: both["max"] for column, both in bounds.items()},
            "null_count": {column: rows[column].null_count for column in rows.column_names},
        }
        size = said_size or (self._root / name).stat().st_size
        self._manifest["versions"].append([{"path": name, "size": size, "statistics": statistics}])
        (self._root / MANIFEST).write_text(json.dumps(self._manifest))
        return name
