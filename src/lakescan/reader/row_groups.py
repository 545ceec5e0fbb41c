"""Which row groups of a Parquet file a task reads, and where in the file their rows are.

A row group belongs to the piece of the file that its first byte is in, so that pieces planned without opening
the file share it out without gap or overlap. A row group is skipped only when its statistics prove that no row
of it matches; the positions of the others never change by that.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakescan.predicate import TRUE, Bounds, Column, Predicate, columns_of, may_match
from lakescan.reader.file_checks import footer_statistics


@dataclass(frozen=True)
class RowGroup:
    """A row group and the position of its first row in the file."""

    index: int
    first_row: int
    num_rows: int


@dataclass(frozen=True)
class LeafColumn:
    """Where a column of the table is in a file: one leaf, of this type in the table."""

    index: int
    type: pa.DataType


def row_groups(
    metadata: pq.FileMetaData,
    start: int,
    length: int,
    skip: Predicate,
    leaves: dict[Column, LeafColumn],
    whole: bool = False,
) -> list[RowGroup]:
    """The row groups of a piece that may hold a row for which `skip` is true; a `whole` file is all in one piece."""
    groups, first_row = [], 0
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        if whole or start <= _first_byte(group) < start + length:
            groups.append(RowGroup(index, first_row, group.num_rows))
        first_row += group.num_rows
    if skip == TRUE or not groups or not columns_of(skip) & leaves.keys():
        return groups
    keep = may_match(skip, _GroupStatistics(metadata, groups, leaves))
    return [group for group, kept in zip(groups, keep.to_pylist(), strict=True) if kept]


def _first_byte(group: pq.RowGroupMetaData) -> int:
    """Where the row group begins; `FilePiece.java` has the same rule."""
    # The first column tells. The middle of the group would take the sizes of all columns, again for each piece.
    if group.num_columns == 0:
        return 0
    first = group.column(0)
    begin = first.data_page_offset
    if first.has_dictionary_page and first.dictionary_page_offset:
        begin = min(begin, first.dictionary_page_offset)
    return int(begin)


@dataclass(frozen=True)
class _GroupStatistics:
    """Row groups' Parquet statistics as `predicate.Statistics`."""

    metadata: pq.FileMetaData
    groups: list[RowGroup]
    leaves: dict[Column, LeafColumn]

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def _known(self) -> dict[Column, Bounds | None]:
        return {}

    def bounds(self, column: Column) -> Bounds | None:
        # A filter may name a column in thousands of terms.
        if column not in self._known:
            leaf = self.leaves.get(column)
            self._known[column] = None if leaf is None else self._bounds(leaf)
        return self._known[column]

    def _bounds(self, leaf: LeafColumn) -> Bounds:
        statistics = [footer_statistics(self.metadata, group.index, leaf.index) for group in self.groups]
        nulls = [None if stats is None or not stats.has_null_count else stats.null_count for stats in statistics]
        return Bounds(
            minimum=_typed([_bound(stats, "min") for stats in statistics], leaf.type),
            maximum=_typed([_bound(stats, "max") for stats in statistics], leaf.type),
            null_count=pa.array(nulls, pa.int64()),
            row_count=pa.array([group.num_rows for group in self.groups], pa.int64()),
        )


def _bound(statistics: pq.Statistics | None, which: str) -> Any:
    if statistics is None or not statistics.has_min_max or statistics.physical_type == "INT96":
        return None
    try:
        return getattr(statistics, which)
    except (OverflowError, ValueError):
        # A date or time beyond what Python can hold is a bound that cannot be used.
        return None


def _typed(values: list[Any], wanted: pa.DataType) -> pa.Array:
    try:
        # Python's own whole numbers are taken for signed ones, which bounds of an unsigned column may pass.
        unsigned = any(isinstance(value, int) and value >= 1 << 63 for value in values)
        bounds = pa.array(values, pa.uint64() if unsigned else None)
        if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(bounds.type) and bounds.type.unit == "ns":
            bounds = pc.floor_temporal(bounds, unit="microsecond")
        return bounds.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        # A bound that is no value of the column's type says nothing about it.
        return pa.nulls(len(values), wanted)
