"""Files that may hold a row of a scan: pruned by partition, statistics and deletion, and of a sample only its own.

A step only ever drops files that cannot change the answer; a sample's are chosen by their paths alone. All of it is
columns: no file becomes a Python object here, so a million files are planned about as fast as their statistics can be
read.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import TRUE, Column, Predicate, columns_of, split_by_columns
from lakescan.scan.attempts import attempt
from lakescan.scan.file_filters import FileFilter, PartitionFilter, StatisticsFilter
from lakescan.scan.file_statistics import FileStatistics, has_bounds
from lakescan.scan.packing import total_bytes
from lakescan.scan.report import NUMBER, TABLE, Step
from lakescan.scan.sample import Sample
from lakescan.scan.settings import Settings
from lakescan.scan.snapshot import Snapshot
from lakescan.types.columns import member
from lakescan.types.schema import field_at

ALL = Settings()
_MANY = 1024


@dataclass(frozen=True)
class PlannedFiles:
    """The files to read, and how they were arrived at."""

    snapshot: Snapshot
    """What listed the files and speaks of them: the scan's snapshot or a partial replay of it."""
    files: pa.Table
    steps: tuple[Step, ...]
    planning_ms: float
    skip_rows: int = 0
    """How many rows of the first file, from its first on, are not wanted."""

    @property
    def rows_deleted(self) -> int:
        """Rows that deletion vectors drop from these files."""
        return int(pc.sum(deleted_rows(self.files)).as_py() or 0)

    def then(self, name: str, files: pa.Table, began: float, skip_rows: int = 0) -> "PlannedFiles":
        """These files after one more step, which began at that time of `perf_counter`."""
        spent = (time.perf_counter() - began) * 1000
        steps = (*self.steps, _step(name, files))
        return PlannedFiles(self.snapshot, files, steps, self.planning_ms + spent, skip_rows)


def plan_files(
    snapshot: Snapshot,
    predicate: Predicate,
    settings: Settings = ALL,
    listed: str = TABLE,
    sample: Sample | None = None,
) -> PlannedFiles:
    """The files, of a sample only its own, that may hold a row for which `predicate` is true; the first step is what
    the snapshot lists."""
    began = time.perf_counter()
    todo = _steps(snapshot, predicate, settings)
    steps = []
    if todo:
        name, first = todo[0]
        narrowed = attempt(f"{name} in the log", lambda: _narrowed(snapshot, first), lambda: snapshot)
        if narrowed is not snapshot:
            snapshot, todo = narrowed, todo[1:]
            steps = [_step(name, narrowed.files())]
    files = snapshot.files()
    steps = steps or [_step(listed, files)]
    for name, step in todo:
        if not files.num_rows and isinstance(step, StatisticsFilter):
            continue
        files = _after(name, step, snapshot, files)
        steps.append(_step(name, files))
    if sample is not None:
        # Fewer paths are looked at after the filter's steps; which of them are taken does not depend on these.
        files = files.filter(sample.keeps(files["path"]))
        steps.append(_step("sample", files))
    deleted = attempt("deletion vectors", lambda: _with_every_row_deleted(snapshot, files), lambda: None)
    if deleted is not None:
        files = files.filter(pc.invert(deleted))
        steps.append(_step("deletion vectors", files))
    return PlannedFiles(snapshot, files, tuple(steps), (time.perf_counter() - began) * 1000)


def _steps(snapshot: Snapshot, predicate: Predicate, settings: Settings) -> list[tuple[str, FileFilter]]:
    """The steps that drop files, by name, in the order in which they are taken."""
    by_partition, by_data = split_by_columns(predicate, snapshot.partition_columns)
    steps: list[tuple[str, FileFilter]] = []
    if by_partition != TRUE:
        steps.append(("partitions", PartitionFilter(by_partition)))
    derived: Predicate = TRUE
    if settings.generated_columns:
        derived = attempt("generated columns", lambda: derived_from(snapshot, by_data), lambda: TRUE)
    if derived != TRUE:
        steps.append(("generated columns", PartitionFilter(derived, unknown=True)))
    if by_data != TRUE and settings.skipping:
        columns = with_statistics(snapshot, columns_of(by_data))
        steps.append(("statistics", StatisticsFilter(by_data, tuple(columns))))
    return steps


def _narrowed(snapshot: Snapshot, step: FileFilter) -> Snapshot:
    """The snapshot with the files that a step leaves, listed already; itself where it does not narrow."""
    narrowed = snapshot.narrowed(step)
    if narrowed is not snapshot:
        narrowed.files()
    return narrowed


def _after(name: str, step: FileFilter, snapshot: Snapshot, files: pa.Table) -> pa.Table:
    """The files that a step leaves."""
    if isinstance(step, PartitionFilter) and not step.unknown:
        # Nobody else evaluates a filter on partition columns.
        return files.filter(_kept(snapshot, files, step))
    return attempt(name, lambda: files.filter(_kept(snapshot, files, step)), lambda: files)


def _kept(snapshot: Snapshot, files: pa.Table, step: FileFilter) -> pa.Array:
    partition = files["partition"].combine_chunks()
    if isinstance(step, PartitionFilter):
        return step.keeps(partition)
    return step.keeps(snapshot.statistics(files, step.columns), partition)


def stored_rows(snapshot: Snapshot, files: pa.Table) -> pa.Array:
    """Rows of each file, deleted ones too; null where the file's statistics give no count."""
    return member(snapshot.statistics(files, ()), "row_count")


def live_rows(snapshot: Snapshot, files: pa.Table) -> pa.Array:
    """Rows of each file that are not deleted; null where the file's statistics give no count that can be true."""
    return rows_left(stored_rows(snapshot, files), files)


def rows_left(counts: pa.Array, files: pa.Table) -> pa.Array:
    """So many rows less the deleted ones; null where more are deleted than there are: then the file has to be read."""
    left = pc.subtract(counts, deleted_rows(files))
    return pc.if_else(pc.greater_equal(left, 0), left, pa.scalar(None, left.type))


def deleted_rows(files: pa.Table) -> pa.Array:
    """Rows of each file that its deletion vector drops."""
    return pc.fill_null(member(files["deletion_vector"].combine_chunks(), "cardinality"), 0)


def _step(name: str, files: pa.Table) -> Step:
    numbers = files[NUMBER].to_numpy() if NUMBER in files.schema.names else None
    return Step(name, files.num_rows, total_bytes(files["size"].to_numpy()), numbers)


def derived_from(snapshot: Snapshot, by_data: Predicate) -> Predicate:
    """What a filter on data columns says of the partition columns that are generated from them."""
    generated = snapshot.generated_columns
    if by_data == TRUE or not generated:
        return TRUE
    # Few tables have such columns, and their expressions take a parser of SQL.
    from lakescan.scan.generated_columns import derived_filter

    return derived_filter(by_data, generated, snapshot.partition_columns, snapshot.schema)


def some_of(files: pa.Table) -> pa.Table:
    """The files or, of many, as many from all over the list as tell what the others are like."""
    if files.num_rows <= _MANY:
        return files
    return files.take(pa.array(np.linspace(0, files.num_rows - 1, _MANY).astype(np.int64)))


def matching_partitions(files: pa.Table, predicate: Predicate) -> pa.Table:
    """The files whose partition values make the predicate TRUE."""
    return files.filter(PartitionFilter(predicate).keeps(files["partition"].combine_chunks()))


def statistics_for(snapshot: Snapshot, files: pa.Table, columns: Iterable[Column]) -> FileStatistics:
    """What is known of these columns in each file, for skipping."""
    wanted = with_statistics(snapshot, columns)
    return FileStatistics(snapshot.statistics(files, wanted), files["partition"].combine_chunks())


def with_statistics(snapshot: Snapshot, columns: Iterable[Column]) -> list[Column]:
    """Those of the columns of which statistics can speak."""
    return [
        column
        for column in columns
        if column.path[0] not in snapshot.partition_columns and _has_statistics(snapshot.schema, column)
    ]


def _has_statistics(schema: pa.Schema, column: Column) -> bool:
    field = field_at(schema, column.path)
    return field is not None and has_bounds(field.type)


def _with_every_row_deleted(snapshot: Snapshot, files: pa.Table) -> pa.Array | None:
    """Which files have no live row left, or None where none can be without."""
    marked = deleted_rows(files).to_numpy() > 0
    if not marked.any():
        return None
    rows = np.flatnonzero(marked)
    live = live_rows(snapshot, files.take(pa.array(rows)))
    gone = np.zeros(files.num_rows, np.bool_)
    gone[rows] = pc.fill_null(pc.equal(live, 0), False).to_numpy(zero_copy_only=False)
    return pa.array(gone)
