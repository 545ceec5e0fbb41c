"""The sample tables of Hudi by name, and rows in a form that can be compared."""

import math
import os
from typing import Any

import pyarrow as pa

import lakescan
from lakescan.formats.hudi.table import HudiTable
from tests.sample_tables import sample_tables

TRIPS_UPDATED = "trips_updated_v6"
TRIPS_DELETED = "trips_deleted_v6"
TRIPS_INDEXED = "trips_indexed_v8"
COW = "cow_v6_nonpartitioned"
COW_PARTITIONED = "cow_v8_complex_hive"
MOR_PARTITIONED = "mor_v6_simple"
MOR_STEPS = "mor_v9_steps_indexed"
NAMES = tuple(table.name for table in sample_tables("hudi"))


def open_hudi(path: str | os.PathLike[str]) -> HudiTable:
    """The table at a path, opened as users do; with what only Hudi tables have."""
    table = lakescan.open(path)
    assert isinstance(table, HudiTable)
    return table


def comparable(value: Any) -> Any:
    """A value as text: NaN equals itself, and 1 is not True."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dict):
        return {key: comparable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [comparable(inner) for inner in value]
    return f"{type(value).__name__} {value!r}"


def rows_of(table: pa.Table) -> list[str]:
    """The rows in an order of their own, whatever order they came in."""
    return sorted(str(sorted(comparable(row).items())) for row in table.to_pylist())
