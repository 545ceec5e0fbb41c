"""Which files of `_delta_log` rebuild one version: a checkpoint, where there is one, and every commit after it.

The log is listed once. A segment is complete or it is refused: its commits follow each other without a gap,
and its checkpoint has all its parts. `_last_checkpoint` is never needed: it says where to begin a listing, and
`pyarrow.fs` lists whole folders; so a broken or stale one can do no harm.
"""

import re
from dataclasses import dataclass

from lakescan.delta.names import LOG_FOLDER, commit_name
from lakescan.errors import MissingCommit, TableNotFound, VersionNotFound
from lakescan.storage import Entry, Storage

_COMMIT = re.compile(r"^(\d{20})\.json$")
_CHECKPOINT = re.compile(
    r"^(\d{20})\.checkpoint\."
    r"(?:(?P<part>\d{10})\.(?P<parts>\d{10})\.)?"
    r"(?:(?P<uuid>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\.)?"
    r"(?P<ending>parquet|json)$"
)


@dataclass(frozen=True)
class Commit:
    """The file of one commit."""

    version: int
    path: str
    modified_ms: int


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint: one file, or all the parts of one."""

    version: int
    paths: tuple[str, ...]


@dataclass(frozen=True)
class LogSegment:
    """What one version is rebuilt from; commits in ascending order."""

    version: int
    checkpoint: Checkpoint | None
    commits: tuple[Commit, ...]


@dataclass(frozen=True)
class LogListing:
    """Everything of one listing that can rebuild a version."""

    location: str
    commits: tuple[Commit, ...]
    checkpoints: tuple[Checkpoint, ...]

    @property
    def latest(self) -> int:
        return max(
            [commit.version for commit in self.commits[-1:]] + [found.version for found in self.checkpoints[-1:]]
        )

    @property
    def earliest(self) -> int:
        """The oldest version that can be rebuilt: a first commit, or else the oldest checkpoint."""
        if self.commits and self.commits[0].version == 0:
            return 0
        return self.checkpoints[0].version if self.checkpoints else self.commits[0].version

    def up_to(self, version: int) -> "LogListing":
        """The listing as it was when this version was the newest."""
        commits = tuple(commit for commit in self.commits if commit.version <= version)
        return LogListing(self.location, commits, tuple(c for c in self.checkpoints if c.version <= version))

    def segment(self, version: int | None = None) -> LogSegment:
        """The segment for a version, the newest where none is given."""
        wanted = self.latest if version is None else version
        if not 0 <= wanted <= self.latest:
            raise VersionNotFound(self.location, f"version {wanted}", self.earliest, self.latest)
        usable = [found for found in self.checkpoints if found.version <= wanted]
        checkpoint = usable[-1] if usable else None
        first = checkpoint.version + 1 if checkpoint else 0
        commits = tuple(commit for commit in self.commits if first <= commit.version <= wanted)
        self._refuse_gaps(wanted, first, commits)
        return LogSegment(wanted, checkpoint, commits)

    def _refuse_gaps(self, wanted: int, first: int, commits: tuple[Commit, ...]) -> None:
        found = {commit.version for commit in commits}
        missing = next((number for number in range(first, wanted + 1) if number not in found), None)
        if missing is None:
            return
        if wanted < self.earliest:
            raise VersionNotFound(self.location, f"version {wanted}", self.earliest, self.latest)
        after = "it is the first commit" if missing == 0 else f"commits before and after it are needed up to {wanted}"
        raise MissingCommit(f"{self.location}/{LOG_FOLDER}/{commit_name(missing)}", wanted, after)


def list_log(storage: Storage) -> LogListing:
    """One listing of the table's log."""
    try:
        entries = storage.list_from(LOG_FOLDER)
    except FileNotFoundError as error:
        raise TableNotFound(storage.location) from error
    commits = tuple(
        Commit(int(match[1]), f"{LOG_FOLDER}/{entry.name}", entry.modified_ms)
        for entry in entries
        if (match := _COMMIT.match(entry.name))
    )
    checkpoints = _complete_checkpoints(entries)
    if not commits and not checkpoints:
        raise TableNotFound(storage.location)
    return LogListing(storage.location, commits, checkpoints)


def _complete_checkpoints(entries: list[Entry]) -> tuple[Checkpoint, ...]:
    """One checkpoint a version, in ascending order: a single file where there is one, else a full set of parts."""
    single: dict[int, str] = {}
    sets: dict[tuple[int, int], dict[int, str]] = {}
    for entry in entries:
        match = _CHECKPOINT.match(entry.name)
        if not match or (match["ending"] == "json" and not match["uuid"]):
            continue
        version, path = int(match[1]), f"{LOG_FOLDER}/{entry.name}"
        if match["parts"]:
            sets.setdefault((version, int(match["parts"])), {})[int(match["part"])] = path
        else:
            single[version] = path
    found = {version: Checkpoint(version, (path,)) for version, path in single.items()}
    for (version, count), parts in sets.items():
        if version not in found and sorted(parts) == list(range(1, count + 1)):
            found[version] = Checkpoint(version, tuple(parts[number] for number in sorted(parts)))
    return tuple(found[version] for version in sorted(found))
