"""Which of the filters that Spark pushes are claimed, and what the others are good for.

A filter is claimed, and Spark never sees it again, where the planner or the reader gives exactly Spark's answer:
comparisons of a column with a literal of its own type or with a column of its own type, IN, IS NULL, prefixes,
and every AND, OR, NOT and IS NULL over these; for all types but nested ones, NaN and -0.0 included. Functions,
casts, collated strings and padded CHAR columns stay with Spark. What a filter that stays implies still skips.
"""

from dataclasses import dataclass
from typing import Any

from lakescan.predicate import TRUE, Expression, Predicate, columns_of, exact, implied
from lakescan.scan.builder import ScanBuilder
from lakescan.spark.columns import plain_field


@dataclass(frozen=True)
class FilterRules:
    """What decides it for one scan: the table's schema as Spark sees it, and the session's time zone."""

    spark_schema: dict[str, Any]
    zone: str

    def take(self, expression: Expression, wanted: ScanBuilder) -> tuple[ScanBuilder, bool]:
        """The scan with as much of the filter as it can have, and whether that is all of it."""
        schema = wanted.snapshot.schema
        whole = exact(expression, schema)
        if whole is None:
            return wanted.skip_unless(self._plain(implied(expression, schema, self.zone))), False
        if self._plain(whole) != whole:
            return wanted, False
        by_partition = all(column.path[0] in wanted.snapshot.partition_columns for column in columns_of(whole))
        if by_partition or wanted.settings.filters:
            return wanted.filter(whole), True
        return wanted.skip_unless(whole), False

    def _plain(self, predicate: Predicate) -> Predicate:
        plain = all(plain_field(self.spark_schema, column.path) for column in columns_of(predicate))
        return predicate if plain else TRUE
