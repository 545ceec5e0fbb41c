"""The protocol and metadata in force at a version whose snapshot cannot be rebuilt, where something still proves them.

What the commits up to the version say themselves is the proof that counts most. What they do not say is taken from a
witness: the version checksum (`.crc`) of the version or of the one before it, or a newer snapshot. A witness counts
only where no commit between it and the version speaks of the same, where no commit contradicts it, and where all
witnesses agree. What is not proven is None, never a guess.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lakescan.errors import CorruptLog, LakescanError, MissingCommit, VersionNotFound
from lakescan.formats.delta.log.commit_range import TableState, commits_of, texts_of
from lakescan.formats.delta.log.commits import CommitText
from lakescan.formats.delta.log.log_segment import LogListing
from lakescan.formats.delta.log.names import LOG_FOLDER
from lakescan.formats.delta.log.protocol import Metadata, Protocol
from lakescan.io.storage import Storage

_T = TypeVar("_T")
_NOT_THERE = (VersionNotFound, MissingCommit, CorruptLog)


@dataclass(frozen=True)
class _Witness:
    """The state at some version, and the commits between that version and the one in question."""

    state: TableState
    between: Sequence[CommitText]

    def speaks_of(self, name: str) -> bool:
        return newest_action(name, self.between) is None


def proven_state(storage: Storage, listing: LogListing, version: int) -> TableState | None:
    """The state at a version whose commit is there; None where nothing proves it."""
    before = run_before(storage, listing, version)
    protocol, metadata = newest_action("protocol", before), newest_action("metaData", before)
    witnesses = [] if protocol and metadata else list(_witnesses(storage, listing, version, before))
    in_force = (
        Protocol.of(protocol[1], protocol[0].file)
        if protocol
        else _agreed([one.state.protocol for one in witnesses if one.speaks_of("protocol")])
    )
    if in_force is None:
        return None
    in_force.refuse_unsupported(listing.location)
    described = (
        Metadata.of(metadata[1], in_force, metadata[0].file)
        if metadata
        else _agreed([one.state.metadata.under(in_force) for one in witnesses if one.speaks_of("metaData")])
    )
    if described is None:
        return None
    return TableState(in_force, described.checked(f"{listing.location}/{LOG_FOLDER}"))


def run_before(storage: Storage, listing: LogListing, version: int) -> list[CommitText]:
    """The commits up to and with the version that follow each other without a gap, oldest first."""
    there = {commit.version for commit in listing.commits}
    oldest = version
    while oldest - 1 in there:
        oldest -= 1
    return [text for text, _ in texts_of(storage, commits_of(listing, oldest, version))]


def newest_action(name: str, texts: Sequence[CommitText]) -> tuple[CommitText, Mapping[str, Any]] | None:
    """The last action of a kind in some commits, and the commit it is in."""
    for text in reversed(texts):
        for action in reversed(list(text.actions(name))):
            return text, action
    return None


def _witnesses(storage: Storage, listing: LogListing, version: int, before: Sequence[CommitText]) -> Iterator[_Witness]:
    for at, behind in ((version - 1, before[-1:]), (version, before[:0])):
        state = _checksum_state(storage, listing, at)
        if state is not None and not _contradicted(state, before[: len(before) - len(behind)]):
            yield _Witness(state, behind)
    for newer in listing.versions_after(version):
        try:
            state = TableState.at(storage, listing, newer)
        except _NOT_THERE:
            continue
        yield _Witness(state, [text for text, _ in texts_of(storage, commits_of(listing, version + 1, newer))])
        return


def _checksum_state(storage: Storage, listing: LogListing, version: int) -> TableState | None:
    """What a version's checksum says, None where there is none, or none that is whole and can be read."""
    listed = listing.checksum(version)
    if listed is None:
        return None
    file = storage.full_path(listed.path)
    try:
        checksum = json.loads(storage.read(listed.path))
        protocol = Protocol.of(checksum["protocol"], file)
        return TableState(protocol, Metadata.of(checksum["metadata"], protocol, file))
    except (FileNotFoundError, KeyError, TypeError, ValueError, AttributeError, RecursionError, LakescanError):
        return None


def _contradicted(state: TableState, texts: Sequence[CommitText]) -> bool:
    """Whether a commit says something else than the checksum that was written after it."""
    protocol, metadata = newest_action("protocol", texts), newest_action("metaData", texts)
    if protocol and Protocol.of(protocol[1], protocol[0].file) != state.protocol:
        return True
    return metadata is not None and Metadata.of(metadata[1], state.protocol, metadata[0].file) != state.metadata


def _agreed(values: Sequence[_T]) -> _T | None:
    return values[0] if values and all(value == values[0] for value in values) else None
