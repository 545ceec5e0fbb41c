"""A copy-on-write Hudi table of 8 million rows, against Spark's own Parquet reader on the same base files.

Hudi has no writer in Python, so the table is written by hand, as those of the tests are. Both sides hand every row of
the wanted columns to Spark's `noop` sink.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

from harness import Result, compare
from pyspark.sql import SparkSession
from scan_columns import DATA, FILES, ROWS_PER_FILE, consume, rows_of

import lakescan
from tests.formats.hudi.builder import HudiBuilder

BOUND = 1.2
# What a worker must not exceed where it is needed: rows then cross to Spark from another process.
WORKER_BOUND = 1.5
BY_WORKERS = {"lakescan.pushdown.plain_files": False}


def build(path: Path) -> list[str]:
    """The table, written once and kept: a half-written one never gets the final name. Gives its base files."""
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        table = HudiBuilder(unfinished)
        for number in range(FILES):
            table.upsert(number, rows_of(number))
            # Nothing is written to a file group twice, so what is in it need not be kept.
            table.groups.clear()
        unfinished.rename(path)
    return [str(file) for file in sorted(path.glob("*.parquet"))]


def run(spark: SparkSession) -> Iterable[Result]:
    path = DATA / f"hudi_scan_{FILES}x{ROWS_PER_FILE}"
    files = build(path)
    for name, columns in (("2 of 12", ["amount", "quantity"]), ("7 of 12", rows_of(0).column_names)):
        yield compare(
            f"Hudi copy on write, {name} columns, 8 M rows",
            lambda columns=columns: consume(lakescan.read(spark, str(path)).select(*columns)),  # type: ignore[misc]
            lambda columns=columns: consume(spark.read.parquet(*files).select(*columns)),  # type: ignore[misc]
            BOUND,
        )
    columns = rows_of(0).column_names
    yield compare(
        "the same 7 columns, decoded in workers",
        lambda: consume(lakescan.read(spark, str(path), options=BY_WORKERS).select(*columns)),
        lambda: consume(spark.read.parquet(*files).select(*columns)),
        WORKER_BOUND,
    )
