"""A Hudi table at a location: the way to its snapshots.

Each call for a snapshot lists the timeline anew, so it sees what was committed before the call. When the timeline has
not changed, the snapshot of last time is given again, with what it has already looked up.
"""

from datetime import datetime
from threading import Lock

import pyarrow as pa

from lakescan.errors import InvalidVersion, UnsupportedFeature
from lakescan.formats.hudi.engine import settings_of
from lakescan.formats.hudi.names import NO_COMMIT
from lakescan.formats.hudi.snapshot import HudiSnapshot
from lakescan.formats.hudi.timeline.time_travel import instant_at, instant_named, instants_between
from lakescan.formats.hudi.timeline.timeline import Timeline, load_timeline
from lakescan.formats.hudi.timeline.timeline_listing import TimelineListing, timeline_settings
from lakescan.io.locations import Settings
from lakescan.io.storage import Storage
from lakescan.scan.snapshot_shown import ShownTable


class HudiTable(ShownTable):
    """Implements `scan.Table`; with `base_files_only` by its base files alone."""

    format = "hudi"
    asks_one_version = False

    def __init__(self, storage: Storage, zone: str = "UTC", base_files_only: bool = False) -> None:
        self.storage, self.zone, self.base_files_only = storage, zone, base_files_only
        self._lock = Lock()
        self._last: tuple[Settings | None, Timeline, HudiSnapshot] | None = None
        """What hudi-rs was opened with (its table keeps those credentials), the timeline and its newest snapshot."""

    @property
    def location(self) -> str:
        return self.storage.location

    def snapshot(self, version: int | str | None = None, timestamp: str | datetime | None = None) -> HudiSnapshot:
        if version is not None and timestamp is not None:
            raise InvalidVersion(version, f"a timestamp, {timestamp}, is given too. Give one of the two.")
        timeline, kept = self._timeline()
        instant = timeline.newest()
        if version is not None:
            instant = instant_named(timeline, str(version))
        elif timestamp is not None:
            instant = instant_at(timeline, timestamp, self.zone)
        if kept.instant == instant:
            return kept
        return HudiSnapshot.of(self.storage, instant, timeline, self.base_files_only)

    def read_optimized(self) -> "HudiTable":
        """The same table by its base files alone: fast, and each file group as it was when last compacted."""
        return HudiTable(self.storage, self.zone, base_files_only=True)

    def changes(self, start: int | str | datetime, end: int | str | datetime | None = None) -> HudiSnapshot:
        """The rows that the commits from `start` to `end` wrote, both included, as they were after `end`.

        Each is an instant or a time: the first commit not before `start`, the last not after `end`; without an end the
        newest. This is Hudi's incremental query: a row that was deleted again is not there.
        """
        timeline, _ = self._timeline()
        self.refuse_changes_without_meta_fields()
        first, last = instants_between(timeline, start, end, self.zone)
        since = timeline.first_that_changes_rows(one for one in timeline.until(last) if one >= first) or NO_COMMIT
        return HudiSnapshot.of(self.storage, last, timeline, self.base_files_only, since=since)

    def refuse_changes_without_meta_fields(self) -> None:
        if self.snapshot().properties.get("hoodie.populate.meta.fields", "true") != "true":
            raise UnsupportedFeature(
                self.location, "changes of a table without meta fields", "Its rows do not say which commit wrote them."
            )

    def history(self, limit: int | None = None) -> pa.Table:
        """What was done to the table, a row a commit, newest first."""
        timeline, _ = self._timeline()
        instants = timeline.instants[::-1][:limit]
        operations = [(timeline.commit(instant) or {}).get("operationType") for instant in instants]
        return pa.table({"version": pa.array(instants, pa.string()), "operation": pa.array(operations, pa.string())})

    def _timeline(self) -> tuple[Timeline, HudiSnapshot]:
        """The timeline now, and its newest snapshot."""
        with self._lock:
            settings = settings_of(self.storage)
            # The listing decides what is current, so it comes before what is read for it.
            if self._last is None:
                timeline = load_timeline(TimelineListing.of(self.storage, timeline_settings(self.storage)), {})
            else:
                opened_with, last, snapshot = self._last
                listing = last.listing.again()
                if listing == last.listing and settings == opened_with:
                    return last, snapshot
                timeline = load_timeline(listing, last.read)
            snapshot = HudiSnapshot.of(self.storage, timeline.newest(), timeline, self.base_files_only)
            self._last = settings, timeline, snapshot
            return timeline, snapshot
