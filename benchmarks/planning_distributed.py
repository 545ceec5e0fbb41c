"""Questions about a log of ten million files through a Spark session with a driver of 2 GB: the executors replay it.

    .venv/bin/python benchmarks/planning_distributed.py [files]

The log has no data files, so a point filter and a limit are planned and not run. Printed are the wall seconds of each
question, asked twice, and the most memory that the driver's Python process had after it.
"""

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from planning_log import ROWS_PER_FILE, LogShape, build
from planning_question import DAY
from scan_columns import DATA

import lakescan
from lakescan.spark.bridge import Bridge

FILES = 10_000_000


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(files: int) -> None:
    shape = LogShape(files, "parsed", sidecars=20)
    path = build(DATA, shape)
    spark = lakescan.session(
        master="local[2]",
        spark_driver_memory="2g",
        spark_sql_shuffle_partitions=4,
        **{"spark.lakescan.replay.distributed.files": min(files, 5_000_000)},
    )
    lakescan.install(spark)
    print(f"begins with {peak_mb():.0f} MB", flush=True)

    def left(frame: Any) -> int:
        frame._jdf.queryExecution().executedPlan().toString()
        (scan,) = Bridge(spark).scans_of(frame)
        plan: Any = scan
        return int(plan.last_run.planned.files.num_rows)

    def frame() -> Any:
        return lakescan.read(spark, str(path))

    questions: dict[str, tuple[Callable[[], Any], Any]] = {
        "plan LIMIT 10": (lambda: left(frame().limit(10)), 1),
        "COUNT(*)": (lambda: frame().count(), shape.total * ROWS_PER_FILE),
        "MIN, MAX(id)": (
            lambda: tuple(frame().selectExpr("min(id)", "max(id)").collect()[0]),
            (0, shape.total * ROWS_PER_FILE - 1),
        ),
        "plan `id = x`": (lambda: left(frame().where(f"id = {shape.middle_id}")), 1),
        "plan `day = d`": (lambda: left(frame().where(f"day = DATE'{DAY}'")) > 0, True),
    }
    for name, (ask, expected) in questions.items():
        times = []
        for _ in range(2):
            began = time.perf_counter()
            answer = ask()
            times.append(time.perf_counter() - began)
            assert answer == expected, (name, answer, expected)
        print(f"{name}: {times[0]:.1f} s, again {times[1]:.1f} s, {peak_mb():.0f} MB", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else FILES)
