"""Two values out of each of a million shredded Variants, by a sum and a filter.

Lakescan's executors take out what the query names, as Spark's own Parquet reader does on the same files; the second
line is against the same query with every Variant made whole first, the third against whole Variants by workers.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

from harness import Result, compare
from pyspark.sql import SparkSession
from scan_columns import DATA

import lakescan
from tests.tables import DeltaBuilder

ROWS = 1_000_000
SHREDDED = "user bigint, event string, place struct<city string, code int>"
_DOCUMENT = """to_json(named_struct(
    'user', id * 7, 'event', concat('event ', id % 20),
    'place', named_struct('city', concat('c', id % 100), 'code', id % 9),
    'more', array(id, id + 1)))"""
_SUM = "sum(variant_get(v, '$.user', 'bigint'))"
_FILTER = "variant_get(v, '$.place.city', 'string') = 'c7'"


def build(spark: SparkSession, path: Path) -> None:
    """The table, written once and kept: a half-written one never gets the final name."""
    if path.exists():
        return
    unfinished = path.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    force = "spark.sql.variant.forceShreddingSchemaForTest"
    spark.conf.set(force, SHREDDED)
    try:
        rows = spark.range(0, ROWS, 1, 4).selectExpr("id", f"parse_json({_DOCUMENT}) AS v")
        rows.write.parquet(str(unfinished))
    finally:
        spark.conf.unset(force)
    fields = [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in _COLUMNS.items()]
    table = DeltaBuilder(unfinished, {"type": "struct", "fields": fields}, features=["variantType"])
    table.commit(*({"add": _add(file)} for file in sorted(unfinished.glob("*.parquet"))))
    unfinished.rename(path)


_COLUMNS = {"id": "long", "v": "variant"}


def _add(file: Path) -> dict[str, object]:
    known = {"path": file.name, "size": file.stat().st_size, "partitionValues": {}}
    return {**known, "modificationTime": 0, "dataChange": True}


def run(spark: SparkSession) -> Iterable[Result]:
    path = DATA / f"variants_{ROWS}"
    build(spark, path)
    files = [str(file) for file in path.glob("*.parquet")]

    def taken(**switches: str) -> None:
        options = {f"lakescan.pushdown.{name}": value for name, value in switches.items()}
        lakescan.read(spark, str(path), options=options).where(_FILTER).selectExpr(_SUM).collect()

    peer = lambda: spark.read.parquet(*files).where(_FILTER).selectExpr(_SUM).collect()  # noqa: E731
    name = "two values of a million shredded Variants"
    yield compare(f"{name}, by Spark's reader", taken, peer, 1.1)
    yield compare(f"{name}, made whole first", taken, lambda: taken(variants="false"), 0.8)
    workers = lambda: taken(variants="false", plain_files="false")  # noqa: E731
    yield compare(f"{name}, whole by workers", taken, workers, 0.2, runs=1, warm_ups=1)
