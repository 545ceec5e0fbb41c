"""Files for a limit and an offset: the fewest whose rows surely fill the one, and those that lie beyond the other.

A row counts only where it surely leaves the scan: the file says how many rows it has, deleted ones are taken
off, and its statistics prove that every row passes the scan's predicate. A file without a count fills nothing.
"""

import time
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import TRUE, Predicate, columns_of, split_by_columns
from lakescan.predicate.always import always_true
from lakescan.scan.plan import Plan
from lakescan.scan.pruning import PlannedFiles, live_rows, plan_files, statistics_for
from lakescan.scan.sample import Sample
from lakescan.scan.settings import Settings
from lakescan.scan.snapshot import Snapshot

# The largest files are asked for their counts first; only where they do not fill the limit are all the others.
_ASKED_FIRST = 1024


def plan_limit(
    snapshot: Snapshot, predicate: Predicate, limit: int, settings: Settings, sample: Sample | None = None
) -> PlannedFiles:
    """The files with the most rows, until they fill the limit; all files where they cannot.

    Where one file of a partial replay fills it, the rest of the table need not be listed: nothing less can be opened.
    """
    began = time.perf_counter()
    newest = filled_by_the_newest(snapshot, predicate, limit, settings, sample)
    if newest is not None:
        return newest
    planned = plan_files(snapshot, predicate, settings, sample=sample)
    filled = fewest(planned, predicate, limit) or planned.then("limit", planned.files, time.perf_counter())
    return replace(filled, planning_ms=(time.perf_counter() - began) * 1000)


def filled_by_the_newest(
    snapshot: Snapshot, predicate: Predicate, limit: int, settings: Settings, sample: Sample | None = None
) -> PlannedFiles | None:
    """The one file of a partial replay that fills the limit, where there is one."""
    began = time.perf_counter()
    for partial in snapshot.partial_replays():
        filled = fewest(plan_files(partial, predicate, settings, "newest files", sample), predicate, limit)
        if filled is not None and filled.files.num_rows <= 1:
            return replace(filled, planning_ms=(time.perf_counter() - began) * 1000)
    return None


def fewest(planned: PlannedFiles, predicate: Predicate, limit: int) -> PlannedFiles | None:
    """The fewest of the files whose rows fill the limit, None where all together do not."""
    began = time.perf_counter()
    files = planned.files
    if limit == 0:
        return planned.then("limit", files.slice(0, 0), began)
    largest = np.argsort(-files["size"].to_numpy(), kind="stable")
    for asked in sorted({min(_ASKED_FIRST, len(largest)), len(largest)}):
        some = files.take(pa.array(largest[:asked]))
        chosen = _filling(sure_rows(planned.snapshot, some, predicate), limit)
        if chosen is not None:
            return planned.then("limit", files.take(pa.array(np.sort(largest[chosen]))), began)
    return None


def after_offset(planned: PlannedFiles, offset: int) -> PlannedFiles:
    """The files without `offset` rows: whole files go, and of the one after them its first rows.

    To be asked for only where `can_skip` says so.
    """
    began = time.perf_counter()
    counts = live_rows(planned.snapshot, planned.files)
    ends = np.cumsum(counts.to_numpy(zero_copy_only=False))
    gone = int(np.searchsorted(ends, offset, side="right"))
    skipped = int(ends[gone - 1]) if gone else 0
    left = planned.files.slice(gone)
    return planned.then("offset", left, began, offset - skipped if left.num_rows else 0)


def can_skip(plan: Plan) -> bool:
    """Whether rows can be left out by an offset: every row of the files leaves the scan, and each is counted."""
    planned = plan.planned
    _, by_data = split_by_columns(plan.spec.may_match, planned.snapshot.partition_columns)
    return by_data == TRUE and live_rows(planned.snapshot, planned.files).null_count == 0


def sure_rows(snapshot: Snapshot, files: pa.Table, predicate: Predicate) -> npt.NDArray[np.int64]:
    """How many rows of each file surely pass the predicate. The files must pass its partition part."""
    counts = pc.fill_null(live_rows(snapshot, files), 0)
    _, by_data = split_by_columns(predicate, snapshot.partition_columns)
    if by_data != TRUE:
        sure = always_true(by_data, statistics_for(snapshot, files, columns_of(by_data)))
        counts = pc.if_else(sure, counts, 0)
    rows: npt.NDArray[np.int64] = np.maximum(0, counts.to_numpy(zero_copy_only=False))
    return rows


def _filling(rows: npt.NDArray[np.int64], limit: int) -> npt.NDArray[np.int64] | None:
    """The fewest entries whose sum reaches the limit, None where all together do not."""
    order = np.argsort(-rows, kind="stable")
    reached = np.cumsum(rows[order])
    if not len(reached) or reached[-1] < limit:
        return None
    return order[: int(np.searchsorted(reached, limit)) + 1]
