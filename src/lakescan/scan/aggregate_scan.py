"""A scan that gives partial rows of an aggregation: from metadata where it is exact, from the workers for the rest.

Each row of the table is in exactly one partial row's account, so merging them gives the answer. A scan of the
whole table (an aggregation without keys) always gives a partial row, even where there is no file at all.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from lakescan.predicate import Column, conjoin
from lakescan.reader.aggregate import can_aggregate, can_group, identity, merge
from lakescan.reader.aggregation import Aggregation, column_type
from lakescan.reader.plan import ReadPlan, ReadTask, ReadyRows
from lakescan.reader.read import read_task
from lakescan.scan.distinct_counts import by_distinct_values, count_distinct_values
from lakescan.scan.estimates import Estimates, sums_stay_below
from lakescan.scan.metadata_aggregates import FromMetadata, from_metadata
from lakescan.scan.planning import PlannedFiles
from lakescan.scan.report import ScanReport
from lakescan.scan.scan import Scan

_EXACT_DOUBLES = 2**53


@dataclass(frozen=True)
class AggregateScan:
    """An aggregation of the rows of a scan."""

    rows: Scan
    how: Aggregation

    @property
    def schema(self) -> pa.Schema:
        """The columns of a partial row."""
        return self.how.output(self.rows.snapshot.schema)

    @property
    def token(self) -> str:
        return f"{self.how} OF {self.rows.token}"

    @property
    def description(self) -> str:
        """The scan for people: EXPLAIN shows it."""
        return f"{self.rows.description} aggregates=[{self.how}]"

    @cached_property
    def metadata_only(self) -> bool:
        """Whether the log alone answers it."""
        return not self.planned.files.num_rows

    @property
    def can_read(self) -> bool:
        """Whether what the log does not know can be computed in the workers, exactly as Spark would."""
        schema = self.rows.snapshot.schema
        functions = [found for found in self.how.aggregates if found.column is not None]
        return (
            self.rows.settings.partial_aggregates
            and all(can_group(column_type(key, schema)) for key in self.how.keys)
            and all(can_aggregate(found, column_type(found.column, schema)) for found in functions)
        )

    def can_average(self, columns: Collection[Column]) -> bool:
        """Whether a sum of these columns divided by a count is what Spark's AVG gives, bit for bit.

        Spark's AVG adds integers up as doubles. That is the exact sum only while it stays below 2**53, which the
        counts and bounds of the files must show.
        """
        whole = [column for column in columns if pa.types.is_integer(column_type(column, self.rows.snapshot.schema))]
        return not whole or sums_stay_below(_EXACT_DOUBLES, self.rows.snapshot, self.rows.planned.files, whole)

    @property
    def ready(self) -> pa.Table:
        """What the log knows, merged: no group twice, and without keys always one row."""
        return self._known[0]

    @property
    def planned(self) -> PlannedFiles:
        """The files that the log does not know enough of."""
        return self._known[1]

    def tasks(self, parallelism: int = 1) -> list[ReadTask | ReadyRows]:
        ready: list[ReadTask | ReadyRows] = [ReadyRows(self.ready)] if self.ready.num_rows else []
        return [*ready, *self.rows.pack(self.planned.files, parallelism)]

    @cached_property
    def read_plan(self) -> ReadPlan:
        return replace(self.rows.read_plan, aggregation=self.how)

    def to_arrow(self) -> pa.Table:
        """The answer: every partial row merged."""
        parts = [batch for task in self.tasks() for batch in read_task(self.read_plan, task)]
        return merge(pa.Table.from_batches(parts, schema=self.schema), self.how)

    def report(self) -> ScanReport:
        """What was considered, what the log knew, and what is read."""
        planned = self.planned
        return replace(
            self.rows.report(),
            columns=tuple(self.rows.output.names),
            aggregation=str(self.how),
            steps=planned.steps,
            rows_deleted=planned.rows_deleted,
            planning_ms=planned.planning_ms,
            metadata_only=self.metadata_only,
        )

    def estimates(self, with_columns: bool = False) -> Estimates:
        """How much there is to read. How many groups there are is not known."""
        return Estimates(self.rows.estimates().bytes, None, {})

    @cached_property
    def _known(self) -> tuple[pa.Table, PlannedFiles]:
        planned, began = self.rows.planned, time.perf_counter()
        how = by_distinct_values(self.how)
        found = self._from_metadata(planned.files, how)
        rows = merge(found.rows, how)
        if how != self.how:
            rows = count_distinct_values(rows, self.how, self.schema)
        if not self.how.keys:
            rows = merge(pa.concat_tables([identity(self.how, self.schema), rows]), self.how)
        return rows, planned.then("metadata", found.unknown, began)

    def _from_metadata(self, files: pa.Table, how: Aggregation) -> FromMetadata:
        if not self.rows.settings.aggregates:
            return FromMetadata(how.output(self.rows.snapshot.schema).empty_table(), files)
        predicate = conjoin([self.rows.predicate, self.rows.hint])
        return from_metadata(self.rows.snapshot, files, predicate, how)
