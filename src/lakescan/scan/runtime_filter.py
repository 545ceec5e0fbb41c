"""A plan narrowed by values that only became known when the query ran: the other side of a join found them.

Files are dropped by their partition values and by their statistics. The plan it starts from is not changed. Values are
wanted only of columns by which they can drop a good part of the files: finding them costs a subquery of its own, which
Spark copies for every scan that wants them. Of a column of many values, such as a key, many may be found, and then none
of the files is dropped: such a column is wanted only of a table that is expensive to read.
"""

import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import TRUE, Bounds, Column, Predicate, columns_of, may_match, split_by_columns
from lakescan.scan.estimates import values_between
from lakescan.scan.file_statistics import FileStatistics, has_bounds
from lakescan.scan.packing import OPEN_BYTES, total_bytes
from lakescan.scan.pruning import PlannedFiles, matching_partitions, some_of, statistics_for
from lakescan.types.columns import member

MOST_VALUES = 10_000
"""A longer list of values is passed over: as many hit nearly every file, and cost more than they save."""

# What is worth a subquery: opening ten files. A table with fewer, of a few megabytes, is one that Spark broadcasts.
_WORTH_BYTES = 40 << 20
# To find 700,000 keys that dropped no file took 1.1 s of processor time, a tenth and a quarter of two queries of TPC-H.
_WORTH_A_LONG_LIST = 512 << 20
# A value that is asked for may be in no greater share of the files.
_LARGEST_SHARE = 0.5


def narrowed(planned: PlannedFiles, predicate: Predicate, by_statistics: bool) -> PlannedFiles:
    """The planned files that may hold a row for which the predicate is true."""
    began, snapshot, files = time.perf_counter(), planned.snapshot, planned.files
    by_partition, by_data = split_by_columns(predicate, snapshot.partition_columns)
    if by_partition != TRUE:
        files = matching_partitions(files, by_partition)
    if by_data != TRUE and files.num_rows and by_statistics:
        files = files.filter(may_match(by_data, statistics_for(snapshot, files, columns_of(by_data))))
    return replace(planned.then("runtime filters", files, began), skip_rows=planned.skip_rows)


def separating_columns(planned: PlannedFiles, output: pa.Schema, by_statistics: bool) -> list[str]:
    """The top-level columns of `output` whose values tell files apart, where reading them all is worth a subquery."""
    files, snapshot = planned.files, planned.snapshot
    cost = total_bytes(files["size"].to_numpy()) + files.num_rows * OPEN_BYTES
    if files.num_rows < 2 or cost < _WORTH_BYTES:
        return []
    sample = some_of(files)
    names = [field.name for field in output if has_bounds(field.type)]
    by_partition = [name for name in names if name in snapshot.partition_columns]
    by_data = [name for name in names if name not in snapshot.partition_columns] if by_statistics else []
    partition = sample["partition"].combine_chunks()
    separating = {name for name in by_partition if len(pc.unique(member(partition, name))) > 1}
    known = statistics_for(snapshot, sample, [Column((name,)) for name in by_data])
    separating |= set(_told_apart_by_bounds(known, by_data, cost >= _WORTH_A_LONG_LIST))
    return [name for name in names if name in separating]


def _told_apart_by_bounds(known: FileStatistics, names: Iterable[str], many_values: bool) -> Iterable[str]:
    for name in names:
        bounds = known.bounds(Column((name,)))
        if bounds is None or not (many_values or _has_few_values(bounds)):
            continue
        if _share(bounds) <= _LARGEST_SHARE:
            yield name


def _has_few_values(bounds: Bounds) -> bool:
    """Whether no list of the column's values is so long that it is passed over."""
    most = values_between(bounds)
    return most is not None and most <= MOST_VALUES


def _share(bounds: Bounds) -> float:
    """Which part of the files may hold a value, on average over the least values of the files."""
    low, high = _ranks(bounds)
    known = low[np.isfinite(low)]
    if not len(known):
        return 1.0
    holding = np.searchsorted(np.sort(low), known, "right") - np.searchsorted(np.sort(high), known, "left")
    return float(holding.mean() / len(low))


def _ranks(bounds: Bounds) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Each file's bounds as places in the order of all of them; without end where one is not known."""
    both = pa.concat_arrays([bounds.minimum, bounds.maximum])
    if pa.types.is_boolean(both.type):
        both = both.cast(pa.int8())
    places = pc.rank(both, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.float64)
    unknown = both.is_null().to_numpy(zero_copy_only=False)
    half = len(both) // 2
    low, high = places[:half], places[half:]
    either = unknown[:half] | unknown[half:]
    return np.where(either, -np.inf, low), np.where(either, np.inf, high)
