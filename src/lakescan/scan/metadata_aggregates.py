"""Aggregates that the log already knows: each file's partial row from its statistics, or the word that it must be read.

A file's partial row is used only where it is exactly what reading the file would give: every row passes the
predicate, the rows are counted, deleted ones are taken off, and each function's statistic is exact. A file whose
least or greatest value is not exactly known need not be read either where it surely cannot be the group's.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import TRUE, Bounds, Column, Predicate, columns_of, split_by_columns
from lakescan.predicate.always import always_true
from lakescan.reader.aggregate import can_group
from lakescan.reader.aggregation import Aggregation, column_type
from lakescan.reader.groups import group_codes, group_extremes
from lakescan.scan.file_statistics import FileStatistics, has_bounds, wide_bounds
from lakescan.scan.pruning import deleted_rows, rows_left, statistics_for
from lakescan.scan.snapshot import Snapshot
from lakescan.types.columns import member
from lakescan.types.schema import field_at


@dataclass(frozen=True)
class FromMetadata:
    """What the log knows of an aggregation: partial rows, one a file, and the files that it does not know enough of."""

    rows: pa.Table
    unknown: pa.Table


def from_metadata(
    snapshot: Snapshot, files: pa.Table, predicate: Predicate, how: Aggregation, others: pa.Table | None = None
) -> FromMetadata:
    """The files must be those that may hold a row for which the predicate is true; `others` are partial rows of more
    files, known already."""
    output = how.output(snapshot.schema)
    if how.is_one_row:
        return FromMetadata(output.empty_table(), files.slice(0, 0))
    partitions = snapshot.partition_columns
    # Zeros of either sign are one group to Spark, so a float is no key here either.
    by_partition = all(key.path[0] in partitions and can_group(column_type(key, snapshot.schema)) for key in how.keys)
    if not by_partition or not files.num_rows or how.needs_rows:
        return FromMetadata(output.empty_table(), files)
    known = _Known(snapshot, files, predicate, how, others)
    partials = [known.partial(at) for at in range(len(how.aggregates))]
    exact = reduce(pc.and_, [partial.known for partial in partials], known.passing)
    # A file without a live row has no part in any group.
    chosen = pc.and_(exact, pc.greater(pc.fill_null(known.live, 0), 0))
    columns = [*known.keys, *[partial.values for partial in partials]]
    rows = pa.Table.from_arrays(columns, schema=output)
    return FromMetadata(rows.filter(chosen), files.filter(pc.invert(exact)))


@dataclass(frozen=True)
class _Partial:
    """One function's value in each file, and where it is known."""

    values: pa.Array
    known: pa.Array


@dataclass(frozen=True)
class _Known:
    """What is known of each file."""

    snapshot: Snapshot
    files: pa.Table
    predicate: Predicate
    how: Aggregation
    others: pa.Table | None

    def partial(self, at: int) -> _Partial:
        """What is known of one of the functions."""
        aggregate = self.how.aggregates[at]
        if aggregate.column is None:
            return _Partial(self.live, self.live.is_valid())
        if aggregate.function == "count":
            return self._count(aggregate.column)
        return self._extreme(at, aggregate.column, aggregate.function)

    @cached_property
    def keys(self) -> list[pa.Array]:
        return [self._partition(key) for key in self.how.keys]

    @cached_property
    def live(self) -> pa.Array:
        return rows_left(self._statistics.row_count, self.files)

    @cached_property
    def passing(self) -> pa.Array:
        """Where the rows are counted and every one of them passes the predicate."""
        counted = self.live.is_valid()
        _, by_data = split_by_columns(self.predicate, self.snapshot.partition_columns)
        if by_data == TRUE:
            return counted
        statistics = statistics_for(self.snapshot, self.files, columns_of(by_data))
        return pc.and_(counted, always_true(by_data, statistics))

    def _count(self, column: Column) -> _Partial:
        if self._is_partition(column):
            filled = self._partition(column).is_valid()
            return _Partial(pc.if_else(filled, self.live, 0), self.live.is_valid())
        bounds = self._bounds(column)
        if bounds is None:
            return _Partial(self.live, _no(self.files))
        none, every = self._has_no_null(bounds), self._is_all_null(bounds)
        counted = pc.and_(self._can_be(bounds.null_count), pc.invert(self._wide))
        values = pc.if_else(every, 0, pc.if_else(none, self.live, pc.subtract(self.live, bounds.null_count)))
        return _Partial(values, reduce(pc.or_, [none, every, counted]))

    def _extreme(self, at: int, column: Column, function: str) -> _Partial:
        if self._is_partition(column):
            return _Partial(self._partition(column), self.live.is_valid())
        bounds = self._bounds(column)
        if bounds is None:
            return _Partial(pa.nulls(self.files.num_rows, self._type(column)), _no(self.files))
        exact = member(self._exact, "minimum" if function == "min" else "maximum", *column.path)
        usable = pc.and_(self.passing, pc.and_(exact.is_valid(), pc.invert(self._wide)))
        if function == "max" and pa.types.is_floating(exact.type):
            usable = pc.and_(usable, pc.or_(_has_no_nan(bounds), pc.fill_null(pc.is_nan(exact), False)))
        values = pc.if_else(usable, exact, pa.scalar(None, exact.type))
        known = pc.or_(usable, self._is_all_null(bounds))
        if not pc.all(known).as_py():
            # Comparing files with each other takes longer than all else, and mostly each is known by itself.
            known = pc.or_(known, self._beaten(at, bounds, values, function))
        return _Partial(values, known)

    def _beaten(self, at: int, bounds: Bounds, exact: pa.Array, function: str) -> pa.Array:
        """Where no value of the file can be its group's least (or greatest), because another file's is surely beyond.

        Equal to an exact value of another file is enough; a mere limit must be passed.
        """
        least = function == "min"
        near, far = (bounds.minimum, bounds.maximum) if least else (bounds.maximum, bounds.minimum)
        # Every live value is at `far` or nearer, so the file's extreme is.
        surely = pc.and_(self.passing, pc.and_(self._has_no_null(bounds), pc.greater(self.live, 0)))
        if pa.types.is_floating(near.type):
            # NaN is greater than any bound.
            surely = pc.and_(surely, _has_no_nan(bounds))
            near = near if least else pc.if_else(_has_no_nan(bounds), near, pa.scalar(None, near.type))
        reached = pc.if_else(surely, far, pa.scalar(None, far.type))
        keys, count = [pa.chunked_array([key]) for key in self.keys], self.files.num_rows
        codes, firsts = group_codes(keys, count)
        limit = group_extremes(reached, codes, len(firsts), function).take(pa.array(codes))
        if self.others is not None:
            keys = [pa.chunked_array([*key.chunks, *self.others[i].chunks]) for i, key in enumerate(keys)]
            codes, firsts = group_codes(keys, count + self.others.num_rows)
            exact = pa.concat_arrays([exact, *self.others[len(keys) + at].cast(exact.type).chunks])
        best = group_extremes(exact, codes, len(firsts), function).take(pa.array(codes[:count]))
        behind = (pc.greater_equal if least else pc.less_equal)(near, best)
        beyond = (pc.greater if least else pc.less)(near, limit)
        return pc.or_(pc.fill_null(behind, False), pc.fill_null(beyond, False))

    def _can_be(self, nulls: pa.Array) -> pa.Array:
        """Where a number of nulls is known and is no more than the file's rows."""
        return pc.fill_null(pc.and_(pc.greater_equal(nulls, 0), pc.less_equal(nulls, self.live)), False)

    def _has_no_null(self, bounds: Bounds) -> pa.Array:
        return pc.fill_null(pc.equal(bounds.null_count, 0), False)

    def _is_all_null(self, bounds: Bounds) -> pa.Array:
        return pc.fill_null(pc.equal(bounds.null_count, bounds.row_count), False)

    def _bounds(self, column: Column) -> Bounds | None:
        return self._statistics.bounds(column) if has_bounds(self._type(column)) else None

    def _is_partition(self, column: Column) -> bool:
        return column.path[0] in self.snapshot.partition_columns

    def _partition(self, column: Column) -> pa.Array:
        return member(self.files["partition"].combine_chunks(), *column.path)

    def _type(self, column: Column) -> pa.DataType:
        field = field_at(self.snapshot.schema, column.path)
        assert field is not None, f"{column} is no column of the table"
        return field.type

    @cached_property
    def _wide(self) -> pa.Array:
        return wide_bounds(self._statistics.statistics, deleted_rows(self.files))

    @cached_property
    def _statistics(self) -> FileStatistics:
        return statistics_for(self.snapshot, self.files, self._data_columns())

    @cached_property
    def _exact(self) -> pa.StructArray:
        return self.snapshot.exact_statistics(self.files, list(self._data_columns()))

    def _data_columns(self) -> Iterable[Column]:
        columns = [aggregate.column for aggregate in self.how.aggregates if aggregate.column is not None]
        return [column for column in columns if not self._is_partition(column) and has_bounds(self._type(column))]


def _has_no_nan(bounds: Bounds) -> pa.Array:
    unknown = pa.array(np.zeros(len(bounds.maximum), np.bool_))
    return unknown if bounds.nan_free is None else pc.fill_null(bounds.nan_free, False)


def _no(files: pa.Table) -> pa.Array:
    return pa.array(np.zeros(files.num_rows, np.bool_))
