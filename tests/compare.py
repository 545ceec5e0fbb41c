"""Rows compared as values: order of rows does not matter, everything else does."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row


def canonical(value: Any) -> Any:
    """A value that is hashable and equal to another exactly when both are the same to SQL."""
    if isinstance(value, dict):
        return tuple((key, canonical(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(canonical(item) for item in value)
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    return value


def bag(rows: pa.Table | Iterable[dict[str, Any]]) -> Counter[Any]:
    """The rows with how often each occurs."""
    return Counter(canonical(row) for row in (rows.to_pylist() if isinstance(rows, pa.Table) else rows))


def first_row(frame: "DataFrame") -> "Row":
    """The first row of an answer that has one."""
    row = frame.first()
    assert row is not None
    return row
