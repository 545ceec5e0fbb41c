"""Which version a table was at, at a moment.

Delta's rule: the newest commit whose time is not after the moment. A commit's time is the one it wrote into
itself where in-commit timestamps are on, and otherwise its file's modification time, made to rise with the
version: a commit never looks older than the one before it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from lakescan.errors import CommitsNotFound, InvalidVersion, UnsupportedFeature
from lakescan.formats.delta.log.commit_files import Commit
from lakescan.formats.delta.log.commits import read_commits
from lakescan.formats.delta.log.log_segment import LogListing
from lakescan.formats.delta.log.typed_action import TypedAction
from lakescan.io.storage import Storage
from lakescan.types.moments import moment_of

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
ENABLED = "delta.enableInCommitTimestamps"
ENABLED_FROM = "delta.inCommitTimestampEnablementVersion"


_IN_PATH = re.compile(r"^(?P<path>.+)@(?:[vV](?P<version>\d+)|(?P<time>\d{17}))$")


@dataclass(frozen=True)
class TimeTravel:
    """Which version is asked for: by its number, by a moment, or (neither) the newest."""

    version: int | str | None = None
    timestamp: str | datetime | None = None


def split_path(path: str) -> tuple[str, TimeTravel] | None:
    """The table and the version in a path of Delta's form `table@v12` or `table@yyyyMMddHHmmssSSS`, if it is one."""
    match = _IN_PATH.match(path)
    if match is None:
        return None
    if match["version"]:
        return match["path"], TimeTravel(version=int(match["version"]))
    digits = match["time"]
    try:
        moment = datetime.strptime(digits[:14], "%Y%m%d%H%M%S") + timedelta(milliseconds=int(digits[14:]))
    except ValueError as error:
        raise InvalidVersion(digits, "write a time in a path as yyyyMMddHHmmssSSS.") from error
    return match["path"], TimeTravel(timestamp=moment)


def parse_timestamp(moment: str | datetime, zone: str = "UTC") -> int:
    """Milliseconds since the epoch; a time without a zone is in the reader's."""
    since = moment_of(moment, zone) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def version_at(storage: Storage, listing: LogListing, moment_ms: int, properties: dict[str, str]) -> int:
    """The version in force at a moment; an error that names the range where there was none, or it is to come."""
    commits = list(listing.commits.between(listing.earliest, listing.latest))
    inside = _first_with_own_time(commits, properties)
    by_file, by_commit = commits[:inside], commits[inside:]
    own_time = _own_time(storage)
    version: int | None = None
    if by_commit and own_time(by_commit[0]) <= moment_ms:
        version = _newest_not_after(by_commit, moment_ms, own_time)
    else:
        version = _newest_by_file_time(by_file, moment_ms)
    newest = own_time(commits[-1]) if by_commit else _monotonic(by_file)[-1] if by_file else 0
    if version is None or moment_ms > newest:
        relation = "before its first commit" if version is None else f"after its newest commit, of {_spelled(newest)}"
        raise listing.not_found(f"{_spelled(moment_ms)}, which is {relation}")
    return version


def commit_after(storage: Storage, listing: LogListing, moment_ms: int, properties: dict[str, str], asked: str) -> int:
    """The first commit that is not before a moment; an error that names the range where there is none, or where
    older commits that are gone may be meant."""
    commits = list(listing.commits)
    inside = _first_with_own_time(commits, properties)
    own_time, times = _own_time(storage), _monotonic(commits[:inside])
    at = next((at for at, time in enumerate(times) if time >= moment_ms), None)
    if at is None:
        at = _first_not_before(commits[inside:], moment_ms, own_time) + inside
    if at == len(commits):
        newest = own_time(commits[-1]) if inside < len(commits) else times[-1]
        wanted = f"{asked}, which is after its newest commit, of {_spelled(newest)}"
        raise CommitsNotFound(storage.location, wanted, listing.first_commit, listing.latest)
    first = commits[at].version
    if at == 0 and first > 0 and (times[0] if inside else own_time(commits[0])) > moment_ms:
        raise CommitsNotFound(
            storage.location, f"{asked}, which is before its first commit", listing.first_commit, listing.latest
        )
    return first


def _spelled(moment_ms: int) -> str:
    return (_EPOCH + timedelta(milliseconds=moment_ms)).isoformat()


def rising_times(commits: Sequence[Commit]) -> dict[int, int]:
    """Each version's file time, none before that of the version before it."""
    return dict(zip([commit.version for commit in commits], _monotonic(commits), strict=True))


def _first_with_own_time(commits: list[Commit], properties: dict[str, str]) -> int:
    since = own_times_from(properties)
    if since is None:
        return len(commits)
    return next((at for at, commit in enumerate(commits) if commit.version >= since), len(commits))


def own_times_from(properties: Mapping[str, str]) -> int | None:
    """From which version on commits say when they were made, None where they do not."""
    if properties.get(ENABLED, "false").lower() != "true":
        return None
    since = properties.get(ENABLED_FROM, "0")
    if not since.isdecimal():
        raise UnsupportedFeature("The table", f"the property {ENABLED_FROM} as {since!r}, which is no version")
    return int(since)


def _own_time(storage: Storage) -> Callable[[Commit], int]:
    known: dict[int, int] = {}

    def time(commit: Commit) -> int:
        if commit.version not in known:
            text = read_commits(storage, [commit], commit.version)[0]
            info = TypedAction("commitInfo", next(text.actions("commitInfo"), {}), text.file)
            known[commit.version] = info.integer("inCommitTimestamp") or commit.modified_ms
        return known[commit.version]

    return time


def _newest_not_after(commits: list[Commit], moment_ms: int, time: Callable[[Commit], int]) -> int:
    low, high = 0, len(commits) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if time(commits[middle]) <= moment_ms:
            low = middle
        else:
            high = middle - 1
    return commits[low].version


def _first_not_before(commits: list[Commit], moment_ms: int, time: Callable[[Commit], int]) -> int:
    low, high = 0, len(commits)
    while low < high:
        middle = (low + high) // 2
        if time(commits[middle]) >= moment_ms:
            high = middle
        else:
            low = middle + 1
    return low


def _newest_by_file_time(commits: list[Commit], moment_ms: int) -> int | None:
    times = _monotonic(commits)
    reached = [commit.version for commit, time in zip(commits, times, strict=True) if time <= moment_ms]
    return reached[-1] if reached else None


def _monotonic(commits: Sequence[Commit]) -> list[int]:
    times: list[int] = []
    for commit in commits:
        times.append(max(commit.modified_ms, times[-1] + 1 if times else commit.modified_ms))
    return times
