"""What the physical plans of a query have in each engine, before any of it runs: scans, exchanges, what is reused.

A plan that scans more often or broadcasts less than Delta Spark's is worth a look, whatever it measures today.
"""

import re
from collections import Counter
from dataclasses import dataclass

from pyspark.sql import SparkSession

_KINDS = {
    "scans": r"(BatchScan|FileScan|Scan parquet|LocalTableScan)",
    "shuffles": r"Exchange (hash|range|Round|Single)",
    "broadcasts": r"BroadcastExchange",
    "reused": r"Reused(Exchange|Subquery)",
    "broadcast joins": r"Broadcast(Hash|NestedLoop)Join",
    "sort merge joins": r"(SortMergeJoin|ShuffledHashJoin)",
    "pruning": r"dynamicpruningexpression",
}


@dataclass(frozen=True)
class PlanShape:
    """How often each kind of node is in a plan."""

    counts: Counter[str]

    @staticmethod
    def of(spark: SparkSession, query: str) -> "PlanShape":
        text = str(spark.sql(query)._jdf.queryExecution().executedPlan().toString())
        return PlanShape(Counter({kind: len(re.findall(pattern, text)) for kind, pattern in _KINDS.items()}))

    def is_worse_than(self, other: "PlanShape") -> bool:
        """More is read or moved, or less is broadcast."""
        more = any(self.counts[kind] > other.counts[kind] for kind in ("scans", "shuffles", "sort merge joins"))
        return more or self.counts["broadcast joins"] < other.counts["broadcast joins"]

    def __str__(self) -> str:
        return ", ".join(f"{self.counts[kind]} {kind}" for kind in _KINDS)
