"""What Catalyst pushes down, handed to the planner.

Filters on partition columns are claimed: the planner evaluates them exactly. Every other filter that translates
skips files and row groups, and is also left to Spark. Columns are pruned, nested fields included.
"""

import json
from typing import Any

from pyspark.sql.types import StructType

from lakescan.predicate import columns_of
from lakescan.scan.builder import ScanBuilder
from lakescan.scan.snapshot import Snapshot
from lakescan.schema import arrow_schema
from lakescan.spark.bridge import READ, Bridge, JavaObject, Proxy
from lakescan.spark.predicates import translate
from lakescan.spark.scan import SparkScan


class SparkScanBuilder(Proxy):
    """Collects the pushdowns of one scan."""

    def __init__(self, bridge: Bridge, snapshot: Snapshot) -> None:
        super().__init__(bridge)
        self._wanted = ScanBuilder(snapshot)
        self._pushed: list[JavaObject] = []
        self._spark_schema: dict[str, Any] = json.loads(snapshot.spark_schema)

    def pushPredicates(self, predicates: JavaObject) -> JavaObject:
        """Takes what it can and returns what Spark must still evaluate."""
        snapshot, left = self._wanted.snapshot, []
        for predicate in predicates:
            translated = translate(predicate, snapshot.schema)
            if translated is None:
                left.append(predicate)
                continue
            self._pushed.append(predicate)
            if all(column.path[0] in snapshot.partition_columns for column in columns_of(translated)):
                self._wanted = self._wanted.filter(translated)
            else:
                self._wanted = self._wanted.skip_unless(translated)
                left.append(predicate)
        return self.bridge.predicates(left)

    def pushedPredicates(self) -> JavaObject:
        return self.bridge.predicates(self._pushed)

    def supportsIterativePushdown(self) -> bool:
        return False

    def pruneColumns(self, schema: JavaObject) -> None:
        self._spark_schema = json.loads(schema.json())
        self._wanted = self._wanted.project(arrow_schema(self._spark_schema))

    def build(self) -> SparkScan:
        return SparkScan(self.bridge, self._wanted.build(), StructType.fromJson(self._spark_schema))

    class Java:
        implements = (READ + "SupportsPushDownV2Filters", READ + "SupportsPushDownRequiredColumns")
