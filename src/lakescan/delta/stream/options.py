"""A stream's options, named as in Delta Spark where it has them.

Every option is checked when the stream is made. A name that is not an option is refused, because a misspelled
starting point would otherwise read other rows than were asked for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lakescan.errors import InvalidOption
from lakescan.scan.stream import Limits

DEFAULT_LIMITS = Limits(files=1000)
LATEST = "latest"

_NAMES = (
    "startingVersion",
    "startingTimestamp",
    "startingVersionMode",
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "ignoreDeletes",
    "ignoreChanges",
    "skipChangeCommits",
    "readChangeFeed",
    "schemaTrackingLocation",
)
_UNITS = {"b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30}


@dataclass(frozen=True)
class StreamOptions:
    """What a stream was asked for."""

    starting_version: int | str | None = None
    """A number, `latest`, or None."""
    starting_timestamp: str | None = None
    relaxed: bool = False
    limits: Limits = DEFAULT_LIMITS
    limited_by_user: bool = False
    ignore_deletes: bool = False
    ignore_changes: bool = False
    skip_change_commits: bool = False
    read_change_feed: bool = False
    schema_tracking_location: str | None = None

    @staticmethod
    def of(options: Mapping[str, str]) -> "StreamOptions":
        """From options as text; `path` and `timeZone` are not the stream's own."""
        by_name = {name.lower(): name for name in _NAMES}
        given: dict[str, str] = {}
        for key, value in options.items():
            if key.lower() in ("path", "timezone"):
                continue
            if key.lower() not in by_name:
                raise InvalidOption(key, f"there is no such option of a stream. There are: {', '.join(_NAMES)}.")
            given[by_name[key.lower()]] = value
        if "startingVersion" in given and "startingTimestamp" in given:
            raise InvalidOption("startingTimestamp", "startingVersion is given too. Give one of the two.")
        ignoring = [name for name in ("ignoreDeletes", "ignoreChanges", "skipChangeCommits") if _flag(given, name)]
        if ignoring and _flag(given, "readChangeFeed"):
            raise InvalidOption(ignoring[0], "readChangeFeed gives every change as a row. Leave one of the two out.")
        limits = Limits(_positive(given, "maxFilesPerTrigger", _count), _positive(given, "maxBytesPerTrigger", _bytes))
        chosen = limits != Limits()
        return StreamOptions(
            starting_version=_version(given.get("startingVersion")),
            starting_timestamp=given.get("startingTimestamp"),
            relaxed=_mode(given.get("startingVersionMode", "exact")),
            limits=limits if chosen else DEFAULT_LIMITS,
            limited_by_user=chosen,
            ignore_deletes=_flag(given, "ignoreDeletes"),
            ignore_changes=_flag(given, "ignoreChanges"),
            skip_change_commits=_flag(given, "skipChangeCommits"),
            read_change_feed=_flag(given, "readChangeFeed"),
            schema_tracking_location=given.get("schemaTrackingLocation"),
        )


def _version(text: str | None) -> int | str | None:
    if text is None or text.lower() == LATEST:
        return None if text is None else LATEST
    if not text.isdigit():
        raise InvalidOption("startingVersion", f"{text!r} is neither a version's number nor {LATEST!r}.")
    return int(text)


def _mode(text: str) -> bool:
    if text.lower() not in ("exact", "relaxed"):
        raise InvalidOption("startingVersionMode", f"{text!r} is neither 'exact' nor 'relaxed'.")
    return text.lower() == "relaxed"


def _flag(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "false").lower()
    if text not in ("true", "false"):
        raise InvalidOption(name, f"{given[name]!r} is neither 'true' nor 'false'.")
    return text == "true"


def _positive(given: Mapping[str, str], name: str, read: Callable[[str], int | None]) -> int | None:
    if name not in given:
        return None
    value = read(given[name])
    if value is None or value <= 0:
        raise InvalidOption(name, f"{given[name]!r} is not a number above zero.")
    return value


def _count(text: str) -> int | None:
    return int(text) if text.strip().isdigit() else None


def _bytes(text: str) -> int | None:
    """A size as Spark writes it: 1048576, 1m, 10MB, 1g."""
    found = text.strip().lower()
    digits = found.rstrip("bkmg")
    unit = _UNITS.get(found[len(digits) :] or "b")
    return int(digits) * unit if digits.isdigit() and unit else None
