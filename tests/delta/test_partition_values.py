"""Partition values of every type, as text in the log, become exactly the values that Delta Spark reads from them."""

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
from lakescan.delta.partition_values import typed_partition
from lakescan.predicate import col
from lakescan.time_zones import arrow_zone, instants
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


def _table(root: Path, type_: pa.DataType, texts: list[str | None]) -> DeltaBuilder:
    """One file a text; the path says something else, and the partition column is in the middle of the schema."""
    table = DeltaBuilder(root, pa.schema([("a", pa.int64()), ("p", type_), ("z", pa.int64())]), partition_by=["p"])
    for n, text in enumerate(texts):
        partition = {"p": text}
        table.append(pa.table({"a": [n], "z": [-n]}), partition=partition, name=f"p=elsewhere/{n}.parquet")
    return table


def _values(path: str, **arguments: Any) -> list[Any]:
    found = lakescan.open(path, **arguments).snapshot().scan().build().to_arrow()
    assert found.column_names == ["a", "p", "z"]
    return found.sort_by("a")["p"].to_pylist()


@pytest.mark.parametrize(("type_", "text", "expected"), CASES, ids=str)
def test_a_partition_value_is_what_its_text_says_and_not_what_the_path_says(
    type_: pa.DataType, text: str, expected: Any, tmp_path: Path
) -> None:
    assert _values(_table(tmp_path, type_, [text, None, ""]).path) == [expected, None, None]


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
    found = typed_partition(texts, [pa.field("p", pa.date32())], "UTC", "log")
    assert [row["p"] for row in found.to_pylist()] == values


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
