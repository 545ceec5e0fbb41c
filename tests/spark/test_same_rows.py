"""SQL, `lakescan.read` and `to_arrow` are three ways to the same rows."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import lakescan
from tests.compare import bag
from tests.sample_tables import sample_tables
from tests.spark.ways_to_read import same_rows_in_three_ways

pytestmark = pytest.mark.spark

# PySpark's toArrow refuses nulls where a variant is nested; test_delta_types has these.
TABLES = [table.name for table in sample_tables("delta") if "Variant" not in table.features]


@pytest.mark.parametrize("name", TABLES)
def test_the_three_doors_give_the_same_rows(name: str, sample: Callable[[str], Path], spark: SparkSession) -> None:
    same_rows_in_three_ways(sample(name), spark)


@pytest.mark.parametrize(
    ("columns", "condition"),
    [
        ("part, col1", "part = 3"),
        ("col2", "part > 2 AND col1 < 30"),
        ("col1", "part IN (1, 2) OR col1 = 45"),
        ("col1", "col2 LIKE 'foo1%'"),
        ("part", "col1 IS NULL"),
        ("col2, part", "NOT (col1 >= 20)"),
    ],
)
def test_filters_and_columns_give_the_same_rows_through_each_door(
    columns: str, condition: str, sample: Callable[[str], Path], spark: SparkSession
) -> None:
    for name in ("vectors_partitioned", "vectors_mapped"):
        path = str(sample(name))
        names = [column.strip() for column in columns.split(",")]
        scanned = lakescan.open(path).snapshot().scan().filter(condition).select(*names).build().to_arrow()
        read = lakescan.read(spark, path).where(condition).select(*names).toArrow()
        sql = spark.sql(f"SELECT {columns} FROM delta.`{path}` WHERE {condition}").toArrow()
        everything = lakescan.open(path).snapshot().scan().build().to_arrow()
        spark.createDataFrame(everything).createOrReplaceTempView("everything")
        expected = spark.sql(f"SELECT {columns} FROM everything WHERE {condition}").toArrow()
        assert bag(scanned) == bag(expected)
        assert bag(read) == bag(expected)
        assert bag(sql) == bag(expected)


def test_a_count_reads_no_column(sample: Callable[[str], Path], spark: SparkSession) -> None:
    path = str(sample("vectors_partitioned"))
    frame = spark.sql(f"SELECT count(*) AS n FROM delta.`{path}` WHERE part < 5")
    everything = lakescan.open(path).snapshot().scan().build().to_arrow()
    assert frame.collect()[0].n == sum(part < 5 for part in everything["part"].to_pylist())
    assert lakescan.report(frame).scans[0].columns == ()
