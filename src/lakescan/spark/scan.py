"""A planned scan as Spark's `Scan` and `Batch`: statistics for the optimizer, tasks for the executors.

Planning starts in the background when the scan is made, so the scans of one query are planned side by side;
whoever asks for a result first waits for it. Equal scans compare equal, which lets Spark reuse an exchange.
"""

import pickle
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql.types import StructType

from lakescan.scan.aggregate_scan import AggregateScan
from lakescan.scan.scan import Scan
from lakescan.spark.bridge import READ, Bridge, JavaObject, Proxy
from lakescan.spark.metrics import METRICS, metric_values
from lakescan.spark.statistics import SparkStatistics
from lakescan.spark.worker import partition_reader

_PLANNERS = ThreadPoolExecutor(4, thread_name_prefix="lakescan-planner")


class SparkScan(Proxy):
    """A scan that Spark has finished pushing down to."""

    def __init__(self, bridge: Bridge, scan: Scan | AggregateScan, schema: StructType) -> None:
        super().__init__(bridge)
        self.scan = scan
        self._schema = schema
        self._planning = _PLANNERS.submit(lambda: scan.planned)

    @property
    def token(self) -> str:
        return f"{self.scan.token} as {self._schema.json()}"

    def readSchema(self) -> JavaObject:
        return self.bridge.data_type(self._schema.json())

    def description(self) -> str:
        return self.scan.description

    def toBatch(self) -> "SparkBatch":
        return SparkBatch(self.bridge, self)

    def estimateStatistics(self) -> SparkStatistics:
        self._planning.result()
        return SparkStatistics(self.bridge, self.scan.estimates(self.bridge.uses_column_statistics))

    def estimateSizeInBytes(self) -> JavaObject:
        self._planning.result()
        return self.bridge.optional_long(self.scan.estimates().bytes)

    def reflectsFullyPushedDownFilters(self) -> bool:
        return False

    def supportedCustomMetrics(self) -> JavaObject:
        return self.bridge.metrics(METRICS)

    def reportDriverMetrics(self) -> JavaObject:
        return self.bridge.metric_values(metric_values(self.scan.report()))

    def columnarSupportMode(self) -> JavaObject:
        return self.bridge.java_class(READ + "Scan$ColumnarSupportMode").valueOf("UNSUPPORTED")

    def input_partitions(self) -> JavaObject:
        self._planning.result()
        tasks = self.scan.tasks(self.bridge.parallelism)
        return self.bridge.input_partitions(pickle.dumps(task) for task in tasks)

    def reader_factory(self) -> JavaObject:
        return self.bridge.reader_factory(partition_reader(self.scan.read_plan), self.readSchema(), self._schema)

    class Java:
        implements = (READ + "SupportsReportStatistics",)


class SparkBatch(Proxy):
    """The scan's tasks."""

    def __init__(self, bridge: Bridge, scan: SparkScan) -> None:
        super().__init__(bridge)
        self._scan = scan

    @property
    def token(self) -> str:
        return f"batch of {self._scan.token}"

    def planInputPartitions(self) -> JavaObject:
        return self._scan.input_partitions()

    def createReaderFactory(self) -> JavaObject:
        return self._scan.reader_factory()

    class Java:
        implements = (READ + "Batch",)
