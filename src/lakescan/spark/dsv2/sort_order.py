"""Spark's sort orders in the planner's words."""

from typing import Any

from lakescan.predicate import Column
from lakescan.reader.top_rows import SortColumn
from lakescan.spark.bridge import JavaObject
from lakescan.spark.dsv2.columns import plain_field


def sort_columns(orders: JavaObject, spark_schema: dict[str, Any]) -> list[SortColumn] | None:
    """The columns to sort by, None where one is no column or sorts in a way of its own."""
    found: list[SortColumn] = []
    for order in orders:
        expression = order.expression()
        if expression.getClass().getSimpleName() != "FieldReference":
            return None
        path = tuple(expression.fieldNames())
        field = plain_field(spark_schema, path)
        if field is None or not isinstance(field["type"], str) or field["type"] == "void":
            return None
        descending = order.direction().name() == "DESCENDING"
        found.append(SortColumn(Column(path), descending, order.nullOrdering().name() == "NULLS_FIRST"))
    return found
