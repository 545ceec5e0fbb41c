"""Scalar subqueries over the same rows of a table are one scan, and each gives what it gives alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import lakescan
from lakescan.spark.bridge import Bridge
from tests.strategies import many
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark

SWITCH = "lakescan.pushdown.subqueries"
ROWS = pa.table(
    {
        "id": range(40),
        "price": pa.array(
            [None if at % 7 == 3 else Decimal(at * 25).scaleb(-2) for at in range(40)], pa.decimal128(7, 2)
        ),
        "size": pa.array([at % 5 for at in range(40)], pa.int32()),
        "score": [at / 8 for at in range(40)],
        "name": [None if at % 4 == 1 else f"n{at:02d}" for at in range(40)],
    }
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> DeltaBuilder:
    """Four files of ten rows; ids 12 and 13 are deleted."""
    built = DeltaBuilder(tmp_path_factory.mktemp("t"), ROWS.schema, features=["deletionVectors"])
    for first in range(0, 40, 10):
        added = built.append(ROWS.slice(first, 10))
        if first == 10:
            built.delete(added, [2, 3])
    return built


@contextmanager
def switched_off(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(SWITCH, "false")
    try:
        yield
    finally:
        spark.conf.unset(SWITCH)


def scans(frame: DataFrame) -> int:
    return len(lakescan.report(frame).scans)


def values(aggregate: str, of: str) -> str:
    return f"(SELECT {aggregate} FROM {of})"


def test_subqueries_over_the_same_rows_are_one_scan(spark: SparkSession, table: DeltaBuilder) -> None:
    of = f"delta.`{table.path}` WHERE id > 4"
    wanted = ["count(*)", "avg(price)", "sum(price)", "max(id)", "min(name)", "count(price)"]
    frame = spark.sql("SELECT " + ", ".join(values(each, of) for each in wanted))
    live = ROWS.filter((pc.field("id") > 4) & ~pc.field("id").isin([12, 13]))
    (row,) = frame.collect()
    prices = [price for price in live["price"].to_pylist() if price is not None]
    mean = (sum(prices) / len(prices)).quantize(Decimal("0.000001"))
    names = min(name for name in live["name"].to_pylist() if name is not None)
    assert list(row) == [live.num_rows, mean, sum(prices), 39, names, len(prices)]
    assert scans(frame) == 1
    (scan,) = lakescan.report(frame).scans
    assert scan.aggregation == ("COUNT(*), COUNT(`price`), SUM(`price`), MAX(`id`), MIN(`name`)"), (
        "what two subqueries ask for is computed once"
    )


def test_the_switch_leaves_each_subquery_its_scan(spark: SparkSession, table: DeltaBuilder) -> None:
    of = f"delta.`{table.path}` WHERE id > 4"
    text = f"SELECT {values('count(*)', of)}, {values('sum(price)', of)}"
    merged = spark.sql(text).collect()
    with switched_off(spark):
        frame = spark.sql(text)
        assert frame.collect() == merged
        assert scans(frame) == 2


def test_subqueries_of_conditions_and_of_values_are_merged(spark: SparkSession, table: DeltaBuilder) -> None:
    of = f"delta.`{table.path}` WHERE size < 3"
    text = f"""
        SELECT id, CASE WHEN {values("count(*)", of)} > 5 THEN {values("max(price)", of)} ELSE 0 END AS price
        FROM range(9) WHERE id > {values("min(id)", of)} + 5"""
    frame = spark.sql(text)
    assert sorted(map(tuple, frame.collect())) == [(at, Decimal("9.25")) for at in (6, 7, 8)]
    assert scans(frame) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("{t} WHERE id > 4", "{t} WHERE id > 5"),
        ("{t} WHERE id > 4", "{t} VERSION AS OF 3 WHERE id > 4"),
        ("{t} WHERE id > 4", "{u} WHERE id > 4"),
        ("{t} WHERE id > 4", "(SELECT * FROM {t} WHERE id > 4 LIMIT 3)"),
        ("{t} WHERE id > 4", "{t} WHERE id > 4 GROUP BY size HAVING size = 1"),
    ],
)
def test_subqueries_over_other_rows_are_not_merged(
    spark: SparkSession, table: DeltaBuilder, tmp_path: Path, one: str, other: str
) -> None:
    another = DeltaBuilder(tmp_path, ROWS.schema)
    another.append(ROWS)
    tables = {"t": f"delta.`{table.path}`", "u": f"delta.`{another.path}`"}
    asked = [values("sum(price)", one.format(**tables)), values("sum(score)", other.format(**tables))]
    text = "SELECT " + ", ".join(asked)
    with switched_off(spark):
        expected = spark.sql(text).collect()
    frame = spark.sql(text)
    assert frame.collect() == expected
    assert scans(frame) == 2


def test_of_no_rows_counts_are_zero_and_all_else_is_null(spark: SparkSession, table: DeltaBuilder) -> None:
    of = f"delta.`{table.path}` WHERE name > 'n3' AND name < 'n30'"
    wanted = ["count(*)", "sum(price)", "avg(score)", "max(id)"]
    (row,) = spark.sql("SELECT " + ", ".join(values(each, of) for each in wanted)).collect()
    assert list(row) == [0, None, None, None]


def test_a_frame_that_is_used_twice_gives_its_value_twice(spark: SparkSession, table: DeltaBuilder) -> None:
    rows = lakescan.read(spark, table.path).where("id > 4")
    largest, smallest, total = (rows.selectExpr(each) for each in ("max(id)", "min(price)", "sum(price)"))
    asked = [largest.scalar(), smallest.scalar(), largest.scalar() + 1, total.scalar(), total.scalar()]
    (row,) = spark.range(1).select(*asked).collect()
    sums = sum(price for price, at in zip(ROWS["price"].to_pylist(), range(40), strict=True) if price and at > 4)
    deleted = sum(ROWS["price"][at].as_py() for at in (12, 13))
    assert list(row) == [39, Decimal("1.25"), 40, sums - deleted, sums - deleted]


def test_an_error_of_one_subquery_is_sparks_own(spark: SparkSession, tmp_path: Path) -> None:
    large = pa.table({"id": [1, 2, 3], "big": [2**63 - 1, 1, 5]})
    built = DeltaBuilder(tmp_path, large.schema)
    built.append(large)
    of = f"delta.`{built.path}` WHERE id < 3"
    frame = spark.sql(f"SELECT {values('count(*)', of)}, {values('sum(big)', of)}")
    # PySpark 4.3 knows no class of its own for an error of a subquery.
    with pytest.raises((PySparkException, Py4JJavaError), match="ARITHMETIC_OVERFLOW"):
        frame.collect()
    (row,) = spark.sql(f"SELECT {values('max(id)', of)}, {values('try_sum(big)', of)}").collect()
    assert list(row) == [2, None]


def test_to_install_again_adds_no_rule_and_takes_no_other_away(spark: SparkSession) -> None:
    experimental: Any = spark._jsparkSession.experimental()
    before = experimental.extraOptimizations()
    others = getattr(Bridge(spark).java_class("org.apache.spark.sql.catalyst.optimizer.CombineUnions$"), "MODULE$")
    put = getattr(experimental, "extraOptimizations_$eq")
    put(before.appended(others))
    try:
        lakescan.install(spark)
        after = experimental.extraOptimizations()
        names = [after.apply(at).getClass().getSimpleName() for at in range(after.size())]
        assert sorted(names) == ["CombineUnions$", "MergedSubqueries"]
    finally:
        put(before)


AGGREGATES = [
    f"{function}({column})"
    for function, columns in {
        "count": ["*", "name", "price"],
        "sum": ["price", "id", "score", "size", "price * size", "price + 1"],
        "avg": ["price", "score", "size"],
        "min": ["id", "name", "price", "score"],
        "max": ["id", "name", "score"],
        "count_if": ["size = 2"],
        "stddev": ["score"],
    }.items()
    for column in columns
]
FILTERS = [
    "",
    "WHERE id > 4",
    "WHERE id > 4 AND size <> 2",
    "WHERE name LIKE 'n1%'",
    "WHERE length(name) > 2",
    "WHERE id > 99",
]


@given(asked=st.lists(st.tuples(st.sampled_from(AGGREGATES), st.sampled_from(FILTERS)), min_size=2, max_size=6))
@many(15)
def test_any_subqueries_give_the_same_merged_and_alone(
    spark: SparkSession, table: DeltaBuilder, asked: list[tuple[str, str]]
) -> None:
    subqueries = [values(aggregate, f"delta.`{table.path}` {where}") for aggregate, where in asked]
    text = "SELECT " + ", ".join(f"{subquery} AS c{at}" for at, subquery in enumerate(subqueries))
    merged = spark.sql(text).collect()
    with switched_off(spark):
        assert spark.sql(text).collect() == merged
