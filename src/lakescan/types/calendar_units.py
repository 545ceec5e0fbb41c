"""Years, quarters, months, weeks and smaller units: what SQL calls them, where they start and how long they may be.

Generated columns and filters on functions of a column both cut times to such units. The date and the hour of a moment
depend on a time zone, which is often not known: `FARTHEST_OFFSET` is how far any zone can be from UTC.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

FARTHEST_OFFSET = timedelta(hours=18)

UNITS: Mapping[str, str] = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "year"),
    "QUARTER": "quarter",
    **dict.fromkeys(("MONTH", "MM", "MON"), "month"),
    "WEEK": "week",
    **dict.fromkeys(("DAY", "DD"), "day"),
    "HOUR": "hour",
    "MINUTE": "minute",
    "SECOND": "second",
}
"""The units that DATE_TRUNC takes, by each of their names in SQL."""

# The longest that a unit of whole days can be: from its first day so many further is in the next one.
_MOST_DAYS = {"year": 366, "quarter": 92, "month": 31, "week": 7}

DATE_UNITS: Mapping[str, str] = {name: unit for name, unit in UNITS.items() if unit in _MOST_DAYS}
"""Those among them that TRUNC cuts a date to."""

LENGTHS: Mapping[str, timedelta] = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=3),
    "day": timedelta(days=2),
    "week": timedelta(days=8),
    "month": timedelta(days=32),
    "quarter": timedelta(days=93),
    "year": timedelta(days=367),
}
"""No shorter than any such unit is anywhere: days, and with them longer units, are longer where clocks are moved."""


def date_of(moment: Any) -> date:
    """The day of a date or of a timestamp."""
    return date(moment.year, moment.month, moment.day)


def start_of(unit: str, moment: Any) -> date:
    """The first day of the year, quarter, month or week (which begins on a Monday) that a moment is in."""
    match unit:
        case "year":
            return date(moment.year, 1, 1)
        case "quarter":
            return date(moment.year, moment.month - (moment.month - 1) % 3, 1)
        case "month":
            return date(moment.year, moment.month, 1)
        case "week":
            return date_of(moment) - timedelta(days=moment.weekday())
    raise ValueError(f"{unit} is not a unit of whole days")


def next_start(unit: str, moment: Any) -> date:
    """The first day of the unit after the one that a moment is in."""
    return start_of(unit, start_of(unit, moment) + timedelta(days=_MOST_DAYS[unit]))
