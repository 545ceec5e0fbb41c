"""Tables that the session's own catalog keeps the names of: read like any other, and never changed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import lakescan
from tests.formats.delta.feeds import ON
from tests.formats.hudi.tables import open_hudi
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string())])


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def add(table: DeltaBuilder, number: int, day: str | None) -> None:
    table.append(pa.table({"id": [number]}, schema=pa.schema([SCHEMA.field("id")])), partition={"day": day})


@pytest.fixture
def orders(tmp_path: Path) -> DeltaBuilder:
    """Versions 1, 2 and 3 have a row more each, of the days a, b and b; versions are a second apart."""
    built = DeltaBuilder(tmp_path / "my orders 100%", SCHEMA, partition_by=["day"], properties=ON)
    for number, day in enumerate("abb", start=1):
        add(built, number, day)
    for version in range(4):
        built.set_time(version, version)
    return built


@pytest.fixture
def named(spark: SparkSession, orders: DeltaBuilder) -> Iterator[SparkSession]:
    """A session with the table `kept`."""
    spark.sql("DROP TABLE IF EXISTS kept")
    spark.sql(f"CREATE TABLE kept USING delta LOCATION '{orders.path}'")
    yield spark
    spark.sql("DROP TABLE IF EXISTS kept")


def test_a_name_is_read_at_any_version(named: SparkSession, orders: DeltaBuilder) -> None:
    assert ids(named.table("kept")) == [1, 2, 3]
    assert ids(named.sql("SELECT * FROM kept VERSION AS OF 1")) == [1]
    assert ids(named.sql("SELECT * FROM spark_catalog.default.kept TIMESTAMP AS OF '1970-01-01 00:00:02'")) == [1, 2]
    assert ids(named.read.option("versionAsOf", 2).table("kept")) == [1, 2]
    assert ids(named.read.option("timestampAsOf", "1970-01-01 00:00:01").table("kept")) == [1]
    assert ids(named.sql("SELECT * FROM kept WHERE day = 'b'")) == [2, 3]
    (scan,) = lakescan.report(named.sql("SELECT id FROM kept WHERE day = 'b'")).scans
    assert (scan.files_total, scan.files_planned) == (3, 2)
    with pytest.raises(PySparkException, match="LAKESCAN_VERSION_NOT_FOUND"):
        named.sql("SELECT * FROM kept VERSION AS OF 9").collect()


def test_changes_are_read_by_name(named: SparkSession) -> None:
    changes = named.read.option("readChangeFeed", "true").option("startingVersion", 2).table("kept")
    if tuple(map(int, named.version.split(".")[:2])) < (4, 3):
        with pytest.raises(PySparkException, match=r"LAKESCAN_INVALID_OPTION.*lakescan\.read\(spark, path, options"):
            changes.collect()
    else:
        commits = sorted((row["_commit_version"], row["_change_type"], row["id"]) for row in changes.collect())
        assert commits == [(2, "insert", 2), (3, "insert", 3)]


def test_a_name_follows_the_table_and_a_query_sees_one_version(named: SparkSession, orders: DeltaBuilder) -> None:
    named.sql("CREATE OR REPLACE TEMPORARY VIEW late AS SELECT * FROM kept WHERE day >= 'b'")
    add(orders, 4, "c")
    assert ids(named.table("kept")) == [1, 2, 3, 4]
    assert ids(named.table("late")) == [2, 3, 4]
    joined = named.sql(
        f"SELECT a.id FROM kept a JOIN delta.`{orders.path}` b ON a.id = b.id JOIN late c ON a.id = c.id"
    )
    assert ids(joined) == [2, 3, 4]


def test_a_name_is_described_with_its_partitions_and_properties(named: SparkSession, orders: DeltaBuilder) -> None:
    add(orders, 4, None)
    described = {row.col_name: row.data_type for row in named.sql("DESCRIBE EXTENDED kept").collect()}
    assert described["id"] == "bigint"
    assert described["Type"] == "EXTERNAL"
    assert described["Provider"] == "delta"
    assert "my orders 100" in described["Location"]
    partitions = [row.partition for row in named.sql("SHOW PARTITIONS kept").collect()]
    assert partitions == ["day=a", "day=b", "day=null"]
    assert [row.partition for row in named.sql("SHOW PARTITIONS kept PARTITION (day = 'b')").collect()] == ["day=b"]
    properties = {row.key: row.value for row in named.sql("SHOW TBLPROPERTIES kept").collect()}
    assert properties["delta.enableChangeDataFeed"] == "true"
    assert [column.name for column in named.catalog.listColumns("kept")] == ["id", "day"]
    assert [column.name for column in named.catalog.listColumns("kept") if column.isPartition] == ["day"]
    assert "kept" in [row.tableName for row in named.sql("SHOW TABLES").collect()]
    assert "kept" in [table.name for table in named.catalog.listTables()]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO kept VALUES (9, 'z')",
        "INSERT OVERWRITE kept VALUES (9, 'z')",
        "DELETE FROM kept WHERE id = 1",
        "UPDATE kept SET id = 9",
        "MERGE INTO kept USING kept AS o ON kept.id = o.id WHEN MATCHED THEN DELETE",
        "TRUNCATE TABLE kept",
        "ALTER TABLE kept SET TBLPROPERTIES ('a' = 'b')",
        "ALTER TABLE kept ADD COLUMNS (more INT)",
        "ALTER TABLE kept ADD PARTITION (day = 'z')",
        "ALTER TABLE kept DROP PARTITION (day = 'a')",
    ],
)
def test_what_would_change_a_table_is_refused(named: SparkSession, orders: DeltaBuilder, statement: str) -> None:
    before = sorted(Path(orders.path).rglob("*"))
    with pytest.raises(PySparkException, match="Lakescan reads tables and never changes them"):
        named.sql(statement)
    assert sorted(Path(orders.path).rglob("*")) == before
    assert ids(named.table("kept")) == [1, 2, 3]


def test_to_make_a_new_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    for statement in (
        "CREATE TABLE fresh (id BIGINT) USING delta",
        "CREATE TABLE fresh USING delta AS SELECT 1 AS id",
        f"CREATE TABLE fresh USING delta LOCATION '{tmp_path / 'new'}' AS SELECT 1 AS id",
    ):
        with pytest.raises(PySparkException, match="Lakescan reads tables and never changes them"):
            spark.sql(statement)
    with pytest.raises(PySparkException, match="LAKESCAN_TABLE_NOT_FOUND"):
        spark.sql(f"CREATE TABLE fresh USING delta LOCATION '{tmp_path / 'new'}'")
    assert not (tmp_path / "new").exists()
    assert not spark.catalog.tableExists("fresh")


def test_columns_that_are_not_the_tables_are_refused(spark: SparkSession, orders: DeltaBuilder) -> None:
    with pytest.raises(PySparkException, match=r"(?i)schema"):
        spark.sql(f"CREATE TABLE fresh (id STRING, day STRING) USING delta LOCATION '{orders.path}'")
    spark.sql(f"CREATE TABLE fresh (id BIGINT, day STRING) USING delta LOCATION '{orders.path}'")
    try:
        assert ids(spark.table("fresh")) == [1, 2, 3]
    finally:
        spark.sql("DROP TABLE fresh")


def test_dropping_drops_the_name_and_no_file_even_where_the_table_is_gone(
    named: SparkSession, orders: DeltaBuilder, tmp_path: Path
) -> None:
    before = sorted(Path(orders.path).rglob("*"))
    named.sql("ALTER TABLE kept RENAME TO renamed")
    assert ids(named.table("renamed")) == [1, 2, 3]
    named.sql("DROP TABLE renamed PURGE")
    assert sorted(Path(orders.path).rglob("*")) == before
    assert not named.catalog.tableExists("renamed")
    named.sql(f"CREATE TABLE kept USING delta LOCATION '{orders.path}'")
    Path(orders.path).rename(tmp_path / "elsewhere")
    with pytest.raises(PySparkException, match="LAKESCAN_TABLE_NOT_FOUND"):
        named.table("kept").collect()
    named.sql("DROP TABLE kept")
    assert not named.catalog.tableExists("kept")


def test_tables_of_other_sources_are_as_they_were(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("DROP TABLE IF EXISTS plain")
    spark.sql(f"CREATE TABLE plain (id BIGINT, day STRING) USING parquet PARTITIONED BY (day) LOCATION '{tmp_path}'")
    try:
        spark.sql("INSERT INTO plain VALUES (1, 'a'), (2, 'b')")
        assert ids(spark.table("plain")) == [1, 2]
        assert [row.partition for row in spark.sql("SHOW PARTITIONS plain").collect()] == ["day=a", "day=b"]
        spark.sql("ALTER TABLE plain ADD COLUMNS (more INT)")
        assert spark.table("plain").columns == ["id", "more", "day"]
        with pytest.raises(PySparkException, match=r"(?i)time travel"):
            spark.sql("SELECT * FROM plain VERSION AS OF 1")
        with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
            spark.table("no_such_table")
    finally:
        spark.sql("DROP TABLE plain")


METASTORE = """
import json, sys
from pyspark.sql import SparkSession
import lakescan
table, hudi, folder, step = sys.argv[1:5]
url = f"jdbc:derby:;databaseName={folder}/metastore;create=true"
settings = {
    "spark.ui.enabled": "false",
    "spark.sql.warehouse.dir": folder + "/warehouse",
    "spark.hadoop.javax.jdo.option.ConnectionURL": url,
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Dderby.system.home=" + folder,
}
spark = SparkSession.builder.master("local[1]").config(map=settings).enableHiveSupport().getOrCreate()
spark.sparkContext.setLogLevel("OFF")
lakescan.install(spark)
# As other engines register a table: of a data source, with no columns or old ones.
KEPT = (
    "CREATE {kind} TABLE sales.{name} (col array<string>) ROW FORMAT SERDE "
    "'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe' WITH SERDEPROPERTIES ('path'='{path}'{more}) STORED AS "
    "INPUTFORMAT 'org.apache.hadoop.mapred.SequenceFileInputFormat' OUTPUTFORMAT "
    "'org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat' LOCATION '{path}' TBLPROPERTIES "
    "('spark.sql.sources.provider'='{source}', 'spark.sql.sources.schema'='{schema}', "
    "'spark.sql.create.version'='4.2.0', 'delta.lastCommitTimestamp'='3000', 'delta.minReaderVersion'='1')"
)
NONE = '{"type":"struct","fields":[]}'
OLD = '{"type":"struct","fields":[{"name":"old","type":"string","nullable":true,"metadata":{}}]}'
answer = {}
if step == "register":
    spark.sql("CREATE DATABASE sales")
    spark.sql(f"CREATE TABLE sales.kept USING delta LOCATION '{table}'")
    hive = spark._jsparkSession.sharedState().externalCatalog().unwrapped().client()
    ro = ", 'hoodie.query.as.ro.table'='true'"
    # Without this Spark lets nobody speak to Hive itself.
    system = spark._jvm.java.lang.System
    system.setProperty("spark.testing", "true")
    hive.runSqlHive(KEPT.format(kind="", name="managed", path=table, more="", source="delta", schema=NONE))
    for name, more in (("trips_ro", ro), ("trips_rt", "")):
        text = KEPT.format(kind="EXTERNAL", name=name, path=hudi, more=more, source="hudi", schema=OLD)
        hive.runSqlHive(text)
    # Hive closes the class loader that it was called with: rows are read in another process.
    print("ANSWER{}", flush=True)
    spark.stop()
    sys.exit()
for name in ("kept", "managed"):
    described = {row.col_name: row.data_type for row in spark.sql(f"DESCRIBE EXTENDED sales.{name}").collect()}
    answer[name] = [
        sorted(row.id for row in spark.table(f"sales.{name}").collect()),
        sorted(row.id for row in spark.sql(f"SELECT * FROM sales.{name} VERSION AS OF 1").collect()),
        [row.partition for row in spark.sql(f"SHOW PARTITIONS sales.{name}").collect()],
        described["Type"],
    ]
answer["hudi"] = {name: spark.table(f"sales.{name}").count() for name in ("trips_ro", "trips_rt")}
try:
    spark.sql("DROP TABLE sales.managed")
except Exception as error:
    answer["refused"] = str(error)
if step == "second":
    spark.sql("DROP TABLE sales.kept")
    spark.sql("DROP TABLE sales.trips_ro")
    answer["left"] = sorted(row.tableName for row in spark.sql("SHOW TABLES IN sales").collect())
print("ANSWER" + json.dumps(answer))
spark.stop()
"""


def in_a_metastore(*arguments: object) -> Any:
    """What the program answers, in a process of its own: a JVM has one metastore."""
    done = subprocess.run(
        [sys.executable, "-c", METASTORE, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=280,
        cwd=str(arguments[2]),
        env={key: value for key, value in os.environ.items() if key != "PYSPARK_PYTHON"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.split("ANSWER")[1])


@pytest.mark.own_jvm
@pytest.mark.timeout(900)
def test_names_in_a_hive_metastore_are_read_in_every_process_and_no_folder_is_deleted(
    tmp_path: Path, sample: Callable[[str], Path]
) -> None:
    built = DeltaBuilder(tmp_path / "orders", SCHEMA, partition_by=["day"])
    for number, day in enumerate("abb", start=1):
        add(built, number, day)
    hudi = sample("mor_v9_steps")
    files = sorted(Path(built.path).rglob("*"))
    expected = {
        "kept": [[1, 2, 3], [1], ["day=a", "day=b"], "EXTERNAL"],
        "managed": [[1, 2, 3], [1], ["day=a", "day=b"], "MANAGED"],
        "hudi": {
            "trips_rt": lakescan.open(hudi).snapshot().scan().build().to_arrow().num_rows,
            "trips_ro": open_hudi(hudi).read_optimized().snapshot().scan().build().to_arrow().num_rows,
        },
    }
    (tmp_path / "hive").mkdir()
    in_a_metastore(built.path, hudi, tmp_path / "hive", "register")
    for step in ("first", "second"):
        answer = in_a_metastore(built.path, hudi, tmp_path / "hive", step)
        assert "DROP TABLE of `spark_catalog`.`sales`.`managed` is not possible" in answer.pop("refused")
        left = answer.pop("left", ["managed", "trips_rt"])
        assert answer == expected
        assert left == ["managed", "trips_rt"]
    assert sorted(Path(built.path).rglob("*")) == files


def test_a_view_made_beside_another_engines_catalog_is_read_without_that(named: SparkSession) -> None:
    named.sql("CREATE OR REPLACE VIEW seen AS SELECT id FROM kept WHERE day = 'b'")
    # Spark keeps a view's settings with it, those of the session's catalogs too.
    setting = "view.sqlConfig.spark.sql.catalog.spark_catalog"
    named.sql(f"ALTER VIEW seen SET TBLPROPERTIES ('{setting}' = 'org.apache.spark.sql.delta.catalog.DeltaCatalog')")
    try:
        assert ids(named.table("seen")) == [2, 3]
    finally:
        named.sql("DROP VIEW seen")
