"""The file slices of a snapshot as the planner's table of files, a row a slice.

hudi-rs finds the slices: the newest base file of each file group at an instant, and the log files that follow it.
By hand: log files of later commits are taken off where their names tell (table version 8 on), so that a slice without
any is read like a plain file; and row counts come from the commits that wrote the base files, because hudi-rs only
estimates them.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property, lru_cache
from typing import Any

import hudi
import pyarrow as pa

from lakescan.errors import MissingDataFile, UnsupportedFeature
from lakescan.formats.hudi.engine import named_failures
from lakescan.formats.hudi.index.metadata_table import MetadataPartition
from lakescan.formats.hudi.names import FILES, META_FOLDER, has_file_listing, instant_of_base_file, instant_of_log_file
from lakescan.formats.hudi.slices.log_only import log_only_slices
from lakescan.formats.hudi.slices.partition_paths import PartitionPaths
from lakescan.formats.hudi.slices.passed_over import passed_over_slices
from lakescan.formats.hudi.timeline.cleaned import check_not_cleaned
from lakescan.formats.hudi.timeline.completeness import check_complete, check_folders
from lakescan.formats.hudi.timeline.timeline import Timeline
from lakescan.io.storage import Storage
from lakescan.types.columns import empty_structs

_BOOTSTRAPPED_FROM = "hoodie.bootstrap.base.path"
# Files of this commit have Hudi's own columns alone; those of a bootstrap of whole records have the next one.
_BOOTSTRAP_INSTANT = "00000000000001"
_SEVERAL_FORMATS = "hoodie.table.multiple.base.file.formats.enable"
_WRITTEN = pa.list_(pa.struct([("file", pa.string()), ("instant", pa.string()), ("records", pa.int64())]))
_NO_VECTOR = pa.struct([("cardinality", pa.int64())])


@dataclass(frozen=True)
class FileSlices:
    """The slices of a table at an instant."""

    storage: Storage
    timeline: Timeline
    instant: str
    paths: PartitionPaths
    options: Mapping[str, str]
    """The table's settings."""
    base_files_only: bool = False
    since: str | None = None
    """Only slices that may hold a row of this commit or a later one."""

    @cached_property
    def table(self) -> pa.Table:
        """The columns of `scan.Snapshot.files`, and `merged_with`: null where the base file says everything itself.

        Where it does not, `written` has what commits say of the records in the files of the slice.
        """
        slices = self._slices
        logs = [self._logs(slice_) for slice_ in slices]
        sizes = [slice_.base_file_size + sum(size for _, size in log) for slice_, log in zip(slices, logs, strict=True)]
        base = [slice_.base_file_relative_path() for slice_ in slices]
        instants = [slice_.creation_instant_time for slice_ in slices]
        table = pa.table(
            {
                "path": pa.array(base, pa.string()),
                "size": pa.array(sizes, pa.int64()),
                "modification_time": pa.array([_milliseconds(instant) for instant in instants], pa.int64()),
                "partition": self._partition,
                "deletion_vector": pa.nulls(len(slices), _NO_VECTOR),
                "merged_with": pa.array([[name for name, _ in log] or None for log in logs], pa.list_(pa.string())),
                "instant": pa.array(instants, pa.string()),
                "expected_records": pa.array(
                    [self._counts(path, log) for path, log in zip(base, logs, strict=True)], _WRITTEN
                ),
            }
        )
        if self.since is None:
            return table
        return table.filter(pa.array([bool(log) or at >= self.since for log, at in zip(logs, instants, strict=True)]))

    @cached_property
    def values(self) -> list[dict[str, Any] | None]:
        """The partition values that each slice's folder tells, None where it does not."""
        return [self.paths.values(slice_.partition_path) for slice_ in self._slices]

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The partition columns, where every folder tells their values; otherwise they are columns like others."""
        told = bool(self.paths.fields) and all(value is not None for value in self.values)
        return tuple(field.name for field in self.paths.fields) if told else ()

    def row_counts(self, files: pa.Table) -> pa.Array:
        """Rows of each slice, null where they must be merged or no commit says."""
        known = self._rows_of_base_files(set(files["instant"].to_pylist()))
        counts = [
            None if logs is not None else known.get(path)
            for path, logs in zip(files["path"].to_pylist(), files["merged_with"].to_pylist(), strict=True)
        ]
        return pa.array(counts, pa.int64())

    @cached_property
    def _slices(self) -> list[Any]:
        if not self.timeline.instants:
            return []
        self._refuse_files_of_other_kinds()
        listing = None if self._is_listed_by_folders else MetadataPartition.of(self.storage, FILES, self.options)
        if listing is not None:
            # hudi-rs takes its word for how long things are, and ends the process where it lies.
            listing.check()
        options = hudi.HudiReadOptions().with_as_of_timestamp(self.instant)
        with named_failures(self.storage, META_FOLDER):
            given = self.timeline.table.get_file_slices(options)
        # A group that has a base file only later is given without one, and with log files of any age.
        slices = [slice_ for slice_ in given if slice_.base_file_name]
        if self._is_found_in_folders:
            slices += passed_over_slices(self.storage, self.timeline, self.instant)
        for slice_ in slices:
            self._refuse_unless_parquet(slice_.base_file_relative_path())
        without_base = log_only_slices(self.storage, self.timeline, self.instant, slices, self.options)
        self._check_complete([*slices, *without_base])
        # What was cleaned away since the timeline was loaded, commits tell that have ended since.
        check_not_cleaned(self.storage, self.timeline.now(), self.instant, [*slices, *without_base])
        if not self.base_files_only:
            slices = [*slices, *without_base]
        return sorted(slices, key=lambda slice_: (slice_.partition_path, slice_.file_id))

    def _check_complete(self, slices: list[Any]) -> None:
        may_pass_over = self._is_found_in_folders
        try:
            check_complete(self.storage, self.timeline, self.instant, slices)
        except MissingDataFile:
            if may_pass_over:
                check_folders(self.storage, slices)
            raise
        if may_pass_over and self.timeline.has_archived:
            # No commit is left that says what was written.
            check_folders(self.storage, slices)

    @property
    def _is_listed_by_folders(self) -> bool:
        """Whether hudi-rs lists folders; otherwise the metadata table tells it what is in them."""
        return int(self.options["hoodie.table.version"]) < 8 or not has_file_listing(self.options)

    @property
    def _is_found_in_folders(self) -> bool:
        """Whether hudi-rs looks for the folders too, and passes over some."""
        return self._is_listed_by_folders and bool(self.options.get("hoodie.table.partition.fields"))

    def _refuse_files_of_other_kinds(self) -> None:
        """hudi-rs passes over base files of a second format, and reads what bootstrapping made as if it were whole."""
        several = self.options.get(_SEVERAL_FORMATS, "").lower() == "true"
        if not several and not self.options.get(_BOOTSTRAPPED_FROM):
            return
        for entry in self.storage.list_below():
            instant = instant_of_base_file(_name(entry.name))
            if instant and not entry.name.startswith(META_FOLDER):
                self._refuse_unless_parquet(entry.name)
                if instant == _BOOTSTRAP_INSTANT:
                    raise UnsupportedFeature(
                        self.storage.location,
                        f"base files whose rows are in the files that it was bootstrapped from ({entry.name})",
                    )

    def _refuse_unless_parquet(self, path: str) -> None:
        if not path.endswith(".parquet"):
            raise UnsupportedFeature(self.storage.location, f"base files that are not Parquet ({path})")

    def _logs(self, slice_: Any) -> list[tuple[str, int]]:
        if self.base_files_only:
            return []
        given: Iterable[tuple[str, int]] = zip(slice_.log_files_relative_paths(), slice_.log_file_sizes, strict=True)
        if int(self.options["hoodie.table.version"]) < 8:
            return list(given)
        return [(path, size) for path, size in given if _own_instant(path) <= self.instant]

    @property
    def _partition(self) -> pa.StructArray:
        if not self.partition_columns:
            return empty_structs(len(self.values))
        columns = [
            pa.array([(value or {})[field.name] for value in self.values], field.type) for field in self.paths.fields
        ]
        return pa.StructArray.from_arrays(columns, fields=[field.with_nullable(True) for field in self.paths.fields])

    def _counts(self, path: str, logs: list[tuple[str, int]]) -> list[tuple[str, str, int]] | None:
        if not logs:
            return None
        files = {path, *(log for log, _ in logs)}
        return [(file, instant, count) for file in sorted(files) for instant, count in self._records.get(file, ())]

    @cached_property
    def _records(self) -> dict[str, list[tuple[str, int]]]:
        """How many records each commit wrote to each file."""
        records: dict[str, list[tuple[str, int]]] = {}
        for instant in self.timeline.until(self.instant):
            stats = (self.timeline.commit(instant) or {}).get("partitionToWriteStats") or {}
            for stat in (stat for written in stats.values() for stat in written if stat.get("path")):
                # A base file has no record of what was deleted from it.
                deletes = (stat.get("numDeletes") or 0) if _own_instant(stat["path"]) else 0
                records.setdefault(stat["path"], []).append((instant, (stat.get("numWrites") or 0) + deletes))
        return records

    def _rows_of_base_files(self, instants: Collection[str]) -> dict[str, int]:
        rows: dict[str, int] = {}
        for instant in instants:
            stats = (self.timeline.commit(instant) or {}).get("partitionToWriteStats") or {}
            for stat in (stat for written in stats.values() for stat in written):
                if stat.get("path") and stat.get("numWrites") is not None:
                    rows[stat["path"]] = stat["numWrites"]
        return rows


def _own_instant(path: str) -> str:
    return instant_of_log_file(_name(path))


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


@lru_cache(maxsize=1024)
def _milliseconds(instant: str) -> int | None:
    """The time that an instant's digits spell; an instant is given to the second or to the millisecond."""
    try:
        moment = datetime.strptime(instant[:14], "%Y%m%d%H%M%S").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return int(moment.timestamp()) * 1000 + int(instant[14:17] or 0)
