"""A Hudi table at one instant, as the planner sees it.

The instant, the schema and the settings are known when the snapshot is made, because a table that cannot be read must
be refused then. File slices are looked up when a scan asks, once. Statistics are row counts from the commits, and
bounds and counts of nulls from the metadata table's index of column statistics, where the table has one.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.formats.hudi.engine import named_failures
from lakescan.formats.hudi.index.slice_statistics import SliceColumn, SliceStatistics
from lakescan.formats.hudi.names import COMMIT_TIME, PROPERTIES
from lakescan.formats.hudi.schema.avro_schema import spark_schema
from lakescan.formats.hudi.schema.evolution import FileNames, file_names
from lakescan.formats.hudi.schema.physical_schema import physical_schema
from lakescan.formats.hudi.slices.data_files import HudiFiles
from lakescan.formats.hudi.slices.file_slices import FileSlices
from lakescan.formats.hudi.slices.ordering import check_ordering, key_fields, nulls_keep_values
from lakescan.formats.hudi.slices.partition_paths import PartitionPaths
from lakescan.formats.hudi.timeline.timeline import Timeline, load_timeline
from lakescan.formats.hudi.timeline.timeline_listing import TimelineListing, timeline_settings
from lakescan.io.storage import Storage
from lakescan.predicate import Column, col
from lakescan.scan.builder import ScanBuilder
from lakescan.scan.file_statistics import has_bounds, statistics_type
from lakescan.scan.identity import SnapshotIdentity, TableIdentity, digest
from lakescan.scan.listed_snapshot import ListedSnapshot
from lakescan.scan.log_state import LogState
from lakescan.types.columns import nested
from lakescan.types.schema import arrow_schema, field_at, leaf_paths, prune


@dataclass(frozen=True)
class Description:
    """A table's columns, and how its files name them. Picklable."""

    schema_json: str
    names: tuple[FileNames, ...]

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema(json.loads(self.schema_json))


@dataclass(frozen=True, repr=False)
class HudiSnapshot(ListedSnapshot):
    """A table at an instant. Implements `scan.Snapshot`."""

    instant: str
    timeline: Timeline = field(compare=False)
    base_files_only: bool = False
    since: str | None = None
    """Only rows that this commit or a later one wrote."""
    description: Description | None = None
    """The columns that rows are given in; those of the instant itself where None."""

    format = "hudi"

    @staticmethod
    def of(
        storage: Storage, instant: str, timeline: Timeline, base_files_only: bool = False, since: str | None = None
    ) -> "HudiSnapshot":
        snapshot = HudiSnapshot(storage, instant, timeline, base_files_only, since)
        _ = snapshot.schema
        return snapshot

    def __reduce__(self) -> tuple[Any, ...]:
        # hudi-rs' table does not pickle: the instant is opened again where it arrives.
        return _opened_again, (self.storage, self.instant, self.base_files_only, self.since, self.description)

    @property
    def version(self) -> str:
        """The instant, and what else decides which rows there are."""
        since = "" if self.since is None else f"{self.since}.."
        return f"{since}{self.instant}{' read optimized' if self.base_files_only else ''}"

    @cached_property
    def identity(self) -> SnapshotIdentity:
        # Hudi gives its tables no ids: their commits, each with the moment at which it was written, tell them apart.
        finished = self.timeline.listing.finished
        log = digest(finished[instant] for instant in self.timeline.until(self.instant))
        columns = "" if self.description is None else digest([self.description])
        return SnapshotIdentity(TableIdentity(self.format, self.storage), self.version, log, columns)

    @property
    def generated_columns(self) -> Mapping[str, str]:
        # Hudi's key generators make partition paths; no column says by which expression it was made.
        return {}

    @cached_property
    def properties(self) -> Mapping[str, str]:
        return dict(self.timeline.table.hudi_options())

    @property
    def log_state(self) -> LogState:
        indexes = self.properties.get("hoodie.table.metadata.partitions", "").split(",")
        kinds = [self.properties.get("hoodie.table.type", ""), *sorted(name for name in indexes if name)]
        return LogState(
            protocol=f"table version {self.properties.get('hoodie.table.version', 'not said')}",
            features=tuple(kind for kind in kinds if kind),
        )

    @cached_property
    def schema(self) -> pa.Schema:
        return arrow_schema(self._spark_schema)

    @cached_property
    def physical_schema(self) -> pa.Schema:
        return physical_schema(self.schema)

    @property
    def schema_json(self) -> str:
        return json.dumps(self._spark_schema)

    def describe(self) -> Description:
        """The columns as they are at this instant, for another one."""
        with self._lock:
            return Description(self.schema_json, self._file_names)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        with self._lock:
            return self._slices.partition_columns

    @property
    def data_files(self) -> HudiFiles:
        with self._lock:
            return HudiFiles(
                self.storage,
                self.instant,
                self.schema,
                self._file_names,
                key_fields(self.properties),
                nulls_keep_values(self.properties),
            )

    def scan(self) -> ScanBuilder:
        builder = ScanBuilder.of(self)
        # Which commit wrote a row is known for certain only after merging: a filter like any other.
        return builder if self.since is None else builder.filter(col(COMMIT_TIME) >= self.since)

    def read_optimized(self) -> "HudiSnapshot":
        """The same instant by its base files alone."""
        return replace(self, base_files_only=True)

    def statistics(self, files: pa.Table, columns: Collection[Column]) -> pa.StructArray:
        return self._filled(files, columns, ("minimum", "maximum"))

    def exact_statistics(self, files: pa.Table, columns: Collection[Column]) -> pa.StructArray:
        return self._filled(files, columns, ("exact_minimum", "exact_maximum"))

    def _filled(self, files: pa.Table, columns: Collection[Column], bounds: tuple[str, str]) -> pa.StructArray:
        logical, _ = prune(self.schema, self.physical_schema, {column.path for column in columns})
        kind = statistics_type(logical)
        with self._lock:
            counts = self._slices.row_counts(files)
            by_path = {path: self._column(path, files) for path in leaf_paths(logical)}
        given = {"row_count": counts}
        for name, part in (("minimum", bounds[0]), ("maximum", bounds[1]), ("null_count", "null_count")):
            known = {path: getattr(column, part) for path, column in by_path.items() if column is not None}
            given[name] = nested(kind.field(name).type, known, files.num_rows)
        members = [given.get(field.name, pa.nulls(files.num_rows, field.type)) for field in kind]
        return pa.StructArray.from_arrays(members, fields=list(kind))

    def _column(self, path: tuple[str, ...], files: pa.Table) -> SliceColumn | None:
        """What the index says of a column in these files; nothing where its name alone does not say which it is."""
        field = field_at(self.schema, path)
        name = ".".join(path)
        ambiguous = any("." in part for part in path) or (len(path) > 1 and name in self.schema.names)
        if (
            field is None
            or not has_bounds(field.type)
            or ambiguous
            or any(names.differs(path) for names in self._file_names)
        ):
            return None
        column = self._index.column(name, field.type)
        if column is None:
            return None
        return column.take(pc.index_in(files["path"].combine_chunks(), self._slices.table["path"].combine_chunks()))

    @cached_property
    def _spark_schema(self) -> dict[str, Any]:
        if self.description is not None:
            described: dict[str, Any] = json.loads(self.description.schema_json)
            return described
        avro, file = self.timeline.schema(self.instant)
        if not avro:
            # hudi-rs reads the escapes of a properties file; without a commit the schema is only there.
            file = self.storage.full_path(PROPERTIES)
            with named_failures(self.storage, PROPERTIES):
                avro = self.timeline.table.get_schema_in_avro_str()
        return spark_schema(avro, self.properties.get("hoodie.populate.meta.fields", "true") == "true", file)

    @cached_property
    def _file_names(self) -> tuple[FileNames, ...]:
        if self.description is not None:
            return self.description.names
        return file_names(self.storage, self.timeline, self.instant)

    @cached_property
    def _files(self) -> pa.Table:
        files = self._slices.table
        if files["merged_with"].null_count < files.num_rows:
            newest = HudiSnapshot(self.storage, self.timeline.newest(), self.timeline).schema.names
            check_ordering(self.storage, self.properties, self.schema.names, newest)
        return files

    @cached_property
    def _index(self) -> SliceStatistics:
        slices = self._slices.table
        return SliceStatistics(self.storage, self.properties, slices, self._slices.row_counts(slices))

    @cached_property
    def _slices(self) -> FileSlices:
        return FileSlices(
            self.storage,
            self.timeline,
            self.instant,
            PartitionPaths.of(self.properties, self.schema),
            self.properties,
            self.base_files_only,
            self.since,
        )


def _opened_again(
    storage: Storage, instant: str, base_files_only: bool, since: str | None, description: Description | None
) -> HudiSnapshot:
    timeline = load_timeline(TimelineListing.of(storage, timeline_settings(storage)), {})
    return HudiSnapshot(storage, instant, timeline, base_files_only, since, description)
