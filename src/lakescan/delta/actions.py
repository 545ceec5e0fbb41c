"""The shape of Delta's file actions as Arrow columns, the same whether a commit or a checkpoint held them.

A source of actions (`commits`, `checkpoint`) gives its adds as one Arrow table and, only when asked, their
statistics for the rows that are still wanted. Nothing here or there makes a Python object for a file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.columns import member

DELETION_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)


def adds_schema(partition_names: Sequence[str]) -> pa.Schema:
    """Columns of a source's adds; partition values are still text, in physical names; `row` is for statistics."""
    return pa.schema(
        [
            ("path", pa.string()),
            ("size", pa.int64()),
            ("modification_time", pa.int64()),
            ("partition", pa.struct([(name, pa.string()) for name in partition_names])),
            ("deletion_vector", DELETION_VECTOR),
            ("row", pa.int64()),
        ]
    )


class ActionSource(Protocol):
    """Where adds come from: all commits after a checkpoint, or one file of a checkpoint."""

    @property
    def adds(self) -> pa.Table: ...

    def statistics(self, rows: pa.Array, wanted: "StatisticsRequest") -> pa.StructArray:
        """The statistics of the adds with these `row` numbers, null where a file has none."""


@dataclass(frozen=True)
class StatisticsRequest:
    """Which columns' statistics are wanted: the same fields in logical and in physical names.

    Bounds are safe to skip by; where `exact` is asked for they are values of the file, or null.
    """

    logical: pa.Schema
    physical: pa.Schema
    exact: bool = False


def keys(path: pa.ChunkedArray, vector: pa.ChunkedArray) -> pa.ChunkedArray:
    """What identifies a file to the log: its path and its deletion vector's id.

    A local path may be spelled with and without its scheme, and both name one file.
    """
    path = pc.replace_substring_regex(path, r"^file:/+", "/")
    stored = member(vector, "storageType")
    if stored.null_count == len(stored):
        return path
    offset = pc.cast(member(vector, "offset"), pa.string())
    where = pc.binary_join_element_wise(
        stored,
        member(vector, "pathOrInlineDv"),
        pc.coalesce(pc.binary_join_element_wise("@", offset, ""), ""),
        "",
    )
    return pc.coalesce(pc.binary_join_element_wise(path, where, "\n"), path)
