"""Queries that need little or nothing of a table of 10,000 files, against the same query with the pushdown off.

Both sides are Lakescan; the peer has the switch that the query is about turned off. A tenth of the files have a
deletion vector. Each name says how many of the files are opened with the pushdown, as `lakescan.report` has it.
"""

import shutil
from collections.abc import Iterable
from decimal import Decimal
from functools import partial
from pathlib import Path

import pyarrow as pa
from harness import Result, compare
from pyspark.sql import DataFrame, SparkSession

import lakescan
from tests.tables import DeltaBuilder

HERE = Path(__file__).resolve().parent
FILES = 10_000
ROWS_PER_FILE = 100
DAYS = 50
AGGREGATES = ("lakescan.pushdown.aggregates", "lakescan.pushdown.partial_aggregates")
QUERIES = [
    ("count(*)", "SELECT count(*) FROM bench", AGGREGATES, 0),
    ("min and max", "SELECT min(id), max(id), max(amount) FROM bench", AGGREGATES, 0),
    ("count by partition", "SELECT day, count(*), max(id) FROM bench GROUP BY day", AGGREGATES, 0),
    ("limit 1000", "SELECT * FROM bench LIMIT 1000", ("lakescan.pushdown.limit",), 10),
    ("top 100, sorted", "SELECT * FROM bench ORDER BY id DESC LIMIT 100", ("lakescan.pushdown.top_n",), FILES // 10),
]


def build(path: Path) -> None:
    """The table, written once and kept: a half-written one never gets the final name."""
    if path.exists():
        return
    unfinished = path.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    schema = pa.schema(
        [("id", pa.int64()), ("amount", pa.decimal128(9, 2)), ("name", pa.string()), ("day", pa.int32())]
    )
    table = DeltaBuilder(unfinished, schema, partition_by=["day"], features=["deletionVectors"])
    adds = []
    for file in range(FILES):
        ids = range(file * ROWS_PER_FILE, (file + 1) * ROWS_PER_FILE)
        rows = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "amount": pa.array([Decimal(i % 1000) / 4 for i in ids], pa.decimal128(9, 2)),
                "name": [f"name-{i}" for i in ids],
            }
        )
        # Neither the first nor the last file, so that the least and the greatest id are known exactly.
        vector = table.vector(range(5), "i") if file % 10 == 5 else None
        adds.append(table.add(rows, partition={"day": str(file * DAYS // FILES)}, vector=vector))
    table.commit(*adds)
    unfinished.rename(path)


def query(spark: SparkSession, path: Path, sql: str, off: tuple[str, ...] = ()) -> DataFrame:
    lakescan.read(spark, path, options=dict.fromkeys(off, "false")).createOrReplaceTempView("bench")
    return spark.sql(sql)


def answer(spark: SparkSession, path: Path, sql: str, off: tuple[str, ...] = ()) -> None:
    query(spark, path, sql, off).collect()


def run(spark: SparkSession) -> Iterable[Result]:
    path = HERE / ".data" / f"pushdowns_{FILES}x{ROWS_PER_FILE}"
    build(path)
    for name, sql, switches, most in QUERIES:
        opened = lakescan.report(query(spark, path, sql)).scans[0].files_planned
        assert opened <= most, f"{name} opens {opened} files, more than {most}"
        yield compare(
            f"{name}: {opened} of {FILES} files opened",
            partial(answer, spark, path, sql),
            partial(answer, spark, path, sql, switches),
            bound=1.0,
            runs=3,
            warm_ups=1,
        )
