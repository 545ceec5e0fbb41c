"""A scan whose tasks each have one value of the partition columns, and that tells Spark so.

A join or an aggregate by those columns then shuffles nothing, and a join sorts nothing by them. Files that are dropped
at run time leave keys out and never add one, as Spark asks.
"""

from collections.abc import Iterable
from functools import cached_property

from pyspark.sql.types import StructField, StructType

from lakescan.scan.partitioning import KeyedTasks, keys_of
from lakescan.scan.plan import Plan, ScanTasks
from lakescan.spark.bridge import READ, JavaObject
from lakescan.spark.bridge.tasks import TaskBlock, keyed_partitions, ordering, partitioning
from lakescan.spark.dsv2.scan import SparkScan


class SparkScanByPartition(SparkScan):
    """Where no partition column can be a key, a scan as any other."""

    _keyed: tuple[Plan, KeyedTasks] | None = None

    @cached_property
    def token(self) -> str:
        return f"by partition {super().token}"

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        # Of a column that Spark changes when it reads it (CHAR), the values that are compared are others.
        return tuple(name for name in self.plan.partition_keys if self._comparable.field((name,)))

    def outputPartitioning(self) -> JavaObject:
        keys = keys_of(self.plan.planned.files, self._keys)[0].num_rows if self._keys else 0
        return partitioning(self.bridge, self._keys, keys)

    def outputOrdering(self) -> JavaObject:
        """Rows of one value are in the order of that value. Before 4.2 Spark also believes it of tasks that it has put
        together by a part of the columns."""
        return ordering(self.bridge, self._keys if self.bridge.release >= (4, 2) else ())

    def tasks_of(self, plan: Plan) -> ScanTasks:
        return ScanTasks((), self._tasks_by_key(plan).tasks) if self._has_keys(plan) else super().tasks_of(plan)

    def partitions_of(self, plan: Plan, blocks: Iterable[TaskBlock]) -> JavaObject:
        if not self._has_keys(plan):
            return super().partitions_of(plan, blocks)
        made = self._tasks_by_key(plan)
        schema = StructType([StructField(name, self.schema[name].dataType) for name in self._keys])
        return keyed_partitions(self.bridge, blocks, made.keys, schema, made.key_of_task)

    def _has_keys(self, plan: Plan) -> bool:
        return bool(self._keys) and plan.planned.files.num_rows > 0

    def _tasks_by_key(self, plan: Plan) -> KeyedTasks:
        known = self._keyed
        if known is None or known[0] is not plan:
            self._keyed = known = (plan, plan.tasks_by_key(self._keys))
        return known[1]

    class Java:
        implements = (
            *SparkScan.Java.implements,
            READ + "SupportsReportPartitioning",
            READ + "SupportsReportOrdering",
        )
