"""Table functions and the statements of Delta's users that are written with them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import lakescan
from tests.formats.delta.feeds import three_commits
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    return three_commits(tmp_path / "it's a table")


@pytest.fixture
def named(spark: SparkSession, table: DeltaBuilder) -> Iterator[SparkSession]:
    spark.sql("DROP TABLE IF EXISTS told")
    spark.sql(f'CREATE TABLE told USING delta LOCATION "{table.path}"')
    yield spark
    spark.sql("DROP TABLE IF EXISTS told")


def changes(frame: DataFrame) -> list[tuple[str, int, int]]:
    return sorted((row["_change_type"], row["id"], row["_commit_version"]) for row in frame.collect())


def test_a_history_is_told_of_a_name_and_of_a_path(named: SparkSession, table: DeltaBuilder) -> None:
    lakescan.attach(named, "told", table.path)
    expected = lakescan.open(table.path).history().to_pylist()
    for sql in (
        "DESCRIBE HISTORY told",
        "desc history default.told;",
        "DESCRIBE HISTORY lake.told",
        f"DESCRIBE HISTORY delta.`{table.path}`",
        f'DESCRIBE HISTORY "{table.path}"',
        "SELECT * FROM lake_history('told')",
    ):
        history = named.sql(sql)
        assert [row.version for row in history.collect()] == [row["version"] for row in expected], sql
        assert history.columns == list(expected[0])
    assert [row.version for row in named.sql("DESCRIBE HISTORY told LIMIT 2").collect()] == [3, 2]
    assert named.sql("SELECT max(version) FROM lake_history('told') WHERE version < 3").collect()[0][0] == 2


def test_a_detail_is_told_of_a_name_and_of_a_path(named: SparkSession, table: DeltaBuilder) -> None:
    snapshot = lakescan.open(table.path).snapshot()
    names = {
        "DESCRIBE DETAIL told": "spark_catalog.default.told",
        f"DESC DETAIL delta.`{table.path}`": None,
        f'DESC DETAIL "{table.path}"': None,
        "SELECT * FROM lake_detail('told')": "spark_catalog.default.told",
    }
    for sql, name in names.items():
        (row,) = named.sql(sql).collect()
        assert (row.name, row.clusteringColumns) == (name, [])
        assert (row.format, row.numFiles, row.sizeInBytes) == ("delta", snapshot.num_files, snapshot.size_in_bytes)
        assert (row.location, row.partitionColumns) == (f"file:{table.path}", [])
        assert row.properties == dict(snapshot.properties)
        assert "deletionVectors" in row.tableFeatures
        assert row.lastModified.timestamp() == 3


def test_a_table_named_like_a_statement_is_described(named: SparkSession) -> None:
    named.range(1).createOrReplaceTempView("detail")
    try:
        described = named.sql("DESCRIBE detail id").collect()
        assert ("col_name", "id") in [(row.info_name, row.info_value) for row in described]
    finally:
        named.catalog.dropTempView("detail")
    with pytest.raises(PySparkException, match="no_such_table is no table that Lakescan reads"):
        named.sql("DESCRIBE HISTORY no_such_table").collect()
    assert named.sql("DESCRIBE told").collect()[0].col_name == "id"


def test_changes_are_told_by_version_and_by_time(named: SparkSession, table: DeltaBuilder) -> None:
    two, three = [("insert", 4, 2), ("insert", 5, 2)], [("delete", 1, 3)]
    for sql, expected in {
        "table_changes('told', 2)": [*three, *two],
        "table_changes('told', 2, 2)": two,
        "table_changes('told', '1970-01-01 00:00:03')": three,
        "table_changes('told', TIMESTAMP'1970-01-01 00:00:02', TIMESTAMP'1970-01-01 00:00:02')": two,
        f'table_changes_by_path("{table.path}", 1 + 1, 2)': two,
    }.items():
        assert changes(named.sql(f"SELECT * FROM {sql}")) == expected, sql
    joined = "SELECT a.id FROM table_changes('told', 2) a JOIN table_changes('told', 2) b ON a.id = b.id WHERE a.id > 3"
    assert sorted(row.id for row in named.sql(joined).collect()) == [4, 5]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("table_changes('told')", r"LAKESCAN_INVALID_ARGUMENT\] table_changes .*write table_changes\(table, start"),
        ("table_changes(1, 2)", "LAKESCAN_INVALID_ARGUMENT"),
        ("lake_history('told', 'x')", "LAKESCAN_INVALID_ARGUMENT"),
        ("table_changes('told', 9)", "LAKESCAN_COMMITS_NOT_FOUND"),
        ("table_changes('nothing', 1)", "LAKESCAN_NOT_A_LAKE_TABLE"),
        ("lake_detail('numbers')", "LAKESCAN_NOT_A_LAKE_TABLE"),
    ],
)
def test_what_cannot_be_told_is_refused_by_name(named: SparkSession, sql: str, said: str) -> None:
    named.range(1).createOrReplaceTempView("numbers")
    with pytest.raises(PySparkException, match=said):
        named.sql(f"SELECT * FROM {sql}").collect()


def released(spark: SparkSession) -> tuple[Any, ...]:
    return tuple(map(int, spark.version.split(".")[:2]))


def test_changes_are_read_by_sparks_own_syntax(named: SparkSession, table: DeltaBuilder) -> None:
    if released(named) < (4, 2):
        with pytest.raises(PySparkException, match="PARSE_SYNTAX_ERROR"):
            named.sql("SELECT * FROM told CHANGES FROM VERSION 2")
        return
    two, three = [("insert", 4, 2), ("insert", 5, 2)], [("delete", 1, 3)]
    lakescan.attach(named, "told", table.path)
    for name in ("told", "lake.told", f"delta.`{table.path}`"):
        assert changes(named.sql(f"SELECT * FROM {name} CHANGES FROM VERSION 2")) == [*three, *two]
        assert changes(named.sql(f"SELECT * FROM {name} CHANGES FROM VERSION 2 TO VERSION 2")) == two
    frame = named.sql("SELECT * FROM told CHANGES FROM TIMESTAMP '1970-01-01 00:00:03'")
    assert changes(frame) == three
    filtered = named.sql("SELECT id FROM told CHANGES FROM VERSION 1 WHERE _commit_version = 2 AND id > 4")
    assert [row.id for row in filtered.collect()] == [5]
