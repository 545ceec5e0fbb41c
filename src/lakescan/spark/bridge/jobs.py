"""Work for a session's executors: a function and small items, one task each, by Python workers.

It may be asked for in any thread of the driver, also while Spark plans a query. The job belongs to the query that
planned it: it has the job group, the pool and the tags of the thread for which it was asked.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lakescan.spark.bridge.jvm import Bridge
from lakescan.spark.dsv2.worker import shipped

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


class SparkExecutors:
    """Implements `scan.executors.Executors`. To be made in the thread that plans a query, or in a callback of it."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        context: Any = bridge.spark.sparkContext
        self._properties: Any = context._jsc.sc().getLocalProperties()

    def run(self, work: Callable[[_Item], _Made], items: Sequence[_Item]) -> list[_Made]:
        if not len(items):
            return []
        context: Any = self._bridge.spark.sparkContext
        rdd: Any = context.parallelize(list(items), len(items)).map(shipped(work))
        rdd.ctx = _Context(context, self._bridge._worker_interpreter)
        jobs = context._jsc.sc()
        own = jobs.getLocalProperties()
        jobs.setLocalProperties(self._properties.clone())
        try:
            made: list[_Made] = rdd.collect()
        finally:
            jobs.setLocalProperties(own)
        return made


class _Context:
    """A context whose workers run by another interpreter: PySpark takes it from the context of an RDD."""

    def __init__(self, context: Any, interpreter: str) -> None:
        self._context = context
        self.pythonExec = interpreter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)
