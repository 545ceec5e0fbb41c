"""The file slices that folders show, where hudi-rs does not find them.

Written by hand because a folder `metadata` or `_delta_log` at the top of a table is no partition to hudi-rs, and its
rows are then missing in silence; and because it finds no slice at all where a column or a field of the partition has a
name that it does not take. The rules are Hudi's: a slice begins with a base file that is committed; log files follow
the newest base file that began before they ended, and before table version 8 the one that their name says.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from lakescan.formats.hudi.names import (
    META_FOLDER,
    file_group_of,
    instant_of_base_file,
    instant_of_log_file,
    is_change_log,
    log_file_order,
)
from lakescan.formats.hudi.timeline.completeness import Group, replaced_groups
from lakescan.formats.hudi.timeline.timeline import Timeline
from lakescan.io.storage import Entry, Storage

_PASSED_OVER = frozenset(["_delta_log", "metadata"])


@dataclass(frozen=True)
class FolderSlice:
    """Has what hudi-rs' slices have."""

    partition_path: str
    file_id: str
    base_file_name: str
    base_file_size: int
    logs: tuple[Entry, ...]
    """Oldest first."""

    @property
    def creation_instant_time(self) -> str:
        return instant_of_base_file(self.base_file_name)

    def base_file_relative_path(self) -> str:
        return self._path(self.base_file_name)

    def log_files_relative_paths(self) -> list[str]:
        return [self._path(log.name) for log in self.logs]

    @property
    def log_file_sizes(self) -> list[int]:
        return [log.size for log in self.logs]

    def _path(self, name: str) -> str:
        return f"{self.partition_path}/{name}" if self.partition_path else name


def passed_over_slices(storage: Storage, timeline: Timeline, instant: str) -> list[FolderSlice]:
    """The slices at an instant in the folders that hudi-rs passes over; none of those that have no base file."""
    below = (
        entry._replace(name=f"{top}/{entry.name}")
        for top in _PASSED_OVER.intersection(storage.folder_names())
        for entry in replace(storage, location=f"{storage.location}/{top}").list_below()
    )
    return _of_files(below, timeline, instant)


def all_slices(storage: Storage, timeline: Timeline, instant: str) -> list[FolderSlice]:
    """The same in every folder of the table."""
    below = (entry for entry in storage.list_below() if not entry.name.startswith(f"{META_FOLDER}/"))
    return _of_files(below, timeline, instant)


def _of_files(files: Iterable[Entry], timeline: Timeline, instant: str) -> list[FolderSlice]:
    folders: dict[str, list[Entry]] = {}
    for entry in files:
        folder, _, name = entry.name.rpartition("/")
        folders.setdefault(folder, []).append(entry._replace(name=name))
    gone = replaced_groups(timeline, instant) if folders else set()
    return [slice_ for folder, inside in folders.items() for slice_ in _slices(folder, inside, timeline, instant, gone)]


def _slices(
    folder: str, files: Iterable[Entry], timeline: Timeline, instant: str, gone: set[Group]
) -> Iterator[FolderSlice]:
    bases: dict[str, dict[str, Entry]] = {}
    logs: dict[str, list[Entry]] = {}
    for file in files:
        written = instant_of_base_file(file.name)
        if instant_of_log_file(file.name) and not is_change_log(file.name):
            logs.setdefault(file_group_of(file.name), []).append(file)
        elif written and timeline.is_complete(written):
            bases.setdefault(file_group_of(file.name), {})[written] = file
    for group, by_instant in bases.items():
        begun = max((one for one in by_instant if one <= instant), default="")
        if begun and (folder, group) not in gone:
            newer = min((one for one in by_instant if one > begun), default="")
            ended = _ends(timeline, logs.get(group, ()))
            own = [log for log, end in ended.items() if begun <= end and (not newer or end < newer)]
            own.sort(key=lambda log: log_file_order(log.name))
            yield FolderSlice(folder, group, by_instant[begun].name, by_instant[begun].size, tuple(own))


def _ends(timeline: Timeline, logs: Iterable[Entry]) -> dict[Entry, str]:
    """When each log file was complete; before table version 8 the instant of its base file, which its name has."""
    ended = timeline.completions
    if not ended:
        return {log: instant_of_log_file(log.name) for log in logs}
    written = {log: instant_of_log_file(log.name) for log in logs}
    return {log: ended.get(at, at) for log, at in written.items() if timeline.is_complete(at)}
