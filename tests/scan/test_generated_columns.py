"""A filter on a base column drops the partitions generated from it, and never one that could match."""

from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakescan
from lakescan.predicate import Column, Comparison, Literal, col, evaluate
from lakescan.scan.generated_columns import derived_filter
from lakescan.scan.generation_expression import read_generation
from lakescan.scan.settings import Settings
from tests.strategies import many
from tests.tables import DeltaBuilder, spark_schema

UTC = timezone.utc
TS, NTZ = pa.timestamp("us", "UTC"), pa.timestamp("us")


def generated_table(root: Path, expression: str, base: pa.DataType, kind: pa.DataType, files: dict[str, Any]) -> Any:
    """A table partitioned by the column `part`, generated from the column `x`, one file a partition value."""
    schema = spark_schema(pa.schema([("x", base), ("part", kind)]))
    schema["fields"][1]["metadata"] = {"delta.generationExpression": expression}
    builder = DeltaBuilder(root, schema, ["part"])
    for part, value in files.items():
        builder.append(pa.table({"x": pa.array([value], base)}), partition={"part": part}, stats=False)
    return lakescan.open(builder.path).snapshot()


def kept(snapshot: Any, predicate: Any, **switches: bool) -> list[str]:
    scan = snapshot.scan().with_settings(Settings(**switches)).filter(predicate).build()
    return sorted(str(partition["part"]) for partition in scan.files()["partition"].to_pylist())


DAYS = {f"2024-01-0{day}": datetime(2024, 1, day, 12, tzinfo=UTC) for day in range(1, 8)}


def test_a_filter_on_a_timestamp_keeps_the_days_that_any_zone_could_have_put_it_in(tmp_path: Path) -> None:
    snapshot = generated_table(tmp_path, "CAST(x AS DATE)", TS, pa.date32(), DAYS)
    noon = datetime(2024, 1, 4, 12, tzinfo=UTC)
    assert kept(snapshot, col("x") == noon) == ["2024-01-03", "2024-01-04", "2024-01-05"]
    assert kept(snapshot, col("x") >= noon) == ["2024-01-03", "2024-01-04", "2024-01-05", "2024-01-06", "2024-01-07"]
    assert kept(snapshot, col("x") < noon) == ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05"]


def test_a_local_timestamp_keeps_exactly_its_day(tmp_path: Path) -> None:
    local = {part: moment.replace(tzinfo=None) for part, moment in DAYS.items()}
    snapshot = generated_table(tmp_path, "to_date(x)", NTZ, pa.date32(), local)
    assert kept(snapshot, col("x") == datetime(2024, 1, 4, 12)) == ["2024-01-04"]
    assert kept(snapshot, col("x") < datetime(2024, 1, 3)) == ["2024-01-01", "2024-01-02"]
    assert kept(snapshot, (col("x") > datetime(2024, 1, 6, 23)) | (col("x") == datetime(2024, 1, 1))) == [
        "2024-01-01",
        "2024-01-06",
        "2024-01-07",
    ]


def test_the_step_is_named_and_can_be_switched_off(tmp_path: Path) -> None:
    snapshot = generated_table(tmp_path, "CAST(x AS DATE)", TS, pa.date32(), DAYS)
    predicate = col("x") == DAYS["2024-01-04"]
    assert len(kept(snapshot, predicate, generated_columns=False)) == 7
    report = snapshot.scan().filter(predicate).build().report()
    assert [(step.name, step.files) for step in report.steps] == [
        ("table", 7),
        ("generated columns", 3),
        ("statistics", 3),
    ]


@pytest.mark.parametrize(
    ("expression", "parts", "expected"),
    [
        ("trunc(x, 'MM')", ["2023-12-01", "2024-01-01", "2024-02-01"], ["2024-01-01"]),
        ("trunc(x, 'QUARTER')", ["2023-10-01", "2024-01-01", "2024-04-01"], ["2024-01-01"]),
        ("x", ["2024-01-16", "2024-01-17", "2024-01-18"], ["2024-01-17"]),
    ],
)
def test_a_filter_on_a_date_keeps_exactly_its_unit(
    tmp_path: Path, expression: str, parts: list[str], expected: list[str]
) -> None:
    files = dict.fromkeys(parts, date(2024, 1, 17))
    snapshot = generated_table(tmp_path, expression, pa.date32(), pa.date32(), files)
    assert kept(snapshot, col("x") == date(2024, 1, 17)) == expected


def test_a_prefix_keeps_the_texts_that_begin_alike_and_the_null_that_an_empty_text_became(tmp_path: Path) -> None:
    files = {"": "", "aa": "aab", "ab": "abc", "b": "b", "zz": "zzz"}
    snapshot = generated_table(tmp_path, "substring(x, 1, 2)", pa.string(), pa.string(), files)
    assert kept(snapshot, col("x") == "abc") == ["None", "ab"]
    assert kept(snapshot, col("x").startswith("abc")) == ["None", "ab"]
    assert kept(snapshot, col("x").startswith("a")) == ["None", "aa", "ab"]
    assert kept(snapshot, col("x") > "ab") == ["None", "ab", "b", "zz"]
    assert kept(snapshot, col("x").isin(["aax", "zz"])) == ["None", "aa", "zz"]
    texts = snapshot.scan().filter(col("x") <= "aab").build().to_arrow()["x"].to_pylist()
    assert sorted(texts) == ["", "aab"]


def test_year_month_and_day_decide_one_after_the_other() -> None:
    expressions = {"y": "year(x)", "m": "month(x)", "d": "day(x)"}
    schema = pa.schema([("x", NTZ), ("y", pa.int32()), ("m", pa.int32()), ("d", pa.int32())])
    predicate = Comparison(">=", Column(("x",)), Literal(datetime(2023, 12, 30), NTZ))
    derived = derived_filter(predicate, expressions, ("y", "m", "d"), schema)
    rows = pa.table({"y": [2023, 2023, 2023, 2024, 2022], "m": [12, 12, 11, 1, 12], "d": [29, 30, 31, 1, 31]})
    assert evaluate(derived, rows).to_pylist() == [False, True, False, True, False]


def test_a_month_alone_follows_from_an_equality_only() -> None:
    schema = pa.schema([("x", TS), ("m", pa.int32())])
    moment = Literal(datetime(2024, 1, 1, 1, tzinfo=UTC), TS)
    same, later = (Comparison(op, Column(("x",)), moment) for op in ("=", ">"))
    derived = derived_filter(same, {"m": "month(x)"}, ("m",), schema)
    assert evaluate(derived, pa.table({"m": [11, 12, 1, 2]})).to_pylist() == [False, True, True, False]
    assert str(derived_filter(later, {"m": "month(x)"}, ("m",), schema)) == "TRUE"


@pytest.mark.parametrize(
    "expression",
    [
        "id % 10",
        "date_format(x, 'yyyy-mm')",
        "date_format(x, 'YYYY')",
        "cast(x as int)",
        "substring(x, 2, 2)",
        "f(x",
        "",
    ],
)
def test_nothing_is_derived_from_an_expression_that_does_not_keep_order(expression: str) -> None:
    assert read_generation(expression) is None


FORMATS = {"yyyy-MM": "%Y-%m", "yyyy-MM-dd": "%Y-%m-%d", "yyyy-MM-dd-HH": "%Y-%m-%d-%H"}


def as_a_writer_has_it(expression: str, moment: datetime, offset: timedelta) -> Any:
    """The value that a writer whose zone has this offset gives the column."""
    local = moment + offset
    if "date_format" in expression:
        return local.strftime(FORMATS[expression.split("'")[1]])
    if "date_trunc" in expression:
        unit = expression.split("'")[1]
        cut: dict[str, Any] = {"DAY": {"hour": 0}, "MONTH": {"day": 1, "hour": 0}, "HOUR": {}}[unit]
        return local.replace(minute=0, second=0, microsecond=0, **cut) - offset
    if "trunc" in expression:
        return local.date().replace(day=1)
    if "year" in expression:
        return local.year
    return local.date()


TARGETS = {
    "cast(x as date)": pa.date32(),
    "year(x)": pa.int32(),
    "date_format(x, 'yyyy-MM')": pa.string(),
    "date_format(x, 'yyyy-MM-dd')": pa.string(),
    "date_format(x, 'yyyy-MM-dd-HH')": pa.string(),
    "date_trunc('DAY', x)": TS,
    "date_trunc('MONTH', x)": TS,
    "date_trunc('HOUR', x)": TS,
    "trunc(x, 'MM')": pa.date32(),
}


@given(seed=st.integers(0, 2**32), expression=st.sampled_from(list(TARGETS)))
@many(300)
def test_whatever_zone_the_writer_was_in_no_matching_row_is_lost(seed: int, expression: str) -> None:
    random = Random(seed)
    offset = timedelta(minutes=random.randint(-18 * 60, 18 * 60))
    moments = [datetime(2023, 12, 25, tzinfo=UTC) + timedelta(minutes=random.randint(0, 30000)) for _ in range(20)]
    wanted, op = random.choice(moments), random.choice(["=", "<", "<=", ">", ">="])
    schema = pa.schema([("x", TS), ("part", TARGETS[expression])])
    predicate = Comparison(op, Column(("x",)), Literal(wanted, TS))
    derived = derived_filter(predicate, {"part": expression}, ("part",), schema)
    parts = [as_a_writer_has_it(expression, moment, offset) for moment in moments]
    rows = pa.table({"x": pa.array(moments, TS), "part": pa.array(parts, TARGETS[expression])})
    matching = evaluate(predicate, rows).to_pylist()
    assert all(kept for kept, match in zip(evaluate(derived, rows).to_pylist(), matching, strict=True) if match)
    assert str(derived) != "TRUE"
