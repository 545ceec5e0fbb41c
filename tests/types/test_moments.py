"""Times as text: what Spark's cast to a timestamp makes of them."""

from datetime import datetime, timezone

import pytest

from lakescan.errors import InvalidVersion, UnknownTimeZone
from lakescan.types.moments import moment_of
from lakescan.types.time_zones import UNKNOWN

PARIS = "Europe/Paris"


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2020", "2019-12-31T23:00"),
        ("2020-07", "2020-06-30T22:00"),
        ("2020-7-4", "2020-07-03T22:00"),
        (" 2020-07-04 ", "2020-07-03T22:00"),
        ("2020-07-04 12", "2020-07-04T10:00"),
        ("2020-07-04T12:3", "2020-07-04T10:03"),
        ("2020-07-04 12:30:05.5", "2020-07-04T10:30:05.500"),
        ("2020-07-04 12:30:05.", "2020-07-04T10:30:05"),
        ("2020-07-04 12:30:05.123456789", "2020-07-04T10:30:05.123456"),
        ("2020-07-04 12:30:05Z", "2020-07-04T12:30:05"),
        ("2020-07-04 12:30:05+02:00", "2020-07-04T10:30:05"),
        ("2020-07-04 12:30:05 America/New_York", "2020-07-04T16:30:05"),
        ("2020-07-04T12:30Z", "2020-07-04T12:30"),
        ("2021-03-28 02:30:00", "2021-03-28T01:30"),
    ],
)
def test_a_text_is_the_moment_that_spark_reads(text: str, utc: str) -> None:
    assert moment_of(text, PARIS) == datetime.fromisoformat(f"{utc}+00:00")


@pytest.mark.parametrize(
    "text", ["", "yesterday", "20", "2020-13", "2020-07-32", "2020-07-04T", "2020-07-04 12:00:00 Nowhere", "2020-7-4x"]
)
def test_a_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidVersion, match="write a time as"):
        moment_of(text, PARIS)


def test_a_time_without_a_zone_is_refused_where_the_zone_is_not_known() -> None:
    with pytest.raises(UnknownTimeZone, match="timeZone"):
        moment_of("2020-07-04", UNKNOWN)
    assert moment_of("2020-07-04 00:00:00Z", UNKNOWN) == datetime(2020, 7, 4, tzinfo=timezone.utc)
