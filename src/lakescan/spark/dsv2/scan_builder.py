"""What Catalyst pushes down, handed to the planner.

Filters are claimed where they are evaluated exactly, and skip files and row groups even where Spark must evaluate
them again (see `pushed_filters`). Columns are pruned, nested fields included. Limits, orders and aggregates come
only where Spark has no filter left to evaluate. A sample of whole files comes before all of them; one of rows is
Spark's.
"""

import json
from collections.abc import Callable
from typing import Any, TypeVar

from pyspark.sql.types import StructType

from lakescan.predicate import Column, Expression
from lakescan.reader.top_rows import SortColumn
from lakescan.scan.attempts import attempt, failures
from lakescan.scan.limit import after_offset, can_skip
from lakescan.scan.settings import Settings
from lakescan.scan.snapshot import Snapshot
from lakescan.spark.bridge import READ, Bridge, JavaObject, Proxy
from lakescan.spark.bridge.jobs import SparkExecutors
from lakescan.spark.bridge.tasks import joins_by_partitioning
from lakescan.spark.bridge.variants import all_or_none, wanted_of_variants
from lakescan.spark.dsv2.comparable_columns import plain_field
from lakescan.spark.dsv2.planners import planning
from lakescan.spark.dsv2.predicates import SHOWS_NULL_BYTES, has_null_bytes, read_expressions
from lakescan.spark.dsv2.pushed_aggregates import PushedAggregates
from lakescan.spark.dsv2.pushed_filters import FilterRules, ScansOfAPlan
from lakescan.spark.dsv2.scan import SparkScan
from lakescan.spark.dsv2.scan_by_partition import SparkScanByPartition
from lakescan.spark.dsv2.variant_fields import SINCE, Extraction, extracted_types, with_extracted
from lakescan.types.schema import arrow_schema, is_variant

_T = TypeVar("_T")
_SCANS = ScansOfAPlan()


class SparkScanBuilder(Proxy):
    """Collects the pushdowns of one scan."""

    def __init__(
        self,
        bridge: Bridge,
        snapshot: Snapshot,
        settings: Settings,
        filter_: str | None = None,
        schema_json: str | None = None,
    ) -> None:
        """`schema_json` has the columns that Spark knows of, all of the snapshot's where it is not given."""
        super().__init__(bridge)
        _SCANS.made(bridge.thread)
        wanted = snapshot.scan().with_settings(settings).with_executors(SparkExecutors(bridge))
        self._wanted = wanted if filter_ is None else wanted.filter(filter_)
        self._aggregates = PushedAggregates(bridge, json.loads(snapshot.schema_json))
        self._pushed: JavaObject | None = None
        self._rules = FilterRules(json.loads(snapshot.schema_json), bridge.time_zone)
        self._spark_schema: dict[str, Any] = json.loads(schema_json or snapshot.schema_json)
        self._extracted: dict[str, StructType] = {}
        self._failed: list[str] = []

    def _attempt(self, name: str, optimized: Callable[[], _T], otherwise: Callable[[], _T]) -> _T:
        with failures(self._failed):
            return attempt(name, optimized, otherwise)

    def pushPredicates(self, predicates: JavaObject) -> JavaObject:
        """Takes what it can and returns what Spark must still evaluate."""
        return self._attempt("filters", lambda: self._take_predicates(predicates), lambda: predicates)

    def _take_predicates(self, predicates: JavaObject) -> JavaObject:
        left, pushed, alone, unfailing = [], [], _SCANS.used(self.bridge.thread), True
        wanted = self._wanted
        for at, expression in enumerate(read_expressions(self.bridge, predicates)):
            before = wanted
            wanted, claimed = self._rules.take(expression, before, alone, unfailing)
            unfailing = unfailing and not self._rules.may_fail(expression, before)
            if wanted != before and self._is_shown(expression):
                pushed.append(at)
            if not claimed:
                left.append(at)
        shown = self.bridge.chosen(predicates, pushed, self._pushed)
        not_claimed = self.bridge.chosen(predicates, left)
        # Only what went well as a whole is taken.
        self._wanted, self._pushed = wanted, shown
        return not_claimed

    def _is_shown(self, expression: Expression) -> bool:
        """Whether Spark can be told that it was pushed without failing at it."""
        return not has_null_bytes(expression) or self.bridge.release >= SHOWS_NULL_BYTES

    def pushedPredicates(self) -> JavaObject:
        return self.bridge.chosen(None, [], self._pushed)

    def supportsIterativePushdown(self) -> bool:
        return False

    def pruneColumns(self, schema: JavaObject) -> None:
        struct = json.loads(schema.json())
        own = {field["name"] for field in self._spark_schema["fields"]}
        hidden = [field for field in struct["fields"] if field["name"] not in own]
        every = {**struct, "fields": [*self._spark_schema["fields"], *hidden]}
        if self._wanted.spec.settings.columns:
            self._attempt("columns", lambda: self._project(struct), lambda: self._project(every))
        else:
            self._project(every)

    def _project(self, struct: dict[str, Any]) -> None:
        self._wanted = self._wanted.project(arrow_schema(struct))
        self._spark_schema = struct

    def supportCompletePushDown(self, aggregation: JavaObject) -> bool:
        return self._attempt(
            "aggregates", lambda: self._aggregates.is_complete(aggregation, self._wanted), lambda: False
        )

    def pushAggregation(self, aggregation: JavaObject) -> bool:
        return self._attempt("aggregates", lambda: self._aggregates.push(aggregation, self._wanted), lambda: False)

    def pushTableSample(
        self, lower: float, upper: float, replaced: bool, seed: int, method: JavaObject | None = None
    ) -> bool:
        # Spark before 4.2 knows samples of rows only, and names no method.
        whole_files = method is not None and method.name() == "SYSTEM"
        if not whole_files or replaced or lower != 0 or not self._wanted.spec.settings.sample:
            return False
        # Spark lets a fraction pass that is a rounding error beyond.
        self._wanted = self._wanted.sample(min(max(upper, 0.0), 1.0), seed)
        return True

    def pushLimit(self, limit: int) -> bool:
        if self._aggregates.pushed is not None or not self._wanted.spec.settings.limit:
            return False
        self._wanted = self._wanted.limit(limit)
        return True

    def pushTopN(self, orders: JavaObject, limit: int) -> bool:
        by = self._attempt("top-n", lambda: _sort_columns(orders, self._spark_schema), lambda: None)
        if by is None or self._aggregates.pushed is not None or not self._wanted.spec.settings.top_n:
            return False
        self._wanted = self._wanted.first(limit, *by)
        return True

    def isPartiallyPushed(self) -> bool:
        # Each task gives its own first rows: Spark still has to take the first of all.
        return True

    def pushOffset(self, offset: int) -> bool:
        spec = self._wanted.spec
        allowed = spec.settings.offset and spec.limit is None and spec.top is None and self._aggregates.pushed is None
        if not allowed or not self._attempt("offset", lambda: self._can_skip(offset), lambda: False):
            return False
        self._wanted = self._wanted.offset(offset)
        return True

    def _can_skip(self, offset: int) -> bool:
        plan = self._wanted.build()
        # Once Spark has left an offset to the scan, nobody else can do it: so it is tried now.
        return can_skip(plan) and after_offset(plan.planned, offset) is not None

    def build(self) -> Proxy:
        _SCANS.used(self.bridge.thread)
        if self._aggregates.pushed is not None:
            return self._aggregates.build(self._failed)
        spec = self._wanted.spec
        by_partition = spec.settings.by_partition and spec.snapshot.partition_columns and spec.gives_every_row
        kind = SparkScanByPartition if by_partition and joins_by_partitioning(self.bridge) else SparkScan
        schema = StructType.fromJson(self._spark_schema)
        given = with_extracted(schema, self._extracted) if self._extracted else None
        return kind(self.bridge, planning(spec), schema, given, self._failed)

    class Java:
        implements = tuple(
            READ + name
            for name in (
                "SupportsPushDownTableSample",
                "SupportsPushDownV2Filters",
                "SupportsPushDownRequiredColumns",
                "SupportsPushDownAggregates",
                "SupportsPushDownLimit",
                "SupportsPushDownTopN",
                "SupportsPushDownOffset",
            )
        )


class VariantScanBuilder(SparkScanBuilder):
    """That of a table with Variants, of which Spark asks for what a query takes out of them."""

    def supportsDeferCastError(self) -> bool:
        return True

    def pushVariantExtractions(self, extractions: JavaObject) -> JavaObject:
        taken = self._attempt("variants", lambda: self._extraction_types(extractions), dict[str, StructType])
        self._extracted = taken
        return all_or_none(self.bridge, bool(taken), len(extractions))

    def _extraction_types(self, extractions: JavaObject) -> dict[str, StructType]:
        settings = self._wanted.spec.settings
        wanted = [Extraction(*told) for told in wanted_of_variants(self.bridge, extractions)]
        variants = [field["name"] for field in self._spark_schema["fields"] if field["type"] == "variant"]
        types = extracted_types(wanted, variants)
        # Spark counts on just the columns that it names next.
        return types if types is not None and settings.variants and settings.columns else {}

    class Java:
        implements = (*SparkScanBuilder.Java.implements, READ + "SupportsPushDownVariantExtractions")
        since = SINCE


def scan_builder(
    bridge: Bridge,
    snapshot: Snapshot,
    settings: Settings,
    filter_: str | None = None,
    schema_json: str | None = None,
) -> SparkScanBuilder:
    """The builder for a scan of the snapshot."""
    has_variants = bridge.release >= SINCE and any(is_variant(field.type) for field in snapshot.schema)
    kind = VariantScanBuilder if has_variants else SparkScanBuilder
    return kind(bridge, snapshot, settings, filter_, schema_json)


def _sort_columns(orders: JavaObject, spark_schema: dict[str, Any]) -> list[SortColumn] | None:
    """The columns to sort by, None where one is no column or sorts in a way of its own."""
    columns: list[SortColumn] = []
    for order in orders:
        expression = order.expression()
        if expression.getClass().getSimpleName() != "FieldReference":
            return None
        path = tuple(expression.fieldNames())
        field = plain_field(spark_schema, path)
        if field is None or not isinstance(field["type"], str) or field["type"] == "void":
            return None
        descending = order.direction().name() == "DESCENDING"
        columns.append(SortColumn(Column(path), descending, order.nullOrdering().name() == "NULLS_FIRST"))
    return columns
