"""A time as text, read as Spark casts text to a timestamp, and as a moment.

What is left out from the end is the beginning of what is there: `2020-07` is the first moment of that July. A time that
names no zone is in the reader's. A text that Spark does not read, but ISO 8601 does, is read as ISO 8601 says.
"""

import re
from datetime import datetime, timedelta, timezone

import pyarrow as pa

from lakescan.errors import InvalidVersion
from lakescan.types.time_zones import arrow_zone, instants

_TEXT = re.compile(
    r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?\s*(\S.*)?)?)?)?)?)?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def moment_of(given: str | datetime, zone: str) -> datetime:
    """The moment, with a zone."""
    try:
        moment, own = (given, None) if isinstance(given, datetime) else _parsed(given.strip())
    except ValueError as error:
        raise _invalid(given) from error
    if moment.tzinfo is not None:
        return moment
    local = pa.array([moment], pa.timestamp("us"))
    micros = instants(local, zone if own is None else own).cast(pa.int64())[0].as_py()
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError as error:
        raise _invalid(given) from error


def _invalid(given: str | datetime) -> InvalidVersion:
    return InvalidVersion(given, "write a time as 2024-01-31 or 2024-01-31T12:00:00+00:00.")


def _parsed(text: str) -> tuple[datetime, str | None]:
    """A time and the zone that it names, None where it names none; or a time with a zone of its own."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return datetime.fromisoformat(text.replace("Z", "+00:00")), None
    year, month, day, hour, minute, second, fraction, own = match.groups()
    micros = int((fraction or "")[:6].ljust(6, "0"))
    local = datetime(
        int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), micros
    )
    return local, None if own is None else arrow_zone(own.strip())
