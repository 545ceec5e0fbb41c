"""The jobs of `streams`: one session that has Delta Spark and Lakescan, each job by both in turns.

Runs in `.venv-peers`. Each line of its output is a `Result` as JSON. Names as arguments pick jobs: `catch-up latency`.
"""

import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from harness import Result, compare
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

import lakescan
from tests.tables import DeltaBuilder

DATA = Path(__file__).resolve().parent / ".data"
JAR = "io.delta:delta-spark_4.2_2.13:4.4.0"
COMMITS, ROWS = 200, 10_000
DAYS = 10
TINY = 500
RUNS = 4
BOUND = 1.0
NUMBERS = ("a", "b", "c", "d")
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("day", pa.int32()),
        *((name, pa.float64()) for name in NUMBERS),
        ("city", pa.string()),
        ("note", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("quantity", pa.int32()),
        ("flag", pa.bool_()),
    ]
)


def session() -> SparkSession:
    settings: dict[str, Any] = {
        "spark.jars.packages": JAR,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "3g",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.enabled": "false",
    }
    spark = SparkSession.builder.appName("streams").master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return lakescan.install(spark)


def rows(first: int, count: int) -> pa.Table:
    """Rows that do not compress to nothing."""
    random = np.random.default_rng(first)
    ids = np.arange(first, first + count)
    return pa.table(
        {
            "id": ids,
            **{name: random.random(count) for name in NUMBERS},
            "city": pa.array([f"city-{number:03d}" for number in random.integers(0, 500, count)]),
            "note": pa.array([f"note {number:x} of a row" for number in random.integers(0, 1 << 60, count)]),
            "at": pa.array(1_700_000_000_000_000 + ids * 1_000_000, pa.timestamp("us", "UTC")),
            "quantity": pa.array(random.integers(0, 1000, count), pa.int32()),
            "flag": random.random(count) < 0.5,
        }
    )


def built(name: str, commits: int, count: int) -> Path:
    """A table, written once and kept: a half-written one never gets the final name."""
    path = DATA / f"{name}_{commits}_{count}"
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        table = DeltaBuilder(unfinished, SCHEMA, partition_by=["day"])
        for at in range(commits):
            table.append(rows(at * count, count), partition={"day": str(at % DAYS)})
        unfinished.rename(path)
    return path


Opened = Callable[[DataStreamReader], DataFrame]


def ways(spark: SparkSession, path: Path) -> tuple[Opened, Opened]:
    """The table by Lakescan and by Delta Spark."""
    name = f"bench_{path.name}"
    lakescan.attach(spark, name, path)
    return (lambda reader: reader.table(f"lake.{name}")), (lambda reader: reader.format("delta").load(str(path)))


def caught_up(
    spark: SparkSession, opened: Opened, count: int, options: dict[str, str], wanted: Callable[[DataFrame], DataFrame]
) -> None:
    """Run a stream over all there is; it must have read that many rows."""
    checkpoint = tempfile.mkdtemp(prefix="streams-")
    frame = wanted(opened(spark.readStream.options(**options)))
    writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint).trigger(availableNow=True)
    query = writer.start()
    query.awaitTermination()
    read = sum(progress["numInputRows"] for progress in query.recentProgress)
    shutil.rmtree(checkpoint)
    assert read == count, f"{read} rows were read in place of {count}"


def waits(spark: SparkSession, opened: Opened, table: DeltaBuilder, commits: int = 12) -> list[float]:
    """Seconds from each commit to its row, in a stream that runs; the first few are to warm up."""
    arrived, taken = threading.Event(), []
    checkpoint = tempfile.mkdtemp(prefix="streams-")

    def seen(batch: DataFrame, _: int) -> None:
        batch.select("id").collect()
        arrived.set()

    frame = opened(spark.readStream.option("startingVersion", str(table.version)))
    query = frame.writeStream.foreachBatch(seen).option("checkpointLocation", checkpoint).start()
    assert arrived.wait(120), "no row came within two minutes"
    for _ in range(commits):
        time.sleep(0.3)
        arrived.clear()
        began = time.perf_counter()
        table.append(rows(table.version, 1), partition={"day": "1"})
        assert arrived.wait(60), "no row came within a minute"
        taken.append(time.perf_counter() - began)
    query.stop()
    shutil.rmtree(checkpoint)
    return taken[2:]


def latency(spark: SparkSession, path: Path) -> Result:
    """The median time from a commit to its row, by both in turns."""
    shutil.rmtree(path, ignore_errors=True)
    table = DeltaBuilder(path, SCHEMA, partition_by=["day"])
    table.append(rows(0, 10), partition={"day": "0"})
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(2):
        for delays, opened in zip(taken, ways(spark, path), strict=True):
            delays += waits(spark, opened, table)
    return Result("from a commit to its row", statistics.median(taken[0]), statistics.median(taken[1]), BOUND)


def jobs(spark: SparkSession) -> dict[str, Callable[[], Result]]:
    def job(
        name: str,
        path: Callable[[], Path],
        count: int,
        options: dict[str, str],
        wanted: Callable[[DataFrame], DataFrame] = lambda frame: frame,
    ) -> Result:
        ours, theirs = ways(spark, path())
        run = partial(caught_up, spark, count=count, options=options, wanted=wanted)
        return compare(name, partial(run, ours), partial(run, theirs), BOUND, RUNS, warm_ups=1)

    large = partial(built, "stream", COMMITS, ROWS)
    tiny = partial(built, "stream", TINY, 1)
    first, all_rows = {"startingVersion": "0"}, COMMITS * ROWS

    def one_column(frame: DataFrame) -> DataFrame:
        return frame.select("quantity")

    def one_day(frame: DataFrame) -> DataFrame:
        return frame.where("day = 3")

    return {
        "catch-up": partial(job, "catch-up: 200 commits of 10,000 rows", large, all_rows, first),
        "column": partial(job, "catch-up: one of 11 columns", large, all_rows, first, one_column),
        "partition": partial(job, "catch-up: one of 10 partitions", large, all_rows // DAYS, first, one_day),
        "snapshot": partial(job, "initial snapshot of 200 commits", large, all_rows, {}),
        "tiny": partial(job, "500 tiny commits, one batch", tiny, TINY, first),
        "batches": partial(job, "500 tiny commits, 25 batches", tiny, TINY, {**first, "maxFilesPerTrigger": "20"}),
        "latency": partial(latency, spark, DATA / "stream_latency"),
    }


def main(wanted: list[str]) -> None:
    spark = session()
    known = jobs(spark)
    for name in wanted or list(known):
        print(json.dumps(asdict(known[name]())), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
