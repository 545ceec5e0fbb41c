"""Open a Delta table of many files and plan a scan, against delta-rs: no Spark, every question in a fresh process.

What is measured is the whole process: wall time, processor time, peak memory, imports included. The engines take turns,
and both must give the same answer. `LAKESCAN_PLANNING_FILES=10000,100000` picks sizes; `results/planning.md` and its
chart are written only where all of them ran.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness import Result
from planning_log import LogShape, build
from planning_results import Cost, Measured, write_results
from pyspark.sql import SparkSession
from scan_columns import DATA

SIZES = (10_000, 100_000, 1_000_000)
QUESTIONS = {
    "point": "`id = x`, one file left",
    "day": "`day = d`, one in 365 left",
    "all": "every file",
    "count": "number of files",
    "inspect": "files, bytes and rows, as `lakescan inspect` counts them",
}
ENGINES = ("lakescan", "delta-rs")
RUNS = int(os.environ.get("LAKESCAN_PLANNING_RUNS", "3"))
# How many times delta-rs' processor time a question may take.
BOUNDS = {"parsed": 0.3, "json": 0.8}
_ASK = Path(__file__).with_name("planning_question.py")


def ask(engine: str, path: Path, question: str, id_: int) -> tuple[object, Cost]:
    """The answer of a fresh process, and what it took."""
    began = time.perf_counter()
    command = [sys.executable, str(_ASK), engine, str(path), question, str(id_)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    answer = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed")
    wall = time.perf_counter() - began
    return json.loads(answer), Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def measure(shape: LogShape, question: str, runs: int = RUNS) -> Measured:
    path = build(DATA, shape)
    costs: dict[str, list[Cost]] = {engine: [] for engine in ENGINES}
    for run in range(runs):
        turns = ENGINES if run % 2 == 0 else tuple(reversed(ENGINES))
        answers = {}
        for engine in turns:
            answers[engine], cost = ask(engine, path, question, shape.middle_id)
            costs[engine].append(cost)
        if len(set(map(str, answers.values()))) > 1:
            raise RuntimeError(f"{question} of {shape.name}: {answers}")
    return Measured(shape, question, {engine: _middle(taken) for engine, taken in costs.items()})


def _middle(costs: list[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.processor for cost in costs),
        statistics.median(cost.megabytes for cost in costs),
    )


def shapes(sizes: Iterable[int]) -> Iterator[LogShape]:
    for files in sizes:
        for kind in BOUNDS:
            yield LogShape(files, kind)


def run(spark: SparkSession) -> Iterable[Result]:
    chosen = os.environ.get("LAKESCAN_PLANNING_FILES")
    wanted = tuple(map(int, chosen.split(","))) if chosen else SIZES
    measurements: list[Measured] = []
    for shape in shapes(wanted):
        for question in QUESTIONS:
            measured = measure(shape, question)
            measurements.append(measured)
            ours, theirs = (measured.costs[engine].processor for engine in ENGINES)
            name = f"{question}, {shape.files:,} files, {shape.statistics} (processor)"
            yield Result(name, ours, theirs, BOUNDS[shape.statistics])
    if wanted == SIZES:
        write_results(measurements, QUESTIONS)
