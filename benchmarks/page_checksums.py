"""Every page held against its checksum, against the same rows in files that have none: what verifying costs.

Read without Spark, by Arrow's reader in one thread, because that is where the sums are worked out. A file without
checksums costs nothing more.
"""

import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from harness import Result, compare
from pyspark.sql import SparkSession
from scan_columns import DATA

import lakescan
from lakescan.reader.read import read_task
from tests.tables import DeltaBuilder

ROWS = 2_000_000
BOUND = 1.2


def build(path: Path, checksums: bool) -> None:
    if path.exists():
        return
    unfinished = path.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    random = np.random.default_rng(1)
    rows = pa.table(
        {
            "id": np.arange(ROWS),
            "x": random.normal(size=ROWS),
            "k": random.integers(0, 1000, ROWS),
            "s": [f"name {number}" for number in random.integers(0, 100_000, ROWS)],
        }
    )
    table = DeltaBuilder(unfinished, rows.schema)
    table.append(rows, row_group_size=500_000, write_page_checksum=checksums)
    unfinished.rename(path)


def read(path: Path) -> None:
    scan = lakescan.open(path).snapshot().scan().build()
    for task in scan.tasks(1):
        for _ in read_task(scan.read_plan, task):
            pass


def run(spark: SparkSession) -> Iterable[Result]:
    with_sums, without = DATA / "page_checksums", DATA / "page_checksums_none"
    build(with_sums, True)
    build(without, False)
    yield compare(
        "page_checksums: verified, against none to verify", partial(read, with_sums), partial(read, without), BOUND
    )
