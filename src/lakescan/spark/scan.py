"""A planned scan as Spark's `Scan` and `Batch`: statistics for the optimizer, tasks for the executors.

Planning starts in the background when the scan is made, so the scans of one query are planned side by side;
whoever asks for a result first waits for it. Equal scans compare equal, which lets Spark reuse an exchange.
Filters that Spark finds at run time hold for the next batch only: another use of the same scan must not lose rows.
"""

import pickle
from functools import cached_property

from pyspark.sql.types import StructType

from lakescan.predicate import Predicate, conjoin, exact
from lakescan.scan.aggregate_scan import AggregateScan
from lakescan.scan.scan import Scan
from lakescan.scan.statistics import has_bounds
from lakescan.spark.bridge import READ, Bridge, JavaObject, Proxy
from lakescan.spark.columns import plain_field
from lakescan.spark.metrics import metrics
from lakescan.spark.plain_files import PlainColumns, plain_columns, plain_pieces
from lakescan.spark.planners import planners, shared
from lakescan.spark.predicates import read_expression
from lakescan.spark.statistics import SparkStatistics
from lakescan.spark.worker import partition_reader, worker_schema


class SparkScan(Proxy):
    """A scan that Spark has finished pushing down to."""

    def __init__(self, bridge: Bridge, scan: Scan | AggregateScan, schema: StructType) -> None:
        super().__init__(bridge)
        self.scan = shared(scan) if isinstance(scan, Scan) else scan
        self._schema = schema
        self._found_at_run_time: list[Predicate] = []
        rows = scan if isinstance(scan, Scan) else scan.rows
        self._planning = planners(rows.settings.planning_threads).submit(lambda: self.scan.planned)
        self.last_run: Scan | AggregateScan = self.scan

    @property
    def token(self) -> str:
        return f"{self.scan.token} as {self._schema.json()}"

    def readSchema(self) -> JavaObject:
        return self.bridge.data_type(self._schema.json())

    def description(self) -> str:
        return self.scan.description

    def toBatch(self) -> "SparkBatch":
        found, self._found_at_run_time = self._found_at_run_time, []
        if not found or not isinstance(self.scan, Scan):
            return SparkBatch(self.bridge, self, self.scan)
        self.last_run = self.scan.at_run_time(conjoin(found))
        return SparkBatch(self.bridge, self, self.last_run)

    def filterAttributes(self) -> JavaObject:
        """The columns by which values found at run time can drop files."""
        scan = self.scan
        if not isinstance(scan, Scan) or not scan.takes_runtime_filters:
            return self.bridge.references([])
        schema = self._schema.jsonValue()
        names = [field.name for field in scan.output if has_bounds(field.type) and plain_field(schema, (field.name,))]
        return self.bridge.references(names)

    def supportsIterativePushdown(self) -> bool:
        return False

    def pushedPredicates(self) -> JavaObject:
        return self.bridge.no_predicates()

    def filter(self, predicates: JavaObject) -> None:
        read = (exact(read_expression(self.bridge, predicate), self.scan.schema) for predicate in predicates)
        self._found_at_run_time = [predicate for predicate in read if predicate is not None]

    def estimateStatistics(self) -> SparkStatistics:
        self._planning.result()
        return SparkStatistics(self.bridge, self.scan.estimates(self.bridge.uses_column_statistics))

    def estimateSizeInBytes(self) -> JavaObject:
        self._planning.result()
        return self.bridge.optional_long(self.scan.estimates().bytes)

    def reflectsFullyPushedDownFilters(self) -> bool:
        return False

    def supportedCustomMetrics(self) -> JavaObject:
        # One that is named and given no value would be shown as zero.
        return self.bridge.metrics({name: text for name, (text, _) in metrics(self.last_run.planned).items()})

    def reportDriverMetrics(self) -> JavaObject:
        return self.bridge.metric_values({name: value for name, (_, value) in metrics(self.last_run.planned).items()})

    def columnarSupportMode(self) -> JavaObject:
        return self.bridge.java_class(READ + "Scan$ColumnarSupportMode").valueOf("SUPPORTED")

    def input_partitions(self, scan: Scan | AggregateScan) -> JavaObject:
        self._planning.result()
        tasks = scan.tasks(self.bridge.parallelism)
        plain = plain_pieces(self.scan.read_plan, self._plain_columns, tasks)
        return self.bridge.input_partitions(zip(map(pickle.dumps, tasks), plain, strict=True))

    def reader_factory(self) -> JavaObject:
        plan = self.scan.read_plan
        limited = plan.limit is not None
        schema = worker_schema(self._schema)
        return self.bridge.reader_factory(partition_reader(plan), schema, limited, self._plain_columns)

    @cached_property
    def _plain_columns(self) -> PlainColumns | None:
        if isinstance(self.scan, AggregateScan) or not self.scan.settings.plain_files:
            return None
        return plain_columns(self.scan.read_plan, self._schema)

    class Java:
        implements = (READ + "SupportsReportStatistics", READ + "SupportsRuntimeV2Filtering")


class SparkBatch(Proxy):
    """The scan's tasks: of `planned`, which is the scan itself or what is left of it at run time."""

    def __init__(self, bridge: Bridge, scan: SparkScan, planned: Scan | AggregateScan) -> None:
        super().__init__(bridge)
        self._scan = scan
        self._planned = planned

    @property
    def token(self) -> str:
        return f"batch of {self._planned.token} {self._scan.token}"

    def planInputPartitions(self) -> JavaObject:
        return self._scan.input_partitions(self._planned)

    def createReaderFactory(self) -> JavaObject:
        return self._scan.reader_factory()

    class Java:
        implements = (READ + "Batch",)
