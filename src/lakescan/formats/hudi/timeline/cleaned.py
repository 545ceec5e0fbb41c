"""Whether the files of an older instant are still there, as the commits after it tell.

Written by hand because hudi-rs gives the slices that there are now, by listing folders or by the metadata table: a file
group whose older file was cleaned away, after the commit that wrote it was archived, simply has no slice at that
instant, and its rows would be missing in silence.
But the commit that replaced the file, or the whole group, says what was there before it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lakescan.errors import MissingDataFile
from lakescan.formats.hudi.names import instant_of_base_file
from lakescan.formats.hudi.timeline.timeline import Timeline
from lakescan.io.storage import Storage

Group = tuple[str, str]


def check_not_cleaned(storage: Storage, timeline: Timeline, instant: str, slices: Iterable[Any]) -> None:
    """Raises an error that names the file where a slice at `instant` must have been and is not."""
    later = [one for one in timeline.instants if one > instant]
    if not later:
        return
    there = {(slice_.partition_path, slice_.file_id): slice_.creation_instant_time for slice_ in slices}
    written: set[Group] = set()
    rewritten: set[Group] = set()
    for newer in later:
        commit = timeline.commit(newer) or {}
        for group, before in _written_over(commit):
            written.add(group)
            if before is None or group in rewritten:
                continue
            rewritten.add(group)
            if before <= instant and there.get(group, "") < before:
                raise MissingDataFile(_name(storage, group, before))
        for partition, groups in (commit.get("partitionToReplaceFileIds") or {}).items():
            for group in groups:
                if (partition, group) not in written and (partition, group) not in there:
                    raise MissingDataFile(_name(storage, (partition, group), "*"))


def _written_over(commit: Mapping[str, Any]) -> Iterator[tuple[Group, str | None]]:
    """The file groups that a commit wrote, with the instant of the base file that it wrote a newer one of."""
    for partition, stats in (commit.get("partitionToWriteStats") or {}).items():
        for stat in stats:
            before = str(stat.get("prevCommit"))
            is_base = bool(instant_of_base_file(str(stat.get("path")).rsplit("/", 1)[-1]))
            yield (partition, stat["fileId"]), before if is_base and before.isdigit() else None


def _name(storage: Storage, group: Group, instant: str) -> str:
    partition, file_id = group
    return storage.full_path(f"{partition}/{file_id}_*_{instant}.parquet".lstrip("/"))
