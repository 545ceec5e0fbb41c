"""A planned scan as Spark's `Scan` and `Batch`: statistics for the optimizer, tasks for the executors.

Planning starts in the background when the scan is made, so the scans of one query are planned side by side;
whoever asks for a result first waits for it. Equal scans compare equal, which lets Spark reuse an exchange.
Filters that Spark finds at run time hold for the next batch only: another use of the same scan must not lose rows.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from pyspark.sql.types import StructType

from lakescan.predicate import Predicate, conjoin, exact
from lakescan.reader.read_plan import ReadPlan
from lakescan.scan.attempts import attempt, failures
from lakescan.scan.plan import Plan, ScanTasks
from lakescan.scan.planning import at_run_time, read_plan
from lakescan.scan.report import shown_reasons
from lakescan.scan.runtime_filter import MOST_VALUES
from lakescan.spark.bridge import READ, BatchScan, Bridge, JavaObject, Proxy
from lakescan.spark.bridge.hadoop_stores import SessionStore, session_store
from lakescan.spark.bridge.tasks import TaskBlock, input_partitions
from lakescan.spark.dsv2.comparable_columns import plain_field
from lakescan.spark.dsv2.metrics import COUNTS, SIZES, metrics
from lakescan.spark.dsv2.plain_files import ELSEWHERE, PlainColumns, is_small, plain_columns
from lakescan.spark.dsv2.planners import Planning
from lakescan.spark.dsv2.predicates import read_expressions
from lakescan.spark.dsv2.spark_statistics import SparkStatistics
from lakescan.spark.dsv2.task_blocks import DividedScan
from lakescan.spark.dsv2.variant_fields import shown_extractions
from lakescan.spark.dsv2.worker import partition_reader, shipped, worker_schema

_T = TypeVar("_T")

# Who reads more files than that is not told before they are read: dividing them into tasks takes as long as planning.
_DESCRIBED_FILES = 100_000


class SparkScan(BatchScan):
    """A scan that Spark has finished pushing down to."""

    ANSWERS_FOR_EVER = (
        "readSchema",
        "columnarSupportMode",
        "filterAttributes",
        "estimateStatistics",
        "outputPartitioning",
        "outputOrdering",
        "supportsIterativePushdown",
        "pushedPredicates",
        "reflectsFullyPushedDownFilters",
    )
    # Values that are found at run time come with an argument, and leave out files.
    ANSWERS_AT_FIRST = ("description", "supportedCustomMetrics")

    def __init__(
        self,
        bridge: Bridge,
        planning: Planning,
        schema: StructType,
        given: StructType | None = None,
        failed: list[str] | None = None,
    ) -> None:
        """`given` is the schema with what is taken out of Variants, where anything is; `failed` are optimizations that
        were given up already."""
        super().__init__(bridge)
        self.spec = planning.spec
        self._planning = planning
        self.schema = schema
        self._given = given or schema
        self._runtime_filters: list[Predicate] = []
        self._at_run_time: Plan | None = None
        self._tasks: DividedScan | None = None
        self._has_run = False
        self._failed = failed if failed is not None else []

    @cached_property
    def token(self) -> str:
        return f"{self.spec.token} as {self._given.json()}"

    @property
    def failed(self) -> tuple[str, ...]:
        """The optimizations that were given up, while Spark offered them, while the scan was planned and since."""
        return tuple(dict.fromkeys([*self._failed, *self.last_run.failed]))

    @property
    def plan(self) -> Plan:
        """The plan, once it is there."""
        return self._planning.plan.result()

    @property
    def last_run(self) -> Plan:
        """The plan of the last batch: without the files that run time has shown not to matter."""
        return self._at_run_time or self.plan

    def readSchema(self) -> JavaObject:
        return self.bridge.data_type(self._given.json())

    def description(self) -> str:
        extracted = ", ".join(shown_extractions(self._given))
        wanted = self.spec.description + (f" variants=[{extracted}]" if extracted else "")
        if self._planning.plan.exception() is not None:
            # A plan that failed fails the query, and not whoever describes it.
            return wanted
        return self._attempt("description", lambda: self._described(wanted), lambda: wanted)

    def _described(self, wanted: str) -> str:
        if self._tasks is None and self.last_run.planned.files.num_rows > _DESCRIBED_FILES:
            return f"{wanted} …"
        divided = self._divided(self.last_run)
        who = ", ".join(f"{count} by {reader}" for reader, count in divided.readers)
        why = divided.why_workers
        files = self.last_run.planned.files.num_rows
        return f"{wanted} files=[{files}] tasks=[{who}{shown_reasons(why)}]"

    def toBatch(self) -> "SparkBatch":
        filters, self._runtime_filters = self._runtime_filters, []
        self._at_run_time = at_run_time(self.plan, conjoin(filters)) if filters else None
        return SparkBatch(self.bridge, self, self._at_run_time)

    def filterAttributes(self) -> JavaObject:
        """The columns by which values found at run time can drop a good part of the files."""
        schema = self.schema.jsonValue()
        with failures(self._failed):
            names = self.plan.runtime_columns
        return self.bridge.references(name for name in names if plain_field(schema, (name,)))

    def supportsIterativePushdown(self) -> bool:
        return False

    def pushedPredicates(self) -> JavaObject:
        return self.bridge.chosen(None, [])

    def filter(self, predicates: JavaObject) -> None:
        self._runtime_filters = self._attempt("runtime filters", lambda: self._read_filters(predicates), list)

    def _read_filters(self, predicates: JavaObject) -> list[Predicate]:
        read = read_expressions(self.bridge, predicates, MOST_VALUES)
        known = (exact(expression, self.spec.output) for expression in read)
        return [predicate for predicate in known if predicate is not None]

    def _attempt(self, name: str, optimized: Callable[[], _T], otherwise: Callable[[], _T]) -> _T:
        with failures(self._failed):
            return attempt(name, optimized, otherwise)

    def estimateStatistics(self) -> SparkStatistics:
        with failures(self._failed):
            estimates = self.plan.estimates(self.bridge.uses_column_statistics)
        return SparkStatistics(self.bridge, estimates, self._given)

    def estimateSizeInBytes(self) -> JavaObject:
        with failures(self._failed):
            return self.bridge.optional_long(self.plan.estimates().bytes)

    def reflectsFullyPushedDownFilters(self) -> bool:
        return False

    def supportedCustomMetrics(self) -> JavaObject:
        # One that is named and given no value would be shown as zero.
        known = metrics(self.last_run.planned, len(self.failed))
        counts, sizes = ({name: kind[name] for name in known if name in kind} for kind in (COUNTS, SIZES))
        return self.bridge.metrics(counts, sizes)

    def reportDriverMetrics(self) -> JavaObject:
        return self.bridge.metric_values(metrics(self.last_run.planned, len(self.failed)))

    def columnarSupportMode(self) -> JavaObject:
        return self.bridge.java_class(READ + "Scan$ColumnarSupportMode").SUPPORTED

    @property
    def readers(self) -> tuple[tuple[str, int], ...]:
        """Who reads, and how many tasks, of the last batch; empty before there was one."""
        divided = self._tasks
        return divided.readers if divided is not None and self._has_run else ()

    @property
    def why_workers(self) -> tuple[str, ...]:
        """Why workers read what they do of the last batch; empty before there was one."""
        divided = self._tasks
        return divided.why_workers if divided is not None and self._has_run else ()

    def input_partitions(self, plan: Plan) -> JavaObject:
        self._has_run = True
        return self.partitions_of(plan, self._divided(plan).blocks())

    def tasks_of(self, plan: Plan) -> ScanTasks:
        return plan.divided(self.bridge.parallelism)

    def partitions_of(self, plan: Plan, blocks: Iterable[TaskBlock]) -> JavaObject:
        """The tasks of `tasks_of`, as Spark takes them."""
        return input_partitions(self.bridge, blocks)

    def _divided(self, plan: Plan) -> DividedScan:
        # Spark describes a scan several times a query, before it runs and after.
        known = self._tasks
        if known is None or known.plan is not plan:
            self._tasks = known = DividedScan(plan, self.tasks_of(plan), self._plain_columns)
        return known

    def reader_factory(self) -> JavaObject:
        limited = self.spec.limit is not None
        schema = worker_schema(self.schema)
        read = shipped(partition_reader(self._read_plan))
        plain = self._plain_columns
        factory = self.bridge.reader_factory(read, schema, limited, None if isinstance(plain, str) else plain)
        if not isinstance(plain, str) and isinstance(self._store, SessionStore):
            factory.openStores(self._store.sent(self.bridge))
        if self._given is not self.schema:
            factory.extractVariants(self._given.json())
        return factory

    @cached_property
    def _read_plan(self) -> ReadPlan:
        return read_plan(self.spec)

    @cached_property
    def _plain_columns(self) -> PlainColumns | str:
        if not self.spec.settings.plain_files:
            return "lakescan.pushdown.plain_files is off"
        columns = self._attempt(
            "reading without workers",
            lambda: plain_columns(self._read_plan, self._given, is_small(self.plan.planned.files)),
            lambda: "reading without workers failed",
        )
        if isinstance(columns, str):
            return columns
        return replace(columns, not_opened=self._store if isinstance(self._store, str) else "")

    @cached_property
    def _store(self) -> SessionStore | str:
        if not self.spec.settings.store_files:
            return ELSEWHERE
        return session_store(self.bridge, self._read_plan.files.storage)

    class Java:
        implements = (READ + "SupportsReportStatistics", READ + "SupportsRuntimeV2Filtering")


class SparkBatch(Proxy):
    """The scan's tasks: of the scan's plan, or of what is left of it at run time."""

    ANSWERS_FOR_EVER = ("toString",)

    def __init__(self, bridge: Bridge, scan: SparkScan, narrowed: Plan | None) -> None:
        super().__init__(bridge)
        self._scan = scan
        self._narrowed = narrowed

    @cached_property
    def token(self) -> str:
        spec = self._scan.spec if self._narrowed is None else self._narrowed.spec
        return f"batch of {spec.token} {self._scan.token}"

    def planInputPartitions(self) -> JavaObject:
        return self._scan.input_partitions(self._narrowed or self._scan.plan)

    def createReaderFactory(self) -> JavaObject:
        return self._scan.reader_factory()

    class Java:
        implements = (READ + "Batch",)
