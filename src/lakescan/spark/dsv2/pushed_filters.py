"""Which of the filters that Spark pushes are claimed, and what the others are good for.

A filter is claimed, and Spark never sees it again, where the planner or the reader gives exactly Spark's answer:
comparisons of a column with a literal of its own type or with a column of its own type, IN, IS NULL, prefixes,
and every AND, OR, NOT and IS NULL over these; for all types but nested ones, NaN and -0.0 included. Functions,
casts, collated strings and padded CHAR columns stay with Spark. What a filter that stays implies still skips.

A filter behind one that may fail for some row is left to Spark, as Spark would not have come to it for that row.

Where a plan has several scans of ours, filters on data columns are left to Spark as well: Spark sends a join's values
to the other side at run time only where it sees a filter on this one. So Spark's own reader need not evaluate them;
a worker does, since it then has fewer rows to send.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from lakescan.predicate import TRUE, Expression, Predicate, columns_of, conjoin, exact, implied
from lakescan.predicate.failing import may_fail
from lakescan.scan.builder import ScanBuilder
from lakescan.spark.dsv2.comparable_columns import ComparableColumns

_THREADS_KEPT = 64


class ScansOfAPlan:
    """How many scans the plan has that a thread of the JVM is optimizing: Spark makes all builders before it uses one.

    A count that is wrong, because a builder was never used, costs a filter evaluated twice and nothing else.
    """

    def __init__(self) -> None:
        self._made: OrderedDict[int, int] = OrderedDict()
        self._in_use: set[int] = set()

    def made(self, thread: int) -> None:
        before = 0 if thread in self._in_use else self._made.get(thread, 0)
        self._in_use.discard(thread)
        self._made[thread] = before + 1
        self._made.move_to_end(thread)
        if len(self._made) > _THREADS_KEPT:
            self._in_use.discard(self._made.popitem(last=False)[0])

    def used(self, thread: int) -> bool:
        """A builder is used; whether its scan is the only one."""
        self._in_use.add(thread)
        return self._made.get(thread, 1) == 1


@dataclass(frozen=True)
class Taken:
    """What a scan takes of filters, the fields of its `ScanSpec`; nothing of what is TRUE."""

    filter: Predicate | None = None
    unclaimed: Predicate | None = None
    skip: Predicate | None = None

    @property
    def is_claimed(self) -> bool:
        """Whether Spark need not know of the filter any more."""
        return self.filter is not None

    @property
    def is_used(self) -> bool:
        """Whether the scan has any use for the filter."""
        return any(part not in (None, TRUE) for part in (self.filter, self.unclaimed, self.skip))

    @staticmethod
    def together(taken: Sequence["Taken"], wanted: ScanBuilder) -> ScanBuilder:
        """The scan with all of them, added at once: one by one, each would be compared and bound with all before it."""
        filters = [one.filter for one in taken if one.filter is not None]
        unclaimed = [one.unclaimed for one in taken if one.unclaimed is not None]
        skips = [one.skip for one in taken if one.skip is not None]
        return wanted.filter(conjoin(filters)).filter_unclaimed(conjoin(unclaimed)).skip_unless(conjoin(skips))


@dataclass(frozen=True)
class FilterRules:
    """What decides it for one scan: the table's schema as Spark sees it, and the session's time zone."""

    columns: ComparableColumns
    zone: str

    def may_fail(self, expression: Expression, wanted: ScanBuilder) -> bool:
        return may_fail(expression, wanted.spec.snapshot.schema)

    def take(self, expression: Expression, wanted: ScanBuilder, alone: bool = True, unfailing: bool = True) -> "Taken":
        """As much of the filter as the scan can have.

        `alone`: the plan has no other scan; `unfailing`: no filter before this one may fail.
        """
        schema = wanted.spec.snapshot.schema
        whole = exact(expression, schema)
        if whole is None:
            return Taken(skip=self._plain(implied(expression, schema, self.zone)))
        if self._plain(whole) != whole:
            return Taken()
        by_partition = all(column.path[0] in wanted.spec.snapshot.partition_columns for column in columns_of(whole))
        if by_partition:
            return Taken(filter=whole)
        if not (wanted.spec.settings.filters and unfailing):
            return Taken(skip=whole)
        if alone or not wanted.spec.settings.runtime_filters:
            return Taken(filter=whole)
        return Taken(unclaimed=whole)

    def _plain(self, predicate: Predicate) -> Predicate:
        plain = all(self.columns.field(column.path) for column in columns_of(predicate))
        return predicate if plain else TRUE
