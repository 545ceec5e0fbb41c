"""Session time zones, and local times in them, as Spark understands both.

A zone may be spelled in every way that Spark accepts: a region, an offset, or one of Java's old short names. A local
time that a zone skipped is moved forward by the length of the gap, and of two equal ones the earlier is meant.
"""

import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import InvalidTimeZone, UnknownTimeZone

UNKNOWN = ""
"""In place of a zone where the session's is not known: a local time is then refused, never taken in another zone."""

_OFFSET = re.compile(r"^(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?$")
# Java's ZoneId.SHORT_IDS, which Spark passes to every zone it parses.
_SHORT = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
    "EST": "-05:00",
    "MST": "-07:00",
    "HST": "-10:00",
}
_UTC = frozenset({"Z", "UTC", "GMT", "UT"})


def short_zone(name: str) -> str:
    """What one of Java's old short names stands for; any other name as it is."""
    return _SHORT.get(name, name)


def arrow_zone(name: str) -> str:
    """The zone as Arrow spells it: a region of the time zone database, or an offset of hours and minutes."""
    zone = short_zone(name)
    if zone in _UTC:
        return "UTC"
    if offset := _OFFSET.match(zone):
        sign, hours, minutes, seconds = offset.groups()
        if int(hours) > 18 or int(minutes or 0) > 59 or int(seconds or 0):
            raise InvalidTimeZone(name)
        return f"{sign}{int(hours):02d}:{int(minutes or 0):02d}"
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidTimeZone(name) from error
    return zone


def instants(local: pa.Array, zone: str) -> pa.Array:
    """Local times (without a zone, in microseconds) as moments in UTC."""
    target = pa.timestamp("us", "UTC")
    if zone == UNKNOWN and local.null_count < len(local):
        raise UnknownTimeZone
    name = arrow_zone(zone or "UTC")
    if name == "UTC":
        return local.cast(target)
    moments = pc.assume_timezone(local, name, ambiguous="earliest", nonexistent="latest")
    skipped = pc.not_equal(pc.local_timestamp(moments), local)
    if not pc.any(skipped).as_py():
        return moments.cast(target)
    # Arrow gives the end of the gap. Java counts with the offset from before it, which is that of a moment earlier.
    before = pc.subtract(moments, pa.scalar(1, pa.duration("us")))
    offset = pc.subtract(pc.local_timestamp(before), before.cast(target).cast(pa.timestamp("us")))
    return pc.if_else(skipped, pc.subtract(local, offset).cast(target), moments.cast(target))
