"""What Spark pushes: which files are read for it, which filters are claimed, and that the rows stay Spark's own."""

from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakescan
from lakescan.formats.delta.table import DeltaTable
from lakescan.spark.bridge import Bridge
from tests.tables import DeltaBuilder, spark_schema

pytestmark = pytest.mark.spark
NAN = float("nan")


@pytest.fixture(scope="module")
def facts(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DeltaBuilder:
    """Ten files, of the years 2020 to 2029, keys in tens, and a dimension with a key in three of them."""
    root = tmp_path_factory.mktemp("facts")
    types = [("k", pa.int64()), ("d", pa.float64()), ("dt", pa.date32()), ("ts", pa.timestamp("us", "UTC"))]
    nested = pa.struct([("x", pa.int64()), ("y", pa.string())])
    schema = spark_schema(
        pa.schema([*types, ("s", pa.string()), ("st", nested), ("c", pa.string()), ("p", pa.int32())])
    )
    schema["fields"][6]["metadata"] = {"__CHAR_VARCHAR_TYPE_STRING": "char(4)"}
    builder = DeltaBuilder(root, schema, ["p"])
    for at in range(10):
        days = [date(2020 + at, 1, 1) + timedelta(days=36 * day) for day in range(10)]
        rows = pa.table(
            {
                "k": pa.array([None if key == 5 else at * 10 + key for key in range(10)], pa.int64()),
                "d": [NAN if key == 3 else key / 2 - at for key in range(10)],
                "dt": days,
                "ts": pa.array(
                    [datetime(day.year, day.month, day.day, 12, tzinfo=timezone.utc) for day in days], types[3][1]
                ),
                "s": [f"{at}abc{key}" for key in range(10)],
                "st": pa.array([{"x": at * 10 + key, "y": "y"} for key in range(10)], nested),
                "c": ["ab  "] * 10,
            }
        )
        stats = {"numRecords": 10, **_bounds(at, days)}
        builder.append(rows, partition={"p": str(at)}, stats=stats)
    lakescan.attach(spark, "facts", builder.path)
    dimension = DeltaBuilder(
        root / "dimension", pa.schema([("key", pa.int64()), ("part", pa.int32()), ("name", pa.string())])
    )
    dimension.append(pa.table({"key": [23, 24, 77], "part": pa.array([2, 2, 7], pa.int32()), "name": ["a", "a", "b"]}))
    lakescan.attach(spark, "dimension", dimension.path)
    return builder


def _bounds(at: int, days: list[date]) -> dict[str, Any]:
    low = {"k": at * 10, "dt": str(days[0]), "ts": f"{days[0]}T12:00:00.000Z", "s": f"{at}abc0", "st": {"x": at * 10}}
    high = {
        "k": at * 10 + 9,
        "dt": str(days[9]),
        "ts": f"{days[9]}T12:00:00.000Z",
        "s": f"{at}abc9",
        "st": {"x": at * 10 + 9},
    }
    nulls = {"k": 1, "d": 0, "dt": 0, "ts": 0, "s": 0, "st": {"x": 0, "y": 0}, "c": 0}
    return {"minValues": low, "maxValues": high, "nullCount": nulls}


def files_read(df: DataFrame) -> list[int]:
    """The partition value of each file that the query's first scan reads: files are told apart by it."""
    bridge = Bridge(df.sparkSession)
    scan = next(iter(bridge.scans_of(df)))
    return sorted(partition["p"] for partition in scan.last_run.planned.files["partition"].to_pylist())  # type: ignore[attr-defined]


def plan_of(df: DataFrame) -> str:
    return str(df._jdf.queryExecution().executedPlan().toString())


SKIPPING = {
    "k = 25": [2],
    "k <=> 25": [2],
    "NOT (k <> 31)": [3],
    "k BETWEEN 18 AND 21": [1, 2],
    "k IN (1, 2, 55, 99, 98)": [0, 5, 9],
    "NOT (k < 80 OR k IS NULL)": [8, 9],
    "k IS NULL": list(range(10)),
    "s LIKE '3ab%'": [3],
    "startswith(s, '9')": [9],
    "substring(s, 1, 2) >= '8a'": [8, 9],
    "left(s, 1) = '4'": [4],
    "year(dt) = 2024": [4],
    "year(ts) = 2024": [4],
    "year(ts) > 2027": [8, 9],
    "date(ts) = DATE'2023-01-01'": [3],
    "trunc(dt, 'YEAR') <= DATE'2021-06-01'": [0, 1],
    "st.x = 42": [4],
    "cast(k as double) > 88.5": [8, 9],
    "(dt = DATE'2020-01-01' AND s = 'x') IS NULL": [],
    "(k < 3 AND k % 2 = 0) OR (k > 97 AND k % 3 = 0)": [0, 9],
    "p = 3 OR k = 55": [3, 5],
}


@pytest.mark.parametrize("condition", SKIPPING)
def test_the_files_read_are_the_ones_that_can_match(spark: SparkSession, facts: DeltaBuilder, condition: str) -> None:
    df = spark.sql(f"SELECT * FROM lake.facts WHERE {condition}")
    assert files_read(df) == SKIPPING[condition]


CONDITIONS = [
    "k <=> 25",
    "k IN (1, 2, 55, 99, 98)",
    "substring(s, 1, 2) >= '8a'",
    "year(ts) > 2027",
    "p = 3 OR k = 55",
    "d > 3",
    "d = double('NaN')",
    "d < double('NaN')",
    "d <> 0.5",
    "d = -0.0D",
    "d IN (double('NaN'), -0.0D)",
    "NOT (d >= 1)",
    "st IS NULL",
    "c = 'ab'",
    "c > 'a'",
    "k IN (1, NULL)",
    "k NOT IN (1, NULL)",
    "CASE WHEN k > 50 THEN true ELSE false END",
    "k = st.x",
    "month(ts) = 1 AND hour(ts) = 12",
]


def test_the_rows_are_those_that_spark_finds_by_itself(spark: SparkSession, facts: DeltaBuilder) -> None:
    spark.createDataFrame(spark.sql("SELECT * FROM lake.facts").toArrow()).createOrReplaceTempView("plain")
    # The view has no CHAR column: Spark pads one when it reads it, as the values here already are.
    padded = [condition.replace("c = 'ab'", "c = 'ab  '") for condition in CONDITIONS]
    answers = [f"{condition} AS `{at}`" for at, condition in enumerate(padded)]
    truth = spark.sql(f"SELECT s, {', '.join(answers)} FROM plain").toArrow().to_pylist()
    for at, condition in enumerate(CONDITIONS):
        strings = spark.sql(f"SELECT s FROM lake.facts WHERE {condition}").toArrow()["s"].to_pylist()
        assert sorted(strings) == sorted(row["s"] for row in truth if row[str(at)]), condition


@pytest.mark.parametrize(
    ("condition", "claimed"),
    [
        ("k = 25", True),
        ("d > 3", True),
        ("s LIKE '3ab%' OR st.x IN (1, 2)", True),
        ("(k = 1 AND s = 'x') IS NULL", True),
        ("year(dt) = 2024", False),
        ("c = 'ab'", False),
        ("cast(k as double) > 88.5", False),
        ("s LIKE '%c'", False),
    ],
)
def test_only_a_filter_that_is_evaluated_exactly_is_claimed(
    spark: SparkSession, facts: DeltaBuilder, condition: str, claimed: bool
) -> None:
    # Of a column that it goes on to use, Spark 4.3 evaluates even a claimed filter once more.
    plan = plan_of(spark.sql(f"SELECT p FROM lake.facts WHERE {condition}"))
    assert ("Filter" not in plan.replace("RuntimeFilters", "")) == claimed, plan


def test_every_switch_leaves_the_rows_as_they_are(spark: SparkSession, facts: DeltaBuilder) -> None:
    query = "SELECT k, st.x FROM lake.facts WHERE k BETWEEN 18 AND 21 AND year(dt) < 2030 ORDER BY k"
    expected = spark.sql(query).collect()
    assert [row.k for row in expected] == [18, 19, 20, 21]
    for switch in ("filters", "skipping", "row_groups", "generated_columns", "runtime_filters", "columns"):
        spark.conf.set(f"lakescan.pushdown.{switch}", "false")
        try:
            df = spark.sql(query)
            assert df.collect() == expected, switch
            files = len(files_read(df))
            assert files == (10 if switch == "skipping" else 2), switch
        finally:
            spark.conf.unset(f"lakescan.pushdown.{switch}")


def test_nested_fields_and_counts_reach_the_reader_pruned(spark: SparkSession, facts: DeltaBuilder) -> None:
    bridge = Bridge(spark)
    scan: Any = next(iter(bridge.scans_of(spark.sql("SELECT st.x FROM lake.facts WHERE k > 3"))))
    assert str(scan.last_run.read_plan.schema.field("st").type) == "struct<x: int64>"
    assert scan.last_run.read_plan.schema.names == ["st", "k"]
    counted: Any = next(iter(bridge.scans_of(spark.sql("SELECT 1 FROM lake.facts"))))
    assert counted.last_run.read_plan.schema.names == []


# Runtime filters


@pytest.fixture
def steps(spark: SparkSession) -> Any:
    def of(query: str) -> list[tuple[str, int]]:
        df = spark.sql(query)
        df.collect()
        return [(step.name, step.files) for step in lakescan.report(df).scans[0].steps]

    return of


@pytest.mark.parametrize(("on", "left"), [("f.k = d.key", 1), ("f.p = d.part", 1), ("f.st.x = d.key", 1)])
def test_values_that_a_join_finds_drop_files(
    spark: SparkSession, facts: DeltaBuilder, steps: Any, on: str, left: int
) -> None:
    taken = steps(f"SELECT f.* FROM lake.facts f JOIN lake.dimension d ON {on} WHERE d.name = 'a'")
    if "st." in on:
        assert "runtime filters" not in dict(taken)
    else:
        assert taken[-1] == ("runtime filters", left)


def test_a_runtime_filter_gives_the_rows_that_the_join_gives_without_it(
    spark: SparkSession, facts: DeltaBuilder
) -> None:
    query = "SELECT f.s FROM lake.facts f JOIN lake.dimension d ON f.k = d.key WHERE d.name = 'a' ORDER BY 1"
    assert [row.s for row in spark.sql(query).collect()] == ["2abc3", "2abc4"]
    spark.conf.set("lakescan.pushdown.runtime_filters", "false")
    try:
        off = spark.sql(query)
        assert [row.s for row in off.collect()] == ["2abc3", "2abc4"]
        assert "runtime filters" not in [step.name for step in lakescan.report(off).scans[0].steps]
    finally:
        spark.conf.unset("lakescan.pushdown.runtime_filters")


def test_a_small_table_asks_for_no_values(spark: SparkSession, facts: DeltaBuilder) -> None:
    query = "SELECT f.s FROM lake.{} f JOIN lake.dimension d ON f.{} = d.key WHERE d.name = 'a'"
    assert "dynamicpruning" in plan_of(spark.sql(query.format("facts", "k")))
    assert "dynamicpruning" not in plan_of(spark.sql(query.format("dimension", "key").replace("f.s", "f.name")))


def test_a_list_of_values_that_is_too_long_is_passed_over(
    spark: SparkSession, facts: DeltaBuilder, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT f.* FROM lake.facts f JOIN lake.dimension d ON f.k = d.key WHERE d.name = 'a'"
    assert steps(query)[-1] == ("runtime filters", 1)
    monkeypatch.setattr("lakescan.spark.dsv2.scan.MOST_VALUES", 1)
    assert "runtime filters" not in dict(steps(query))
    assert sorted(row.s for row in spark.sql(query).collect()) == ["2abc3", "2abc4"]


def test_thousands_of_values_are_read_in_one_trip(spark: SparkSession, facts: DeltaBuilder) -> None:
    for column, values in (
        ("k", ",".join(str(1000 + at) for at in range(5000)) + ",42"),
        ("s", ",".join(f"'x, {at}'" for at in range(5000)) + ",'4abc2'"),
        ("s", "'it''s', '''', ''', ''', 'a''''b', '4abc2'"),
    ):
        df = spark.sql(f"SELECT k FROM lake.facts WHERE {column} IN ({values})")
        assert files_read(df) == [4]
        assert [row.k for row in df.collect()] == [42]


# One query, one plan


def test_equal_scans_share_one_plan_and_one_exchange(spark: SparkSession, facts: DeltaBuilder) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        joined = "SELECT a.s, b.s FROM lake.facts a JOIN lake.facts b ON a.k = b.k WHERE a.k > 15 AND b.k > 15"
        assert "ReusedExchange" in plan_of(spark.sql(joined))
        first, second = Bridge(spark).scans_of(spark.sql("SELECT a.k FROM lake.facts a JOIN lake.facts b ON a.k = b.k"))
        assert first is not second
        assert first.plan is second.plan  # type: ignore[attr-defined]
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def test_a_query_sees_one_version_by_whatever_names(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    builder.append(pa.table({"id": [1]}))
    lakescan.attach(spark, "moving", builder.path)
    snapshot, loads = DeltaTable.snapshot, []

    def while_others_write(self: DeltaTable, *when: Any) -> Any:
        loaded = snapshot(self, *when)
        loads.append(loaded.version)
        builder.append(pa.table({"id": [1]}))
        return loaded

    monkeypatch.setattr(DeltaTable, "snapshot", while_others_write)
    df = spark.sql(
        f"SELECT * FROM lake.moving UNION ALL SELECT * FROM delta.`{builder.path}` UNION ALL SELECT * FROM lake.moving"
    )
    assert loads == [1]
    assert df.schema.names == ["id"]
    monkeypatch.undo()
    assert spark.sql("SELECT count(*) FROM lake.moving").first()[0] == builder.version  # type: ignore[index]


def test_scans_are_planned_by_as_many_threads_as_are_set(
    spark: SparkSession, facts: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakescan.spark.dsv2 import planners

    asked: list[int] = []

    def made(threads: int) -> planners.Planners:
        asked.append(threads)
        return planners.Planners(threads)

    monkeypatch.setattr(planners, "planners", made)
    spark.conf.set("lakescan.planning.threads", "3")
    try:
        spark.sql("SELECT k FROM lake.facts WHERE k = 77").collect()
        assert set(asked) == {3}
    finally:
        spark.conf.unset("lakescan.planning.threads")
