"""What will be read for a scan, and what can be asked of it: files, tasks, rows, a report, estimates.

A plan is made by `scan.planning.plan` and never changes. The files, the tasks and the report speak of the same plan.
"""

import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import conjoin
from lakescan.predicate.readable import readable
from lakescan.reader.aggregate import merge
from lakescan.reader.read import read_task
from lakescan.reader.read_plan import ReadPlan, ReadTask, ReadyRows
from lakescan.scan.attempts import attempt
from lakescan.scan.conversions import ArrowRows
from lakescan.scan.estimates import (
    Estimates,
    column_estimates,
    expected_share,
    scaled_bytes,
    scaled_each,
    share_of_columns,
)
from lakescan.scan.packing import ROW_COUNT, TARGET_BYTES, WHOLE, PackedTasks, packed
from lakescan.scan.partitioning import MOST_KEYS, KeyedTasks, is_key, keys_of, tasks_by_key
from lakescan.scan.pruning import PlannedFiles, rows_left, stored_rows
from lakescan.scan.report import TABLE, FileFates, Report, ScanReport, Step
from lakescan.scan.runtime_filter import separating_columns
from lakescan.scan.side_by_side import side_by_side
from lakescan.scan.spec import ScanSpec

# What may wait of a task that has been read ahead: most tasks expand to less.
_BYTES_A_WORKER = 512 << 20


@dataclass(frozen=True)
class ScanTasks:
    """All tasks of a scan."""

    first: tuple[ReadTask | ReadyRows, ...]
    """Those before the others that do something else than to read files from their first row on."""
    packed: PackedTasks


@dataclass(frozen=True, repr=False)
class Plan(ArrowRows):
    """The answer to a `ScanSpec`, before any data file is opened."""

    spec: ScanSpec
    planned: PlannedFiles
    """The files to read, and how they were arrived at."""
    read_plan: ReadPlan
    """What every task is read with."""
    ready: pa.Table | None = None
    """Of an aggregation: what metadata knows, merged. No group twice, and without keys always one row."""
    failed: tuple[str, ...] = ()
    """The optimizations that were given up, since they failed."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows it gives."""
        return self.spec.schema

    @property
    def metadata_only(self) -> bool:
        """Whether metadata alone answers it."""
        return self.ready is not None and not self.planned.files.num_rows

    def files(self, most: int | None = None) -> pa.Table:
        """The files that survive, or the first of them: full path, size, partition values, deletion vector, live rows
        where known."""
        files = self.planned.files if most is None else self.planned.files.slice(0, most)
        counts = self._stored_rows if most is None else stored_rows(self.planned.snapshot, files)
        data = self.spec.snapshot.data_files
        paths = [data.storage.full_path(data.path({"path": path})) for path in files["path"].to_pylist()]
        shown = files.select(["size", "modification_time", "partition", "deletion_vector"])
        return shown.add_column(0, "path", pa.array(paths, pa.string())).append_column("rows", rows_left(counts, files))

    def tasks(self, parallelism: int = 1) -> list[ReadTask | ReadyRows]:
        """The tasks, an object for each."""
        divided = self.divided(parallelism)
        return [*divided.first, *divided.packed.tasks()]

    def divided(self, parallelism: int = 1) -> ScanTasks:
        """The tasks, in columns."""
        planned = self.planned
        if planned.skip_rows:
            (first,) = self.pack(planned.files.slice(0, 1), 1, WHOLE)
            skipping = replace(first, skip_rows=planned.skip_rows)
            return ScanTasks((skipping,), self._packed(planned.files.slice(1), parallelism))
        known = self.ready is not None and self.ready.num_rows
        return ScanTasks((ReadyRows(self.ready),) if known else (), self._packed(planned.files, parallelism))

    @cached_property
    def partition_keys(self) -> tuple[str, ...]:
        """The partition columns by whose values tasks can be made, where that is wanted and there are not too many."""
        spec, snapshot = self.spec, self.planned.snapshot
        wanted = spec.settings.by_partition and spec.gives_every_row and self.planned.files.num_rows
        names = [name for name in spec.output.names if name in snapshot.partition_columns] if wanted else []
        names = [name for name in names if is_key(spec.output.field(name).type)]
        return tuple(names) if names and keys_of(self.planned.files, names)[0].num_rows <= MOST_KEYS else ()

    def tasks_by_key(self, names: Sequence[str]) -> KeyedTasks:
        """All tasks, each with rows of one value of these partition columns."""
        besides = sorted(self.read_plan.wanted_of_files)
        return tasks_by_key(self._told(self.planned.files), names, besides)

    def pack(self, files: pa.Table, parallelism: int, target: int = TARGET_BYTES) -> list[ReadTask]:
        """Tasks over some of the planned files, with what the read plan wants to know of each."""
        return self._packed(files, parallelism, target).tasks()

    def _packed(self, files: pa.Table, parallelism: int, target: int = TARGET_BYTES) -> PackedTasks:
        return packed(self._told(files), parallelism, target, self.read_plan.wanted_of_files)

    def _told(self, files: pa.Table) -> pa.Table:
        """The files with what tasks are told of them."""
        besides = self.read_plan.wanted_of_files
        snapshot, is_whole = self.planned.snapshot, files is self.planned.files
        return (snapshot.details(files, besides) if besides else files).append_column(
            ROW_COUNT, self._stored_rows if is_whole else stored_rows(snapshot, files)
        )

    def bytes_of(self, tasks: PackedTasks) -> npt.NDArray[np.int64]:
        """About how many bytes of files each task reads: its pieces, scaled to the columns that are read."""
        return scaled_each(tasks.bytes, share_of_columns(self.read_plan.schema, self.spec.snapshot.schema))

    def to_batches(self) -> Generator[pa.RecordBatch, None, None]:
        """The rows, batch by batch; several files are read at once unless a limit makes that a waste."""
        left = self.spec.limit
        for batch in self._batches():
            if left is not None:
                batch = batch.slice(0, left)
                left -= batch.num_rows
            yield batch
            if left == 0:
                return

    def to_arrow(self) -> pa.Table:
        """The rows; of an aggregation the answer, every partial row merged."""
        batches = list(self.to_batches())
        if self.spec.aggregation is not None:
            return merge(pa.Table.from_batches(batches, schema=self.schema), self.spec.aggregation)
        if batches or self.schema.names:
            return pa.Table.from_batches(batches, schema=self.schema)
        return pa.table({})

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows, batch by batch, once; of an aggregation the answer."""
        if self.spec.aggregation is not None:
            return self.to_arrow().to_reader()
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def report(self) -> ScanReport:
        """What was considered, skipped and why. All of the table's files are counted, also those never listed."""
        spec, planned, steps = self.spec, self.planned, self.planned.steps
        if steps[0].name != TABLE:
            steps = (Step(TABLE, spec.snapshot.num_files, spec.snapshot.size_in_bytes), *steps)
        return ScanReport(
            table=spec.snapshot.location,
            version=spec.snapshot.version,
            filter=readable(conjoin([spec.may_match, spec.runtime])),
            columns=tuple(spec.output.names),
            steps=steps,
            rows_deleted=planned.rows_deleted,
            planning_ms=planned.planning_ms,
            metadata_only=self.metadata_only,
            aggregation="" if spec.aggregation is None else str(spec.aggregation),
            failed=self.failed,
            fates=self._fates,
        )

    def __repr__(self) -> str:
        return f"<{self.spec.description}: {self.report().summary}>"

    def _repr_html_(self) -> str:
        return Report((self.report(),))._repr_html_()

    def _fates(self) -> FileFates:
        from lakescan.scan.file_fates import file_fates

        return file_fates(self)

    def estimates(self, with_columns: bool = False) -> Estimates:
        """What the optimizer may know: bytes and rows that are expected, and what the log says of columns if wanted.

        How many groups an aggregation has is not known. Whoever knows columns works out by itself what filters leave.
        """
        files = self.planned.files
        size = scaled_bytes(files, self.spec.output, self.spec.snapshot.schema)
        return attempt("estimates", lambda: self._estimates(size, with_columns), lambda: Estimates(size, None, {}))

    def _estimates(self, size: int, with_columns: bool) -> Estimates:
        files = self.planned.files
        if not self.spec.settings.statistics or self.spec.aggregation is not None:
            return Estimates(size, None, {})
        rows = None if self._live_rows.null_count else int(pc.sum(self._live_rows).as_py() or 0)
        if with_columns:
            return Estimates(size, rows, column_estimates(self.planned.snapshot, files, self.spec.output))
        return Estimates(int(size * self.expected_share), None if rows is None else int(rows * self.expected_share), {})

    @cached_property
    def expected_share(self) -> float:
        """Which part of the rows of the files that are read is expected to pass the filters."""
        return expected_share(self.planned, self.spec.may_match)

    @cached_property
    def runtime_columns(self) -> tuple[str, ...]:
        """The columns of which values found at run time are worth having."""
        if not self.spec.takes_runtime_filters:
            return ()
        return attempt(
            "runtime filters",
            lambda: tuple(separating_columns(self.planned, self.spec.output, self.spec.settings.skipping)),
            lambda: (),
        )

    @cached_property
    def _stored_rows(self) -> pa.Array:
        return stored_rows(self.planned.snapshot, self.planned.files)

    @property
    def _live_rows(self) -> pa.Array:
        return rows_left(self._stored_rows, self.planned.files)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        workers = os.cpu_count() or 1
        tasks = self.tasks(workers)
        if self.spec.limit is not None or len(tasks) < 2:
            for task in tasks:
                yield from read_task(self.read_plan, task)
            return
        yield from side_by_side(tasks, partial(read_task, self.read_plan), workers, workers * _BYTES_A_WORKER)
