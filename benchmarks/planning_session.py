"""Questions about one table through one Spark session, each asked twice: prints the seconds of each as JSON.

    .venv/bin/python benchmarks/planning_session.py lakescan /path/to/table 500005
    .venv-peers/bin/python benchmarks/planning_session.py delta /path/to/table 500005

The first question pays for what the session reads of the table. The last three are planned and not run, because
the logs that `planning_log.py` writes have no data files.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from planning_question import DAY


def lakescan_frame(path: str) -> Any:
    import lakescan

    spark = lakescan.session(master="local[2]", spark_driver_memory="4g", spark_sql_shuffle_partitions=4)
    return lakescan.install(spark), lambda: lakescan.read(spark, path)


def delta_frame(path: str) -> Any:
    from delta import configure_spark_with_delta_pip
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    )
    spark = configure_spark_with_delta_pip(builder).getOrCreate()
    return spark, lambda: spark.read.format("delta").load(path)


ENGINES: dict[str, Callable[[str], Any]] = {"lakescan": lakescan_frame, "delta": delta_frame}


def answers(frame: Callable[[], Any], id_: int) -> dict[str, list[Any]]:
    asked: dict[str, Callable[[], Any]] = {
        "COUNT(*)": lambda: frame().count(),
        "MIN, MAX(id)": lambda: tuple(frame().selectExpr("min(id)", "max(id)").collect()[0]),
        "plan `id = x`": lambda: planned(frame().where(f"id = {id_}")),
        "plan `day = d`": lambda: planned(frame().where(f"day = DATE'{DAY}'")),
        "plan everything": lambda: planned(frame()),
    }
    by_question: dict[str, list[Any]] = {}
    for name, ask in asked.items():
        times = []
        for _ in range(2):
            began = time.perf_counter()
            answer = ask()
            times.append(time.perf_counter() - began)
        by_question[name] = [*times, answer]
    return by_question


def planned(frame: Any) -> int:
    """The physical plan is made, with the files that it reads chosen; how many nodes it has means nothing."""
    execution = frame._jdf.queryExecution()
    execution.executedPlan().toString()
    return 0


if __name__ == "__main__":
    engine, path, id_ = sys.argv[1:]
    spark, frame = ENGINES[engine](path)
    print(json.dumps(answers(frame, int(id_))))
    spark.stop()
