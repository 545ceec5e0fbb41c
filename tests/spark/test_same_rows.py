"""SQL, `lakescan.read` and `to_arrow` are three doors to the same rows."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakescan
from tests.compare import bag
from tests.golden import GOLDEN

pytestmark = pytest.mark.spark

GROUPS = ("dv-", "basic-", "snapshot-", "data-reader-", "table-with-columnmapping-")
# Its log has no metaData action: refused by every door, which the golden test proves.
REFUSED = {"data-reader-absolute-paths-escaped-chars"}
TABLES = sorted(
    str(log.parent.relative_to(GOLDEN / "delta"))
    for log in (GOLDEN / "delta").rglob("_delta_log")
    if str(log.parent.relative_to(GOLDEN / "delta")).startswith(GROUPS) and log.parent.name not in REFUSED
)


def arrow(frame: "pa.Table | object") -> pa.Table:
    return frame.toArrow()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", TABLES)
def test_the_three_doors_give_the_same_rows(name: str, golden: Path, spark: SparkSession) -> None:
    path = str(golden / "delta" / name)
    scanned = lakescan.open(path).snapshot().scan().build().to_arrow()
    read = arrow(lakescan.read(spark, path))
    sql = arrow(spark.sql(f"SELECT * FROM delta.`{path}`"))
    assert read.column_names == scanned.column_names
    assert read.schema.types == scanned.schema.types
    assert bag(read) == bag(scanned)
    assert bag(sql) == bag(scanned)


def test_every_group_of_the_issue_is_there(golden: Path) -> None:
    assert all(any(name.startswith(group) for name in TABLES) for group in GROUPS)


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
    columns: str, condition: str, golden: Path, spark: SparkSession
) -> None:
    for name in ("dv-partitioned-with-checkpoint", "dv-with-columnmapping"):
        path = str(golden / "delta" / name)
        names = [column.strip() for column in columns.split(",")]
        scanned = lakescan.open(path).snapshot().scan().filter(condition).select(*names).build().to_arrow()
        read = arrow(lakescan.read(spark, path).where(condition).select(*names))
        sql = arrow(spark.sql(f"SELECT {columns} FROM delta.`{path}` WHERE {condition}"))
        everything = lakescan.open(path).snapshot().scan().build().to_arrow()
        spark.createDataFrame(everything).createOrReplaceTempView("everything")
        expected = arrow(spark.sql(f"SELECT {columns} FROM everything WHERE {condition}"))
        assert bag(scanned) == bag(expected)
        assert bag(read) == bag(expected)
        assert bag(sql) == bag(expected)


def test_a_count_reads_no_column(golden: Path, spark: SparkSession) -> None:
    path = str(golden / "delta" / "dv-partitioned-with-checkpoint")
    frame = spark.sql(f"SELECT count(*) AS n FROM delta.`{path}` WHERE part < 5")
    everything = lakescan.open(path).snapshot().scan().build().to_arrow()
    assert frame.collect()[0].n == sum(part < 5 for part in everything["part"].to_pylist())
    assert lakescan.report(frame).scans[0].columns == ()
