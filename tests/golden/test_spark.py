"""The golden Delta tables through Spark SQL: the same rows as without Spark."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.golden import REFUSED, TABLES, WITHOUT_DATA
from tests.spark.ways_to_read import same_rows_in_three_ways

pytestmark = pytest.mark.spark

# PySpark's toArrow refuses nulls where a variant is nested.
IN_SPARK = [table for table in TABLES if table not in {*REFUSED, *WITHOUT_DATA} and "variant" not in table]


@pytest.mark.parametrize("table", IN_SPARK)
def test_a_golden_table_has_the_same_rows_in_spark_as_without(spark: SparkSession, golden: Path, table: str) -> None:
    same_rows_in_three_ways(golden / "delta" / table, spark)


@pytest.mark.parametrize(
    "name", ["spark-shredded-variant-preview-delta", "spark-variant-checkpoint", "kernel-spark-variant-checkpoint"]
)
def test_variants_inside_structs_lists_and_maps_are_variants(spark: SparkSession, golden: Path, name: str) -> None:
    table = golden / "delta" / name
    rows = spark.sql(
        "SELECT id, to_json(v) AS v, to_json(array_of_variants[0]) AS a, to_json(struct_of_variants.v) AS s, "
        f"to_json(map_of_variants['v']) AS m, to_json(array_of_struct_of_variants[0].v) AS n FROM delta.`{table}`"
    ).collect()
    assert len(rows) == 102
    assert all(row.v == row.s == row.a and row.n == row.v for row in rows)
