"""Filters evaluated in the workers, against the same queries with the rows filtered by Spark.

Both sides are Lakescan on the 8 million rows of `scan_columns`; the peer has `lakescan.pushdown.filters` off. Nothing
can be skipped by statistics, so what differs is where rows are dropped. A filter that drops next to nothing can only
cost: the rows are copied once more, and Spark 4.3 evaluates the filter again.
"""

from collections.abc import Iterable

from harness import Result, compare
from pyspark.sql import SparkSession
from scan_columns import DATA, FILES, ROWS_PER_FILE, build, consume

import lakescan

COLUMNS = ["id", "quantity", "amount", "city"]
FILTERS = {
    "1 row in 1,000": "quantity = 7",
    "1 row in 2": "amount > 500",
    "1 row in 2, by text": "city >= 'city-250'",
    "nearly every row": "quantity > 1",
    "every row": "quantity >= 1 AND amount >= 0 AND city IS NOT NULL",
}


def run(spark: SparkSession) -> Iterable[Result]:
    path = DATA / f"scan_columns_{FILES}x{ROWS_PER_FILE}"
    build(path)
    for name, condition in FILTERS.items():

        def filtered(on: bool, condition: str = condition) -> None:
            options = {"lakescan.pushdown.filters": on}
            consume(lakescan.read(spark, str(path), options=options).where(condition).select(*COLUMNS))

        bound = 1.0 if "1,000" in name else 1.1
        yield compare(f"filter in the workers, {name}", lambda: filtered(True), lambda: filtered(False), bound)
