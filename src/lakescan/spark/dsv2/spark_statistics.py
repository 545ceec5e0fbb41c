"""A scan's estimates as Spark's `Statistics`."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from lakescan.scan.estimates import ColumnEstimate, Estimates
from lakescan.spark.bridge import READ, Bridge, JavaObject, Proxy

_MICROSECOND = timedelta(microseconds=1)
_LARGEST_INTEGER = 2**31


class SparkStatistics(Proxy):
    """What the optimizer may know of a scan."""

    ANSWERS_FOR_EVER = ("sizeInBytes", "numRows", "columnStats")

    def __init__(self, bridge: Bridge, estimates: Estimates) -> None:
        super().__init__(bridge)
        self._estimates = estimates

    def sizeInBytes(self) -> JavaObject:
        return self.bridge.optional_long(self._estimates.bytes)

    def numRows(self) -> JavaObject:
        return self.bridge.optional_long(self._estimates.rows)

    def columnStats(self) -> JavaObject:
        made = {
            name: SparkColumnStatistics(self.bridge, estimate) for name, estimate in self._estimates.columns.items()
        }
        return self.bridge.by_column(made)

    class Java:
        implements = (READ + "Statistics",)


class SparkColumnStatistics(Proxy):
    """What the optimizer may know of a column."""

    def __init__(self, bridge: Bridge, estimate: ColumnEstimate) -> None:
        super().__init__(bridge)
        self._estimate = estimate

    def distinctCount(self) -> JavaObject:
        return self.bridge.optional_long(self._estimate.distinct)

    def min(self) -> JavaObject:
        return self.bridge.optional(_catalyst(self.bridge, self._estimate.minimum))

    def max(self) -> JavaObject:
        return self.bridge.optional(_catalyst(self.bridge, self._estimate.maximum))

    def nullCount(self) -> JavaObject:
        return self.bridge.optional_long(self._estimate.nulls)

    def avgLen(self) -> JavaObject:
        return self.bridge.optional_long(None)

    def maxLen(self) -> JavaObject:
        return self.bridge.optional_long(None)

    def histogram(self) -> JavaObject:
        return self.bridge.optional(None)

    class Java:
        implements = (READ + "colstats.ColumnStatistics",)


def _catalyst(bridge: Bridge, value: Any) -> Any:
    """A bound as Catalyst's estimation takes it; None for types of which it makes nothing."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        micros = (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // _MICROSECOND
        # Py4J makes a small number an Integer, which Catalyst does not take for a timestamp.
        return micros if abs(micros) > _LARGEST_INTEGER else None
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).days
    if isinstance(value, Decimal):
        return bridge.java_decimal(str(value))
    return value if isinstance(value, (int, float)) and value == value else None
