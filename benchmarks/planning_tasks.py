"""Files divided into tasks through Spark: 101,000 files of 1 to 256 MB, by Lakescan and by Delta Spark's own reader.

    .venv-peers/bin/python benchmarks/planning_tasks.py lakescan
    .venv-peers/bin/python benchmarks/planning_tasks.py delta

Each engine has a process of its own, which prints wall seconds: to plan a scan of every file, and then until Spark has
its tasks. Both are asked several times, the first time apart. Nothing is read: the log has no data files.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from harness import NotPossible, Result
from planning_log import LogShape, build
from planning_session import ENGINES
from pyspark.sql import SparkSession
from scan_columns import DATA

PEERS = Path(__file__).resolve().parent.parent / ".venv-peers" / "bin" / "python"
SHAPE = LogShape(100_000, "parsed")
RUNS = 4
# How many times Delta Spark's time they may take.
BOUND = 0.2


def measured(frame: Callable[[], Any]) -> list[dict[str, float]]:
    """The seconds of each time, and how many tasks there were."""
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        execution = frame()._jdf.queryExecution()
        execution.executedPlan().toString()
        planned = time.perf_counter()
        tasks = execution.toRdd().getNumPartitions()
        times.append({"plan": planned - began, "tasks": time.perf_counter() - planned, "number": tasks})
    return times


def run(spark: SparkSession) -> Iterable[Result]:
    if not PEERS.exists():
        raise NotPossible("There is no .venv-peers, with Delta Spark in it: make peers makes it.")
    by_engine = {}
    for engine in ("lakescan", "delta"):
        answer = subprocess.run([str(PEERS), __file__, engine], stdout=subprocess.PIPE, text=True, check=True).stdout
        by_engine[engine] = json.loads(answer.splitlines()[-1])
    for name, times in (("first", slice(0, 1)), ("again", slice(1, None))):
        ours, theirs = (
            statistics.median(one["plan"] + one["tasks"] for one in by_engine[engine][times])
            for engine in ("lakescan", "delta")
        )
        yield Result(f"{SHAPE.total} files planned and divided into tasks, {name}", ours, theirs, BOUND)


if __name__ == "__main__":
    session, table = ENGINES[sys.argv[1]](str(build(DATA, SHAPE)))
    print(json.dumps(measured(table)))
    session.stop()
