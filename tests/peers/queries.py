"""The same SQL by Delta Spark and by each reader of Lakescan: rows in any order, or the condition of an error."""

from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import lakescan

READERS = {"plain": "true", "own": "false"}


def outcome(spark: SparkSession, query: str) -> Any:
    """Rows in any order, or the condition of Spark's error."""
    try:
        return sorted((tuple(map(str, row)) for row in spark.sql(query).collect()), key=str)
    except PySparkException as error:
        return error.getCondition() or type(error).__name__


def different(spark: SparkSession, path: str, queries: list[str]) -> list[str]:
    """Queries that do not give the same by Lakescan, with and without Spark's reader of plain files, as by Delta."""
    spark.read.format("delta").load(path).createOrReplaceTempView("theirs")
    for name, plain in READERS.items():
        lakescan.read(spark, path, options={"lakescan.pushdown.plain_files": plain}).createOrReplaceTempView(name)
    differences = []
    for query in queries:
        theirs = outcome(spark, query.format("theirs"))
        for name in READERS:
            if (ours := outcome(spark, query.format(name))) != theirs:
                differences.append(f"{query}:\n  {name} {ours}\n  Delta {theirs}")
    return differences
