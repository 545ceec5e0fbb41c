"""Whether the file slices that storage shows are all that the commits wrote.

Written by hand because hudi-rs finds slices by listing folders, unless a metadata table lists the files: a base file
that has gone missing is then an older one, or none, and its rows are wrong or missing in silence. Each commit of the
active timeline says which files it wrote, so the newest of each file group must be there, as long as it was, unless the
group was replaced.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lakescan.errors import CorruptDataFile, MissingDataFile, UnsupportedFeature
from lakescan.formats.hudi.names import META_FOLDER, instant_of_base_file, instant_of_log_file
from lakescan.formats.hudi.timeline.timeline import Timeline
from lakescan.formats.hudi.timeline.timeline_listing import CLUSTERING
from lakescan.io.storage import Storage

Group = tuple[str, str]
"""The folder and the id of a file group: with some indexes an id is that of a bucket, the same in every folder."""


@dataclass
class _Written:
    """What the commits wrote for one file group: the newest base file, and every log file."""

    base: str = ""
    size: int | None = None
    """The base file's, in bytes."""
    logs: set[str] = field(default_factory=set)

    @property
    def log_instants(self) -> set[str]:
        return {instant_of_log_file(_name(log)) for log in self.logs}

    @property
    def base_instant(self) -> str:
        return instant_of_base_file(_name(self.base))


def check_complete(storage: Storage, timeline: Timeline, instant: str, slices: Iterable[Any]) -> None:
    """Raises an error that names the file where a slice lacks one that a commit up to `instant` wrote."""
    by_group = {(slice_.partition_path, slice_.file_id): slice_ for slice_ in slices}
    for group, written in _written(timeline, instant).items():
        slice_ = by_group.get(group)
        if slice_ is None:
            if written.base:
                raise MissingDataFile(storage.full_path(written.base))
            if written.log_instants <= _clusterings(timeline):
                continue
            raise MissingDataFile(storage.full_path(min(written.logs)))
        base = instant_of_base_file(slice_.base_file_name)
        if written.base_instant > base:
            raise MissingDataFile(storage.full_path(written.base))
        is_same = slice_.base_file_name == _name(written.base)
        if is_same and written.size and written.size != slice_.base_file_size:
            why = f"it has {slice_.base_file_size} bytes, and its commit wrote {written.size}"
            raise CorruptDataFile(storage.full_path(written.base), why)
        logs = set(slice_.log_files_relative_paths())
        for log in sorted(written.logs - logs):
            # In table version 6 a log file is named after the base file that it follows, later after its own commit.
            if instant_of_log_file(_name(log)) >= base:
                raise MissingDataFile(storage.full_path(log))


def check_folders(storage: Storage, slices: Iterable[Any]) -> None:
    """Raises an error where data files are in a folder that hudi-rs passed over: it looks into the innermost alone."""
    entries, folders = storage.tree()
    outer = {folder.rpartition("/")[0] for folder in folders}
    passed_over = outer - {slice_.partition_path for slice_ in slices}
    for entry in entries:
        folder, _, name = entry.name.rpartition("/")
        is_data = instant_of_base_file(name) or instant_of_log_file(name)
        if is_data and folder in passed_over and folder.split("/")[0] != META_FOLDER:
            raise UnsupportedFeature(
                storage.location,
                f"data files in a folder that has folders in it ({folder or entry.name})",
                "Move the inner folder away if it is none of Hudi's, or build the table's metadata table.",
            )


def written_groups(timeline: Timeline, instant: str) -> set[Group]:
    """Every file group that is alive at an instant, as far back as the active timeline goes."""
    return set(_written(timeline, instant))


def written_logs(timeline: Timeline, instant: str) -> set[str]:
    """The log files of these, but for those of groups that a clustering under way is to make."""
    clusterings = _clusterings(timeline)
    logs = {log for written in _written(timeline, instant).values() for log in written.logs}
    return {log for log in logs if instant_of_log_file(_name(log)) not in clusterings}


def replaced_groups(timeline: Timeline, instant: str) -> set[Group]:
    """The file groups that commits up to an instant replaced by others."""
    return {group for earlier in timeline.until(instant) for group in _replaced(timeline.commit(earlier) or {})}


def _written(timeline: Timeline, instant: str) -> dict[Group, _Written]:
    groups: dict[Group, _Written] = {}
    ended = timeline.completions
    replaced: dict[Group, tuple[str, str]] = {}
    for commit_time in timeline.until(instant):
        commit = timeline.commit(commit_time) or {}
        for group in _replaced(commit):
            groups.pop(group, None)
            replaced[group] = commit_time, ended.get(commit_time, "")
        for folder, stats in (commit.get("partitionToWriteStats") or {}).items():
            for stat in stats:
                group = (folder, stat["fileId"])
                by, at = replaced.get(group, ("", ""))
                # What was written to a group while it was being replaced was also written to those in its place. Before
                # table version 8 nobody knows the ends, and no group that was replaced is written to later on.
                is_gone = ended[commit_time] < at if commit_time in ended else "" < by < commit_time
                if stat.get("path") and not is_gone:
                    _add(groups.setdefault(group, _Written()), stat["path"], stat.get("fileSizeInBytes"))
    return groups


def _replaced(commit: Mapping[str, Any]) -> Iterator[Group]:
    for folder, groups in (commit.get("partitionToReplaceFileIds") or {}).items():
        yield from ((folder, group) for group in groups)


def _clusterings(timeline: Timeline) -> set[str]:
    """The clusterings under way. Commits may already write to the file groups that one will make, under its instant."""
    return timeline.listing.unfinished(CLUSTERING | {"replacecommit"})


def _add(group: _Written, path: str, size: int | None) -> None:
    if instant_of_log_file(_name(path)):
        group.logs.add(path)
    elif instant_of_base_file(_name(path)) >= group.base_instant:
        group.base, group.size = path, size


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
