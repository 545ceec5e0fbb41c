"""Strings read as values of another type, by the rules of Spark's ANSI cast.

A string that Spark refuses is refused here (ValueError with the reason), and one that is read here gets the
value Spark gives it. The session time zone is UTC; a few rare spellings (zone names, years beyond 9999) are refused.
"""

import re
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from lakescan.types.calendar_units import FARTHEST_OFFSET

_BLANK = "".join(map(chr, range(0x21))) + "\x7f"
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_DOUBLE = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)[df]?", re.ASCII | re.IGNORECASE)
_SPECIAL_DOUBLE = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)
_DAY = r"\+?(?P<year>\d{4,6})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2})"
_DATE = re.compile(_DAY + r"(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_TIMESTAMP = re.compile(
    _DAY + r"(?:[ T](?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d*))?"
    r"(?P<zone> ?(?:Z|UTC|GMT|(?P<sign>[+-])(?P<zone_hour>\d{1,2})(?::(?P<zone_minute>\d{1,2}))?))?)?)?)?)?)?",
    re.ASCII,
)


def value_of_text(text: str, wanted: pa.DataType) -> Any:
    """The Python value of `text` as the type `wanted`; ValueError when it has none."""
    trimmed = text.strip(_BLANK)
    value: Any = None
    if pa.types.is_boolean(wanted):
        lowered = trimmed.lower()
        value = True if lowered in _TRUE else False if lowered in _FALSE else None
    elif pa.types.is_signed_integer(wanted):
        value = _integer(trimmed, wanted.bit_width)
    elif pa.types.is_floating(wanted):
        value = _floating(trimmed, wanted)
    elif pa.types.is_decimal(wanted):
        value = _decimal(trimmed, wanted)
    elif pa.types.is_date(wanted):
        value = _date(trimmed)
    elif pa.types.is_timestamp(wanted):
        value = _timestamp(trimmed, wanted.tz is not None)
    if value is None:
        raise ValueError(f"the text {text!r} is no {wanted}")
    return value


def _integer(text: str, bits: int) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def _floating(text: str, wanted: pa.DataType) -> float | None:
    if _SPECIAL_DOUBLE.fullmatch(text):
        return float(text)
    match = _DOUBLE.fullmatch(text)
    if not match:
        return None
    if pa.types.is_float32(wanted):
        # Going by way of a double would round twice.
        return _nearest_float32(match[1])
    return float(match[1])


def _nearest_float32(text: str) -> float | None:
    value: float | None = pa.scalar(text.lstrip("+")).cast(pa.float32()).as_py()
    return value


def _decimal(text: str, wanted: pa.DataType) -> Decimal | None:
    try:
        value: Decimal | None = pa.scalar(Decimal(text), wanted).as_py()
    except (InvalidOperation, pa.ArrowInvalid):
        return None
    return value


def _date(text: str) -> date | None:
    match = _DATE.fullmatch(text)
    return _day(match) if match else None


def _day(match: re.Match[str]) -> date | None:
    try:
        return date(int(match["year"]), int(match["month"] or 1), int(match["day"] or 1))
    except ValueError:
        return None


def _timestamp(text: str, with_zone: bool) -> datetime | None:
    match = _TIMESTAMP.fullmatch(text)
    if not match or (match["zone"] and not with_zone):
        return None
    offset = timedelta(hours=int(match["zone_hour"] or 0), minutes=int(match["zone_minute"] or 0))
    if offset > FARTHEST_OFFSET or int(match["zone_minute"] or 0) > 59:
        return None
    day = _day(match)
    microsecond = int((match["fraction"] or "")[:6].ljust(6, "0"))
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    try:
        local = datetime.combine(day, time(hour, minute, second, microsecond)) if day else None
        utc = local and (local + offset if match["sign"] == "-" else local - offset)
    except (ValueError, OverflowError):
        return None
    return utc.replace(tzinfo=timezone.utc) if utc and with_zone else utc
