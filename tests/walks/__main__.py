"""`make walks`: so many random queries from a seed, each on Lakescan's tables and on copies in Parquet.

python -m tests.walks --seed 7 --queries 2000
"""

import argparse
import logging
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import lakescan
from lakescan.errors import OptimizationFailed
from tests.walks.tables import declare
from tests.walks.walk import asked, question, recursion_is_known, smallest


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.walks", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first query's seed; each query has the next")
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--most-different", type=int, default=20, help="end after so many differences")
    asks = parser.parse_args()
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    # An optimization that was given up gives the right rows, and would go unnoticed.
    warnings.simplefilter("error", OptimizationFailed)
    # Errors that both sides share are written down by Py4J and Spark as they pass.
    logging.disable(logging.CRITICAL)
    spark = lakescan.session(
        master="local[2]",
        spark_sql_shuffle_partitions=2,
        spark_driver_memory="1g",
        spark_sql_session_timeZone="UTC",
        spark_ui_enabled="false",
    )
    spark.sparkContext.setLogLevel("OFF")
    different, refused, rows, began = 0, 0, 0, time.monotonic()
    with tempfile.TemporaryDirectory() as root:
        declare(spark, Path(root))
        recursion = recursion_is_known(spark)
        for seed in range(asks.seed, asks.seed + asks.queries):
            of = question(seed, recursion)
            outcome = asked(spark, of)
            refused += bool(outcome.theirs.error)
            rows += sum(outcome.theirs.rows.values())
            if outcome.differs:
                different += 1
                least, found = smallest(spark, of)
                print(f"{least}\n  ours   {found.ours}\n  theirs {found.theirs}\n", flush=True)
                if different == asks.most_different:
                    print("too many differences: the rest was not asked")
                    break
            if (seed - asks.seed + 1) % 200 == 0:
                spent = time.monotonic() - began
                print(
                    f"{seed - asks.seed + 1} queries, {different} differ, {refused} refused, {spent:.0f} s", flush=True
                )
    asked_in_all = seed - asks.seed + 1
    print(
        f"Spark {spark.version}, seeds {asks.seed} to {seed}: {asked_in_all} queries, {rows} rows, "
        f"{refused} refused by both, {different} differ"
    )
    spark.stop()
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
