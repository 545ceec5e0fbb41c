"""A Delta table at a location: the way to its snapshots.

Each call for a snapshot lists the log anew, so it sees what was committed before the call. When nothing that
the version rests on has changed, the snapshot of last time is given again, with what it has already read.
"""

from dataclasses import replace
from datetime import datetime
from threading import Lock

import pyarrow as pa

from lakescan.errors import InvalidVersion, MissingCommit, VersionNotFound
from lakescan.formats.delta.changes.change_feed import DeltaChanges, change_range
from lakescan.formats.delta.log.commit_range import CommitRange
from lakescan.formats.delta.log.history import read_history
from lakescan.formats.delta.log.log_segment import LogListing, LogSegment, list_log
from lakescan.formats.delta.log.names import LOG_FOLDER
from lakescan.formats.delta.log.time_travel import TimeTravel, parse_timestamp, split_path, version_at
from lakescan.formats.delta.snapshot import DeltaSnapshot
from lakescan.io.storage import Storage
from lakescan.scan.snapshot_shown import ShownTable

# After so many commits a newer checkpoint is read, whatever is known of an older one: they all stay in memory.
_MOST_COMMITS = 100


class DeltaTable(ShownTable):
    """Implements `scan.Table`. `pinned` is the version that the table's path asks for, as in `orders@v12`."""

    format = "delta"

    def __init__(self, storage: Storage, zone: str = "UTC", pinned: TimeTravel | None = None) -> None:
        self.storage, self.zone, self.pinned = storage, zone, pinned
        self._lock = Lock()
        self._last: DeltaSnapshot | None = None

    @property
    def location(self) -> str:
        return self.storage.location

    @property
    def asks_one_version(self) -> bool:
        return self.pinned is not None

    def snapshot(self, version: int | str | None = None, timestamp: str | datetime | None = None) -> DeltaSnapshot:
        if version is not None and timestamp is not None:
            raise InvalidVersion(version, f"a timestamp, {timestamp}, is given too. Give one of the two.")
        if self.pinned is not None:
            if version is not None or timestamp is not None:
                raise InvalidVersion(version or timestamp, "the table's path asks for a version already.")
            version, timestamp = self.pinned.version, self.pinned.timestamp
        listing = list_log(self.storage)
        number = None if version is None else _number(version)
        if timestamp is not None:
            newest = self._of(self._segment(listing))
            number = version_at(self.storage, listing, parse_timestamp(timestamp, self.zone), dict(newest.properties))
        return self._of(self._segment(listing, number))

    def commits(self, start: int, end: int | None = None) -> CommitRange:
        """The commits `start` to `end`, both included; to the newest where no end is given."""
        return CommitRange.of(self.storage, self.zone, list_log(self.storage), start, end)

    def changes(self, start: int | str | datetime, end: int | str | datetime | None = None) -> DeltaChanges:
        """Rows inserted, deleted and updated by the commits from `start` to `end`, both included.

        Each is a version or a time: the first commit not before `start`, the last not after `end`; without an end
        the newest.
        """
        self._refuse_pinned("Changes are")
        listing = list_log(self.storage)
        newest = self._of(self._segment(listing))
        first, last = change_range(self.storage, self.zone, listing, dict(newest.properties), start, end)
        return DeltaChanges.of(CommitRange.of(self.storage, self.zone, listing, first, last), newest.metadata)

    def history(self, limit: int | None = None) -> pa.Table:
        """What was done to the table, newest first: a row a commit, in the columns of Delta's DESCRIBE HISTORY."""
        self._refuse_pinned("A history is")
        listing = list_log(self.storage)
        return read_history(self.storage, listing, dict(self._of(self._segment(listing)).properties), limit)

    def _refuse_pinned(self, what: str) -> None:
        if self.pinned is not None:
            asked = self.pinned.version if self.pinned.timestamp is None else self.pinned.timestamp
            raise InvalidVersion(asked, f"{what} the whole table's: leave the version out of its path.")

    def _segment(self, listing: LogListing, version: int | None = None) -> LogSegment:
        """What the version is rebuilt from: where a large checkpoint is read already, from that and what came after."""
        segment, last = listing.segment(version), self._last
        base = None if last is None else last.segment.checkpoint
        if last is None or base is None or base == segment.checkpoint or segment.version < last.version:
            return segment
        newer = {checkpoint.paths[0] for checkpoint in listing.checkpoints if checkpoint.version > base.version}
        try:
            older = listing.segment(version, frozenset(newer))
        except (MissingCommit, VersionNotFound):
            return segment
        if older.checkpoint != base or len(older.commits) > _MOST_COMMITS or not last.has_large_checkpoint:
            return segment
        return replace(older, without=segment.without)

    def _of(self, segment: LogSegment) -> DeltaSnapshot:
        with self._lock:
            if self._last is None or self._last.segment != segment:
                self._last = DeltaSnapshot.of(self.storage, segment, self.zone, self._last)
            return self._last


def is_delta(storage: Storage) -> bool:
    """Whether there is a log at the location, or at the part of it before a version (`orders@v12`)."""
    if storage.has_folder(LOG_FOLDER):
        return True
    travel = split_path(storage.location)
    return travel is not None and replace(storage, location=travel[0]).has_folder(LOG_FOLDER)


def has_log(storage: Storage) -> bool:
    """Whether the log's folder has a file of a version, where there is one at the location itself."""
    if not storage.has_folder(LOG_FOLDER):
        return True
    return any(entry.name[:20].isdigit() for entry in storage.list_from(LOG_FOLDER))


def open_delta(storage: Storage, zone: str) -> DeltaTable:
    """The table at a location for which `is_delta` is true; a folder named like a version is a table like any other."""
    if "@" not in storage.location or storage.has_folder(LOG_FOLDER):
        return DeltaTable(storage, zone)
    location, travel = split_path(storage.location) or (storage.location, None)
    return DeltaTable(replace(storage, location=location), zone, travel)


def _number(version: int | str) -> int:
    try:
        # Through text: int() alone would also take 1.9, and read version 1.
        return int(str(version))
    except ValueError as error:
        raise InvalidVersion(version, "a Delta version is a whole number.") from error
