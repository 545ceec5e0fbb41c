"""Where a new stream starts, by the options that the streams of all formats have.

Without options it starts with the whole table as it is; then at a timestamp, at a version, or behind the newest one.
What each of these is in a table, only its format knows. A stream that starts again needs no origin, and its commits may
be gone by then; one that is new is told so when its first batch is planned.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from lakescan.errors import VersionNotFound
from lakescan.stream.options import LATEST

Position = TypeVar("Position", covariant=True)
_Remembered = TypeVar("_Remembered")


class StartingPoints(Protocol[Position]):
    """The places of one table at which a stream can start."""

    def whole_table(self) -> Position:
        """Everything that is there now, then every commit after it."""

    def behind_newest(self) -> Position:
        """The next commit."""

    def at_version(self, version: str) -> Position:
        """The commit that an option names."""

    def at_timestamp(self, timestamp: str) -> Position:
        """The first commit that is not before a moment."""


def origin_of(version: int | str | None, timestamp: str | None, points: StartingPoints[Position]) -> Position:
    """Where `startingVersion` and `startingTimestamp`, of which at most one is given, say that a stream starts."""
    if timestamp is not None:
        return points.at_timestamp(timestamp)
    if version is None:
        return points.whole_table()
    return points.behind_newest() if version == LATEST else points.at_version(str(version))


class OriginOnce(Generic[_Remembered]):
    """A stream's origin, looked for once and remembered; None where the commits that it needs are gone."""

    def __init__(self) -> None:
        self._looked = False
        self._origin: _Remembered | None = None

    def get(self, find: Callable[[], _Remembered]) -> _Remembered | None:
        if not self._looked:
            self._looked = True
            with suppress(VersionNotFound):
                self._origin = find()
        return self._origin
