"""What the physical plans of a query have in each engine, before any of it runs: scans, exchanges, joins, subqueries.

A plan that scans or shuffles more often or broadcasts less than Delta Spark's is worth a look, whatever it measures
today. Subqueries for pruning are counted apart: a few that reuse a broadcast pay, and copies of copies never do.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

_KINDS = {
    "scans": ("BatchScan", "Scan"),
    "shuffles": ("Exchange",),
    "broadcast joins": ("BroadcastHashJoin", "BroadcastNestedLoopJoin"),
    "other joins": ("SortMergeJoin", "ShuffledHashJoin", "CartesianProduct"),
}
_PRUNING = "pruning subqueries"


@dataclass(frozen=True)
class PlanShape:
    """How often each kind of node is in a plan."""

    counts: Counter[str]

    @staticmethod
    def of(spark: SparkSession, query: str) -> "PlanShape":
        plan: Any = spark.sql(query)._jdf.queryExecution().executedPlan()
        text = str(plan.toString())
        if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
            plan = plan.initialPlan()
        names = Counter(_names(plan))
        counts = {kind: sum(names[name] for name in known) for kind, known in _KINDS.items()}
        return PlanShape(Counter({**counts, _PRUNING: text.count("dynamicpruningexpression(")}))

    def is_worse_than(self, other: "PlanShape") -> bool:
        """More is read or moved, less is broadcast, or there are more subqueries for pruning than tables."""
        more = any(self.counts[kind] > other.counts[kind] for kind in ("scans", "shuffles", "other joins"))
        many = self.counts[_PRUNING] > max(self.counts["scans"], other.counts[_PRUNING])
        return more or many or self.counts["broadcast joins"] < other.counts["broadcast joins"]

    def __str__(self) -> str:
        return ", ".join(f"{self.counts[kind]} {kind}" for kind in (*_KINDS, _PRUNING))


def _names(root: Any) -> list[str]:
    """The first word of each node's name; subqueries are not part of the tree."""
    names, pending = [], [root]
    while pending:
        node = pending.pop()
        names.append(str(node.nodeName()).split(" ")[0])
        children = node.children()
        pending += [children.apply(at) for at in range(children.size())]
    return names
