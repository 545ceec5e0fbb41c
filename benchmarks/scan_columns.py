"""Two of seven columns of 8 million rows, against Spark's own Parquet reader on the same files.

Both sides hand every row of the two columns to Spark's `noop` sink, so both pay for all of the data path.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from harness import Result, compare
from pyspark.sql import DataFrame, SparkSession

import lakescan

DATA = Path(__file__).resolve().parent / ".data"
FILES = 8
ROWS_PER_FILE = 1_000_000
COLUMNS = ["amount", "quantity"]
BOUND = 1.5


def rows_of(file: int) -> pa.Table:
    rng = np.random.default_rng(file)
    first = file * ROWS_PER_FILE
    ids = np.arange(first, first + ROWS_PER_FILE)
    cities = pa.array([f"city-{i:03d}" for i in range(500)])
    return pa.table(
        {
            "id": pa.array(ids),
            "customer": pa.array(rng.integers(0, 1_000_000, ROWS_PER_FILE)),
            "quantity": pa.array(rng.integers(1, 1000, ROWS_PER_FILE, dtype=np.int32)),
            "amount": pa.array(rng.random(ROWS_PER_FILE) * 1000),
            "score": pa.array(rng.standard_normal(ROWS_PER_FILE)),
            "city": cities.take(pa.array(rng.integers(0, len(cities), ROWS_PER_FILE))),
            "at": pa.array(1_704_067_200_000_000 + ids * 1_000_000, pa.timestamp("us", "UTC")),
        }
    )


def build(path: Path, files: int = FILES) -> DeltaTable:
    """The table, written once and kept: a half-written one never gets the final name."""
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        for file in range(files):
            write_deltalake(str(unfinished), rows_of(file), mode="append", target_file_size=1 << 30)
        unfinished.rename(path)
    return DeltaTable(str(path))


def consume(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def run(spark: SparkSession) -> Iterable[Result]:
    path = DATA / f"scan_columns_{FILES}x{ROWS_PER_FILE}"
    files = build(path).file_uris()
    yield compare(
        "2 of 7 columns, 8 M rows",
        lambda: consume(lakescan.read(spark, str(path)).select(*COLUMNS)),
        lambda: consume(spark.read.parquet(*files).select(*COLUMNS)),
        BOUND,
    )
