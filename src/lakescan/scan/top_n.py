"""Files for `ORDER BY … LIMIT n`: those that can hold one of the first n rows, judged by their bounds.

A file goes only where n rows of other files surely sort before, or equal to, every row it can have. Bounds need
not be attained and deletion vectors leave them wide: a bound is used only as what no row lies beyond. A NaN may
hide above a float column's maximum unless the statistics say that there is none.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import Bounds, Predicate
from lakescan.reader.top_rows import SortColumn, TopRows
from lakescan.scan.file_statistics import has_bounds, wide_bounds
from lakescan.scan.limit import sure_rows
from lakescan.scan.pruning import PlannedFiles, deleted_rows, statistics_for
from lakescan.scan.snapshot import Snapshot
from lakescan.types.schema import field_at

_BEFORE_ALL, _AFTER_ALL = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_NULLS_FIRST, _NULLS_LAST = _BEFORE_ALL + 1, _AFTER_ALL - 1
_NAN_FIRST = _NULLS_FIRST + 1

Ranks = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Span:
    """Where a column's values in each file can be in the order, as numbers that compare as the values do.

    No row is before `earliest`. All rows are at `latest` or before it, but `beyond` of them at the most.
    """

    earliest: Ranks
    latest: Ranks
    beyond: Ranks


def keep_top_n(planned: PlannedFiles, predicate: Predicate, wanted: TopRows) -> PlannedFiles:
    """The files that can hold one of the first rows wanted."""
    began = time.perf_counter()
    snapshot, files = planned.snapshot, planned.files
    if wanted.count == 0:
        return planned.then("top-n", files.slice(0, 0), began)
    known = _leading_with_bounds(snapshot, wanted)
    if not known or not files.num_rows:
        return planned.then("top-n", files, began)
    statistics = statistics_for(snapshot, files, [sort.column for sort in known])
    rows = sure_rows(snapshot, files, predicate)
    wide = wide_bounds(statistics.statistics, deleted_rows(files)).to_numpy(zero_copy_only=False)
    spans = [_span(sort, statistics.bounds(sort.column), wide, rows) for sort in known]
    placed = np.maximum(0, rows - sum(np.minimum(span.beyond, rows) for span in spans))
    earliest, latest = _places(spans)
    keep = _needed(earliest, latest, placed, wanted.count, every_column=len(known) == len(wanted.by))
    return planned.then("top-n", files.filter(pa.array(keep)), began)


def _leading_with_bounds(snapshot: Snapshot, wanted: TopRows) -> list[SortColumn]:
    """The sort columns up to the first one of which nothing can be known."""
    leading: list[SortColumn] = []
    for sort in wanted.by:
        field = field_at(snapshot.schema, sort.column.path)
        if field is None or not has_bounds(field.type):
            break
        leading.append(sort)
    return leading


def _span(sort: SortColumn, bounds: Bounds | None, wide: npt.NDArray[np.bool_], rows: Ranks) -> _Span:
    if bounds is None:
        count = len(rows)
        return _Span(np.full(count, _BEFORE_ALL), np.full(count, _AFTER_ALL), np.zeros(count, np.int64))
    low, high = _ranks(bounds.minimum, bounds.maximum)
    first, last = (low, high) if not sort.descending else (_reversed(high), _reversed(low))
    earliest = np.where(first == _AFTER_ALL, _BEFORE_ALL, first)
    latest = last
    nulls, all_null = _nulls(bounds, wide)
    beyond = np.zeros(len(rows), np.int64)
    if pa.types.is_floating(bounds.minimum.type):
        unsure = np.ones(len(rows), np.bool_) if bounds.nan_free is None else _is_not_true(bounds.nan_free)
        if sort.descending:
            earliest = np.where(unsure, _NAN_FIRST, earliest)
        else:
            # Only the row that has the minimum is surely not NaN, and surely there where no row is deleted.
            lost = np.where(wide | (last == _AFTER_ALL), rows, np.maximum(0, rows - 1))
            beyond = np.where(unsure, lost, 0)
    if sort.nulls_first:
        earliest = np.where(nulls == 0, earliest, _NULLS_FIRST)
        latest = np.where(all_null, _NULLS_FIRST, latest)
    else:
        earliest = np.where(all_null, _NULLS_LAST, earliest)
        latest = np.where(all_null, _NULLS_LAST, latest)
        beyond = np.where(all_null, 0, beyond + np.minimum(nulls, rows))
    return _Span(earliest, latest, beyond)


def _is_not_true(flags: pa.Array) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = pc.invert(pc.fill_null(flags, False)).to_numpy(zero_copy_only=False)
    return mask


def _nulls(bounds: Bounds, wide: npt.NDArray[np.bool_]) -> tuple[Ranks, npt.NDArray[np.bool_]]:
    """(how many nulls there are at the most, whether every row is null)."""
    count = pc.fill_null(bounds.null_count, -1).to_numpy(zero_copy_only=False)
    total = pc.fill_null(bounds.row_count, -2).to_numpy(zero_copy_only=False)
    # Of wide statistics a count of nulls says something only where it is none or all of the rows.
    unknown = (count < 0) | (wide & (count != 0) & (count != total))
    return np.where(unknown, _AFTER_ALL >> 1, count), count == total


def _ranks(minimum: pa.Array, maximum: pa.Array) -> tuple[Ranks, Ranks]:
    """Both bounds as numbers from 0 on that compare as they do; `_AFTER_ALL` where a bound is unknown."""
    values = pa.concat_arrays([minimum, maximum])
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, pc.add(values, pa.scalar(0.0, values.type)))
    encoded = values.dictionary_encode()
    ranks = np.empty(len(encoded.dictionary) + 1, np.int64)
    ranks[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(encoded.dictionary))
    ranks[-1] = _AFTER_ALL
    both = ranks[pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy()]
    return both[: len(minimum)], both[len(minimum) :]


def _reversed(ranks: Ranks) -> Ranks:
    return np.where(ranks == _AFTER_ALL, _AFTER_ALL, -ranks)


def _places(spans: list[_Span]) -> tuple[Ranks, Ranks]:
    """The earliest and the latest place of each file by all columns together."""
    if len(spans) == 1:
        return spans[0].earliest, spans[0].latest
    columns = [np.concatenate([span.earliest, span.latest]) for span in spans]
    order = np.lexsort(columns[::-1])
    steps = np.any([np.diff(column[order]) != 0 for column in columns], axis=0)
    places = np.empty(len(order), np.int64)
    places[order] = np.concatenate([[0], np.cumsum(steps)])
    half = len(order) // 2
    return places[:half], places[half:]


def _needed(earliest: Ranks, latest: Ranks, rows: Ranks, count: int, every_column: bool) -> npt.NDArray[Any]:
    """Which files to keep: those that fill the count from the front, and those that may come before the last of them.

    Where only the leading sort columns are known, files that are equal in them may still come before.
    """
    order = np.lexsort((-rows, latest))
    reached = np.cumsum(rows[order])
    if reached[-1] < count:
        return np.ones(len(order), np.bool_)
    filling = order[: int(np.searchsorted(reached, count)) + 1]
    last = latest[filling[-1]]
    keep: npt.NDArray[Any] = earliest < last if every_column else earliest <= last
    keep[filling] |= rows[filling] > 0
    return keep
