"""A Delta table at a location: the way to its snapshots.

Each call for a snapshot lists the log anew, so it sees what was committed before the call. When nothing that
the version rests on has changed, the snapshot of last time is given again, with what it has already read.
"""

from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

import pyarrow as pa

from lakescan.delta.changes import DeltaChanges, change_range
from lakescan.delta.commit_range import CommitRange
from lakescan.delta.history import read_history
from lakescan.delta.log_segment import LogSegment, list_log
from lakescan.delta.names import LOG_FOLDER
from lakescan.delta.snapshot import DeltaSnapshot
from lakescan.delta.time_travel import parse_timestamp, version_at
from lakescan.errors import InvalidVersion
from lakescan.storage import Storage


@dataclass(frozen=True)
class DeltaTable:
    """Implements `scan.Table`."""

    storage: Storage
    zone: str = "UTC"
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)
    _kept: list[DeltaSnapshot] = field(default_factory=list, repr=False, compare=False)

    @property
    def location(self) -> str:
        return self.storage.location

    def snapshot(self, version: int | str | None = None, timestamp: str | datetime | None = None) -> DeltaSnapshot:
        if version is not None and timestamp is not None:
            raise InvalidVersion(version, f"a timestamp, {timestamp}, is given too. Give one of the two.")
        listing = list_log(self.storage)
        number = None if version is None else _number(version)
        if timestamp is not None:
            newest = self._of(listing.segment())
            number = version_at(self.storage, listing, parse_timestamp(timestamp), dict(newest.properties))
        return self._of(listing.segment(number))

    def commits(self, start: int, end: int | None = None) -> CommitRange:
        """The commits `start` to `end`, both included; to the newest where no end is given."""
        return CommitRange.of(self.storage, self.zone, list_log(self.storage), start, end)

    def changes(self, start: int | str | datetime, end: int | str | datetime | None = None) -> DeltaChanges:
        """Rows inserted, deleted and updated by the commits from `start` to `end`, both included.

        Each is a version or a time: the first commit not before `start`, the last not after `end`; without an end
        the newest.
        """
        listing = list_log(self.storage)
        newest = self._of(listing.segment())
        first, last = change_range(self.storage, listing, dict(newest.properties), start, end)
        return DeltaChanges.of(CommitRange.of(self.storage, self.zone, listing, first, last))

    def history(self, limit: int | None = None) -> pa.Table:
        """What was done to the table, newest first: a row a commit, in the columns of Delta's DESCRIBE HISTORY."""
        listing = list_log(self.storage)
        return read_history(self.storage, listing, dict(self._of(listing.segment()).properties), limit)

    def _of(self, segment: LogSegment) -> DeltaSnapshot:
        with self._lock:
            for kept in self._kept:
                if kept.segment == segment:
                    return kept
            made = DeltaSnapshot.of(self.storage, segment, self.zone)
            self._kept[:] = [made]
            return made


def is_delta(storage: Storage) -> bool:
    return storage.has_folder(LOG_FOLDER)


def _number(version: int | str) -> int:
    try:
        return int(version)
    except ValueError as error:
        raise InvalidVersion(version, "a Delta version is a whole number.") from error
