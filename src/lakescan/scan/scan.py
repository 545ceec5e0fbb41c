"""A scan: which rows of a snapshot are wanted, planned when first asked and then fixed.

The files, the tasks and the report all speak of the same plan. Two scans with the same `token` read the same
rows of the same version, so one can stand for the other.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from threading import RLock
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import TRUE, Predicate, bind, columns_of, conjoin, parse, split_by_columns
from lakescan.reader.plan import ReadPlan, ReadTask
from lakescan.reader.read import read_task
from lakescan.reader.top_rows import TopRows
from lakescan.scan.estimates import Estimates, column_estimates, scaled_bytes
from lakescan.scan.limit import after_offset, plan_limit
from lakescan.scan.packing import NUM_RECORDS, TARGET_BYTES, WHOLE, pack
from lakescan.scan.planning import PlannedFiles, deleted_rows, plan_files, stored_rows
from lakescan.scan.report import TABLE, ScanReport, Step
from lakescan.scan.runtime_filter import narrowed
from lakescan.scan.settings import Settings
from lakescan.scan.side_by_side import side_by_side
from lakescan.scan.top_n import keep_top_n
from lakescan.schema import field_at, leaf_paths, prune, twin_of

if TYPE_CHECKING:
    from lakescan.scan.snapshot import Snapshot

# What may wait of a task that has been read ahead: most tasks expand to less.
_BYTES_A_WORKER = 512 << 20


@dataclass(frozen=True)
class Scan:
    """Made by `ScanBuilder.build`."""

    snapshot: "Snapshot"
    predicate: Predicate
    hint: Predicate
    output: pa.Schema
    row_limit: int | None
    row_offset: int = 0
    top: TopRows | None = None
    settings: Settings = field(default_factory=Settings)
    _lock: RLock = field(default_factory=RLock, repr=False, compare=False)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows it gives."""
        return self.output

    @property
    def token(self) -> str:
        """Everything that decides the rows, as text."""
        return (
            f"{self.snapshot.token} "
            f"[{', '.join(f'{f.name}: {f.type}' for f in self.output)}] "
            f"filter={self.predicate} skip={self.hint} limit={self.row_limit} offset={self.row_offset} top={self.top}"
        )

    @property
    def description(self) -> str:
        """The scan for people: EXPLAIN shows it."""
        pushed = {"filter": self.predicate, "skip": self.hint, "limit": self.row_limit, "top": self.top}
        shown = [f"{name}=[{what}]" for name, what in pushed.items() if what is not None and what != TRUE]
        shown += [f"offset=[{self.row_offset}]"] if self.row_offset else []
        snapshot = self.snapshot
        return " ".join([f"lakescan {snapshot.format} {snapshot.location}@{snapshot.version}", *shown])

    @property
    def planned(self) -> PlannedFiles:
        with self._lock:
            return self._planned

    def files(self) -> pa.Table:
        """The files that survive: full path, size, partition values, deletion vector, live rows where known."""
        files = self.planned.files
        data = self.snapshot.data_files
        paths = [data.storage.full_path(data.path({"path": path})) for path in files["path"].to_pylist()]
        shown = files.select(["size", "modification_time", "partition", "deletion_vector"])
        return shown.add_column(0, "path", pa.array(paths, pa.string())).append_column("rows", self._live_rows)

    def tasks(self, parallelism: int = 1) -> list[ReadTask]:
        planned = self.planned
        if not planned.skip_rows:
            return self.pack(planned.files, parallelism)
        (first,) = self.pack(planned.files.slice(0, 1), 1, WHOLE)
        return [replace(first, skip_rows=planned.skip_rows), *self.pack(planned.files.slice(1), parallelism)]

    def pack(self, files: pa.Table, parallelism: int, target: int = TARGET_BYTES) -> list[ReadTask]:
        """Tasks over some of the planned files, with what the read plan wants to know of each."""
        besides = self.read_plan.wanted_of_files
        snapshot, is_whole = self.planned.snapshot, files is self.planned.files
        told = (snapshot.details(files, besides) if besides else files).append_column(
            NUM_RECORDS, self._stored_rows if is_whole else stored_rows(snapshot, files)
        )
        return pack(told, parallelism, target, besides)

    @cached_property
    def read_plan(self) -> ReadPlan:
        """What every task is read with."""
        _, residual = split_by_columns(self.predicate, self.snapshot.partition_columns)
        schema = self._with_filter_columns(residual)
        hidden, computed = self.snapshot.hidden_columns, self.snapshot.computed_columns
        own, source = self.snapshot.schema, self.snapshot.source_schema
        return ReadPlan(
            files=self.snapshot.data_files,
            output=self.output,
            schema=schema,
            source=twin_of(schema, pa.schema([*own, *hidden]), pa.schema([*source, *hidden])),
            partition_columns=frozenset(self.snapshot.partition_columns),
            filter=residual,
            skip=self._skipped_row_groups(residual),
            limit=self.row_limit,
            top=self.top,
            computed={name: column for name, column in computed.items() if name in schema.names},
        )

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch; several files are read at once unless a limit makes that a waste."""
        left = self.row_limit
        for batch in self._batches():
            if left is not None:
                batch = batch.slice(0, left)
                left -= batch.num_rows
            yield batch
            if left == 0:
                return

    def to_arrow(self) -> pa.Table:
        """The rows."""
        batches = list(self.to_batches())
        if batches or self.output.names:
            return pa.Table.from_batches(batches, schema=self.output)
        return pa.table({})

    def report(self) -> ScanReport:
        """What was considered, skipped and why. All of the table's files are counted, also those never listed."""
        planned, steps = self.planned, self.planned.steps
        if planned.snapshot is not self.snapshot:
            steps = (Step(TABLE, self.snapshot.num_files, self.snapshot.size_in_bytes), *steps)
        return ScanReport(
            table=self.snapshot.location,
            version=self.snapshot.version,
            filter=str(conjoin([self.predicate, self.hint])),
            columns=tuple(self.output.names),
            steps=steps,
            rows_deleted=planned.rows_deleted,
            planning_ms=planned.planning_ms,
        )

    def estimates(self, with_columns: bool = False) -> Estimates:
        """What the optimizer may know: bytes and rows of the files that are read, and of their columns if wanted."""
        files = self.planned.files
        size = scaled_bytes(files, self.output, self.snapshot.schema)
        if not self.settings.statistics:
            return Estimates(size, None, {})
        rows = None if self._live_rows.null_count else int(pc.sum(self._live_rows).as_py() or 0)
        columns = column_estimates(self.planned.snapshot, files, self.output) if with_columns else {}
        return Estimates(size, rows, columns)

    @cached_property
    def _planned(self) -> PlannedFiles:
        predicate = conjoin([self.predicate, self.hint])
        if self.row_limit is not None and not self.row_offset and self.top is None:
            return plan_limit(self.snapshot, predicate, self.row_limit, self.settings)
        planned = plan_files(self.snapshot, predicate, self.settings)
        if self.row_offset:
            return after_offset(planned, self.row_offset)
        return planned if self.top is None else keep_top_n(planned, predicate, self.top)

    @property
    def takes_runtime_filters(self) -> bool:
        """Whether files may still be dropped: not where their number was chosen to give so many rows."""
        counted = self.row_limit is not None or self.row_offset or self.top is not None
        return self.settings.runtime_filters and not counted

    def at_run_time(self, predicate: Predicate | str) -> "Scan":
        """The same scan without the files that, by values found at run time, have no row that is wanted."""
        bound = bind(parse(predicate) if isinstance(predicate, str) else predicate, self.snapshot.schema)
        scan = replace(self, hint=conjoin([self.hint, bound]))
        # Fixed here, from this scan's own plan: what was planned once is not planned again.
        vars(scan)["_planned"] = narrowed(self.planned, bound, self.settings.skipping)
        return scan

    def _with_filter_columns(self, residual: Predicate) -> pa.Schema:
        """The output and what the filter needs besides: further columns, and further fields of structs."""
        lacking = {column.path for column in columns_of(residual) if field_at(self.output, column.path) is None}
        table = pa.schema([*self.snapshot.schema, *self.snapshot.hidden_columns])
        wider, _ = prune(table, table, lacking | leaf_paths(self.output))
        names = {path[0] for path in lacking}
        given = [wider.field(field.name) if field.name in names else field for field in self.output]
        return pa.schema(given + [wider.field(name) for name in sorted(names - set(self.output.names))])

    def _skipped_row_groups(self, residual: Predicate) -> Predicate:
        if not self.settings.row_groups:
            return TRUE
        return split_by_columns(conjoin([residual, self.hint]), self.snapshot.partition_columns)[1]

    @cached_property
    def _stored_rows(self) -> pa.Array:
        return stored_rows(self.planned.snapshot, self.planned.files)

    @property
    def _live_rows(self) -> pa.Array:
        return pc.subtract(self._stored_rows, deleted_rows(self.planned.files))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        workers = os.cpu_count() or 1
        tasks = self.tasks(workers)
        if self.row_limit is not None or len(tasks) < 2:
            for task in tasks:
                yield from read_task(self.read_plan, task)
            return
        yield from side_by_side(tasks, partial(read_task, self.read_plan), workers, workers * _BYTES_A_WORKER)
