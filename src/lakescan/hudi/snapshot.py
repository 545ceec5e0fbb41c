"""A Hudi table at one instant, as the planner sees it.

The instant, the schema and the settings are known when the snapshot is made, because a table that cannot be read must
be refused then. File slices are looked up when a scan asks, once. Statistics are row counts, and the partition values
that folders tell; other bounds are unknown, because hudi-rs does not give the metadata table's column statistics.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from lakescan.columns import member
from lakescan.hudi.avro_schema import spark_schema
from lakescan.hudi.data_files import HudiFiles
from lakescan.hudi.engine import named_failures
from lakescan.hudi.evolution import FileNames, file_names
from lakescan.hudi.file_slices import FileSlices
from lakescan.hudi.names import PROPERTIES
from lakescan.hudi.partition_paths import PartitionPaths
from lakescan.hudi.source_schema import source_schema
from lakescan.hudi.timeline import Timeline
from lakescan.predicate import Column
from lakescan.scan.listed_snapshot import ListedSnapshot
from lakescan.scan.statistics import statistics_type
from lakescan.schema import arrow_schema, prune
from lakescan.storage import Storage


@dataclass(frozen=True)
class HudiSnapshot(ListedSnapshot):
    """A table at an instant. Implements `scan.Snapshot`."""

    instant: str
    timeline: Timeline
    base_files_only: bool = False
    since: str | None = None
    """Only rows that this commit or a later one wrote."""

    format = "hudi"

    @staticmethod
    def of(
        storage: Storage, instant: str, timeline: Timeline, base_files_only: bool = False, since: str | None = None
    ) -> "HudiSnapshot":
        snapshot = HudiSnapshot(storage, instant, timeline, base_files_only, since)
        _ = snapshot.schema
        return snapshot

    @property
    def version(self) -> str:
        """The instant, and what else decides which rows there are."""
        since = "" if self.since is None else f"{self.since}.."
        return f"{since}{self.instant}{' read optimized' if self.base_files_only else ''}"

    @property
    def token(self) -> str:
        return f"{self.format} {self.location}@{self.version}"

    @property
    def generated_columns(self) -> Mapping[str, str]:
        # Hudi's key generators make partition paths; no column says by which expression it was made.
        return {}

    @cached_property
    def properties(self) -> Mapping[str, str]:
        return dict(self.timeline.table.hudi_options())

    @cached_property
    def schema(self) -> pa.Schema:
        return arrow_schema(self._spark_schema)

    @cached_property
    def source_schema(self) -> pa.Schema:
        return source_schema(self.schema)

    @property
    def spark_schema(self) -> str:
        return json.dumps(self._spark_schema)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        with self._lock:
            return self._slices.partition_columns

    @property
    def data_files(self) -> HudiFiles:
        with self._lock:
            return HudiFiles(self.storage, self.instant, self.since, self._file_names)

    def statistics(self, files: pa.Table, columns: Collection[Column]) -> pa.StructArray:
        logical, _ = prune(self.schema, self.source_schema, {column.path for column in columns})
        kind = statistics_type(logical)
        with self._lock:
            counts = self._slices.row_counts(files)
        unknown = pa.nulls(files.num_rows, kind)
        given = {"numRecords": counts}
        return pa.StructArray.from_arrays(
            [given.get(found.name, member(unknown, found.name)) for found in kind], fields=list(kind)
        )

    def exact_statistics(self, files: pa.Table, columns: Collection[Column]) -> pa.StructArray:
        """The same: a count is that of the commit that wrote the file, and no bounds are known."""
        return self.statistics(files, columns)

    @cached_property
    def _spark_schema(self) -> dict[str, Any]:
        avro, file = self.timeline.schema(self.instant)
        if not avro:
            # hudi-rs reads the escapes of a properties file; without a commit the schema is only there.
            file = self.storage.full_path(PROPERTIES)
            with named_failures(self.storage, PROPERTIES):
                avro = self.timeline.table.get_schema_in_avro_str()
        return spark_schema(avro, self.properties.get("hoodie.populate.meta.fields", "true") == "true", file)

    @cached_property
    def _file_names(self) -> tuple[FileNames, ...]:
        return file_names(self.storage, self.timeline, self.instant)

    @property
    def _files(self) -> pa.Table:
        return self._slices.table

    @cached_property
    def _slices(self) -> FileSlices:
        return FileSlices(
            self.storage,
            self.timeline,
            self.instant,
            PartitionPaths.of(self.properties, self.schema),
            int(self.properties["hoodie.table.version"]),
            self.base_files_only,
            self.since,
        )
