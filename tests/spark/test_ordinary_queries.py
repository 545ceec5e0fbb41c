"""Ordinary questions have the answers that Spark gives for the same rows in Parquet, with every switch on and off."""

import itertools
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakescan
from tests.spark.session_settings import settings
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark

ROWS = pa.table(
    {
        "id": pa.array(range(20), pa.int64()),
        "word": [None if at % 5 == 0 else f"w{at % 3}" for at in range(20)],
        "numbers": pa.array([None if at % 7 == 0 else [at % 2, None] for at in range(20)], pa.list_(pa.int32())),
        "pair": pa.array(
            [None if at % 6 == 0 else {"a": at % 2, "b": None} for at in range(20)],
            pa.struct([("a", pa.int32()), ("b", pa.string())]),
        ),
        "at": pa.array([datetime(2024, 1, 1 + at) for at in range(20)], pa.timestamp("us")),
        "score": [float(at) for at in range(20)],
    }
)
SWITCHES = ("aggregates", "partial_aggregates", "filters", "subqueries")


@pytest.fixture(scope="module")
def questions(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The names of a Delta table of four files and of the same rows in Parquet."""
    root = tmp_path_factory.mktemp("ordinary")
    table = DeltaBuilder(root / "delta", ROWS.schema)
    for first in range(0, 20, 5):
        table.append(ROWS.slice(first, 5))
    (root / "parquet").mkdir()
    pq.write_table(ROWS, root / "parquet" / "rows.parquet")
    lakescan.attach(spark, "ordinary", str(root / "delta"))
    spark.read.parquet(str(root / "parquet")).createOrReplaceTempView("ordinary_rows")
    return "lake.ordinary", "ordinary_rows"


def rows(frame: DataFrame) -> list[str]:
    return sorted(str(row) for row in frame.collect())


QUERIES = [
    # An aggregation of which nobody wants a value.
    "SELECT EXISTS (SELECT max(id) FROM TABLE WHERE id < 0)",
    "SELECT id FROM TABLE WHERE NOT EXISTS (SELECT count(*) FROM TABLE WHERE id < 0)",
    "SELECT count(NULL) FROM TABLE WHERE id < 0",
    "SELECT count(NULL), count(*) FROM TABLE",
    "SELECT count_if(false) FROM TABLE",
    "SELECT 1 FROM TABLE HAVING true",
    "SELECT 1 FROM TABLE HAVING false",
    "SELECT 1 AS one FROM TABLE GROUP BY GROUPING SETS (())",
    "SELECT count(*) FROM TABLE GROUP BY GROUPING SETS ((), (word))",
    "SELECT 1 FROM (SELECT sum(id) FROM TABLE)",
    "SELECT count(*) FROM (SELECT sum(id), max(word) FROM TABLE WHERE id > 100)",
    "SELECT count(*) FROM (SELECT 1 FROM TABLE GROUP BY word)",
    "SELECT 'a' FROM TABLE WHERE id < 0 GROUP BY 'a'",
    # Groups by nested values.
    "SELECT DISTINCT numbers FROM TABLE",
    "SELECT DISTINCT pair, word FROM TABLE",
    "SELECT DISTINCT * FROM TABLE",
    "SELECT pair, count(*) FROM TABLE GROUP BY pair",
    "SELECT numbers, min(id), sum(score) FROM TABLE GROUP BY numbers",
    "SELECT count(DISTINCT numbers), count(DISTINCT pair), count(DISTINCT word) FROM TABLE",
    "SELECT word, count(DISTINCT numbers) FROM TABLE GROUP BY word",
    "SELECT numbers FROM TABLE UNION SELECT numbers FROM TABLE WHERE id > 3",
    "SELECT pair FROM TABLE INTERSECT SELECT pair FROM TABLE WHERE id > 3",
    # Distinct literals.
    "SELECT count(DISTINCT 'literal') FROM TABLE",
    "SELECT count(DISTINCT 'literal'), count(*), count(1), count(DISTINCT 1 + 1) FROM TABLE",
    "SELECT count(DISTINCT 7) FROM TABLE WHERE id < 0",
    "SELECT word, count(DISTINCT 'x'), count(*) FROM TABLE GROUP BY word",
    "SELECT count(DISTINCT NULL), count(DISTINCT 1, 'x'), count(DISTINCT 1, NULL) FROM TABLE",
    "SELECT count(DISTINCT 1) FILTER (WHERE id > 30), count(DISTINCT 1) FILTER (WHERE id > 3) FROM TABLE",
    "SELECT count(DISTINCT 'x') + 1 AS n, max(id) FROM TABLE HAVING count(DISTINCT 'x') > 0",
    "SELECT (SELECT count(DISTINCT 'x') FROM TABLE), (SELECT count(*) FROM TABLE)",
    "SELECT sum(DISTINCT 3), avg(DISTINCT 3), count(DISTINCT DATE '2024-01-01') FROM TABLE",
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_has_the_rows_of_parquet_the_first_time_and_the_second(
    spark: SparkSession, questions: tuple[str, str], query: str
) -> None:
    table, same = questions
    expected = rows(spark.sql(query.replace("TABLE", same)))

    assert rows(spark.sql(query.replace("TABLE", table))) == expected
    assert rows(spark.sql(query.replace("TABLE", table))) == expected


@pytest.mark.parametrize("off", [off for n in range(1, 5) for off in itertools.combinations(SWITCHES, n)])
def test_every_combination_of_switches_gives_the_rows_of_parquet(
    spark: SparkSession, questions: tuple[str, str], off: tuple[str, ...]
) -> None:
    table, same = questions
    query = (
        "SELECT (SELECT count(DISTINCT 'x') FROM TABLE), EXISTS (SELECT max(id) FROM TABLE WHERE id < 0), "
        "(SELECT 1 FROM TABLE HAVING true)"
    )
    groups = "SELECT numbers, count(*), count(DISTINCT 'x') FROM TABLE GROUP BY numbers"
    expected = [rows(spark.sql(text.replace("TABLE", same))) for text in (query, groups)]

    with settings(spark, {f"lakescan.pushdown.{name}": "false" for name in off}):
        assert [rows(spark.sql(text.replace("TABLE", table))) for text in (query, groups)] == expected


CALLS: dict[str, Any] = {
    "describe().count()": lambda df: df.describe().count(),
    "summary().count()": lambda df: df.summary().count(),
    "describe()": lambda df: rows(df.select("id", "word", "score").describe()),
    "groupBy().count().count()": lambda df: df.groupBy().count().count(),
    "agg().isEmpty()": lambda df: df.agg(F.max("id")).isEmpty(),
    "agg() of no row .isEmpty()": lambda df: df.where("id < 0").agg(F.max("id")).isEmpty(),
    "distinct()": lambda df: rows(df.distinct()),
    "distinct().count()": lambda df: df.distinct().count(),
    "dropDuplicates": lambda df: rows(df.select("numbers", "pair").dropDuplicates()),
    "dropDuplicates of a column": lambda df: df.dropDuplicates(["numbers"]).count(),
    "countDistinct of a literal": lambda df: df.agg(F.countDistinct(F.lit("x"))).collect(),
    "union().distinct()": lambda df: rows(df.select("numbers").union(df.select("numbers")).distinct()),
    "agg of nothing but a literal": lambda df: df.agg(F.lit(1)).collect(),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_gives_what_it_gives_on_parquet(spark: SparkSession, questions: tuple[str, str], name: str) -> None:
    table, same = questions

    assert CALLS[name](spark.table(table)) == CALLS[name](spark.table(same))


TYPED = {
    "byte": (pa.int8(), [1, 2, None, 3], "Y > 1"),
    "int": (pa.int32(), [1, 2, None, 3], "Y BETWEEN 2 AND 3"),
    "long": (pa.int64(), [1, 2**40, None, 3], "Y <> 1"),
    "float": (pa.float32(), [1.5, float("nan"), None, 3.0], "Y > 1"),
    "double": (pa.float64(), [1.5, 2.5, None, -0.0], "Y >= 0"),
    "decimal": (pa.decimal128(20, 3), [Decimal(1), Decimal("2.5"), None, Decimal(3)], "Y IN (1, 2.5)"),
    "flag": (pa.bool_(), [True, False, None, True], "Y"),
    "text": (pa.string(), ["a", "b", None, "c"], "Y >= 'b'"),
    "bytes": (pa.binary(), [b"a", b"b", None, b"c"], "Y = X'61'"),
    "day": (pa.date32(), [date(2024, 1, 1), date(1800, 1, 2), None, date(2024, 1, 3)], "Y > DATE '2000-01-01'"),
    "moment": (
        pa.timestamp("us", "UTC"),
        [datetime(2024, 1, 1, tzinfo=timezone.utc), datetime(1970, 1, 1, tzinfo=timezone.utc), None, None],
        "Y = TIMESTAMP '2024-01-01'",
    ),
    "clock": (
        pa.timestamp("us"),
        [datetime(2024, 1, 1), datetime(2024, 1, 2), None, datetime(1970, 1, 1)],
        "Y >= TIMESTAMP_NTZ '2024-01-01' AND Y < TIMESTAMP_NTZ '2025-01-01'",
    ),
}
ESTIMATION = {
    "spark.sql.cbo.enabled": "true",
    "spark.sql.cbo.joinReorder.enabled": "true",
    "spark.sql.cbo.planStats.enabled": "true",
    "spark.sql.statistics.histogram.enabled": "true",
}


@pytest.fixture(scope="module")
def typed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A table with a column of each type, once unpartitioned and once partitioned by each, beside Parquet."""
    root = tmp_path_factory.mktemp("typed")
    rows_ = pa.table({"id": range(4)} | {name: pa.array(values, type_) for name, (type_, values, _) in TYPED.items()})
    features = ["timestampNtz"]
    table = DeltaBuilder(root / "delta", rows_.schema, features=features)
    for at in range(4):
        table.append(rows_.slice(at, 1))
    lakescan.attach(spark, "typed", str(root / "delta"))
    (root / "parquet").mkdir()
    pq.write_table(rows_, root / "parquet" / "rows.parquet")
    spark.read.parquet(str(root / "parquet")).createOrReplaceTempView("typed_rows")


@pytest.mark.parametrize("name", TYPED)
def test_sparks_estimation_fails_at_no_type_in_a_join(spark: SparkSession, typed: None, name: str) -> None:
    condition = TYPED[name][2].replace("Y", f"a.{name}")
    joined = f"TABLE a JOIN TABLE b ON a.{name} = b.{name} JOIN TABLE c ON b.id = c.id"
    query = f"SELECT a.id, b.id, c.id FROM {joined} WHERE {condition}"
    expected = rows(spark.sql(query.replace("TABLE", "typed_rows")))

    with settings(spark, ESTIMATION):
        assert rows(spark.sql(query.replace("TABLE", "lake.typed"))) == expected
    assert expected


def test_a_recursive_query_joins_a_table_in_each_step(spark: SparkSession, tmp_path: Path) -> None:
    if spark.version < "4.1":
        pytest.skip("Spark 4.0 has no recursive queries")
    nodes = pa.table(
        {"id": pa.array(range(400), pa.int64()), "parent": pa.array([at // 2 for at in range(400)], pa.int64())}
    )
    table = DeltaBuilder(tmp_path / "delta", nodes.schema)
    # So many files are worth the values of a join.
    for first in range(0, 400, 20):
        table.append(nodes.slice(first, 20))
    lakescan.attach(spark, "nodes", str(tmp_path / "delta"))
    walk = """
        WITH RECURSIVE r(id, depth) AS (
          SELECT id, 0 FROM lake.nodes WHERE id = 399
          UNION ALL
          SELECT t.parent, r.depth + 1 FROM r JOIN lake.nodes t ON t.id = r.id WHERE t.id > 0 AND t.parent < t.id
        ) SELECT id, depth FROM r
    """
    steps, at = [], 399
    while at > 0:
        steps.append(at)
        at //= 2

    with settings(spark, {"spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": "false"}):
        assert [row.id for row in spark.sql(walk).orderBy("depth").collect()] == [*steps, 0]
