"""What the optimizer may know of a scan before it runs: bytes, rows, and what the log says of columns.

Estimates decide how a query is run, never its answer. What a filter leaves of the files that are read is guessed, and
no less than a sixteenth: Spark sends a side of a join to all executors by this figure, so a guess that is wrong must
not cost much more than none.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import TRUE, Bounds, Column, Predicate, columns_of, split_by_columns
from lakescan.predicate.selectivity import expected_shares
from lakescan.reader.aggregation import column_type
from lakescan.scan.file_statistics import has_bounds
from lakescan.scan.packing import total_bytes
from lakescan.scan.pruning import PlannedFiles, live_rows, some_of, statistics_for
from lakescan.scan.snapshot import Snapshot

# What Spark takes a value of a type without a fixed size to have, and what a row costs besides its values.
_TEXT_BYTES, _ROW_BYTES = 20, 8
# No more fits into Spark's estimate, and the log can say anything.
_MOST_BYTES = 1 << 62
_LEAST_SHARE = 1 / 16


@dataclass(frozen=True)
class ColumnEstimate:
    """What is known of a column in the files that are read."""

    minimum: Any
    maximum: Any
    nulls: int | None
    distinct: int | None


@dataclass(frozen=True)
class Estimates:
    """What a scan is expected to give."""

    bytes: int
    rows: int | None
    columns: Mapping[str, ColumnEstimate]


def scaled_bytes(files: pa.Table, output: pa.Schema, table: pa.Schema) -> int:
    """The files' bytes, scaled to the share that the columns read have in a row."""
    return scaled(total_bytes(files["size"].to_numpy()), share_of_columns(output, table))


def scaled(total: int, share: float) -> int:
    """A share of so many bytes, as they are in the log: no more than Java can count."""
    return int(min(_MOST_BYTES, total) * share)


def scaled_each(totals: npt.NDArray[np.float64], share: float) -> npt.NDArray[np.int64]:
    """`scaled` of each."""
    return (np.minimum(totals, _MOST_BYTES) * share).astype(np.int64)


def share_of_columns(read: pa.Schema, table: pa.Schema) -> float:
    """Which part of a row these columns are, by their types."""
    widths = (_ROW_BYTES + sum(_width(field.type) for field in columns) for columns in (read, table))
    return min(1.0, next(widths) / next(widths))


def expected_share(planned: PlannedFiles, predicate: Predicate) -> float:
    """Which part of the planned files' rows the predicate is expected to leave, by what the log says of each file."""
    _, by_data = split_by_columns(predicate, planned.snapshot.partition_columns)
    files = some_of(planned.files)
    sizes = np.maximum(files["size"].to_numpy(), 0).astype(np.float64)
    if by_data == TRUE or not sizes.sum() > 0:
        return 1.0
    known = statistics_for(planned.snapshot, files, columns_of(by_data))
    return max(_LEAST_SHARE, float(np.average(expected_shares(by_data, known), weights=sizes)))


def column_estimates(snapshot: Snapshot, files: pa.Table, output: pa.Schema) -> dict[str, ColumnEstimate]:
    """What the log says of each top-level column that is read."""
    names = [field.name for field in output if has_bounds(field.type)]
    statistics = statistics_for(snapshot, files, [Column((name,)) for name in names])
    rows = live_rows(snapshot, files)
    estimates: dict[str, ColumnEstimate] = {}
    for name in names:
        bounds = statistics.bounds(Column((name,)))
        if bounds is not None and files.num_rows:
            estimates[name] = _estimate(bounds, rows, name in snapshot.partition_columns)
    return estimates


def _estimate(bounds: Bounds, rows: pa.Array, is_partition: bool) -> ColumnEstimate:
    nulls = pc.multiply(bounds.null_count, rows) if is_partition else bounds.null_count
    # A file without a value has no bounds, and needs none.
    filled = pc.invert(pc.fill_null(pc.equal(bounds.null_count, bounds.row_count), False))
    lows, highs = bounds.minimum.filter(filled), bounds.maximum.filter(filled)
    known = len(lows) and not lows.null_count and not highs.null_count and not pa.types.is_boolean(lows.type)
    return ColumnEstimate(
        minimum=lows.take(pc.sort_indices(lows).slice(0, 1))[0].as_py() if known else None,
        maximum=highs.take(pc.sort_indices(highs).slice(len(highs) - 1))[0].as_py() if known else None,
        nulls=None if nulls.null_count else int(pc.sum(nulls).as_py() or 0),
        distinct=int(pc.count_distinct(bounds.minimum).as_py()) if is_partition else None,
    )


def most_values(snapshot: Snapshot, files: pa.Table, columns: Collection[Column]) -> float:
    """How many combinations of values these columns can have at most, by the bounds of those of integers and dates."""
    counted = [column for column in columns if _is_countable(column_type(column, snapshot.schema))]
    statistics = statistics_for(snapshot, files, counted)
    spans = (_span(statistics.bounds(column)) for column in counted)
    return prod(span for span in spans if span is not None)


def largest_values(snapshot: Snapshot, files: pa.Table, columns: Collection[Column]) -> dict[Column, float]:
    """What no value of each of these columns of integers or decimals exceeds, whatever its sign."""
    statistics = statistics_for(snapshot, files, columns)
    return {column: _largest(statistics.bounds(column), column_type(column, snapshot.schema)) for column in columns}


def sums_stay_below(limit: int, snapshot: Snapshot, files: pa.Table, columns: Collection[Column]) -> bool:
    """Whether no sum of any rows' values in these integer columns can reach the limit, by counts and bounds."""
    rows = live_rows(snapshot, files)
    if rows.null_count:
        return False
    statistics = statistics_for(snapshot, files, columns)
    return all(_largest_sum(rows, statistics.bounds(column)) < limit for column in columns)


def values_between(bounds: Bounds) -> float | None:
    """How many values of a column lie between its least and its greatest bound; None where they cannot be counted."""
    if not _is_countable(bounds.minimum.type):
        return None
    whole = pa.int32() if pa.types.is_date(bounds.minimum.type) else pa.int64()
    least, greatest = pc.min(bounds.minimum.cast(whole)).as_py(), pc.max(bounds.maximum.cast(whole)).as_py()
    return None if least is None or greatest is None else float(greatest - least + 1)


def _is_countable(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_date32(type_))


def _span(bounds: Bounds | None) -> float | None:
    """How many values lie within the bounds, and null; None where bounds are lacking."""
    if bounds is None or bounds.minimum.null_count or bounds.maximum.null_count:
        return None
    between = values_between(bounds)
    return None if between is None else between + 1


def _largest(bounds: Bounds | None, type_: pa.DataType) -> float:
    widest = 10.0 ** (type_.precision - type_.scale) if pa.types.is_decimal(type_) else float(2**63)
    if bounds is None or bounds.minimum.null_count or bounds.maximum.null_count:
        return widest
    ends = [pc.min(bounds.minimum).as_py(), pc.max(bounds.maximum).as_py()]
    return max((abs(float(end)) for end in ends if end is not None), default=0.0)


def _largest_sum(rows: pa.Array, bounds: Bounds | None) -> float:
    if bounds is None:
        return float("inf")
    widest = float(2 ** (bounds.minimum.type.bit_width - 1))
    low, high = (
        np.abs(pc.fill_null(bound.cast(pa.float64(), safe=False), widest).to_numpy(zero_copy_only=False))
        for bound in (bounds.minimum, bounds.maximum)
    )
    return float((rows.to_numpy(zero_copy_only=False) * np.maximum(low, high)).sum())


def _width(type_: pa.DataType) -> int:
    if pa.types.is_struct(type_):
        return sum(_width(field.type) for field in type_)
    if pa.types.is_map(type_):
        return _width(type_.key_type) + _width(type_.item_type)
    if pa.types.is_list(type_):
        return _width(type_.value_type)
    try:
        return max(1, int(type_.bit_width) // 8)
    except ValueError:
        return _TEXT_BYTES
