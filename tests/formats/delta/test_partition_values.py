"""Partition values of every type, as text in the log, become exactly the values that Delta Spark reads from them."""

from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakescan
from lakescan import errors
from lakescan.formats.delta.partition_values import typed_partition
from lakescan.predicate import col
from lakescan.types.schema import primitive_type
from lakescan.types.time_zones import arrow_zone, instants
from tests.tables import DeltaBuilder

UTC = timezone.utc
INSTANT, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")
CASES: list[tuple[pa.DataType, str | None, Any]] = [
    (pa.bool_(), "true", True),
    (pa.bool_(), "false", False),
    (pa.int8(), "-128", -128),
    (pa.int16(), "32767", 32767),
    (pa.int32(), "-2147483648", -(2**31)),
    (pa.int64(), "9223372036854775807", 2**63 - 1),
    (pa.float32(), "1.5", 1.5),
    (pa.float64(), "1.7976931348623157E308", 1.7976931348623157e308),
    (pa.float64(), "-Infinity", float("-inf")),
    (
        pa.decimal128(38, 18),
        "-12345678901234567890.123456789012345678",
        Decimal("-12345678901234567890.123456789012345678"),
    ),
    (pa.decimal128(10, 2), "1", Decimal("1.00")),
    (pa.string(), "a=b/c d%20é", "a=b/c d%20é"),
    (pa.string(), "null", "null"),
    (pa.binary(), "\x00\x01aÿ", b"\x00\x01a\xc3\xbf"),  # the text's bytes, to Delta Spark and to deltalake
    (pa.date32(), "0001-01-01", date(1, 1, 1)),
    (pa.date32(), "9999-12-31", date(9999, 12, 31)),
    (LOCAL, "2024-01-02 03:04:05", datetime(2024, 1, 2, 3, 4, 5)),
    (LOCAL, "2024-01-02 03:04:05.123456", datetime(2024, 1, 2, 3, 4, 5, 123456)),
    (LOCAL, "2024-01-02", datetime(2024, 1, 2)),
    (INSTANT, "2024-01-02 03:04:05.5", datetime(2024, 1, 2, 3, 4, 5, 500_000, UTC)),
    (INSTANT, "2024-01-02T03:04:05.123456Z", datetime(2024, 1, 2, 3, 4, 5, 123456, UTC)),
    (INSTANT, "1677-01-02 03:04:05", datetime(1677, 1, 2, 3, 4, 5, 0, UTC)),
]


def _table(root: Path, type_: pa.DataType, texts: Sequence[str | None]) -> DeltaBuilder:
    """One file a text; the path says something else, and the partition column is in the middle of the schema."""
    table = DeltaBuilder(root, pa.schema([("a", pa.int64()), ("p", type_), ("z", pa.int64())]), partition_by=["p"])
    for n, text in enumerate(texts):
        partition = {"p": text}
        table.append(pa.table({"a": [n], "z": [-n]}), partition=partition, name=f"p=elsewhere/{n}.parquet")
    return table


def _values(path: str, **arguments: Any) -> list[Any]:
    rows = lakescan.open(path, **arguments).snapshot().scan().build().to_arrow()
    assert rows.column_names == ["a", "p", "z"]
    values: list[Any] = rows.sort_by("a")["p"].to_pylist()
    return values


@pytest.mark.parametrize(("type_", "text", "expected"), CASES, ids=str)
def test_a_partition_value_is_what_its_text_says_and_not_what_the_path_says(
    type_: pa.DataType, text: str, expected: Any, tmp_path: Path
) -> None:
    assert _values(_table(tmp_path, type_, [text, None, ""]).path) == [expected, None, None]


# What Delta Spark 4.4 reads (PySpark 4.2, ANSI mode or not); days or microseconds since 1970 for dates and timestamps.
SPELLINGS: list[tuple[str, dict[str, Any]]] = [
    (
        "decimal(10,2)",
        {
            "1": "1.00",
            "1.500": "1.50",
            "1.505": "1.51",
            "-1.505": "-1.51",
            "1.504": "1.50",
            "1E2": "100.00",
            "1.5e+3": "1500.00",
            "0E-18": "0.00",
            "1E-3": "0.00",
            "1.25E+1": "12.50",
            " 1.5 ": "1.50",
            "+1.5": "1.50",
            ".5": "0.50",
            "5.": "5.00",
            "00012.5": "12.50",
            "12345678.905": "12345678.91",
            **dict.fromkeys(["99999999.999", "999999999", "1E10", "0x10", "1_0", "NaN", "1d", "1,5", "1 5", "--1"]),
        },
    ),
    ("decimal(38,18)", {"5E-19": "0.000000000000000001", "1E-19": "0E-18", "123456789012345678901": None}),
    ("decimal(5,0)", {"2.5": "3", "-0.5": "-1", "99999.4": "99999", "99999.5": None}),
    (
        "date",
        {
            **dict.fromkeys(["2020-1-1", "2020-01-01T00:00:00", "2020-01-01 12:34:56", " 2020-01-01 ", "2020"], 18262),
            **dict.fromkeys(["2020-01-01T", "+2020-01-01", "2020-01-01Tgarbage", "\t2020-01-01\n", "2020-01 "], 18262),
            "2020-5": 18383,
            "-0044-03-15": -735525,
            "12020-01-01": 3670687,
            "0000-01-01": -719528,
            "-12020-01-01": -5109743,
            "18262": 5950531,
            "5881580-07-11": 2**31 - 1,
            "-5877641-06-23": -(2**31),
            **dict.fromkeys(["2020-02-30", "20-01-01", "2020/01/01", "20200101", "2020-01-01Z", "epoch", "2020-"]),
            **dict.fromkeys(["2020-001-01", "5881581-01-01", "2020-01-01\u00a0", "020-01-01", "today"]),
        },
    ),
    (
        "timestamp",
        {
            **dict.fromkeys(["2020-01-01", "2020-1-1", "2020", "\t2020-01-01\n"], 1577836800000000),
            "2020-01-01 12": 1577880000000000,
            "2020-01-01 12:34": 1577882040000000,
            "2020-01-01 1:2:3": 1577840523000000,
            "2020-01-01 12:34:56.": 1577882096000000,
            **dict.fromkeys([f"2020-01-01 12:34:56{z}" for z in ("Z", " Z", "UTC", " UTC", ".Z")], 1577882096000000),
            **dict.fromkeys([f"2020-01-01T12:34:56{z}" for z in ("+01", "+1", "+1:00", "+0100")], 1577878496000000),
            **dict.fromkeys([f"2020-01-01T12:34:56{z}" for z in (" Europe/Paris", "+01:00:00")], 1577878496000000),
            "2020-01-01 12:34:56+01:5": 1577878196000000,
            "2020-01-01 12:34:56 PST": 1577910896000000,
            "2020-01-01 12:34:56 UTC+02:30": 1577873096000000,
            "2020-01-01T12:34:56-08:00": 1577910896000000,
            "2020-01-01 12:34:56.123456789": 1577882096123456,
            "-0044-03-15 00:00:00": -63549360000000000,
            "12020-01-01 00:00:00": 317147356800000000,
            "294247-01-10 04:00:54": 9223372036854000000,
            **dict.fromkeys(["2020-02-30 00:00:00", "2020-01-01 24:00:00", "2020-01-01 12:34:", "2020-01-01 12:34Z"]),
            **dict.fromkeys(["2020-01-01T12:34:56+25:00", "2020-01-01 12:34:56 Nowhere", "1577836800", "now"]),
            **dict.fromkeys(["294248-01-01 00:00:00", "12:34:56"]),
        },
    ),
    (
        "timestamp_ntz",
        {
            **dict.fromkeys(["2020-01-01T12:34:56Z", "2020-01-01T12:34:56+01:00"], 1577882096000000),
            "2020-1-1 1:2:3": 1577840523000000,
            "12:34:56": None,
            "2020-01-01T12:34:56 Nowhere": None,
        },
    ),
    (
        "boolean",
        {
            **dict.fromkeys(["TRUE", "t", "y", "yes", "1", " true ", "\ttrue\n"], True),
            **dict.fromkeys(["False", "f", "n", "no", "0"], False),
            **dict.fromkeys(["on", "off", "2", "null", "0.0"]),
        },
    ),
    (
        "integer",
        {
            " 1 ": 1,
            "\t1\n": 1,
            "+1": 1,
            "1.0": 1,
            "1.9": 1,
            "-1.9": -1,
            "1.": 1,
            ".": 0,
            ".5": 0,
            "007": 7,
            **dict.fromkeys(["1e2", "0x1", "2147483648", "1 1", "1L", "-", "--1", "1_000", "1.5.2"]),
        },
    ),
    ("byte", {"1.5": 1, " 5 ": 5, "-129": None}),
    ("long", {"1.7": 1, "-9223372036854775808": -(2**63), "9223372036854775808": None}),
    (
        "double",
        {
            " 1.5 ": 1.5,
            "1E+2": 100.0,
            "1d": 1.0,
            "1.5F": 1.5,
            ".5": 0.5,
            "5.": 5.0,
            "+5": 5.0,
            "-0.0": -0.0,
            **dict.fromkeys(["inf", "Infinity", "+Infinity", "1e400"], float("inf")),
            "-inf": float("-inf"),
            "nan": float("nan"),
            "1_0": None,
            "--5": None,
            "0x10": None,
            "NaNd": None,
        },
    ),
    ("float", {"1e39": float("inf"), "16777217": 16777216.0, "1.5d": 1.5}),
]


@pytest.mark.parametrize(("kind", "cases"), SPELLINGS, ids=[kind for kind, _ in SPELLINGS])
def test_an_unusual_spelling_is_the_value_that_delta_spark_reads_or_an_error(kind: str, cases: dict[str, Any]) -> None:
    type_ = primitive_type(kind)
    assert type_ is not None
    number = {"date": pa.int32(), "timestamp": pa.int64(), "timestamp_ntz": pa.int64()}.get(kind, type_)
    texts = pa.struct([("p", pa.string())])
    for text, expected in cases.items():
        column = pa.array([{"p": text}, {"p": None}, {"p": text}], texts)
        if expected is None:
            with pytest.raises(errors.CorruptLog, match="partition column p"):
                typed_partition(column, [pa.field("p", type_)], "UTC", "log")
            continue
        value = Decimal(expected) if kind.startswith("decimal") else expected
        typed = typed_partition(column, [pa.field("p", type_)], "UTC", "log").field(0).cast(number)
        assert repr(typed.to_pylist()) == repr([value, None, value]), text


def test_usual_and_unusual_spellings_of_one_column_are_read_together() -> None:
    texts = [{"p": text} for text in ("2020-01-01 00:00:00", "2020-1-2", None, "2020-01-03T00:00:00 UTC", "")]
    column = pa.array(texts, pa.struct([("p", pa.string())]))
    typed = typed_partition(column, [pa.field("p", INSTANT)], "America/Los_Angeles", "log").field(0)
    expected = [datetime(2020, 1, 1, 8, tzinfo=UTC), datetime(2020, 1, 2, 8, tzinfo=UTC)]
    assert typed.to_pylist() == [*expected, None, datetime(2020, 1, 3, tzinfo=UTC), None]


def test_a_partition_value_that_the_log_leaves_out_is_null(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("a", pa.int64()), ("p", pa.int64())]), partition_by=["p"])
    table.append(pa.table({"a": [1]}), partition={})
    assert lakescan.open(table.path).snapshot().scan().build().to_arrow().to_pylist() == [{"a": 1, "p": None}]


@pytest.mark.parametrize(
    ("type_", "text"), [(pa.int32(), "x"), (pa.int8(), "128"), (pa.date32(), "2024-13-01"), (LOCAL, "noon")], ids=str
)
def test_a_text_that_is_no_value_of_its_type_is_an_error_that_names_the_column(
    type_: pa.DataType, text: str, tmp_path: Path
) -> None:
    with pytest.raises(errors.CorruptLog, match="partition column p"):
        _values(_table(tmp_path, type_, [text]).path)


# Java's answer for a local time that is skipped (moved on by the gap) or that comes twice (the earlier one).
LOCAL_TIMES: list[tuple[str, str, datetime]] = [
    ("UTC", "2024-06-01 12:00:00", datetime(2024, 6, 1, 12, tzinfo=UTC)),
    ("America/Los_Angeles", "2024-06-01 12:00:00", datetime(2024, 6, 1, 19, tzinfo=UTC)),
    ("PST", "2024-01-01 12:00:00", datetime(2024, 1, 1, 20, tzinfo=UTC)),
    ("JST", "2024-01-01 12:00:00", datetime(2024, 1, 1, 3, tzinfo=UTC)),
    ("+05:30", "2024-01-01 12:00:00", datetime(2024, 1, 1, 6, 30, tzinfo=UTC)),
    ("GMT-3", "2024-01-01 12:00:00", datetime(2024, 1, 1, 15, tzinfo=UTC)),
    ("UTC+2", "2024-01-01 12:00:00", datetime(2024, 1, 1, 10, tzinfo=UTC)),
    ("America/Los_Angeles", "2024-03-10 02:30:00", datetime(2024, 3, 10, 10, 30, tzinfo=UTC)),
    ("America/Los_Angeles", "2024-11-03 01:30:00", datetime(2024, 11, 3, 8, 30, tzinfo=UTC)),
    ("Europe/Paris", "2024-03-31 02:00:00", datetime(2024, 3, 31, 1, tzinfo=UTC)),
]


@pytest.mark.parametrize(("zone", "text", "expected"), LOCAL_TIMES)
def test_a_timestamp_without_a_zone_is_in_the_readers(zone: str, text: str, expected: datetime, tmp_path: Path) -> None:
    table = _table(tmp_path, INSTANT, [text, "2024-01-02T03:04:05Z"])
    absolute = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert _values(table.path, time_zone=zone) == [expected, absolute]


@pytest.mark.parametrize("zone", ["", "Nowhere", "+25:00", "America", "../etc", "+01:02:03"])
def test_a_zone_that_nobody_knows_is_an_error(zone: str) -> None:
    with pytest.raises(errors.InvalidTimeZone):
        arrow_zone(zone)


@given(
    st.datetimes(datetime(1902, 1, 1), datetime(2037, 1, 1)),
    st.sampled_from(["America/New_York", "Australia/Lord_Howe", "Africa/Cairo"]),
)
def test_local_times_are_resolved_as_pythons_own_database_resolves_them(moment: datetime, zone: str) -> None:
    from zoneinfo import ZoneInfo

    # PEP 495: fold=0 takes the earlier of two, and the offset from before a gap, which is what Java does.
    expected = moment.replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(UTC)
    assert instants(pa.array([moment], LOCAL), zone)[0].as_py() == expected


@given(st.lists(st.none() | st.dates(), min_size=1), st.data())
def test_a_filter_on_a_partition_column_keeps_exactly_the_matching_files(values: list[Any], data: Any) -> None:
    texts = pa.array(
        [{"p": None if value is None else value.isoformat()} for value in values], pa.struct([("p", pa.string())])
    )
    typed = typed_partition(texts, [pa.field("p", pa.date32())], "UTC", "log")
    assert [row["p"] for row in typed.to_pylist()] == values


def test_partition_filters_use_typed_values(tmp_path: Path) -> None:
    table = _table(tmp_path, pa.int32(), ["9", "10", None])
    scan = lakescan.open(table.path).snapshot().scan().filter(col("p") < 10).build()
    assert scan.to_arrow()["p"].to_pylist() == [9]
    assert scan.files().num_rows == 1


def test_old_values_of_a_widened_partition_column_are_read_in_the_new_type(tmp_path: Path) -> None:
    for type_, texts, expected in [
        (pa.decimal128(12, 2), ["5", "6.25"], [Decimal("5.00"), Decimal("6.25")]),
        (LOCAL, ["2024-01-01", "2024-01-01 10:00:00"], [datetime(2024, 1, 1), datetime(2024, 1, 1, 10)]),
        (pa.float64(), ["7", "0.1"], [7.0, 0.1]),
    ]:
        assert _values(_table(tmp_path / str(type_), type_, texts).path) == expected
