"""A pushdown that fails by a fault of Lakescan's is given up: Spark does the work, one warning names the pushdown, and
report and metrics count it."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakescan
from lakescan.errors import OptimizationFailed
from lakescan.types.schema import arrow_schema
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> str:
    """Six files of ten ids, two deleted."""
    schema = pa.schema([("id", pa.int64()), ("small", pa.int32()), ("name", pa.string())])
    built = DeltaBuilder(tmp_path_factory.mktemp("t"), schema, features=["deletionVectors"])
    for first in range(0, 60, 10):
        ids = range(first, first + 10)
        added = built.append(
            pa.table({"id": ids, "small": pa.array(ids, pa.int32()), "name": [f"n{at}" for at in ids]})
        )
        if first == 20:
            built.delete(added, [0, 1])
    lakescan.attach(spark, "faulty", built.path)
    return "lake.faulty"


def fails(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("a fault of ours")


DSV2 = "lakescan.spark.dsv2."
SEAMS = [
    ("filters", "scan_builder.read_expressions", "SELECT count(*), sum(id) FROM T WHERE id >= 55", [(5, 285)]),
    ("aggregates", "pushed_aggregates.read_aggregation", "SELECT count(*), max(id) FROM T", [(58, 59)]),
    ("top-n", "scan_builder._sort_columns", "SELECT id FROM T ORDER BY id DESC LIMIT 2", [(59,), (58,)]),
    ("offset", "scan_builder.can_skip", "SELECT count(*) FROM (SELECT id FROM T OFFSET 50)", [(8,)]),
    ("reading without workers", "scan.plain_columns", "SELECT id FROM T WHERE id IN (3, 33)", [(3,), (33,)]),
    (
        "subqueries",
        "merged_subqueries._merged",
        "SELECT (SELECT sum(id) FROM T WHERE small > 3), (SELECT sum(small) FROM T WHERE small > 3)",
        [(1723, 1723)],
    ),
]


@pytest.mark.parametrize(("name", "place", "query", "expected"), SEAMS)
def test_a_pushdown_that_fails_is_sparks_work(
    spark: SparkSession,
    table: str,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    place: str,
    query: str,
    expected: list[tuple[int, ...]],
) -> None:
    monkeypatch.setattr(DSV2 + place, fails)

    frame, rows = spark.sql(query.replace(" T", f" {table}")), []
    with pytest.warns(OptimizationFailed, match=rf"\({name}\): ZeroDivisionError"):
        rows = frame.collect()

    assert [tuple(row) for row in rows] == expected


def test_columns_that_cannot_be_pruned_are_all_read(
    spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = iter([fails, arrow_schema, arrow_schema, arrow_schema])
    monkeypatch.setattr(DSV2 + "scan_builder.arrow_schema", lambda struct: next(offered)(struct))
    frame, rows = spark.sql(f"SELECT name FROM {table} WHERE id = 7 AND upper(name) = 'N7'"), []

    with pytest.warns(OptimizationFailed, match=r"\(columns\)"):
        rows = frame.collect()

    assert rows == [("n7",)]
    assert lakescan.report(frame).scans[0].columns == ("id", "small", "name")


@pytest.mark.parametrize(
    ("name", "place", "query", "expected"),
    [
        ("limit", "lakescan.scan.planning.plan_limit", "SELECT * FROM T LIMIT 3", 3),
        ("statistics", "lakescan.scan.pruning.StatisticsFilter.keeps", "SELECT id FROM T WHERE id > 56", 3),
    ],
)
def test_report_and_metrics_count_what_the_planner_gave_up(
    spark: SparkSession,
    table: str,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    place: str,
    query: str,
    expected: int,
) -> None:
    monkeypatch.setattr(place, fails)

    frame, rows = spark.sql(query.replace(" T", f" {table}")), []
    with pytest.warns(OptimizationFailed, match=rf"\({name}\)"):
        rows = frame.collect()

    (scan,) = lakescan.report(frame).scans
    assert len(rows) == expected
    assert scan.failed == (name,)
    assert metric(frame, "lakescanOptimizationsFailed") == 1


def metric(frame: DataFrame, name: str) -> int:
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    (scan,) = [leaf for leaf in map(leaves.apply, range(leaves.size())) if "BatchScan" in leaf.nodeName()]
    return int(scan.metrics().apply(name).value())
