"""What Spark measured of a query's scans when it ran: rows that left them, and the time of the tasks they are in.

Read from the plan that ran, whose nodes keep their metrics; a query that did not run, or whose nodes Spark names
otherwise, has none.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame

from lakescan.spark.bridge.jvm import Bridge
from lakescan.spark.bridge.proxy import JavaObject


@dataclass(frozen=True)
class Measured:
    """The figures of one scan."""

    rows: int | None
    task_ms: int | None
    """The time of all tasks in which it was read, with what else they do before they exchange rows."""


def measured(bridge: Bridge, df: DataFrame) -> list[tuple[object, Measured]]:
    """The Python scans of a query that ran, each with its figures."""
    scans = _scans(df._jdf.queryExecution().executedPlan(), None)
    return [(bridge.python_object(node.scan()), figures) for node, figures in scans]


def explained(df: DataFrame) -> str:
    """The plan as EXPLAIN FORMATTED gives it."""
    context = df.sparkSession.sparkContext
    assert context._jvm is not None
    utils = context._jvm.org.apache.spark.sql.api.python.PythonSQLUtils
    return str(utils.explainString(df._jdf.queryExecution(), "formatted")).strip()


def _scans(node: JavaObject, task_ms: int | None) -> Iterator[tuple[JavaObject, Measured]]:
    name = node.getClass().getSimpleName()
    if name == "AdaptiveSparkPlanExec":
        yield from _scans(node.executedPlan(), task_ms)
        return
    if name.endswith("QueryStageExec"):
        yield from _scans(node.plan(), None)
        return
    if name == "WholeStageCodegenExec":
        task_ms = _metric(node, "pipelineTime")
    if name == "BatchScanExec":
        yield node, Measured(_metric(node, "numOutputRows"), task_ms)
    for below in (node.children(), node.subqueries()):
        for at in range(below.size()):
            yield from _scans(below.apply(at), task_ms)


def _metric(node: JavaObject, name: str) -> int | None:
    metric = node.metrics().get(name)
    # A metric that was never set is below zero.
    value = int(metric.get().value()) if metric.isDefined() else -1
    return value if value >= 0 else None
