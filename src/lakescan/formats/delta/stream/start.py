"""Where a stream starts, and the protocol and metadata that its first commit is read with.

A starting point outside the commits that are there is an error that names the range; one past the newest waits.
In exact mode the state at the start is rebuilt, or proven by what is left of the log, or the stream is refused. In
relaxed mode what is not proven is taken from the nearest newer version: such commits are marked, and `evidence`
checks every file of them. No failure here ever becomes an empty stream.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lakescan.errors import (
    CommitsNotFound,
    CorruptLog,
    LakescanError,
    MissingCommit,
    RelaxedStartRefused,
    StartNotRebuilt,
    UnsupportedFeature,
    UnsupportedType,
    VersionNotFound,
)
from lakescan.formats.delta.log.commit_range import TableState, commits_of, first_commit, texts_of
from lakescan.formats.delta.log.commits import CommitText
from lakescan.formats.delta.log.log_segment import LogListing
from lakescan.formats.delta.log.names import LOG_FOLDER
from lakescan.formats.delta.log.protocol import Metadata, Protocol
from lakescan.formats.delta.log.time_travel import commit_after, parse_timestamp
from lakescan.formats.delta.stream.offset import Position
from lakescan.formats.delta.stream.options import StreamOptions
from lakescan.formats.delta.stream.proof import newest_action, proven_state, run_before
from lakescan.formats.delta.table import DeltaTable
from lakescan.io.storage import Storage
from lakescan.stream import origin as stream_origin

_UNREADABLE = (UnsupportedFeature, UnsupportedType)
_NOT_REBUILT = (VersionNotFound, MissingCommit, CorruptLog, *_UNREADABLE)


@dataclass(frozen=True)
class StartingState:
    """The state at a version; below `assumed_until` the metadata is a newer version's, not proven by the log."""

    version: int
    state: TableState
    assumed_until: int
    warning: str | None = None


@dataclass(frozen=True)
class _StartingPoints:
    """Implements `stream.origin.StartingPoints`."""

    table: DeltaTable
    listing: LogListing
    properties: Mapping[str, str]

    def whole_table(self) -> Position:
        return Position(self.listing.latest, snapshot=True)

    def behind_newest(self) -> Position:
        return Position(self.listing.latest + 1)

    def at_version(self, version: str) -> Position:
        refuse_missing(self.listing, int(version))
        return Position(int(version))

    def at_timestamp(self, timestamp: str) -> Position:
        moment = parse_timestamp(timestamp, self.table.zone)
        version = commit_after(self.table.storage, self.listing, moment, dict(self.properties), timestamp)
        return self.at_version(str(version))


def origin_of(
    table: DeltaTable, listing: LogListing, options: StreamOptions, properties: Mapping[str, str]
) -> Position:
    """Where the options say that a new stream starts."""
    points = _StartingPoints(table, listing, properties)
    return stream_origin.origin_of(options.starting_version, options.starting_timestamp, points)


def refuse_missing(listing: LogListing, version: int) -> None:
    """An error unless the commits from this version on are there, or it is the one to come."""
    if not first_commit(listing) <= version <= listing.latest + 1:
        raise CommitsNotFound(
            listing.location, f"version {version}, for a stream", first_commit(listing), listing.latest
        )


def starting_state(storage: Storage, listing: LogListing, version: int, relaxed: bool) -> StartingState:
    """The state in force at a version that is there."""
    try:
        return StartingState(version, _rebuilt_or_proven(storage, listing, version), version)
    except _NOT_REBUILT as error:
        if not relaxed:
            raise StartNotRebuilt(listing.location, version, str(error)) from error
        if isinstance(error, _UNREADABLE):
            raise RelaxedStartRefused(
                listing.location, version, f"an unsupported feature was in force. {error}"
            ) from error
        return _relaxed(storage, listing, version, error)


def _rebuilt_or_proven(storage: Storage, listing: LogListing, version: int) -> TableState:
    try:
        return TableState.at(storage, listing, version)
    except (VersionNotFound, MissingCommit, CorruptLog):
        state = proven_state(storage, listing, version)
        if state is None:
            raise
        return state


def _relaxed(storage: Storage, listing: LogListing, version: int, why: LakescanError) -> StartingState:
    newer, state = _nearest_newer(storage, listing, version, why)
    before = run_before(storage, listing, version)
    between = [text for text, _ in texts_of(storage, commits_of(listing, version + 1, newer))]
    protocol, _ = _piece("protocol", before, between)
    metadata, known_from = _piece("metaData", before, between)
    try:
        in_force = state.protocol if protocol is None else Protocol.of(protocol[1], protocol[0].file)
        in_force.refuse_unsupported(listing.location)
        described = (
            state.metadata.under(in_force).checked(f"{listing.location}/{LOG_FOLDER}")
            if metadata is None
            else Metadata.of(metadata[1], in_force, metadata[0].file)
        )
        start = TableState(in_force, described)
    except _UNREADABLE as error:
        raise RelaxedStartRefused(listing.location, version, f"an unsupported feature was in force. {error}") from error
    _refuse_dropped_feature(listing, version, before, between)
    assumed_until = version + 1 + known_from
    used = (
        "no commit up to there changes the metadata, so it is that of the start too"
        if assumed_until == version
        else f"the commits {version} to {assumed_until - 1} are read with metadata of version {assumed_until}, "
        "and each of their files is checked against it"
    )
    warning = (
        f"The snapshot at version {version} of {listing.location} cannot be rebuilt. {why} The nearest newer one that "
        f"can be is version {newer}: {used}."
    )
    return StartingState(version, start, assumed_until, warning)


def _nearest_newer(storage: Storage, listing: LogListing, version: int, why: LakescanError) -> tuple[int, TableState]:
    for newer in listing.versions_after(version):
        try:
            return newer, TableState.at(storage, listing, newer)
        except _UNREADABLE as error:
            reason = f"an unsupported feature is in force at version {newer}. {error}"
            raise RelaxedStartRefused(listing.location, version, reason) from error
        except _NOT_REBUILT:
            continue
    raise RelaxedStartRefused(
        listing.location, version, f"the snapshot there cannot be rebuilt and no newer one can. {why}"
    ) from why


def _piece(
    name: str, before: Sequence[CommitText], between: Sequence[CommitText]
) -> tuple[tuple[CommitText, Mapping[str, Any]] | None, int]:
    """An action in force at the start, None where it is the newer snapshot's own; and how many commits after the
    start lie before the one it was taken from, or -1 where it is proven."""
    if action := newest_action(name, before):
        return action, -1
    for at, text in enumerate(between):
        if action := newest_action(name, [text]):
            return action, at
    return None, -1


def _refuse_dropped_feature(
    listing: LogListing, version: int, before: Sequence[CommitText], between: Sequence[CommitText]
) -> None:
    """A protocol only grows unless a feature is dropped; then what was in force before is not known."""
    if any(True for text in before for _ in text.actions("protocol")):
        return
    for text in between:
        operation = str(next(text.actions("commitInfo"), {}).get("operation") or "")
        if "DROP FEATURE" in operation.upper() and any(True for _ in text.actions("protocol")):
            raise RelaxedStartRefused(
                listing.location,
                version,
                f"{text.file} drops a table feature, so a feature that is not known now was in force.",
            )
