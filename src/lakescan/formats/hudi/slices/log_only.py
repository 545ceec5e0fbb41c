"""File groups that have log files and no base file yet, as slices like the others.

Written by hand because hudi-rs merges such a slice but does not find it: it begins every slice with a base file. They
come about where an index finds keys in log files too, so that new rows go there. The commits of the active timeline
name them. A group may be older than that timeline, so where commits were archived every folder is searched; and whether
a group without a base file ever had one, which is lost, only the metadata table can then tell, and only of today.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lakescan.errors import UnsupportedFeature
from lakescan.formats.hudi.names import (
    META_FOLDER,
    file_group_of,
    has_file_listing,
    instant_of_log_file,
    is_change_log,
    log_file_order,
)
from lakescan.formats.hudi.timeline.completeness import Group, replaced_groups, written_groups
from lakescan.formats.hudi.timeline.timeline import Timeline
from lakescan.io.storage import Storage

# Before this version a log file's name does not say which commit wrote it.
_FIRST_VERSION = 8


@dataclass(frozen=True)
class LogOnlySlice:
    """Has what hudi-rs' slices have. Its path is that of its first log file, as it must have one."""

    file_id: str
    partition_path: str
    logs: tuple[tuple[str, int], ...]
    """Path and size of each, oldest first."""

    base_file_name = ""
    base_file_size = 0

    @property
    def creation_instant_time(self) -> str:
        return _order(self.logs[0])[0]

    def base_file_relative_path(self) -> str:
        return self.logs[0][0]

    def log_files_relative_paths(self) -> list[str]:
        return [path for path, _ in self.logs]

    @property
    def log_file_sizes(self) -> list[int]:
        return [size for _, size in self.logs]


def log_only_slices(
    storage: Storage, timeline: Timeline, instant: str, slices: Iterable[Any], options: Mapping[str, str]
) -> list[LogOnlySlice]:
    """The slices at an instant that are not among those with a base file."""
    if options.get("hoodie.table.type") != "MERGE_ON_READ" or int(options["hoodie.table.version"]) < _FIRST_VERSION:
        return []
    known = {(slice_.partition_path, slice_.file_id) for slice_ in slices} | replaced_groups(timeline, instant)
    groups: dict[Group, list[tuple[str, int]]] = {}
    archived = timeline.has_archived
    for path, size in _candidates(storage, None if archived else written_groups(timeline, instant) - known):
        folder, _, name = path.rpartition("/")
        group, written = (folder, file_group_of(name)), instant_of_log_file(name)
        is_there = written <= instant and timeline.is_complete(written)
        if is_there and group not in known and not is_change_log(name):
            groups.setdefault(group, []).append((path, size))
    if groups and archived and not (has_file_listing(options) and instant == timeline.newest()):
        raise UnsupportedFeature(
            storage.location,
            f"a file group without a base file, which may have had one before commits were archived "
            f"({next(iter(groups.values()))[0][0]})",
            "Compact the table, then read its newest instant.",
        )
    return [LogOnlySlice(name, folder, tuple(sorted(logs, key=_order))) for (folder, name), logs in groups.items()]


def _candidates(storage: Storage, groups: set[Group] | None) -> Iterator[tuple[str, int]]:
    """(path, size) of the files in the folders of these groups, or in every folder."""
    if groups is None:
        below = storage.list_below()
        yield from ((entry.name, entry.size) for entry in below if not entry.name.startswith(f"{META_FOLDER}/"))
        return
    for folder in filter(storage.has_folder, {folder for folder, _ in groups}):
        for entry in storage.list_from(folder):
            yield f"{folder}/{entry.name}" if folder else entry.name, entry.size


def _order(log: tuple[str, int]) -> tuple[str, int]:
    return log_file_order(log[0].rsplit("/", 1)[-1])
