"""Questions about one table through one Spark session, each asked twice: prints the seconds of each as JSON.

    .venv/bin/python benchmarks/planning_session.py lakescan /path/to/table 500005
    .venv-peers/bin/python benchmarks/planning_session.py delta /path/to/table 500005
    .venv-peers/bin/python benchmarks/planning_session.py delta-v2 /path/to/table 500005

The first question pays for what the session reads of the table; `… 500005 COUNT` asks only those with that in their
name, so that each can be the first of a process. The last three are planned and not run, because
the logs that `planning_log.py` writes have no data files.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from planning_question import DAY


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


def answers(frame: Callable[[], Any], id_: int, only: str = "") -> dict[str, list[Any]]:
    asked: dict[str, Callable[[], Any]] = {
        "COUNT(*)": lambda: frame().count(),
        "MIN, MAX(id)": lambda: tuple(frame().selectExpr("min(id)", "max(id)").collect()[0]),
        "plan `id = x`": lambda: planned(frame().where(f"id = {id_}")),
        "plan `day = d`": lambda: planned(frame().where(f"day = DATE'{DAY}'")),
        "plan everything": lambda: planned(frame()),
    }
    by_question: dict[str, list[Any]] = {}
    for name, ask in ((name, ask) for name, ask in asked.items() if only in name):
        times = []
        for _ in range(2):
            began = time.perf_counter()
            answer = ask()
            times.append(time.perf_counter() - began)
        by_question[name] = [*times, answer]
        print(name, by_question[name], file=sys.stderr, flush=True)
    return by_question


def planned(frame: Any) -> int:
    """The physical plan is made, with the files that it reads chosen; how many nodes it has means nothing."""
    execution = frame._jdf.queryExecution()
    execution.executedPlan().toString()
    return 0


if __name__ == "__main__":
    engine, path, id_, *only = sys.argv[1:]
    spark, frame = ENGINES[engine](path)
    print(json.dumps(answers(frame, int(id_), *only)))
    spark.stop()
