"""A Delta table at a location: the way to its snapshots.

Each call for a snapshot lists the log anew, so it sees what was committed before the call. When nothing that
the version rests on has changed, the snapshot of last time is given again, with what it has already read.
"""

from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

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
        # Through text: int() alone would also take 1.9, and read version 1.
        return int(str(version))
    except ValueError as error:
        raise InvalidVersion(version, "a Delta version is a whole number.") from error
