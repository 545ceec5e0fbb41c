"""8 million rows of which deletion vectors delete 1 in 100, against the same files without vectors.

Both sides are Lakescan on the files of `scan_columns`, read by the executor's own reader, and hand their rows to
Spark's `noop` sink. What differs is that the rows that are left have to be picked out.
"""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
from harness import Result, by_the_clock, compare, in_tasks
from pyspark.sql import SparkSession
from scan_columns import DATA, FILES, ROWS_PER_FILE, build, consume, rows_of

import lakescan
from tests.tables import DeltaBuilder

SHARE = 100
# Differences of a few hundredths show only when all is compiled, and by many runs.
BOUND = 1.05


def build_deleted(path: Path, files: list[str]) -> None:
    """A table of links to the same files, each with a vector; a half-written one never gets the final name."""
    if path.exists():
        return
    unfinished = path.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    table = DeltaBuilder(unfinished, rows_of(0).schema, features=["deletionVectors"])
    rng = np.random.default_rng(1)
    adds = []
    for number, file in enumerate(files):
        name = f"{number}.parquet"
        os.link(file, unfinished / name)
        gone = rng.choice(ROWS_PER_FILE, ROWS_PER_FILE // SHARE, replace=False)
        size = os.path.getsize(file)
        add = {"path": name, "partitionValues": {}, "size": size, "modificationTime": number, "dataChange": True}
        adds.append({"add": {**add, "deletionVector": table.vector(gone.tolist())}})
    table.commit(*adds)
    unfinished.rename(path)


def run(spark: SparkSession) -> Iterable[Result]:
    whole = DATA / f"scan_columns_{FILES}x{ROWS_PER_FILE}"
    files = [file.removeprefix("file://") for file in build(whole).file_uris()]
    deleted = DATA / f"deleted_rows_{FILES}x{ROWS_PER_FILE}"
    build_deleted(deleted, files)
    schema: pa.Schema = rows_of(0).schema
    costs = {"": by_the_clock, ", processor time of tasks": in_tasks(spark)}
    for columns in (["amount", "quantity"], schema.names):
        for by, cost in costs.items():
            yield compare(
                f"1 row in {SHARE} deleted, {len(columns)} columns{by}",
                lambda columns=columns: consume(lakescan.read(spark, str(deleted)).select(*columns)),  # type: ignore[misc]
                lambda columns=columns: consume(lakescan.read(spark, str(whole)).select(*columns)),  # type: ignore[misc]
                BOUND,
                runs=41,
                warm_ups=5,
                cost=cost,
            )
