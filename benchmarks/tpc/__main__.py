"""`python -m tpc tpch --scale 0.1`: run a suite, or with `--plans` only compare the plans of its queries."""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tpc.engines import DELTA, DELTA_V2, LAKESCAN, Engine, register, start
from tpc.measure import Cost, collect_garbage, measured, same_rows
from tpc.plans import PlanShape
from tpc.results import QueryResult, above_the_bound, summary, write
from tpc.suite import Suite

_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "lakescan-bench"


def main(arguments: Sequence[str]) -> None:
    asked = _parsed(arguments)
    suite = Suite(asked.suite, asked.scale, asked.data)
    spark = start(asked.memory, asked.growing_heap)
    register(spark, suite.tables(spark, asked.deletion_vectors))
    queries = {number: text for number, text in suite.queries().items() if not asked.queries or number in asked.queries}
    if asked.plans:
        _compare_plans(spark, queries)
    else:
        engines = [DELTA, LAKESCAN] if asked.no_v2 else [DELTA, DELTA_V2, LAKESCAN]
        results = [
            _run(spark, number, text, engines, asked.runs, asked.delta_first) for number, text in queries.items()
        ]
        print(summary(results))
        again = [
            _run(spark, result.number, queries[result.number], engines, asked.again, asked.delta_first)
            for result in above_the_bound(results)
            if asked.again
        ]
        print(summary(again) if again else "")
        if asked.results:
            kind = ("-deletion-vectors" if asked.deletion_vectors else "") + ("" if asked.runs else "-first")
            write(results, again, asked.results, f"{suite.name}-{suite.scale:g}{kind}")
        if any(LAKESCAN.name in result.wrong for result in results):
            sys.exit("Lakescan's rows are not Delta Spark's.")
    spark.stop()


def _run(
    spark: SparkSession, number: int, text: str, engines: Sequence[Engine], runs: int, delta_first: bool
) -> QueryResult:
    """The first run of each engine gives the rows that are compared, now one's before the other's and now after it
    unless Delta Spark's is wanted first; then they take turns. One that fails is told, and runs the query no more."""
    rows: dict[str, list[Any]] = {}
    first: dict[str, Cost] = {}
    costs: dict[str, list[Cost]] = {engine.name: [] for engine in engines}
    failed: dict[str, str] = {}
    for engine in engines if number % 2 or delta_first else reversed(engines):
        with engine.current(spark), _told(engine, failed):
            rows[engine.name], first[engine.name] = _answer(spark, text)
    expected = rows.get(DELTA.name)
    wrong = [name for name, answer in rows.items() if expected is not None and not same_rows(answer, expected)]
    for run in range(runs):
        turn = [engine for engine in engines if engine.name not in failed]
        for engine in turn if run % 2 == 0 else reversed(turn):
            with engine.current(spark), _told(engine, failed):
                costs[engine.name].append(_answer(spark, text)[1])
    said = tuple(f"{name}: {message}" for name, message in failed.items())
    result = QueryResult(
        number, first, {name: tuple(taken) for name, taken in costs.items() if taken}, tuple(wrong), said
    )
    print(result, flush=True)
    return result


def _answer(spark: SparkSession, text: str) -> tuple[list[Any], Cost]:
    collect_garbage(spark)
    return measured(lambda: spark.sql(text).collect())


@contextmanager
def _told(engine: Engine, failed: dict[str, str]) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        failed[engine.name] = " ".join(str(error).split())[:400]


def _compare_plans(spark: SparkSession, queries: Mapping[int, str]) -> None:
    worse = []
    for number, text in queries.items():
        shapes = []
        for engine in (DELTA, LAKESCAN):
            with engine.current(spark):
                shapes.append(PlanShape.of(spark, text))
        if shapes[1].is_worse_than(shapes[0]):
            worse.append(number)
            print(f"Q{number}\n  Delta Spark: {shapes[0]}\n  Lakescan:    {shapes[1]}", flush=True)
    print(f"{len(worse)} of {len(queries)} plans are worse than Delta Spark's: {', '.join(map(str, worse)) or 'none'}")


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench ARGS=…", description=__doc__)
    parser.add_argument("suite", choices=("tpch", "tpcds"))
    parser.add_argument("--scale", type=float, default=1.0, help="about so many GB of text (default: 1)")
    parser.add_argument(
        "--data", type=Path, default=_CACHE, help=f"the folder that keeps the tables (default: {_CACHE})"
    )
    parser.add_argument("--deletion-vectors", action="store_true", help="tables with one row in a hundred deleted")
    parser.add_argument(
        "--queries", type=lambda text: {int(part) for part in text.split(",")}, help="only these: 1,14,64"
    )
    parser.add_argument(
        "--runs", type=int, default=3, help="measured runs of each engine, after the first (default: 3)"
    )
    parser.add_argument(
        "--delta-first", action="store_true", help="Delta Spark's first run of each query before the others'"
    )
    parser.add_argument(
        "--again", type=int, default=0, help="so many more runs, in turns, of each query above the bound (default: 0)"
    )
    parser.add_argument("--memory", default="4g", help="of the driver, which does all the work (default: 4g)")
    parser.add_argument(
        "--growing-heap", action="store_true", help="a heap that grows as it is used: who runs then pays for it"
    )
    parser.add_argument("--no-v2", action="store_true", help="without Delta Spark's V2 connector")
    parser.add_argument("--plans", action="store_true", help="compare the plans, run nothing")
    parser.add_argument("--results", type=Path, help="a folder, seen from benchmarks/, for the figures and a chart")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
