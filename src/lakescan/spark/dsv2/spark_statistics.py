"""A scan's estimates as Spark's `Statistics`.

Spark's estimation fails at statistics of a type that it does not know, such as TIMESTAMP_NTZ or text with a collation,
so only columns of known types have any. Spark takes a number, a date or a timestamp without bounds to have no value at
all, so bounds and the number of distinct values go to Spark together.
"""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    StructType,
    TimestampType,
)

from lakescan.scan.estimates import ColumnEstimate, Estimates
from lakescan.spark.bridge import READ, Bridge, JavaObject, Proxy

_MICROSECOND = timedelta(microseconds=1)
_LARGEST_INTEGER = 2**31


class SparkStatistics(Proxy):
    """What the optimizer may know of a scan."""

    ANSWERS_FOR_EVER = ("sizeInBytes", "numRows", "columnStats")

    def __init__(self, bridge: Bridge, estimates: Estimates, schema: StructType) -> None:
        super().__init__(bridge)
        self._estimates = estimates
        self._schema = schema

    def sizeInBytes(self) -> JavaObject:
        return self.bridge.optional_long(self._estimates.bytes)

    def numRows(self) -> JavaObject:
        return self.bridge.optional_long(self._estimates.rows)

    def columnStats(self) -> JavaObject:
        estimates, types = self._estimates.columns, {field.name: field.dataType for field in self._schema.fields}
        known = [name for name in estimates if name in types and _is_known(types[name])]
        return self.bridge.by_column(
            {name: SparkColumnStatistics(self.bridge, estimates[name], types[name]) for name in known}
        )

    class Java:
        implements = (READ + "Statistics",)


class SparkColumnStatistics(Proxy):
    """What the optimizer may know of a column."""

    def __init__(self, bridge: Bridge, estimate: ColumnEstimate, type_: DataType) -> None:
        super().__init__(bridge)
        self._nulls = estimate.nulls
        bounds = tuple(_catalyst(bridge, end, type_) for end in (estimate.minimum, estimate.maximum))
        self._minimum, self._maximum = (None, None) if None in bounds else bounds
        self._distinct = estimate.distinct if self._minimum is not None or _is_unbounded(type_) else None

    def distinctCount(self) -> JavaObject:
        return self.bridge.optional_long(self._distinct)

    def min(self) -> JavaObject:
        return self.bridge.optional(self._minimum)

    def max(self) -> JavaObject:
        return self.bridge.optional(self._maximum)

    def nullCount(self) -> JavaObject:
        return self.bridge.optional_long(self._nulls)

    def avgLen(self) -> JavaObject:
        return self.bridge.optional_long(None)

    def maxLen(self) -> JavaObject:
        return self.bridge.optional_long(None)

    def histogram(self) -> JavaObject:
        return self.bridge.optional(None)

    class Java:
        implements = (READ + "colstats.ColumnStatistics",)


def _is_unbounded(type_: DataType) -> bool:
    """Whether Spark's estimation does without the bounds of such a column; text is of the default collation."""
    return type_ in (StringType(), BinaryType())


def _is_known(type_: DataType) -> bool:
    return isinstance(type_, (NumericType, BooleanType, DateType, TimestampType)) or _is_unbounded(type_)


def _catalyst(bridge: Bridge, value: Any, type_: DataType) -> Any:
    """A bound as Spark's estimation takes it; None where there is none."""
    match type_, value:
        case TimestampType(), datetime():
            micros = (value - datetime(1970, 1, 1, tzinfo=timezone.utc)) // _MICROSECOND
            # Py4J makes a small number an Integer, which Catalyst does not take for a timestamp.
            return micros if abs(micros) > _LARGEST_INTEGER else None
        case DateType(), date():
            return (value - date(1970, 1, 1)).days
        case NumericType(), Decimal():
            return bridge.java_decimal(str(value))
        case NumericType(), int() | float() if value == value:
            return value
    return None
