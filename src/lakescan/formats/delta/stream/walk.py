"""A stream's way through the log: the listing it sees, and commits in order from wherever it is.

Commits are read once: those of the batch in hand are kept for when it is planned, and the state of the last one
carries on to the next. Only a stream that starts, or starts again, has a snapshot rebuilt.
"""

import logging
from collections.abc import Iterator

import pyarrow as pa

from lakescan.errors import MissingCommit, VersionNotFound
from lakescan.formats.delta.log.commit_range import CommitRange, TableCommit, TableState
from lakescan.formats.delta.log.log_segment import LogListing, list_log
from lakescan.formats.delta.stream.evidence import refuse_misreading
from lakescan.formats.delta.stream.start import StartingState, refuse_missing, starting_state
from lakescan.formats.delta.table import DeltaTable
from lakescan.scan.packing import ROW_COUNT
from lakescan.scan.pruning import stored_rows

_LOG = logging.getLogger("lakescan.stream")


class Walk:
    """What a running stream knows of its table's log."""

    def __init__(self, table: DeltaTable, relaxed: bool, may_lose: bool = False) -> None:
        self.table = table
        self._relaxed = relaxed
        self._may_lose = may_lose
        self._lost: str | None = None
        self._end: int | None = None
        self._seen: dict[int, TableCommit] = {}
        self._listing: LogListing | None = None
        self._start: StartingState | None = None
        self._initial: tuple[int, pa.Table] | None = None

    @property
    def warning(self) -> str | None:
        """What a user should know of how the stream started."""
        started = None if self._start is None else self._start.warning
        return " ".join(filter(None, (started, self._lost))) or None

    def fix_end(self) -> None:
        """From now on the table ends at its newest version of this moment."""
        self._end = list_log(self.table.storage).latest

    def listing(self) -> LogListing:
        listing = list_log(self.table.storage)
        self._listing = listing if self._end is None else listing.up_to(self._end)
        return self._listing

    def last_listing(self, version: int = 0) -> LogListing:
        """The listing that was seen last, if that version is in it: a batch is planned from what its end was found in.

        A listing takes the longer the longer the log is, and Spark asks for a batch's end, its tasks and the newest
        version one after the other.
        """
        seen = self._listing
        return seen if seen is not None and seen.latest >= version else self.listing()

    def commits(self, listing: LogListing, first: int, last: int) -> Iterator[TableCommit]:
        """The commits `first` to `last`; nothing where `first` is the one to come.

        One that is gone is an error or, where the stream may lose rows, left out with a warning.
        """
        if not self._may_lose or first > listing.latest:
            refuse_missing(listing, first)
        for begin, end in self._runs(listing, first, last) if self._may_lose else [(first, last)]:
            yield from self._run(listing, begin, end)

    def _runs(self, listing: LogListing, first: int, last: int) -> list[tuple[int, int]]:
        """The commits that are there, in runs without a gap."""
        runs: list[tuple[int, int]] = []
        for commit in listing.commits:
            if not first <= commit.version <= last:
                continue
            if runs and runs[-1][1] == commit.version - 1:
                runs[-1] = (runs[-1][0], commit.version)
            else:
                runs.append((commit.version, commit.version))
        there = sum(end - begin + 1 for begin, end in runs)
        if there < last - first + 1:
            self._lost = (
                f"Of the commits {first} to {last} of {listing.location} {last - first + 1 - there} are gone and their "
                "rows are left out: failOnDataLoss is false."
            )
            _LOG.warning(self._lost)
        return runs

    def _run(self, listing: LogListing, first: int, last: int) -> Iterator[TableCommit]:
        version = first
        while version <= last and version in self._seen:
            yield self._seen[version]
            version += 1
        if version > last:
            return
        for commit in self._range(listing, version, last):
            if self._start is not None and commit.version < self._start.assumed_until:
                refuse_misreading(commit, self._start.version)
            self._seen[commit.version] = commit
            yield commit

    def state_before(self, listing: LogListing, version: int) -> TableState | None:
        """The state at the version before, None where the log does not go back so far."""
        before = self._seen.get(version - 1)
        if before is not None:
            return before.state
        try:
            return TableState.at(self.table.storage, listing, version - 1) if version > listing.earliest else None
        except (MissingCommit, VersionNotFound):
            return None

    def state_at(self, listing: LogListing, version: int) -> TableState:
        """The state in force at a version, as the mode of the stream allows."""
        return starting_state(self.table.storage, listing, version, self._relaxed).state

    def initial_state(self, listing: LogListing, version: int) -> TableState:
        """The state at a version whose whole snapshot is read."""
        return TableState.at(self.table.storage, listing, version)

    def initial_files(self, version: int) -> pa.Table:
        """The files of the snapshot at a version, oldest first, with how many rows the log says each has."""
        if self._initial is None or self._initial[0] != version:
            snapshot = self.table.snapshot(version)
            files = snapshot.files().append_column(ROW_COUNT, stored_rows(snapshot, snapshot.files()))
            order = files.sort_by([("modification_time", "ascending"), ("path", "ascending")])
            self._initial = version, order
        return self._initial[1]

    def forget(self, version: int) -> None:
        """Commits before this version are not asked for again, but the last of them says what state they left."""
        self._seen = {number: commit for number, commit in self._seen.items() if number >= version - 1}
        if self._initial is not None and self._initial[0] < version:
            self._initial = None

    def _range(self, listing: LogListing, first: int, last: int) -> CommitRange:
        storage, zone = self.table.storage, self.table.zone
        before = self._seen.get(first - 1)
        if before is not None:
            return CommitRange(storage, zone, listing, first, last, before.state, state_before=True)
        start = starting_state(storage, listing, first, self._relaxed)
        self._start = start
        if start.warning:
            _LOG.warning(start.warning)
        return CommitRange(storage, zone, listing, first, last, start.state)
