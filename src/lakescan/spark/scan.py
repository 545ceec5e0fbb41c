"""A planned scan as Spark's `Scan` and `Batch`: statistics for the optimizer, tasks for the executors.

Planning starts in the background when the scan is made, so the scans of one query are planned side by side;
whoever asks for a result first waits for it. Equal scans compare equal, which lets Spark reuse an exchange.
"""

import pickle
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql.types import StructType

from lakescan.scan.scan import Scan
from lakescan.spark.bridge import READ, Bridge, JavaObject, Proxy
from lakescan.spark.worker import partition_reader, worker_schema

_PLANNERS = ThreadPoolExecutor(4, thread_name_prefix="lakescan-planner")


class SparkScan(Proxy):
    """A scan that Spark has finished pushing down to."""

    def __init__(self, bridge: Bridge, scan: Scan, schema: StructType) -> None:
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
        return f"lakescan {self.scan.snapshot.token} filter={self.scan.predicate} skip={self.scan.hint}"

    def toBatch(self) -> "SparkBatch":
        return SparkBatch(self.bridge, self)

    def estimateStatistics(self) -> "SparkStatistics":
        self._planning.result()
        report = self.scan.report()
        return SparkStatistics(self.bridge, report.bytes_planned, self.scan.estimated_rows())

    def estimateSizeInBytes(self) -> JavaObject:
        self._planning.result()
        return self.bridge.optional_long(self.scan.report().bytes_planned)

    def reflectsFullyPushedDownFilters(self) -> bool:
        return False

    def supportedCustomMetrics(self) -> JavaObject:
        return self.bridge.array("org.apache.spark.sql.connector.metric.CustomMetric", [])

    def reportDriverMetrics(self) -> JavaObject:
        return self.bridge.array("org.apache.spark.sql.connector.metric.CustomTaskMetric", [])

    def columnarSupportMode(self) -> JavaObject:
        return self.bridge.java_class(READ + "Scan$ColumnarSupportMode").valueOf("UNSUPPORTED")

    def input_partitions(self) -> JavaObject:
        self._planning.result()
        tasks = self.scan.tasks(self.bridge.parallelism)
        return self.bridge.input_partitions(pickle.dumps(task) for task in tasks)

    def reader_factory(self) -> JavaObject:
        return self.bridge.reader_factory(partition_reader(self.scan.read_plan), worker_schema(self._schema))

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


class SparkStatistics(Proxy):
    """What the optimizer may know of a scan."""

    def __init__(self, bridge: Bridge, size: int, rows: int | None) -> None:
        super().__init__(bridge)
        self._size, self._rows = size, rows

    def sizeInBytes(self) -> JavaObject:
        return self.bridge.optional_long(self._size)

    def numRows(self) -> JavaObject:
        return self.bridge.optional_long(self._rows)

    def columnStats(self) -> JavaObject:
        return self.bridge.java_map({})

    class Java:
        implements = (READ + "Statistics",)
