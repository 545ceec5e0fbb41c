"""What is known of one version of a table without opening a data file: its size, its rows, and how fast reads will be.

All figures are the log's. Rows are counted only where every file says how many it has. Which columns have statistics is
judged by a few files, of a long log by some of those that it names first.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import Bounds, Column
from lakescan.scan.file_statistics import has_bounds
from lakescan.scan.log_state import LogState
from lakescan.scan.packing import total_bytes
from lakescan.scan.pruning import deleted_rows, rows_left, statistics_for
from lakescan.scan.snapshot import Snapshot
from lakescan.types.schema import field_at, leaf_paths

_SAMPLED_FILES = 64
SMALL_BYTES = 16 << 20


@dataclass(frozen=True)
class Inspection:
    """The figures of one version."""

    snapshot: Snapshot
    log: LogState
    files: int
    bytes: int
    small_files: int
    """Files below `SMALL_BYTES`."""
    median_bytes: int
    largest_bytes: int
    rows: int | None
    """Live rows, None where some file does not say."""
    uncounted_files: int
    """Files that do not say how many rows they have."""
    deleted_rows: int
    files_with_deletions: int
    files_to_merge: int
    """Files whose rows are merged with those of log files at every read."""
    columns_without_statistics: tuple[str, ...]
    """Columns by which no file can be skipped, though their type would allow it."""


def inspect(snapshot: Snapshot) -> Inspection:
    """The figures of a version."""
    files = snapshot.census()
    sizes = files["size"].to_numpy()
    deleted = deleted_rows(files)
    live = rows_left(files["rows"].combine_chunks(), files)
    logs = files["merged_with"] if "merged_with" in files.schema.names else None
    return Inspection(
        snapshot=snapshot,
        log=snapshot.log_state,
        files=files.num_rows,
        bytes=total_bytes(sizes),
        small_files=int((sizes < SMALL_BYTES).sum()),
        median_bytes=int(np.median(sizes)) if len(sizes) else 0,
        largest_bytes=int(sizes.max()) if len(sizes) else 0,
        rows=None if live.null_count else total_bytes(live.to_numpy()),
        uncounted_files=int(live.null_count),
        deleted_rows=total_bytes(deleted.to_numpy()),
        files_with_deletions=int(pc.sum(pc.greater(deleted, 0)).as_py() or 0),
        files_to_merge=0 if logs is None else int(files.num_rows - logs.null_count),
        columns_without_statistics=_without_statistics(*_some_files(snapshot)),
    )


def _some_files(snapshot: Snapshot) -> tuple[Snapshot, pa.Table]:
    """Files of a version, without listing the rest where that is to be had, and what speaks of them."""
    for partial in [*snapshot.partial_replays()][::-1]:
        if partial.files().num_rows:
            return partial, partial.files()
    return snapshot, snapshot.files()


def _without_statistics(snapshot: Snapshot, files: pa.Table) -> tuple[str, ...]:
    if not files.num_rows:
        return ()
    chosen = np.unique(np.linspace(0, files.num_rows - 1, min(files.num_rows, _SAMPLED_FILES), dtype=np.int64))
    asked = [Column(path) for path in sorted(leaf_paths(snapshot.schema)) if _can_have(snapshot, path)]
    known = statistics_for(snapshot, files.take(pa.array(chosen)), asked)
    lacking = {column.path for column in asked if _is_unknown(known.bounds(column))}
    order = {name: at for at, name in enumerate(snapshot.schema.names)}
    return tuple(".".join(path) for path in sorted(lacking, key=lambda path: (order[path[0]], path)))


def _can_have(snapshot: Snapshot, path: tuple[str, ...]) -> bool:
    field = field_at(snapshot.schema, path)
    return field is not None and has_bounds(field.type) and path[0] not in snapshot.partition_columns


def _is_unknown(bounds: Bounds | None) -> bool:
    """Whether nothing is known of the column in any of the files; of one with nothing but nulls its nulls are."""
    if bounds is None:
        return True
    count = len(bounds.minimum)
    return bool(bounds.minimum.null_count == count and bounds.null_count.null_count == count)
