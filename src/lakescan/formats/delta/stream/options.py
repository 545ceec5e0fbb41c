"""The options of a stream of a Delta table, named as in Delta Spark where it has them; checked when it is made.

Each means what it means there. What is different on purpose is in `docs/streams.md`.
"""

import re
import warnings
from collections.abc import Mapping, Set
from dataclasses import dataclass

from lakescan.errors import InvalidOption
from lakescan.formats.delta.changes.schema_changes import DROPPED, RENAMED, RETYPED, WIDENED
from lakescan.formats.delta.options import OPTIONS
from lakescan.formats.delta.stream.schema_log import SchemaFolder
from lakescan.stream.options import DEFAULT_LIMITS, LATEST, flag, given_limits, given_options
from lakescan.stream.stream import Limits

ALLOW = {"allowSourceColumnRename": (RENAMED,), "allowSourceColumnDrop": (DROPPED,)} | {
    "allowSourceColumnTypeChange": (WIDENED, RETYPED)
}
_ALWAYS = "always"


@dataclass(frozen=True)
class AllowedChanges:
    """Which changes of its schema a stream with a schema log may pass: by option, `always` or the version of one."""

    given: Mapping[str, str]

    def refused(self, version: int, kinds: Set[str]) -> str | None:
        """The option that would have to allow a change at a version and does not."""
        for option, allowed in ALLOW.items():
            if kinds & set(allowed) and self.given.get(option) not in (_ALWAYS, str(version)):
                return option
        return None


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
    fail_on_data_loss: bool = True
    exclude: re.Pattern[str] | None = None
    """Files whose path in the log this is found in are left out."""
    schemas: SchemaFolder | None = None
    allowed: AllowedChanges | None = None

    @staticmethod
    def of(options: Mapping[str, str]) -> "StreamOptions":
        given = given_options(options, OPTIONS)
        ignoring = [name for name in ("ignoreDeletes", "ignoreChanges", "skipChangeCommits") if flag(given, name)]
        if ignoring and flag(given, "readChangeFeed"):
            raise InvalidOption(ignoring[0], "readChangeFeed gives every change as a row. Leave one of the two out.")
        limits = given_limits(given)
        chosen = limits != Limits()
        tracked = given.get("schemaTrackingLocation")
        if tracked is not None and given.get("failOnDataLoss", "true").strip().lower() == "false":
            raise InvalidOption("failOnDataLoss", "a stream with a schemaTrackingLocation needs every commit.")
        return StreamOptions(
            starting_version=_version(given.get("startingVersion")),
            starting_timestamp=given.get("startingTimestamp"),
            relaxed=_mode(given.get("startingVersionMode", "exact")),
            limits=limits if chosen else DEFAULT_LIMITS,
            limited_by_user=chosen,
            ignore_deletes=flag(given, "ignoreDeletes"),
            ignore_changes=flag(given, "ignoreChanges") or flag(given, "ignoreFileDeletion"),
            skip_change_commits=flag(given, "skipChangeCommits"),
            read_change_feed=flag(given, "readChangeFeed"),
            fail_on_data_loss=flag(given, "failOnDataLoss", unless_given="true"),
            exclude=_pattern(given.get("excludeRegex")),
            schemas=None if tracked is None else SchemaFolder(tracked, given.get("streamingSourceTrackingId")),
            allowed=_allowed(given),
        )


def _version(text: str | None) -> int | str | None:
    if text is None or text.lower() == LATEST:
        return None if text is None else LATEST
    if not (text.isascii() and text.isdecimal()):
        raise InvalidOption("startingVersion", f"{text!r} is neither a version's number nor {LATEST!r}.")
    return int(text)


def _pattern(text: str | None) -> re.Pattern[str] | None:
    """A pattern that Python reads as Java does; whatever may mean something else there is refused."""
    if text is None:
        return None
    try:
        with warnings.catch_warnings():
            # Sets inside sets, which Java joins and cuts, are plain characters here: Python warns of them.
            warnings.simplefilter("error", FutureWarning)
            return re.compile(text, re.ASCII)
    except (re.error, ValueError, OverflowError, RecursionError, FutureWarning) as error:
        raise InvalidOption("excludeRegex", f"{text!r} is not a pattern that can be used ({error}).") from error


def _allowed(given: Mapping[str, str]) -> AllowedChanges | None:
    allowed = {name: given[name].strip().lower() for name in ALLOW if name in given}
    for name, value in allowed.items():
        if value != _ALWAYS and not (value.isascii() and value.isdecimal()):
            raise InvalidOption(name, f"{given[name]!r} is neither {_ALWAYS!r} nor a version's number.")
    return AllowedChanges(allowed) if allowed else None


def _mode(text: str) -> bool:
    if text.lower() not in ("exact", "relaxed"):
        raise InvalidOption("startingVersionMode", f"{text!r} is neither 'exact' nor 'relaxed'.")
    return text.lower() == "relaxed"
