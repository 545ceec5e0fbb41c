"""Texts of partition values in whatever spelling Delta Spark takes, one text at a time.

Delta Spark casts them by Spark's rules outside of ANSI mode: blanks around a value, signs, numbers cut or rounded to
their type, dates and times that are not written in full. What Spark makes of a text is what is given here; where Spark
has no value (and Delta Spark shows a null) there is None, as for a time without a date, which Spark reads as today's.
"""

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

_BLANK = "".join(map(chr, range(0x21))) + "\x7f"
_JAVA_BLANK = "".join(map(chr, range(0x21)))
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
_INTEGER = re.compile(r"(?!$|[+-]$)([+-]?)(\d*)(?:\.\d*)?", re.ASCII)
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_DECIMAL = re.compile(_NUMBER, re.ASCII)
_FLOAT = re.compile(rf"({_NUMBER})[dDfF]?", re.ASCII)
_SPECIAL_FLOAT = re.compile(r"[+-]?(?:inf|infinity)|nan", re.IGNORECASE)
_DATE = re.compile(r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_TIMESTAMP = re.compile(
    r"([+-]?)(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})"
    r"(?:\.(\d*))?([^\d.].*)?)?)?)?)?)?",
    re.ASCII | re.DOTALL,
)
_DIGITS = Context(prec=100, rounding=ROUND_HALF_UP)
_DAY = 86_400_000_000


@dataclass(frozen=True)
class LocalTime:
    """Microseconds since 1970 on the clock of a zone; of the reader's where the text names none."""

    microseconds: int
    zone: str | None


def value_of(text: str, wanted: pa.DataType) -> Any:
    """What Spark reads: a date as days since 1970, a timestamp as a `LocalTime`; None where it is no such value."""
    kinds = pa.types
    if kinds.is_boolean(wanted):
        lowered = text.strip(_BLANK).lower()
        return True if lowered in _TRUE else False if lowered in _FALSE else None
    if kinds.is_integer(wanted):
        return _integer(text.strip(_BLANK), wanted.bit_width)
    if kinds.is_floating(wanted):
        return _floating(text.strip(_JAVA_BLANK), wanted)
    if kinds.is_decimal(wanted):
        return _decimal(text.strip(_JAVA_BLANK), wanted)
    if kinds.is_date(wanted):
        return _date(text.strip(_BLANK))
    return _local_time(text.strip(_BLANK)) if kinds.is_timestamp(wanted) else None


def _integer(text: str, bits: int) -> int | None:
    match = _INTEGER.fullmatch(text)
    if not match:
        return None
    value = int(match[1] + (match[2] or "0"))
    return value if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def _floating(text: str, wanted: pa.DataType) -> float | None:
    if _SPECIAL_FLOAT.fullmatch(text):
        return float(text)
    match = _FLOAT.fullmatch(text)
    if not match:
        return None
    value = float(match[1])
    if pa.types.is_float64(wanted):
        return value
    if abs(value) < 1e38:
        # Going by way of a double would round twice.
        nearest: float = pa.scalar(match[1].lstrip("+")).cast(pa.float32()).as_py()
        return nearest
    return float(pa.scalar(value, pa.float64()).cast(pa.float32(), safe=False).as_py())


def _decimal(text: str, wanted: pa.DataType) -> Decimal | None:
    if not _DECIMAL.fullmatch(text):
        return None
    try:
        value = Decimal(text).quantize(Decimal(1).scaleb(-wanted.scale), context=_DIGITS)
    except InvalidOperation:
        return None
    return value if len(value.as_tuple().digits) <= wanted.precision else None


def _date(text: str) -> int | None:
    match = _DATE.fullmatch(text)
    days = None if match is None else _days(*match.groups())
    return days if days is not None and -(2**31) <= days < 2**31 else None


def _local_time(text: str) -> LocalTime | None:
    match = _TIMESTAMP.fullmatch(text)
    days = None if match is None else _days(*match.groups()[:4])
    if match is None or days is None:
        return None
    hour, minute, second = (int(part or 0) for part in match.groups()[4:7])
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int((match[8] or "")[:6].ljust(6, "0"))
    moment = days * _DAY + (hour * 3600 + minute * 60 + second) * 1_000_000 + fraction
    zone = None if match[9] is None else _zone(match[9].strip(_JAVA_BLANK))
    return LocalTime(moment, zone) if -(2**63) <= moment < 2**63 else None


def _zone(name: str) -> str:
    """Spark also takes offsets with one digit where Java wants two."""
    name = re.sub(r"^([+-])(\d):", r"\g<1>0\2:", name)
    return re.sub(r"^([+-]\d\d):(\d)$", r"\1:0\2", name)


def _days(sign: str, year_text: str, month_text: str | None, day_text: str | None) -> int | None:
    """Days since 1970, in the proleptic calendar, which has a year 0."""
    year = -int(year_text) if sign == "-" else int(year_text)
    month, day = int(month_text or 1), int(day_text or 1)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]:
        return None
    # Years that begin in March have their leap day at the end.
    since, from_march = year - (month < 3), (month + 9) % 12
    return since * 365 + since // 4 - since // 100 + since // 400 + (153 * from_march + 2) // 5 + day - 1 - 719_468
