"""SQL, `lakescan.read` and `to_arrow` are three ways to the same rows."""

from pathlib import Path

import pyarrow.compute as pc
from pyspark.sql import SparkSession

import lakescan
from tests.compare import bag


def same_rows_in_three_ways(path: Path, spark: SparkSession) -> None:
    scanned = lakescan.open(path).snapshot().scan().build().to_arrow()
    if scanned.num_rows > 10_000:
        sums = ", ".join(f"sum(`{name}`)" for name in scanned.column_names)
        (row,) = spark.sql(f"SELECT count(*), {sums} FROM delta.`{path}`").collect()
        assert list(row) == [scanned.num_rows, *(pc.sum(column).as_py() for column in scanned.columns)]
        return
    read = lakescan.read(spark, str(path)).toArrow()
    sql = spark.sql(f"SELECT * FROM delta.`{path}`").toArrow()
    assert read.column_names == scanned.column_names
    assert read.schema.types == scanned.schema.types
    assert bag(read) == bag(scanned)
    assert bag(sql) == bag(scanned)
