"""How every benchmark is timed: both sides in one process, warmed up, in turns, by the median.

Taking turns (and changing who goes first) means that a slow moment of the machine hits both sides alike.
"""

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pyspark.sql import SparkSession

# Tables are written by the builders of the tests: whoever imports this can import `tests` from then on.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

WARM_UPS = 2
RUNS = 7


class NotPossible(Exception):
    """A benchmark that cannot run here; the message says what is missing."""


@dataclass(frozen=True)
class Result:
    """Seconds of both sides, and how many times the peer's time Lakescan may take.

    Where both ran in turns, `in_turns` is the median of what two neighbouring runs say: a machine that others use is
    slow for minutes, which two medians of all runs do not show.
    """

    name: str
    lakescan: float
    peer: float
    bound: float
    in_turns: float | None = None

    @property
    def ratio(self) -> float:
        return self.lakescan / self.peer if self.in_turns is None else self.in_turns

    @property
    def within(self) -> bool:
        return self.ratio <= self.bound


def by_the_clock(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def in_tasks(spark: SparkSession) -> Callable[[Callable[[], object]], float]:
    """The processor time of a job's tasks, as Spark counts it: of the same code it says the same, which the clock of a
    machine that others use does not. Planning, compiling and collecting garbage are not in it."""
    context, tracker = spark.sparkContext, spark.sparkContext.statusTracker()
    java = context._jsc.sc()
    groups = count()

    def seconds(job: Callable[[], object]) -> float:
        group = f"measured {next(groups)}"
        context.setJobGroup(group, group)
        job()
        # What tasks have cost is told behind the back of whoever waits for their job.
        java.listenerBus().waitUntilEmpty()
        jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(group)]
        stages = [stage for one in jobs if one is not None for stage in one.stageIds]
        return sum(float(java.statusStore().lastStageAttempt(stage).executorCpuTime()) for stage in stages) / 1e9

    return seconds


def compare(
    name: str,
    lakescan: Callable[[], object],
    peer: Callable[[], object],
    bound: float,
    runs: int = RUNS,
    warm_ups: int = WARM_UPS,
    cost: Callable[[Callable[[], object]], float] = by_the_clock,
) -> Result:
    for _ in range(warm_ups):
        lakescan()
        peer()
    ours: list[float] = []
    theirs: list[float] = []
    for run in range(runs):
        turns = [(lakescan, ours), (peer, theirs)]
        for job, seconds in turns if run % 2 == 0 else reversed(turns):
            seconds.append(cost(job))
    pairs = [one / other for one, other in zip(ours, theirs, strict=True)]
    return Result(name, statistics.median(ours), statistics.median(theirs), bound, statistics.median(pairs))


def results_page(said: str, sides: str, results: Sequence[Result]) -> str:
    """A page of `results/`: what was measured, and a line for each; `sides` are the names of what and of the two."""
    lines = [f"| {r.name} | {r.lakescan:.3f} s | {r.peer:.3f} s | {r.ratio:.2f} |" for r in results]
    return f"{said}\n\n| {sides} | ratio |\n| --- | ---: | ---: | ---: |\n" + "\n".join(lines) + "\n"
