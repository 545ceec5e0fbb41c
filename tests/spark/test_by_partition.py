"""Joins and aggregates by partition columns without a shuffle: Spark is told the tasks' values, and rows stay equal."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

import lakescan
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark
SPARK_SETTINGS = {
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "3",
    "lakescan.pushdown.aggregates": "false",
    "lakescan.pushdown.partial_aggregates": "false",
}


# Spark puts tasks together by a part of the columns, or takes those of one value apart.
TOGETHER = (
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled",
    "spark.sql.sources.v2.bucketing.allowJoinKeysSubsetOfPartitionKeys.enabled",
    "spark.sql.sources.v2.bucketing.partiallyClusteredDistribution.enabled",
)


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    for name, value in SPARK_SETTINGS.items():
        spark.conf.set(name, value)
    yield spark
    for name in (*SPARK_SETTINGS, *TOGETHER, "lakescan.planning.by_partition"):
        spark.conf.unset(name)


def written(folder: Path, files: list[tuple[int | None, str | None, list[int]]]) -> DeltaBuilder:
    """A file for each: its day, its city and its ids."""
    schema = pa.schema([("day", pa.date32()), ("city", pa.string()), ("id", pa.int64())])
    builder = DeltaBuilder(folder, schema, ["day", "city"])
    for day, city, ids in files:
        value = None if day is None else str(date(2024, 1, 1 + day))
        builder.append(pa.table({"id": pa.array(ids, pa.int64())}), partition={"day": value, "city": city})
    return builder


def asked(spark: SparkSession, query: str, tables: dict[str, DeltaBuilder], by_partition: bool) -> DataFrame:
    spark.conf.set("lakescan.planning.by_partition", str(by_partition).lower())
    for name, builder in tables.items():
        lakescan.read(spark, builder.path).createOrReplaceTempView(name)
    return spark.sql(query)


def shuffles(frame: DataFrame) -> int:
    return str(frame._jdf.queryExecution().executedPlan().toString()).count("Exchange hashpartitioning")


def sorts(frame: DataFrame) -> int:
    return str(frame._jdf.queryExecution().executedPlan().toString()).count("Sort [")


def rows(frame: DataFrame) -> list[str]:
    return sorted(map(repr, frame.collect()))


JOIN = "SELECT a.*, b.id AS other FROM a JOIN b ON a.day = b.day AND a.city = b.city"
QUERIES = [
    JOIN,
    "SELECT a.*, b.id AS other FROM a LEFT JOIN b ON a.day = b.day AND a.city = b.city",
    "SELECT a.*, b.id AS other FROM a FULL JOIN b ON a.day <=> b.day AND a.city <=> b.city",
    "SELECT * FROM a WHERE (day, city) IN (SELECT day, city FROM b WHERE id > 2)",
    "SELECT day, city, count(*), sum(id) FROM a GROUP BY day, city",
    "SELECT city, count(DISTINCT id) FROM a GROUP BY city",
    "SELECT day, max(n) FROM (SELECT day, city, count(*) AS n FROM a GROUP BY day, city) GROUP BY day",
    "SELECT a.day, count(*) FROM a JOIN b ON a.day = b.day WHERE b.city = 'x' AND b.id < 5 GROUP BY a.day",
]
TWO_DAYS = [(0, "x", [1, 2]), (1, "y", [3]), (0, "x", [4]), (None, "x", [5]), (1, None, [6]), (2, "y", [7, 8])]


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, DeltaBuilder]:
    return {"a": written(tmp_path / "a", TWO_DAYS), "b": written(tmp_path / "b", [*TWO_DAYS[1:4], (3, "z", [9])])}


def test_a_join_by_the_partition_columns_shuffles_nothing(
    session: SparkSession, tables: dict[str, DeltaBuilder]
) -> None:
    without = asked(session, JOIN, tables, by_partition=False)
    expected = rows(without)
    assert shuffles(without) == 2
    # Three rows of the first day in x meet one, and one of the second day in y meets one; NULL meets nothing.
    assert len(expected) == 4
    joined = asked(session, JOIN, tables, by_partition=True)
    assert shuffles(joined) == 0
    assert rows(joined) == expected


@pytest.mark.skipif(
    tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 2), reason="older releases are not told of an order"
)
def test_a_join_by_the_partition_columns_sorts_nothing_where_each_value_is_one_task(
    session: SparkSession, tmp_path: Path
) -> None:
    tables = {name: written(tmp_path / name, [(0, "x", [2, 1]), (1, "y", [3]), (None, "x", [5])]) for name in "ab"}
    without = asked(session, JOIN, tables, by_partition=False)
    assert sorts(without) == 2
    joined = asked(session, JOIN, tables, by_partition=True)
    assert (shuffles(joined), sorts(joined)) == (0, 0)
    assert rows(joined) == rows(without)
    # By a part of the columns, tasks are not what the join needs, and rows are sorted.
    by_day = "SELECT a.id, b.id AS other FROM a JOIN b ON a.day = b.day"
    assert rows(asked(session, by_day, tables, True)) == rows(asked(session, by_day, tables, False))


def test_an_aggregate_by_the_partition_columns_shuffles_nothing(
    session: SparkSession, tables: dict[str, DeltaBuilder]
) -> None:
    query = "SELECT day, city, count(*) AS n FROM a GROUP BY day, city"
    assert shuffles(asked(session, query, tables, by_partition=False)) == 1
    grouped = asked(session, query, tables, by_partition=True)
    assert shuffles(grouped) == 0
    assert len(grouped.collect()) == 5


def test_nothing_is_reported_where_sparks_own_setting_is_off(
    session: SparkSession, tables: dict[str, DeltaBuilder]
) -> None:
    session.conf.set("spark.sql.sources.v2.bucketing.enabled", "false")
    assert shuffles(asked(session, JOIN, tables, by_partition=True)) == 2


FILE: Any = st.tuples(
    st.none() | st.integers(0, 2), st.none() | st.sampled_from(["x", "y"]), st.lists(st.integers(0, 9), max_size=3)
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=st.lists(FILE, min_size=1, max_size=6), second=st.lists(FILE, min_size=1, max_size=6))
def test_rows_are_the_same_with_and_without(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory, first: Any, second: Any
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    tables = {"a": written(folder / "a", first), "b": written(folder / "b", second)}
    for query in QUERIES:
        without = rows(asked(session, query, tables, by_partition=False))
        for parts in ("false", "true"):
            for name in TOGETHER:
                session.conf.set(name, parts)
            assert rows(asked(session, query, tables, by_partition=True)) == without, (query, parts)
