"""A filter that 1 row in 1,000 passes, on the sorted column of one file of 8 million rows.

Lakescan's executors read the pages that the filter needs, by Parquet's page index, as Spark's own reader does; the
second line is against workers, which decode whole row groups.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
from harness import Result, compare
from pyspark.sql import SparkSession
from scan_columns import DATA, consume

import lakescan
from tests.tables import DeltaBuilder

ROWS = 8_000_000
CONDITION = f"id >= {ROWS // 2} AND id < {ROWS // 2 + ROWS // 1000}"


def build(path: Path) -> None:
    """The table, written once and kept: a half-written one never gets the final name."""
    if path.exists():
        return
    unfinished = path.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    rng = np.random.default_rng(0)
    rows = pa.table({"id": np.arange(ROWS), "amount": rng.random(ROWS), "score": rng.standard_normal(ROWS)})
    table = DeltaBuilder(unfinished, rows.schema)
    table.append(rows, write_page_index=True, row_group_size=4_000_000, use_dictionary=False)
    unfinished.rename(path)


def run(spark: SparkSession) -> Iterable[Result]:
    path = DATA / f"page_skipping_{ROWS}"
    build(path)
    files = [str(file) for file in path.glob("*.parquet")]

    def filtered(plain: bool = True) -> None:
        consume(lakescan.read(spark, str(path), options={"lakescan.pushdown.plain_files": plain}).where(CONDITION))

    name = "1 row in 1,000 of a sorted column"
    peer = lambda: consume(spark.read.parquet(*files).where(CONDITION))  # noqa: E731
    yield compare(f"{name}, against Spark's reader", filtered, peer, 1.5)
    yield compare(f"{name}, against workers", filtered, lambda: filtered(False), 0.5)
