"""Which instant a version or a moment means.

A version is an instant of the timeline, written as the timeline writes it. A moment means the newest completed instant
that is not after it; an instant spells a time in the zone that the table's settings name, and a moment without a zone
is in the reader's.
"""

from datetime import datetime, timezone

from lakescan.errors import InvalidVersion, VersionNotFound
from lakescan.formats.hudi.timeline.timeline import Timeline
from lakescan.types.moments import moment_of


def instant_named(timeline: Timeline, version: str) -> str:
    """The completed instant of that name."""
    if not version.isdigit():
        raise InvalidVersion(version, "a version of a Hudi table is an instant of its timeline: 14 or 17 digits.")
    if version not in timeline.instants and version != timeline.newest():
        raise _not_found(timeline, f"the instant {version}")
    return version


def instant_at(timeline: Timeline, moment: str | datetime, zone: str) -> str:
    """The newest completed instant at a moment."""
    text = _as_instant(timeline, moment, zone)
    reached = [instant for instant in timeline.instants if instant.ljust(17, "9") <= text]
    if not reached:
        raise _not_found(timeline, f"{moment_of(moment, zone).isoformat()}, which is before its first commit")
    return reached[-1]


def instants_between(
    timeline: Timeline, start: int | str | datetime, end: int | str | datetime | None, zone: str
) -> tuple[str, str]:
    """The first and the last completed instant of a range of instants or times, both ends included."""
    last = timeline.newest() if end is None else _instant(timeline, end, zone)
    if _is_instant(start):
        first = instant_named(timeline, str(start))
    else:
        first = first_instant_from(timeline, start if isinstance(start, datetime) else str(start), zone)
    if first > last:
        raise InvalidVersion(start, f"no commit is between it and {last}.")
    return first, last


def first_instant_from(timeline: Timeline, moment: str | datetime, zone: str) -> str:
    """The first completed instant that is not before a moment; an error where it may be one that was archived."""
    text = _as_instant(timeline, moment, zone)
    first = next((instant for instant in timeline.instants if instant.ljust(17, "0") >= text), None)
    if first is None:
        raise InvalidVersion(moment, f"no commit is between it and {timeline.newest()}.")
    if first == timeline.instants[0] and timeline.has_archived:
        raise _not_found(timeline, f"{moment_of(moment, zone).isoformat()}, from which on commits were archived")
    return first


def _instant(timeline: Timeline, asked: int | str | datetime, zone: str) -> str:
    if not _is_instant(asked):
        return instant_at(timeline, asked if isinstance(asked, datetime) else str(asked), zone)
    return instant_named(timeline, str(asked))


def _is_instant(asked: object) -> bool:
    return str(asked).isdigit()


def _as_instant(timeline: Timeline, moment: str | datetime, zone: str) -> str:
    """A moment written as the table's timeline would write it."""
    local = moment_of(moment, zone).astimezone(None if timeline.table.timezone.lower() == "local" else timezone.utc)
    return f"{local:%Y%m%d%H%M%S}{local.microsecond // 1000:03d}"


def _not_found(timeline: Timeline, wanted: str) -> VersionNotFound:
    earliest = timeline.instants[0] if timeline.instants else timeline.newest()
    return VersionNotFound(timeline.storage.location, wanted, earliest, timeline.newest())
