"""What a cost grows with: each dimension doubled four times; processor time and memory of fresh processes.

The exponent is the slope from the second doubling on: 1 is as much as there is, 2 its square. The peer is delta-rs
where it does the same. `results/growth.md` is written if every dimension ran; `LAKESCAN_GROWTH="columns"` picks some.
"""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from growth_question import DELTA_RS, LAKESCAN
from harness import Result
from pyspark.sql import SparkSession
from scan_columns import DATA

# Found by way of `harness`.
from tests.tables import DeltaBuilder

DOUBLINGS = 4
BOUND = 1.2
# A cost below this is that of starting: its growth says nothing.
_LEAST_SECONDS = 0.02
_ASK = Path(__file__).with_name("growth_question.py")
_RESULTS = Path(__file__).with_name("results") / "growth.md"

Build = Callable[[Path, int], object]


@dataclass(frozen=True)
class Dimension:
    """What grows: a table for a size, the first size, and the questions that are asked of it."""

    name: str
    build: Build
    first: int
    questions: tuple[str, ...]


@dataclass(frozen=True)
class Growth:
    """The cost of one question at each size."""

    question: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    megabytes: tuple[float, ...]
    peer: float | None
    """Seconds of delta-rs at the greatest size."""

    @property
    def exponent(self) -> float:
        """The slope of the cost from the second doubling on, in powers of the size; 0 where it never counts."""
        points = [(size, cost) for size, cost in zip(self.sizes, self.seconds, strict=True) if cost > _LEAST_SECONDS]
        points = points[-(DOUBLINGS - 1) :]
        if len(points) < 2:
            return 0.0
        slope, _ = np.polyfit([math.log(size) for size, _ in points], [math.log(cost) for _, cost in points], 1)
        return float(slope)


def _numbers(columns: int, rows: int = 100) -> pa.Table:
    return pa.table({f"c{at}": np.arange(rows) + at for at in range(columns)})


def _table(path: Path, rows: pa.Table, files: int = 1, row_group_size: int | None = None) -> None:
    built = DeltaBuilder(path, rows.schema)
    for _ in range(files):
        built.append(rows, row_group_size=row_group_size)


def _struct(path: Path, fields: int) -> None:
    values = pa.StructArray.from_arrays([pa.array(np.arange(100))] * fields, [f"f{at}" for at in range(fields)])
    _table(path, pa.table({"c5": values}))


def _deep(path: Path, depth: int) -> None:
    values: pa.Array = pa.array(np.arange(100))
    for _ in range(depth):
        values = pa.StructArray.from_arrays([values], ["f"])
    _table(path, pa.table({"c5": values}))


def _partition_columns(path: Path, columns: int) -> None:
    names = [f"p{at}" for at in range(columns)]
    schema = pa.schema([*((name, pa.string()) for name in names), ("c5", pa.int64())])
    built = DeltaBuilder(path, schema, partition_by=names)
    for file in range(20):
        built.append(pa.table({"c5": range(10)}), partition=dict.fromkeys(names, f"v{file % 4}"))


def _files(path: Path, files: int) -> None:
    """So many files in one commit, all of the same bytes."""
    built = DeltaBuilder(path, pa.schema([("c0", pa.int64()), ("p0", pa.string())]), partition_by=["p0"])
    adds = [built.add(pa.table({"c0": range(at, at + 5)}), partition={"p0": f"v{at}"}) for at in range(0, 4 * files, 4)]
    built.commit(*adds)


def _commits(path: Path, commits: int) -> None:
    built = DeltaBuilder(path, pa.schema([("c0", pa.int64())]))
    for at in range(commits):
        built.append(pa.table({"c0": [at]}))


def _deleted(path: Path, rows: int) -> None:
    built = DeltaBuilder(path, pa.schema([("c0", pa.int64())]), features=["deletionVectors"])
    built.delete(built.append(pa.table({"c0": np.arange(rows)})), list(range(0, rows, 2)))


def _changed(path: Path, commits: int) -> None:
    built = DeltaBuilder(path, pa.schema([("c0", pa.int64())]), properties={"delta.enableChangeDataFeed": "true"})
    for at in range(commits):
        built.append(pa.table({"c0": [at]}))


DIMENSIONS = (
    Dimension(
        "columns",
        lambda path, n: _table(path, _numbers(n), 5),
        125,
        tuple(name for name in LAKESCAN if name.startswith("columns")),
    ),
    Dimension("functions", lambda path, n: _table(path, _numbers(n)), 60, ("functions of an aggregation",)),
    Dimension("fields", _struct, 250, ("fields of a struct",)),
    Dimension("depth", _deep, 4, ("depth of a struct",)),
    Dimension("partition columns", _partition_columns, 25, ("partition columns",)),
    Dimension("files", _files, 250, ("partition values", "files: a filter", "files: a limit", "files: the first rows")),
    Dimension("commits", _commits, 50, ("commits without a checkpoint", "versions of a history")),
    Dimension("versions", _changed, 50, ("versions of changes", "versions of a time travel")),
    Dimension("deleted rows", _deleted, 100_000, ("rows that are deleted",)),
    Dimension(
        "row groups",
        lambda path, n: _table(path, _numbers(50, 10 * n), 1, 10),
        40,
        ("row groups: every row", "row groups: a filter", "row groups, a quarter as many pieces"),
    ),
    Dimension(
        "values",
        lambda path, n: _table(path, pa.table({"c5": ["x" * n] * 50})),
        10_000,
        ("length of a value",),
    ),
    Dimension(
        "conditions", lambda path, n: _table(path, _numbers(6)), 250, ("literals of IN", "terms of AND", "terms of OR")
    ),
)


def measured(dimension: Dimension, question: str, small: Path) -> Growth:
    sizes = tuple(dimension.first << doubling for doubling in range(DOUBLINGS + 1))
    costs = [ask("lakescan", question, small, _built(dimension, size), size) for size in sizes]
    peer = None
    if question in DELTA_RS:
        peer, _ = ask("delta-rs", question, small, _built(dimension, sizes[-1]), sizes[-1])
    return Growth(question, sizes, tuple(cost for cost, _ in costs), tuple(memory for _, memory in costs), peer)


def ask(engine: str, question: str, small: Path, path: Path, size: int) -> tuple[float, float]:
    """Processor seconds and megabytes of a fresh process."""
    command = [sys.executable, str(_ASK), engine, question, str(small), str(path), str(size)]
    seconds, megabytes = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return seconds, megabytes


def _built(dimension: Dimension, size: int) -> Path:
    path = DATA / "growth" / dimension.name.replace(" ", "_") / str(size)
    if not path.exists():
        dimension.build(path, size)
    return path


def _line(growth: Growth) -> str:
    ratio = "" if growth.peer is None else f"{growth.seconds[-1] / max(growth.peer, 1e-3):.2f}"
    sizes, last = f"{growth.sizes[0]:,} to {growth.sizes[-1]:,}", growth.seconds[-1]
    return (
        f"| {growth.question} | {sizes} | {growth.seconds[0]:.2f} s | {last:.2f} s | {growth.megabytes[-1]:.0f} MB "
        f"| {growth.exponent:.2f} | {ratio} |"
    )


def run(spark: SparkSession) -> Iterator[Result]:
    chosen = os.environ.get("LAKESCAN_GROWTH", "")
    small = DATA / "growth" / "small"
    if not small.exists():
        _table(small, _numbers(8))
    growths = []
    for dimension in DIMENSIONS:
        for question in dimension.questions:
            if chosen not in dimension.name:
                continue
            growth = measured(dimension, question, small)
            growths.append(growth)
            # In place of seconds: the exponent, and the greatest that is allowed.
            yield Result(f"growth with {question}, exponent", max(growth.exponent, 0.0), 1.0, BOUND)
    if not chosen:
        head = "| what grows | sizes | first | last | memory | exponent | of delta-rs |"
        rule = "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
        said = (
            "# Growth\n\nProcessor time of one question, in a fresh process, without imports; `benchmarks/growth.py`.\n"
        )
        _RESULTS.write_text("\n".join([said, head, rule, *map(_line, growths)]) + "\n", "utf-8")
