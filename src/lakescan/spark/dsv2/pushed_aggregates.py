"""Spark's aggregations in the planner's words, and scans that answer them.

An aggregation is taken whole or not at all: every key a column, every function one that is computed exactly as
Spark computes it, of a column or, a sum or a count, of decimals that are added, subtracted and multiplied. Where the
log alone gives the answer it is complete, and Spark runs no job for it; otherwise Spark merges the partial rows that
the scan gives.
"""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from lakescan.errors import InternalError
from lakescan.predicate import Call, Column, Expression, columns_in
from lakescan.reader.aggregation import COUNTS, Aggregate, Aggregation, Function
from lakescan.reader.decimal_arithmetic import decimal_type
from lakescan.scan.aggregates import can_average, can_read, has_many_groups
from lakescan.scan.builder import ScanBuilder
from lakescan.scan.plan import Plan
from lakescan.spark.bridge import READ, BatchScan, Bridge, JavaObject, Proxy
from lakescan.spark.dsv2.comparable_columns import plain_field
from lakescan.spark.dsv2.planners import Planning
from lakescan.spark.dsv2.predicates import AskedAggregation, AskedFunction, read_aggregation
from lakescan.spark.dsv2.scan import SparkScan
from lakescan.types.schema import arrow_schema

_FUNCTIONS: dict[str, Function] = {"Count": "count", "Sum": "sum", "Min": "min", "Max": "max"}


def translate_aggregation(aggregation: AskedAggregation, spark_schema: dict[str, Any]) -> Aggregation | None:
    """The aggregation, None where some part of it is not ours to compute."""
    keys = [_column(key, spark_schema) for key in aggregation.keys]
    functions = [_aggregate(function, spark_schema) for function in aggregation.functions]
    if None in keys or None in functions:
        return None
    return Aggregation(
        tuple(key for key in keys if key is not None), tuple(function for function in functions if function is not None)
    )


def averaged_columns(aggregation: AskedAggregation, spark_schema: dict[str, Any]) -> set[Column]:
    """The columns whose AVG is asked for. Spark asks for a sum and a count next, and adds them up otherwise."""
    averages = [function for function in aggregation.functions if function.kind == "Avg"]
    columns = [_column(average.arguments[0], spark_schema) for average in averages]
    return {column for column in columns if column is not None}


def _aggregate(function: AskedFunction, spark_schema: dict[str, Any]) -> Aggregate | None:
    kind, distinct = function.kind, function.is_distinct
    if kind == "CountStar":
        return Aggregate("count_rows")
    if kind not in _FUNCTIONS or (distinct and kind != "Count"):
        return None
    (value,) = function.arguments
    if not all(plain_field(spark_schema, column.path) is not None for column in columns_in(value)):
        return None
    if isinstance(value, Column):
        return Aggregate("count_distinct" if distinct else _FUNCTIONS[kind], value)
    if not isinstance(value, Call) or distinct or kind not in ("Sum", "Count") or not columns_in(value):
        return None
    return None if decimal_type(value, arrow_schema(spark_schema)) is None else Aggregate(_FUNCTIONS[kind], value)


def _column(value: Expression, spark_schema: dict[str, Any]) -> Column | None:
    if not isinstance(value, Column) or plain_field(spark_schema, value.path) is None:
        return None
    return value


def partial_schema(how: Aggregation, spark_schema: dict[str, Any]) -> StructType:
    """The columns of a partial row in Spark's types."""
    types = [_type_of(key, spark_schema) for key in how.keys]
    types += [_result_type(aggregate, spark_schema) for aggregate in how.aggregates]
    names = [f"key_{at}" for at in range(len(how.keys))] + [f"value_{at}" for at in range(len(how.aggregates))]
    return StructType.fromJson({"type": "struct", "fields": list(_fields(names, types))})


def _fields(names: Iterable[str], types: Iterable[Any]) -> Iterable[dict[str, Any]]:
    for name, type_ in zip(names, types, strict=True):
        yield {"name": name, "type": type_, "nullable": True, "metadata": {}}


def _result_type(aggregate: Aggregate, spark_schema: dict[str, Any]) -> Any:
    if aggregate.value is None or aggregate.function in COUNTS:
        return "long"
    if aggregate.function == "sum":
        summed = aggregate.result_type(arrow_schema(spark_schema))
        if pa.types.is_decimal(summed):
            return f"decimal({summed.precision},{summed.scale})"
        return "double" if pa.types.is_floating(summed) else "long"
    assert aggregate.column is not None, f"{aggregate} is of a column"
    return _type_of(aggregate.column, spark_schema)


def _type_of(column: Column, spark_schema: dict[str, Any]) -> Any:
    field = plain_field(spark_schema, column.path)
    assert field is not None, f"{column} was found before"
    return field["type"]


class PushedAggregates:
    """The aggregation that Spark offers to one scan, and what became of it."""

    def __init__(self, bridge: Bridge, spark_schema: dict[str, Any]) -> None:
        self._bridge = bridge
        self._spark_schema = spark_schema
        self._averaged: set[Column] = set()
        self._considered: tuple[Aggregation, Plan] | None = None
        self.pushed: tuple[Aggregation, Plan] | None = None

    def is_complete(self, aggregation: JavaObject, rows: ScanBuilder) -> bool:
        """Whether the scan gives the final rows; Spark asks this first, and again where it rewrote an AVG."""
        asked = read_aggregation(self._bridge, aggregation)
        self._averaged |= averaged_columns(asked, self._spark_schema)
        planned = self._planned(asked, rows)
        return planned is not None and planned[1].metadata_only

    def push(self, aggregation: JavaObject, rows: ScanBuilder) -> bool:
        planned = self._planned(read_aggregation(self._bridge, aggregation), rows)
        if planned is None:
            return False
        plan = planned[1]
        if not (plan.metadata_only or self._is_for_workers(plan)):
            return False
        self.pushed = planned
        return True

    def _is_for_workers(self, plan: Plan) -> bool:
        return can_read(plan) and can_average(plan, self._averaged) and not has_many_groups(plan)

    def build(self, failed: list[str]) -> Proxy:
        """The scan that answers it; `failed` are optimizations that were given up before."""
        assert self.pushed is not None, "no aggregation was pushed"
        how, plan = self.pushed
        schema = partial_schema(how, self._spark_schema)
        if plan.metadata_only:
            return MetadataScan(self._bridge, plan, schema, failed)
        return SparkScan(self._bridge, Planning.done(plan), schema, failed=failed)

    def _planned(self, aggregation: AskedAggregation, rows: ScanBuilder) -> tuple[Aggregation, Plan] | None:
        settings = rows.spec.settings
        how = translate_aggregation(aggregation, self._spark_schema)
        if how is None or not (settings.aggregates or settings.partial_aggregates):
            return None
        if self._considered is None or self._considered[0] != how:
            self._considered = how, rows.aggregate(how).build()
        return self._considered


class MetadataScan(BatchScan):
    """An answer that needs no data: Spark takes the rows as they are."""

    ANSWERS_FOR_EVER = ("readSchema", "description", "columnarSupportMode", "supportedCustomMetrics")

    def __init__(self, bridge: Bridge, plan: Plan, schema: StructType, failed: list[str]) -> None:
        super().__init__(bridge)
        self.last_run = plan
        self.failed = tuple(dict.fromkeys([*failed, *plan.failed]))
        self._schema = schema

    @property
    def token(self) -> str:
        return f"metadata {self.last_run.spec.token}"

    def readSchema(self) -> JavaObject:
        return self.bridge.data_type(self._schema.json())

    def rows(self) -> JavaObject:
        return self.bridge.internal_rows(self.last_run.ready, self._schema)

    def description(self) -> str:
        return f"{self.last_run.spec.description} metadata_only=true"

    def supportedCustomMetrics(self) -> JavaObject:
        return self.bridge.array("org.apache.spark.sql.connector.metric.CustomMetric", [])

    def reportDriverMetrics(self) -> JavaObject:
        return self.bridge.array("org.apache.spark.sql.connector.metric.CustomTaskMetric", [])

    def columnarSupportMode(self) -> JavaObject:
        return self.bridge.java_class(READ + "Scan$ColumnarSupportMode").UNSUPPORTED

    def toBatch(self) -> None:
        raise InternalError("Spark asks for tasks of a scan whose rows are here already")

    class Java:
        implements = (READ + "LocalScan",)
