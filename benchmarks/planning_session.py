"""Questions about a table of a million files through Spark, each asked twice, beside Delta Spark.

`make bench ARGS=planning_session` asks each as the first of a process and writes `results/planning_first.md`. By hand,
all in one session, the seconds of each printed as JSON:

    .venv/bin/python benchmarks/planning_session.py lakescan /path/to/table 500005
    .venv-peers/bin/python benchmarks/planning_session.py delta /path/to/table 500005
    .venv-peers/bin/python benchmarks/planning_session.py delta-v2 /path/to/table 500005

The first question pays for what the session reads of the table; `… 500005 COUNT` asks only those with that in their
name, so that each can be the first of a process. The last three are planned and not run, because
the logs that `planning_log.py` writes have no data files.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness import NotPossible, Result
from planning_log import LogShape, build
from planning_question import DAY
from pyspark.sql import SparkSession
from scan_columns import DATA
from tpc.measure import measured, peak_megabytes

HERE = Path(__file__).resolve().parent
PEERS = HERE.parent / ".venv-peers" / "bin" / "python"
RESULTS = HERE / "results" / "planning_first.md"
MOST_FILES = 1_000_000
FILES = int(os.environ.get("LAKESCAN_PLANNING_FILES", str(MOST_FILES)).split(",")[-1])
FIRST = ("COUNT(*)", "MIN(id), MAX(id)", "plan `id = x`", "plan `day = d`")
_PAGE = """# The first question about a million files, through Spark

Written by `make bench ARGS=planning_session`: 1,001,000 files, PySpark 4.2 with Delta Spark 4.4, `local[2]`, 4 GB. Each
question is the first of a process of its own and then asked again: wall seconds, processor seconds, and the most memory
of the driver's JVM and Python together. A filter is planned and not run: the logs have no data files. The ratios say
how many times as fast Lakescan was by the clock, the first time and again; the bounds are 10 and 5.

| statistics | question | Lakescan | Delta Spark | ratios |
| --- | --- | --- | --- | ---: |
"""


def lakescan_frame(path: str) -> Any:
    import lakescan

    spark = lakescan.session(master="local[2]", spark_driver_memory="4g", spark_sql_shuffle_partitions=4)
    return lakescan.install(spark), lambda: lakescan.read(spark, path)


def delta_frame(path: str, **settings: str) -> Any:
    import pyspark
    from pyspark.sql import SparkSession

    release = ".".join(pyspark.__version__.split(".")[:2])
    known = {
        "spark.jars.packages": f"io.delta:delta-spark_{release}_2.13:{version('delta-spark')}",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "4",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    spark = SparkSession.builder.master("local[2]").config(map={**known, **settings}).getOrCreate()
    return spark, lambda: spark.table(f"delta.`{path}`")


def delta_v2_frame(path: str) -> Any:
    return delta_frame(path, **{"spark.databricks.delta.v2.enableMode": "STRICT"})


ENGINES: dict[str, Callable[[str], Any]] = {
    "lakescan": lakescan_frame,
    "delta": delta_frame,
    "delta-v2": delta_v2_frame,
}


def answers(frame: Callable[[], Any], id_: int, only: str = "") -> dict[str, dict[str, Any]]:
    asked: dict[str, Callable[[], Any]] = {
        "COUNT(*)": lambda: frame().count(),
        "MIN(id), MAX(id)": lambda: tuple(frame().selectExpr("min(id)", "max(id)").collect()[0]),
        "plan `id = x`": lambda: planned(frame().where(f"id = {id_}")),
        "plan `day = d`": lambda: planned(frame().where(f"day = DATE'{DAY}'")),
        "plan everything": lambda: planned(frame()),
    }
    by_question: dict[str, dict[str, Any]] = {}
    for name, ask in ((name, ask) for name, ask in asked.items() if only in name):
        _, first = measured(ask)
        answer, again = measured(ask)
        by_question[name] = {
            "wall": [first.wall, again.wall],
            "processor": [first.processor, again.processor],
            "megabytes": peak_megabytes(),
            "answer": answer,
        }
        print(name, by_question[name], file=sys.stderr, flush=True)
    return by_question


def planned(frame: Any) -> int:
    """The physical plan is made, with the files that it reads chosen; how many nodes it has means nothing."""
    execution = frame._jdf.queryExecution()
    execution.executedPlan().toString()
    return 0


def run(spark: SparkSession) -> Iterable[Result]:
    if not PEERS.exists():
        raise NotPossible("There is no .venv-peers, with Delta Spark in it: make peers makes it.")
    rows = []
    for statistics in ("json", "parsed"):
        shape = LogShape(FILES, statistics)
        path = build(DATA, shape)
        for question in FIRST:
            ours, theirs = (_asked(engine, path, shape.middle_id, question) for engine in ("lakescan", "delta"))
            if ours["answer"] != theirs["answer"]:
                raise RuntimeError(f"{question} of {path}: {ours['answer']} and {theirs['answer']}")
            rows.append(_row(statistics, question, ours, theirs))
            for at, (time_, bound) in enumerate({"first": 0.1, "again": 0.2}.items()):
                name = f"{shape.total} files, {statistics}: {question}, {time_}"
                yield Result(name, ours["wall"][at], theirs["wall"][at], bound)
    if FILES == MOST_FILES:
        RESULTS.write_text(_PAGE + "\n".join(rows) + "\n")


def _asked(engine: str, path: Path, id_: int, question: str) -> Any:
    """What a process of its own says of one question."""
    command = [str(PEERS), __file__, engine, str(path), str(id_), question]
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    (asked,) = json.loads(answer.splitlines()[-1]).values()
    return asked


def _row(statistics: str, question: str, ours: Any, theirs: Any) -> str:
    cells = [
        f"{one['wall'][0]:.1f} s, {one['wall'][1]:.2f} s; {one['processor'][0]:.1f} s, {one['processor'][1]:.2f} s; "
        f"{one['megabytes']:.0f} MB"
        for one in (ours, theirs)
    ]
    ratios = ", ".join(f"{theirs['wall'][at] / ours['wall'][at]:.1f}" for at in range(2))
    return f"| {statistics} | {question} | {cells[0]} | {cells[1]} | {ratios} |"


if __name__ == "__main__":
    engine, path, id_, *only = sys.argv[1:]
    spark, frame = ENGINES[engine](path)
    print(json.dumps(answers(frame, int(id_), *only)))
    spark.stop()
