"""Statistics of data files in one shape for every format, and how the planner reads bounds from them.

`statistics_type` is the struct that a `Snapshot` fills for the columns a query needs: counts, lower and upper
bounds. `FileStatistics` shows that struct, and the files' partition values, to `predicate.may_match`. A null
anywhere means "unknown", and unknown never skips a file.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import Bounds, Column
from lakescan.types.columns import member
from lakescan.types.schema import field_at


def counts_of(fields: Iterable[pa.Field]) -> pa.StructType:
    """The same fields with a count in place of each leaf."""
    return pa.struct(
        [
            pa.field(field.name, counts_of(field.type) if pa.types.is_struct(field.type) else pa.int64())
            for field in fields
        ]
    )


def statistics_type(fields: Iterable[pa.Field]) -> pa.StructType:
    """Statistics for these columns: unknown values are null, so every field is nullable."""
    leaves = nullable(pa.struct(list(fields)))
    return pa.struct(
        [
            ("row_count", pa.int64()),
            ("tight", pa.bool_()),
            ("minimum", leaves),
            ("maximum", leaves),
            ("null_count", counts_of(leaves)),
            # Whether the writer takes NaN for the greatest number, as Spark does; then a float's maximum tells.
            ("nan_is_greatest", pa.bool_()),
        ]
    )


def has_bounds(type_: pa.DataType) -> bool:
    """Whether columns of this type have an order that statistics can speak of."""
    return not (pa.types.is_nested(type_) or pa.types.is_null(type_) or pa.types.is_duration(type_))


def wide_bounds(statistics: pa.StructArray, deleted: pa.Array) -> pa.BooleanArray:
    """Where bounds and counts of nulls may still be those of rows that are deleted: only outer limits, not values."""
    tight = member(statistics, "tight")
    marked = pc.and_(pc.greater(deleted, 0), pc.invert(pc.fill_null(tight, False)))
    return pc.or_(marked, pc.invert(pc.fill_null(tight, True)))


@dataclass(frozen=True)
class FileStatistics:
    """What is known of each file: its statistics for some columns, and its partition values."""

    statistics: pa.StructArray
    partition: pa.StructArray

    def __len__(self) -> int:
        return len(self.statistics)

    @property
    def row_count(self) -> pa.Array:
        return self._parts["row_count"]

    @cached_property
    def _parts(self) -> dict[str, pa.Array]:
        """The members of the statistics by name."""
        return _members(self.statistics)

    @cached_property
    def _columns(self) -> dict[str, dict[str, pa.Array]]:
        """The statistics of each kind by top-level column: all taken apart at once, however wide the table is."""
        return {kind: _members(self._parts[kind]) for kind in ("minimum", "maximum", "null_count")}

    def _leaf(self, kind: str, column: Column) -> pa.Array:
        first, *inside = column.path
        return member(self._columns[kind][first], *inside)

    @cached_property
    def _known(self) -> dict[Column, Bounds | None]:
        return {}

    def bounds(self, column: Column) -> Bounds | None:
        if column not in self._known:
            self._known[column] = self._bounds(column)
        return self._known[column]

    def _bounds(self, column: Column) -> Bounds | None:
        if self.partition.type.get_field_index(column.path[0]) >= 0:
            return self._constant(column)
        field = field_at(self._parts["minimum"].type, column.path)
        if field is None or not has_bounds(field.type):
            return None
        bounds = Bounds(
            minimum=self._leaf("minimum", column),
            maximum=self._leaf("maximum", column),
            null_count=self._leaf("null_count", column),
            row_count=self.row_count,
        )
        return replace(bounds, nan_free=self._nan_free(bounds)) if pa.types.is_floating(bounds.maximum.type) else bounds

    def _nan_free(self, bounds: Bounds) -> pa.Array:
        """Where a float column has no NaN: its maximum would be NaN, or both its values are known."""
        number = pc.fill_null(pc.invert(pc.is_nan(bounds.maximum)), False)
        greatest = pc.fill_null(self._parts["nan_is_greatest"], False)
        values = pc.subtract(bounds.row_count, bounds.null_count)
        known = pc.if_else(pc.less(bounds.minimum, bounds.maximum), 2, 1)
        return pc.and_(number, pc.or_(greatest, pc.fill_null(pc.less_equal(values, known), False)))

    def _constant(self, column: Column) -> Bounds:
        """A partition value is the bound of itself: as if the file had one row."""
        value = member(self.partition, column.path[0])
        ones = pa.array(np.ones(len(self), np.int64))
        number = pc.invert(pc.is_nan(value)) if pa.types.is_floating(value.type) else None
        return Bounds(value, value, value.is_null().cast(pa.int64()), ones, number)


def _members(struct: pa.StructArray) -> dict[str, pa.Array]:
    """The members of a struct by name, null where the struct is; the first of a name."""
    names = [field.name for field in struct.type]
    return dict(zip(reversed(names), reversed(struct.flatten()), strict=True))


def nullable(type_: pa.DataType) -> pa.DataType:
    """The same type without NOT NULL on any field of its structs."""
    if not pa.types.is_struct(type_):
        return type_
    return pa.struct([pa.field(field.name, nullable(field.type)) for field in type_])
