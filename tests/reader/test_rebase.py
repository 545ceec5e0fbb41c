"""Dates and times in the hybrid calendar come out as the ones their writers meant."""

from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakescan.reader.rebase import HybridCalendar, hybrid_calendar, rebased
from lakescan.reader.zones_before_1900 import old_zone

LEGACY = HybridCalendar(True, True, "UTC")
CUTOVER = date(1582, 10, 15)
EPOCH = 719_163  # 1970-01-01 as an ordinal of Python's, which counts days in the proleptic Gregorian calendar


def _julian_day_number(year: int, month: int, day: int) -> int:
    """Days to a date of the Julian calendar, by the textbook formula, since 1970-01-01 of ours."""
    shift = (14 - month) // 12
    years, months = year + 4800 - shift, month + 12 * shift - 3
    return day + (153 * months + 2) // 5 + 365 * years + years // 4 - 32_083 - 2_440_588


def _dates(days: list[int | None]) -> pa.Array:
    return pa.array(days, pa.int32()).cast(pa.date32())


@given(st.dates(date(1, 1, 1), date(1582, 10, 4)))
@example(date(1582, 10, 4))
def test_a_date_before_the_cutover_keeps_its_year_month_and_day(meant: date) -> None:
    dates = rebased(_dates([_julian_day_number(meant.year, meant.month, meant.day), None]), LEGACY)
    assert dates.cast(pa.int32()).to_pylist() == [meant.toordinal() - EPOCH, None]


@pytest.mark.parametrize("year", [100, 200, 300, 500, 600, 700, 900, 1000, 1100, 1300, 1400, 1500])
def test_a_leap_day_that_only_the_old_calendar_has_becomes_the_first_of_march(year: int) -> None:
    dates = rebased(_dates([_julian_day_number(year, 2, 29)]), LEGACY)
    assert dates.to_pylist() == [date(year, 3, 1)]


@given(st.dates(CUTOVER))
def test_a_date_after_the_cutover_stays(meant: date) -> None:
    array = pa.array([meant], pa.date32())
    assert rebased(array, LEGACY) is array


def test_dates_inside_structs_lists_and_maps_are_moved_too() -> None:
    day = pa.date32()
    type_ = pa.struct([("l", pa.list_(day)), ("m", pa.map_(pa.string(), day)), ("s", pa.struct([("x", day)]))])
    stored = _dates([_julian_day_number(1500, 1, 1)])[0].as_py()
    array = pa.array([{"l": [stored, None], "m": [("k", stored)], "s": {"x": stored}}, None], type_)
    meant = date(1500, 1, 1)
    expected = [{"l": [meant, None], "m": [("k", meant)], "s": {"x": meant}}, None]
    assert rebased(array, LEGACY).to_pylist() == expected
    assert rebased(array.slice(1), LEGACY).to_pylist() == [None]


@given(st.dates(date(1, 1, 2), date(1582, 10, 3)), st.integers(0, 86_399_999_999))
def test_a_timestamp_in_utc_keeps_its_date_and_time(meant: date, time: int) -> None:
    stored = _julian_day_number(meant.year, meant.month, meant.day) * 86_400_000_000 + time
    array = pa.array([stored]).cast(pa.timestamp("us", "UTC"))
    wanted = (meant.toordinal() - EPOCH) * 86_400_000_000 + time
    assert rebased(array, LEGACY).cast(pa.int64()).to_pylist() == [wanted]


# Spark has had times without a zone only since it writes the calendar of today.
def test_times_without_a_zone_are_never_moved_and_those_in_int96_by_a_note_of_their_own() -> None:
    old = pa.array([-200_000 * 86_400_000_000]).cast(pa.timestamp("us"))
    assert rebased(old, LEGACY) is old
    moved = rebased(old, LEGACY, [True]).cast(pa.int64()).to_pylist()
    assert moved == [-200_009 * 86_400_000_000]
    assert rebased(old, HybridCalendar(True, False, "UTC"), [True]) is old
    both = pa.StructArray.from_arrays([old, pa.array([[1]]), old], ["kept", "list", "moved"])
    moments = rebased(both, HybridCalendar(False, True, "UTC"), [False, False, True])
    assert moments.field("kept").equals(old)
    assert moments.field("moved").cast(pa.int64()).to_pylist() == moved


def _micros(*moments: int) -> pa.Array:
    return pa.array([moment * 1_000_000 for moment in moments]).cast(pa.timestamp("us", "UTC"))


# Brussels time, not Amsterdam's own: this machine's time zones may know either, Spark's table knows one.
def test_moments_before_1900_are_moved_by_sparks_table_whatever_this_machines_time_zones_say() -> None:
    calendar = HybridCalendar(True, False, "Europe/Amsterdam")
    moments = rebased(_micros(-(10**10), -2_450_998_801, -2_450_998_800, -2_208_988_801, -2_208_988_800), calendar)
    assert moments.equals(
        _micros(-(10**10) + 2550, -2_450_998_801 + 2550, -2_450_998_800 + 3600, -2_208_988_801 + 3600, -2_208_988_800)
    )


@pytest.mark.parametrize(
    ("zone", "offset", "later"),
    [
        ("PST", -28_800, -422),
        ("America/Los_Angeles", -28_800, -422),
        ("EST", -18_000, 0),
        ("GMT+1", 3600, 0),
        ("GMT-05:30", -19_800, 0),
        ("+01:00", 0, 0),  # as Java's old time zones, which know offsets only after GMT
        ("UTC+3", 0, 0),
        ("Z", 0, 0),
    ],
)
def test_zones_of_footers_are_understood_as_javas_old_time_zones_do(zone: str, offset: int, later: int) -> None:
    old = old_zone(zone)
    assert old is not None
    assert (old.offset, old.later[0]) == (offset, later)


def test_a_zone_that_is_younger_than_sparks_table_is_looked_up_on_this_machine() -> None:
    assert old_zone("America/Ciudad_Juarez") is None
    calendar = HybridCalendar(True, False, "America/Ciudad_Juarez")
    assert rebased(_micros(-(10**10)), calendar).equals(_micros(-(10**10) + 356))


FOOTERS: list[tuple[dict[bytes, bytes] | None, bool, HybridCalendar | None]] = [
    (None, False, None),
    ({}, True, None),
    ({b"org.apache.spark.version": b"4.0.0"}, False, None),
    ({b"org.apache.spark.version": b"3.0.1"}, False, None),
    ({b"org.apache.spark.version": b"3.0.1"}, True, HybridCalendar(False, True, "UTC")),
    ({b"org.apache.spark.version": b"2.4.8"}, False, HybridCalendar(True, False, "UTC")),
    ({b"org.apache.spark.version": b"2.4.8"}, True, HybridCalendar(True, True, "UTC")),
    (
        {b"org.apache.spark.version": b"3.5.0", b"org.apache.spark.legacyDateTime": b""},
        False,
        HybridCalendar(True, False, "UTC"),
    ),
    (
        {
            b"org.apache.spark.version": b"3.5.0",
            b"org.apache.spark.legacyDateTime": b"",
            b"org.apache.spark.timeZone": b"Asia/Tokyo",
        },
        True,
        HybridCalendar(True, False, "Asia/Tokyo"),
    ),
    (
        {b"org.apache.spark.version": b"3.5.0", b"org.apache.spark.legacyINT96": b""},
        True,
        HybridCalendar(False, True, "UTC"),
    ),
    ({b"org.apache.spark.version": b"3.5.0", b"org.apache.spark.legacyINT96": b""}, False, None),
    ({b"org.apache.spark.legacyINT96": b"", b"org.apache.spark.legacyDateTime": b""}, True, None),
]


@pytest.mark.parametrize(("footer", "has_int96", "expected"), FOOTERS, ids=str)
def test_a_files_footer_says_which_calendar_it_is_in(footer: Any, has_int96: bool, expected: Any) -> None:
    assert hybrid_calendar(footer, has_int96) == expected
