"""Which files of `_delta_log` rebuild one version: a checkpoint, where there is one, and every commit after it.

The log is listed once. A segment is complete or it is refused: its commits, or compacted runs of them, follow each
other without a gap, and its checkpoint has all its parts. `_last_checkpoint` is never needed: it says where to
begin a listing, and `pyarrow.fs` lists whole folders; so a broken or stale one can do no harm.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import CheckpointIgnored, MissingCommit, TableNotFound, VersionNotFound
from lakescan.formats.delta.log.commit_files import Commit, CommitFiles, are_of_versions
from lakescan.formats.delta.log.names import LOG_FOLDER, SIGN, commit_name
from lakescan.io.storage import Entry, Storage, entries_of
from lakescan.scan.identity import LogFile, digest

_COMPACTED = re.compile(r"^(\d{20})\.(\d{20})\.compacted\.json$")
_CHECKPOINT = re.compile(
    r"^(\d{20})\.checkpoint\."
    r"(?:(?P<part>\d{10})\.(?P<parts>\d{10})\.)?"
    r"(?:(?P<uuid>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\.)?"
    r"(?P<ending>parquet|json)$"
)


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint: one file, or all the parts of one."""

    version: int
    files: tuple[LogFile, ...]

    @cached_property
    def paths(self) -> tuple[str, ...]:
        return tuple(file.path for file in self.files)

    @property
    def modified_ms(self) -> int:
        """When its newest file was written."""
        return max(file.modified_ms for file in self.files)


@dataclass(frozen=True)
class Compaction:
    """One file in place of the commits from the version `first` to its commit's version."""

    first: int
    commit: Commit


@dataclass(frozen=True)
class LogSegment:
    """What one version is rebuilt from; commits in ascending order."""

    version: int
    checkpoint: Checkpoint | None
    commits: tuple[Commit, ...]
    checksum: LogFile | None = field(default=None, compare=False)
    """The file that repeats the version's protocol and metadata, where there is one."""
    without: Callable[[str], "LogSegment"] | None = field(default=None, compare=False, repr=False)
    """The segment for the same version without this checkpoint or compacted file, by its (first) path; an error where
    the log cannot do without."""

    @cached_property
    def identity(self) -> str:
        """The files that it consists of, as short text: of a file that was written anew it is another."""
        checkpoint = () if self.checkpoint is None else self.checkpoint.files
        return digest((*checkpoint, *(commit.file for commit in self.commits), self.checksum))

    @property
    def shortcuts(self) -> tuple[str, ...]:
        """The checkpoint and the compacted files, by their (first) paths: the log may do without them."""
        checkpoint = () if self.checkpoint is None else self.checkpoint.paths[:1]
        return (*checkpoint, *(commit.path for commit in self.commits if commit.compacted))


@dataclass(frozen=True)
class LogListing:
    """Everything of one listing that can rebuild a version."""

    location: str
    commits: CommitFiles
    checkpoints: tuple[Checkpoint, ...]
    compactions: tuple[Compaction, ...] = ()
    checksums: pa.Table | None = None
    """The files of checksums, as `Storage.listed` gives them."""
    partial: tuple[Checkpoint, ...] = ()
    """Checkpoints of several parts of which some are missing."""

    @property
    def latest(self) -> int:
        commits = [commit.version for commit in self.commits[-1:]]
        return max(commits + [checkpoint.version for checkpoint in self.checkpoints[-1:]])

    @property
    def earliest(self) -> int:
        """The oldest version from which on every one can be rebuilt up to the newest that can."""
        return self._rebuildable[0]

    @cached_property
    def _rebuildable(self) -> tuple[int, int]:
        """The newest run of versions that can be rebuilt, its first and last; where none can, the last is before it."""
        rebuildable = {checkpoint.version for checkpoint in self.checkpoints}
        steps = [(version, version) for version in self.commits.versions.to_pylist()]
        steps += [(compaction.commit.version, compaction.first) for compaction in self.compactions]
        for last, first in sorted(steps):
            if first == 0 or first - 1 in rebuildable:
                rebuildable.add(last)
        if not rebuildable:
            return self.latest, self.latest - 1
        newest = oldest = max(rebuildable)
        while oldest - 1 in rebuildable:
            oldest -= 1
        return oldest, newest

    def not_found(self, wanted: str) -> VersionNotFound | MissingCommit:
        """The error for a version that cannot be rebuilt, with those that can; where none can, why."""
        earliest, newest = self._rebuildable
        if newest < earliest:
            there = set(self.commits.versions.to_pylist())
            missing = next(version for version in count() if version not in there)
            file = f"{self.location}/{LOG_FOLDER}/{commit_name(missing)}"
            return MissingCommit(file, self.latest, "no version can be rebuilt without it or a checkpoint after it")
        return VersionNotFound(self.location, wanted, earliest, newest)

    @property
    def first_commit(self) -> int:
        """The oldest version from which every commit up to the newest is there; the one to come where none is."""
        run = self.commits.newest_run
        return run[0].version if len(run) and run[-1].version == self.latest else self.latest + 1

    def versions_after(self, version: int) -> list[int]:
        """The versions after one that have a file of their own: a name can claim any number, so none are counted up."""
        commits = self.commits.between(version + 1, self.latest).versions.to_pylist()
        return sorted({*commits, *(each.version for each in self.checkpoints if each.version > version)})

    def up_to(self, version: int) -> "LogListing":
        """The listing as it was when this version was the newest."""
        return LogListing(
            self.location,
            self.commits.between(0, version),
            tuple(checkpoint for checkpoint in self.checkpoints if checkpoint.version <= version),
            tuple(compaction for compaction in self.compactions if compaction.commit.version <= version),
            self.checksums,
            tuple(checkpoint for checkpoint in self.partial if checkpoint.version <= version),
        )

    def segment(self, version: int | None = None, unusable: frozenset[str] = frozenset()) -> LogSegment:
        """The segment for a version, the newest where none is given, without the files named as unusable."""
        wanted = self.latest if version is None else version
        if not 0 <= wanted <= self.latest:
            raise self.not_found(f"version {wanted}")
        usable = [
            candidate
            for candidate in self.checkpoints
            if candidate.version <= wanted and candidate.paths[0] not in unusable
        ]
        checkpoint = usable[-1] if usable else None
        first = checkpoint.version + 1 if checkpoint else 0
        commits = tuple(self._run(first, wanted, unusable))
        self._warn_of_partial(first, wanted)
        return LogSegment(
            wanted, checkpoint, commits, self.checksum(wanted), lambda path: self.segment(wanted, unusable | {path})
        )

    def checksum(self, version: int) -> LogFile | None:
        """The file that repeats a version's protocol and metadata, where there is one."""
        if self.checksums is None:
            return None
        at = pc.index(self.checksums["name"], f"{version:020d}.crc").as_py()
        return None if at < 0 else LogFile.of(LOG_FOLDER, entries_of(self.checksums.slice(at, 1))[0])

    def _run(self, first: int, last: int, unusable: frozenset[str]) -> Iterator[Commit]:
        """Files that hold every commit from `first` to `last`, once each: compacted ones where they fit."""
        single = {commit.version: commit for commit in self.commits.between(first, last)}
        longest = {
            compaction.first: compaction.commit
            for compaction in sorted(self.compactions, key=lambda compaction: compaction.commit.version)
            if compaction.commit.version <= last and compaction.commit.path not in unusable
        }
        at = first
        while at <= last:
            commit = longest.get(at) or single.get(at)
            if commit is None:
                raise self._gap(at, last)
            yield commit
            at = commit.version + 1

    def _gap(self, missing: int, wanted: int) -> MissingCommit | VersionNotFound:
        if wanted < self.earliest:
            return self.not_found(f"version {wanted}")
        after = "it is the first commit" if missing == 0 else f"commits before and after it are needed up to {wanted}"
        return MissingCommit(f"{self.location}/{LOG_FOLDER}/{commit_name(missing)}", wanted, after)

    def _warn_of_partial(self, first: int, wanted: int) -> None:
        for checkpoint in self.partial:
            if first <= checkpoint.version <= wanted:
                file = f"{self.location}/{checkpoint.paths[0]}"
                warnings.warn(CheckpointIgnored(file, wanted, "other parts of it are missing"), stacklevel=3)


def list_log(storage: Storage) -> LogListing:
    """One listing of the table's log."""
    try:
        files = storage.listed(LOG_FOLDER)
    except FileNotFoundError as error:
        raise TableNotFound(storage.location, [SIGN]) from error
    # Of commits and their checksums there may be hundreds of thousands, and of everything else few.
    is_commit, is_checksum = (are_of_versions(files["name"], ending) for ending in ("json", "crc"))
    commits = CommitFiles.of(files.filter(is_commit))
    entries = entries_of(files.filter(pc.invert(pc.or_(is_commit, is_checksum))))
    compactions = tuple(
        Compaction(int(match[1]), Commit(int(match[2]), LogFile.of(LOG_FOLDER, entry), compacted=True))
        for entry in entries
        if (match := _COMPACTED.match(entry.name)) and int(match[1]) < int(match[2])
    )
    checkpoints, partial = _checkpoints(entries)
    if not commits and not checkpoints:
        raise TableNotFound(storage.location, [SIGN])
    return LogListing(storage.location, commits, checkpoints, compactions, files.filter(is_checksum), partial)


def _checkpoints(entries: list[Entry]) -> tuple[tuple[Checkpoint, ...], tuple[Checkpoint, ...]]:
    """Complete checkpoints, the most preferred last (newer before older, one file before several); partial ones."""
    single: list[Checkpoint] = []
    sets: dict[tuple[int, int], dict[int, LogFile]] = {}
    for entry in entries:
        match = _CHECKPOINT.match(entry.name)
        if not match or (match["ending"] == "json" and not match["uuid"]):
            continue
        version, file = int(match[1]), LogFile.of(LOG_FOLDER, entry)
        if match["parts"]:
            sets.setdefault((version, int(match["parts"])), {})[int(match["part"])] = file
        else:
            single.append(Checkpoint(version, (file,)))
    whole: list[Checkpoint] = []
    partial: list[Checkpoint] = []
    for (version, claimed), parts in sets.items():
        # Counted first: a name can claim any number of parts.
        complete = len(parts) == claimed and sorted(parts) == list(range(1, claimed + 1))
        files = tuple(parts[number] for number in sorted(parts))
        (whole if complete else partial).append(Checkpoint(version, files))
    preferred = sorted(whole + single, key=lambda candidate: (candidate.version, len(candidate.files) == 1))
    return tuple(preferred), tuple(partial)
