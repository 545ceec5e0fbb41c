"""The options of a stream of a Hudi table, with the names that a stream of a Delta table has."""

from collections.abc import Mapping
from dataclasses import dataclass

from lakescan.errors import InvalidOption
from lakescan.formats.hudi.options import OPTIONS
from lakescan.stream.options import DEFAULT_LIMITS, LATEST, given_limits, given_options
from lakescan.stream.stream import Limits


@dataclass(frozen=True)
class StreamOptions:
    """What a stream was asked for."""

    starting_version: str | None = None
    """An instant, `latest`, or None."""
    starting_timestamp: str | None = None
    limits: Limits = DEFAULT_LIMITS
    limited_by_user: bool = False

    @staticmethod
    def of(options: Mapping[str, str]) -> "StreamOptions":
        given = given_options(options, OPTIONS)
        limits = given_limits(given)
        chosen = limits != Limits()
        return StreamOptions(
            starting_version=_instant(given.get("startingVersion")),
            starting_timestamp=given.get("startingTimestamp"),
            limits=limits if chosen else DEFAULT_LIMITS,
            limited_by_user=chosen,
        )


def _instant(text: str | None) -> str | None:
    if text is None or text.lower() == LATEST:
        return None if text is None else LATEST
    if not text.isdigit():
        raise InvalidOption("startingVersion", f"{text!r} is neither an instant of the timeline nor {LATEST!r}.")
    return text
