from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakescan.types.calendar_units import DATE_UNITS, LENGTHS, UNITS, next_start, start_of

_DAYS = st.dates(date(1, 1, 8), date(9998, 12, 31))
_UNITS = sorted(set(DATE_UNITS.values()))


@given(_DAYS, st.sampled_from(_UNITS))
def test_every_day_lies_between_the_start_of_its_unit_and_that_of_the_next(day: date, unit: str) -> None:
    first, after = start_of(unit, day), next_start(unit, day)
    assert first <= day < after
    assert start_of(unit, after) == after
    assert start_of(unit, after - timedelta(days=1)) == first
    assert after - first <= LENGTHS[unit]


@given(_DAYS, st.sampled_from(_UNITS))
def test_a_timestamp_is_in_the_unit_of_its_day(day: date, unit: str) -> None:
    assert start_of(unit, datetime(day.year, day.month, day.day, 23, 59, 59)) == start_of(unit, day)


def test_a_week_begins_on_a_monday() -> None:
    assert start_of("week", date(2024, 3, 10)) == date(2024, 3, 4)


def test_every_unit_has_a_length_and_only_those_of_whole_days_a_first_day() -> None:
    assert set(UNITS.values()) == set(LENGTHS)
    for unit in set(UNITS.values()) - set(_UNITS):
        with pytest.raises(ValueError, match=unit):
            start_of(unit, date(2024, 3, 10))
