"""Hudi tables through Spark SQL: paths, names, time travel, errors, and Hudi's own switch."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import lakescan

from .tables import COW_PARTITIONED, MOR_TXNS, ROWS, TRIPS_DELETED, TRIPS_INDEXED, TRIPS_UPDATED, rows_of

pytestmark = pytest.mark.spark
Unpack = Callable[[str], Path]
SWITCH = "hoodie.datasource.read.use.dsv2"


@pytest.fixture
def switch(spark: SparkSession) -> Iterator[Callable[[str], None]]:
    yield lambda value: spark.conf.set(SWITCH, value)
    spark.conf.unset(SWITCH)
    lakescan.install(spark)


@pytest.mark.parametrize("name", [COW_PARTITIONED, MOR_TXNS, TRIPS_INDEXED, "sample_table__cow__v6_empty"])
def test_sql_by_path_has_the_rows_and_types_of_the_table(name: str, spark: SparkSession, unpack: Unpack) -> None:
    path = unpack(name)
    frame = spark.sql(f"SELECT * FROM hudi.`{path}`")
    expected = lakescan.open(path).snapshot().scan().build().to_arrow()
    assert frame.columns == expected.schema.names
    assert rows_of(frame.toArrow().cast(expected.schema)) == rows_of(expected)
    assert spark.sql(f"SELECT count(*) FROM hudi.`{path}`").first()[0] == ROWS[name]


def test_a_table_by_name_and_a_data_frame_have_the_same_rows(spark: SparkSession, unpack: Unpack) -> None:
    path = unpack(TRIPS_UPDATED)
    lakescan.attach(spark, "hudi_trips", path)
    by_name = spark.sql("SELECT * FROM lake.hudi_trips").toArrow()
    assert rows_of(by_name) == rows_of(lakescan.read(spark, path).toArrow())


def test_a_partition_filter_is_claimed_and_the_rest_is_left_to_spark(spark: SparkSession, unpack: Unpack) -> None:
    frame = spark.sql(f"SELECT rider FROM hudi.`{unpack(TRIPS_UPDATED)}` WHERE city = 'san_francisco' AND fare > 26")
    assert sorted(row.rider for row in frame.collect()) == ["rider-C", "rider-E"]
    (scan,) = lakescan.report(frame).scans
    assert (scan.files_total, scan.files_planned) == (3, 1)


def test_time_travel_by_instant_and_by_time(spark: SparkSession, unpack: Unpack) -> None:
    path = unpack(TRIPS_DELETED)
    first, last = lakescan.open(path).snapshot().timeline.instants
    count = "SELECT count(*) FROM hudi.`{}` {}"
    assert spark.sql(count.format(path, f"VERSION AS OF '{first}'")).first()[0] == 8
    assert spark.sql(count.format(path, f"VERSION AS OF '{last}'")).first()[0] == 5
    assert spark.sql(count.format(path, "TIMESTAMP AS OF '2025-06-18 05:47:13'")).first()[0] == 8


def test_a_cut_log_block_is_one_message_in_spark(spark: SparkSession, copy: Unpack) -> None:
    path = copy(TRIPS_DELETED)
    (log,) = [found for found in path.rglob(".*.log.*") if not found.name.endswith(".crc")]
    log.write_bytes(log.read_bytes()[:-9])
    with pytest.raises(Exception, match="cut off"):
        spark.sql(f"SELECT * FROM hudi.`{path}`").collect()


def test_a_catalog_has_only_tables_of_its_format(spark: SparkSession, unpack: Unpack) -> None:
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"SELECT * FROM delta.`{unpack(TRIPS_UPDATED)}`")


def test_the_switch_leaves_hudi_tables_unclaimed(
    spark: SparkSession, unpack: Unpack, switch: Callable[[str], None]
) -> None:
    path = unpack(TRIPS_UPDATED)
    lakescan.attach(spark, "switched", path)
    switch("false")
    for table in (f"hudi.`{path}`", "lake.switched"):
        with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
            spark.sql(f"SELECT * FROM {table}")
    lakescan.install(spark)
    with pytest.raises(AnalysisException):
        spark.sql(f"SELECT * FROM hudi.`{path}`")
    switch("true")
    lakescan.install(spark)
    assert spark.sql(f"SELECT count(*) FROM hudi.`{path}`").first()[0] == 8
