"""The options of a stream of a Delta table, named as in Delta Spark where it has them; checked when it is made."""

from collections.abc import Mapping
from dataclasses import dataclass

from lakescan.delta.options import OPTIONS
from lakescan.errors import InvalidOption
from lakescan.scan.stream import Limits
from lakescan.scan.stream_options import DEFAULT_LIMITS, LATEST, flag, given_limits, given_options


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
        given = given_options(options, OPTIONS)
        ignoring = [name for name in ("ignoreDeletes", "ignoreChanges", "skipChangeCommits") if flag(given, name)]
        if ignoring and flag(given, "readChangeFeed"):
            raise InvalidOption(ignoring[0], "readChangeFeed gives every change as a row. Leave one of the two out.")
        limits = given_limits(given)
        chosen = limits != Limits()
        return StreamOptions(
            starting_version=_version(given.get("startingVersion")),
            starting_timestamp=given.get("startingTimestamp"),
            relaxed=_mode(given.get("startingVersionMode", "exact")),
            limits=limits if chosen else DEFAULT_LIMITS,
            limited_by_user=chosen,
            ignore_deletes=flag(given, "ignoreDeletes"),
            ignore_changes=flag(given, "ignoreChanges"),
            skip_change_commits=flag(given, "skipChangeCommits"),
            read_change_feed=flag(given, "readChangeFeed"),
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
