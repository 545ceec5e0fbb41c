"""A filter of many conditions has Spark's rows."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakescan
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    built = DeltaBuilder(tmp_path_factory.mktemp("t"), pa.schema([("id", pa.int64()), ("part", pa.int64())]))
    for first in range(0, 40, 10):
        ids = range(first, first + 10)
        built.append(pa.table({"id": ids, "part": [at % 7 for at in ids]}))
    lakescan.attach(spark, "conditions", built.path)
    return "lake.conditions"


@pytest.mark.parametrize("count", [10, 500])
def test_conditions_joined_by_and_are_all_evaluated(spark: SparkSession, table: str, count: int) -> None:
    conditions = " AND ".join(f"id <> {100 + at}" for at in range(count - 1))

    frame = spark.sql(f"SELECT id FROM {table} WHERE {conditions} AND id > 36")

    assert sorted(row.id for row in frame.collect()) == [37, 38, 39]
    assert lakescan.report(frame).scans[0].files_planned == 1
