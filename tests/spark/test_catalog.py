"""SQL names: what `install` and `attach` give a session."""

from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import lakescan
from lakescan.errors import InvalidName, TableNotFound
from lakescan.spark.bridge import Bridge
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark


@pytest.fixture
def orders(tmp_path: Path) -> DeltaBuilder:
    """Version 1 has one row of 2024, version 2 one more, of another day."""
    schema = pa.schema([("id", pa.int64()), ("day", pa.string())])
    table = DeltaBuilder(tmp_path / "orders", schema, partition_by=["day"])
    table.append(pa.table({"id": [1]}), partition={"day": "2024-01-01"}, name="day=2024-01-01/a.parquet")
    table.append(pa.table({"id": [2]}), partition={"day": "2024-01-02"}, name="day=2024-01-02/b.parquet")
    return table


def test_a_path_is_a_table_of_the_catalog_delta(spark: SparkSession, orders: DeltaBuilder) -> None:
    rows = spark.sql(f"SELECT id, day FROM delta.`{orders.path}` ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(1, "2024-01-01"), (2, "2024-01-02")]


def test_an_attached_table_is_listed_described_and_queried(spark: SparkSession, orders: DeltaBuilder) -> None:
    lakescan.attach(spark, "Orders", orders.path)
    assert "orders" in [row.tableName for row in spark.sql("SHOW TABLES IN lake").collect()]
    described = {row.col_name: row.data_type for row in spark.sql("DESCRIBE EXTENDED lake.orders").collect()}
    assert described["id"] == "bigint"
    assert described["Location"] == orders.path
    assert described["Provider"] == "delta"
    assert spark.sql("SELECT sum(id) AS s FROM lake.ORDERS").collect()[0].s == 3


def test_installing_twice_keeps_what_was_attached(spark: SparkSession, orders: DeltaBuilder) -> None:
    lakescan.attach(spark, "kept", orders.path)
    lakescan.install(spark)
    lakescan.install(spark)
    assert spark.sql("SELECT count(*) AS n FROM lake.kept").collect()[0].n == 2


def test_another_session_of_the_same_application_has_names_of_its_own(
    spark: SparkSession, orders: DeltaBuilder
) -> None:
    other = spark.newSession()
    lakescan.attach(other, "only_there", orders.path)
    assert other.sql("SELECT count(*) AS n FROM lake.only_there").collect()[0].n == 2
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("SELECT * FROM lake.only_there")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"),
        ("spark.sql.catalog.delta", "org.example.SomeCatalog"),
    ],
)
def test_the_name_delta_is_left_to_deltas_own_catalog_unless_claimed(
    spark: SparkSession, orders: DeltaBuilder, key: str, value: str
) -> None:
    session = spark.newSession()
    session.conf.set(key, value)
    lakescan.install(session)
    assert Bridge(session).catalog("delta") is None
    assert Bridge(session).catalog("lake") is not None
    session.conf.unset(key)
    session.conf.set("spark.sql.catalog.delta", "org.example.SomeCatalog")
    lakescan.install(session, claim_delta=True)
    assert session.sql(f"SELECT count(*) AS n FROM delta.`{orders.path}`").collect()[0].n == 2


def test_a_catalog_lake_of_someone_elses_stays_and_a_name_in_it_is_refused(
    spark: SparkSession, orders: DeltaBuilder
) -> None:
    session, setting = spark.newSession(), "spark.sql.catalog.lake"
    session.conf.set(setting, "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
    session.conf.set(f"{setting}.url", "jdbc:derby:memory:lake;create=true")
    session.conf.set(f"{setting}.driver", "org.apache.derby.iapi.jdbc.AutoloadedDriver")
    # Before Spark has made that catalog, and after.
    for made in range(2):
        lakescan.install(session)
        with pytest.raises(InvalidName, match=f"'orders' cannot name a table: .*{setting}"):
            lakescan.attach(session, "orders", orders.path)
        session.sql(f"CREATE TABLE lake.APP.theirs{made} (id INT)")
    tables = [row.tableName for row in session.sql("SHOW TABLES IN lake.APP").collect()]
    assert sorted(tables) == ["theirs0", "theirs1"]
    assert lakescan.read(session, orders.path).count() == 2
    assert session.sql(f"SELECT * FROM lake_history('{orders.path}')").count() == 3


def test_sql_reads_an_older_version(spark: SparkSession, orders: DeltaBuilder) -> None:
    lakescan.attach(spark, "travelled", orders.path)
    assert spark.sql("SELECT count(*) AS n FROM lake.travelled VERSION AS OF 1").collect()[0].n == 1
    assert spark.sql(f"SELECT count(*) AS n FROM delta.`{orders.path}` VERSION AS OF 0").collect()[0].n == 0
    assert spark.read.option("versionAsOf", 1).table("lake.travelled").count() == 1
    assert lakescan.read(spark, orders.path, version=1).count() == 1


def test_sql_reads_the_version_of_a_moment(spark: SparkSession, orders: DeltaBuilder) -> None:
    import os

    for version, second in enumerate((1_000, 2_000, 3_000)):
        os.utime(orders.log / f"{version:020d}.json", (second, second))
    moment = datetime.fromtimestamp(2_500, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    sql = f"SELECT count(*) AS n FROM delta.`{orders.path}` TIMESTAMP AS OF '{moment}'"
    assert spark.sql(sql).collect()[0].n == 1
    assert lakescan.read(spark, orders.path, timestamp=moment).count() == 1


def test_a_dataframe_follows_the_table_unless_it_names_a_version(spark: SparkSession, orders: DeltaBuilder) -> None:
    frame, named = lakescan.read(spark, orders.path), lakescan.read(spark, orders.path, version=2)
    orders.append(pa.table({"id": [3]}), partition={"day": "2024-01-03"})
    assert (frame.count(), named.count()) == (3, 2)
    assert lakescan.read(spark, orders.path).count() == 3
    assert spark.sql(f"SELECT count(*) AS n FROM delta.`{orders.path}`").collect()[0].n == 3


def test_attaching_a_folder_without_a_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(TableNotFound, match=str(tmp_path)):
        lakescan.attach(spark, "nothing", tmp_path)


@pytest.mark.parametrize("name", ["a.b", "", "a b", "a`b", "../a"])
def test_a_name_that_sql_could_not_write_is_refused(spark: SparkSession, orders: DeltaBuilder, name: str) -> None:
    with pytest.raises(InvalidName, match="cannot name a table"):
        lakescan.attach(spark, name, orders.path)


def test_comments_and_nullability_reach_the_schema_and_deltas_own_notes_do_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = DeltaBuilder(
        tmp_path / "t", pa.schema([pa.field("id", pa.int64(), False), ("n", pa.int32())]), mapping="name"
    )
    table.schema["fields"][1]["metadata"]["comment"] = "how many"
    table.commit(table.metadata())
    fields = lakescan.read(spark, table.path).schema.fields
    assert [field.nullable for field in fields] == [False, True]
    assert fields[1].metadata == {"comment": "how many"}
    assert fields[0].metadata == {}


def test_joins_subqueries_ctes_and_caching_work(spark: SparkSession, orders: DeltaBuilder) -> None:
    lakescan.attach(spark, "o", orders.path)
    assert spark.sql("SELECT count(*) AS n FROM lake.o a JOIN lake.o b ON a.day = b.day").collect()[0].n == 2
    assert spark.sql("SELECT id FROM lake.o WHERE id = (SELECT max(id) FROM lake.o)").collect()[0].id == 2
    assert spark.sql("SELECT id FROM lake.o WHERE id IN (SELECT id FROM lake.o WHERE id < 2)").collect()[0].id == 1
    cte = "WITH c AS (SELECT id FROM lake.o WHERE id > 1) SELECT count(*) AS n FROM c x CROSS JOIN c y"
    assert spark.sql(cte).collect()[0].n == 1
    cached = spark.table("lake.o").cache()
    assert (cached.count(), cached.count()) == (2, 2)
    cached.unpersist()
