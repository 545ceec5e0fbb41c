"""How far Java's old calendar was from a zone's clocks before 1900, by the table that Spark carries.

Java's old calendar counted moments before 1900 with the zone's standard offset of today; the clocks then showed local
mean time. Spark does not ask the reading machine's time zones what that was, which change with every release of them,
but a table of its own. This is the same table: one line per group of zones in `zones_before_1900.txt`.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from lakescan.types.time_zones import arrow_zone, short_zone

_JAVA_OFFSET = re.compile(r"GMT([+-])(\d{1,2})(?::?(\d{2}))?")
# Zones of one offset for Java, which the table leaves out.
_FIXED = {"EST": -18_000, "MST": -25_200, "HST": -36_000}


@dataclass(frozen=True)
class OldZone:
    """A zone before 1900, all in seconds."""

    offset: int
    """The standard offset that the old calendar used."""
    until: tuple[int, ...]
    """Moments, as the old calendar counted them, at which `later` changes."""
    later: tuple[int, ...]
    """How much later the moment that was meant is; one more than in `until`."""


def old_zone(name: str) -> OldZone | None:
    """The zone that a file's footer names; None for a region that is younger than the table."""
    named = name if name in _FIXED else short_zone(name)
    if zone := zones().get(named):
        return zone
    if name in _FIXED:
        return OldZone(_FIXED[name], (), (0,))
    spelled = arrow_zone(name)
    if spelled != "UTC" and spelled[0] not in "+-":
        return None
    # Of all the spellings of an offset that Spark takes Java's old time zones know one, and take the others for GMT.
    offset = _JAVA_OFFSET.fullmatch(name)
    sign, hours, minutes = offset.groups("0") if offset else ("+", "0", "0")
    return OldZone(int(f"{sign}{int(hours) * 3600 + int(minutes) * 60}"), (), (0,))


@cache
def zones() -> dict[str, OldZone]:
    text = files("lakescan.reader").joinpath("zones_before_1900.txt").read_text()
    by_name = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        numbers, names = line.split("\t")
        offset, first, *rest = map(int, numbers.split())
        zone = OldZone(offset, tuple(rest[::2]), (first, *rest[1::2]))
        by_name.update(dict.fromkeys(names.split(), zone))
    return by_name
