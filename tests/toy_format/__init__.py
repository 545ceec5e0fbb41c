"""A third table format, for tests: CSV files, and a manifest that says version by version which of them were added.

It shows what a format has to bring: this folder, and a line in `formats/registry.py`.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyarrow import csv

from lakescan.errors import InvalidVersion, VersionNotFound
from lakescan.io.storage import Storage
from lakescan.options import TEXT, Option, Options, Read
from lakescan.predicate import Column
from lakescan.reader.read_plan import undeleted_files
from lakescan.scan.file_statistics import statistics_type
from lakescan.scan.format import Format
from lakescan.scan.identity import SnapshotIdentity, TableIdentity, digest
from lakescan.scan.listed_snapshot import ListedSnapshot
from lakescan.stream.offset import not_begun, parsed
from lakescan.stream.options import given_limits
from lakescan.stream.stream import Limits, Offset, StreamTask
from lakescan.types.schema import arrow_schema, prune

MANIFEST = "toy_manifest.json"
_FILES = pa.schema(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("modification_time", pa.int64()),
        ("partition", pa.struct([])),
        ("deletion_vector", pa.struct([("cardinality", pa.int64())])),
    ]
)


@dataclass(frozen=True)
class ToyFiles:
    """Implements `reader.DataFiles`: every file is read by hand."""

    storage: Storage
    schema: pa.Schema

    def path(self, file: Mapping[str, Any]) -> str:
        return str(file["path"])

    def source(self, file: Mapping[str, Any], source: pa.Schema) -> pa.Schema:
        return source

    def deleted_rows(self, file: Mapping[str, Any]) -> None:
        return None

    def merged_rows(self, file: Mapping[str, Any], source: pa.Schema) -> Iterator[pa.RecordBatch]:
        types = {field.name: field.type for field in self.schema}
        convert = csv.ConvertOptions(column_types=types, include_columns=source.names, strings_can_be_null=True)
        rows = csv.read_csv(pa.BufferReader(self.storage.read(file["path"])), convert_options=convert)
        return iter(rows.to_batches())

    def plain_files(self, pieces: pa.Table) -> pa.Table:
        return undeleted_files(pa.chunked_array([pa.nulls(pieces.num_rows, pa.string())]))


@dataclass(frozen=True)
class ToySnapshot(ListedSnapshot):
    """Implements `scan.Snapshot`: what the versions after `since` up to one added."""

    manifest: Mapping[str, Any]
    version: int
    since: int = -1
    format = "toy"

    @property
    def identity(self) -> SnapshotIdentity:
        table = TableIdentity(self.format, self.storage)
        return SnapshotIdentity(table, f"{self.since}-{self.version}", digest([self.manifest]))

    @cached_property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.manifest["schema"])

    @property
    def physical_schema(self) -> pa.Schema:
        return self.schema

    @property
    def schema_json(self) -> str:
        return json.dumps(self.manifest["schema"])

    @property
    def data_files(self) -> ToyFiles:
        return ToyFiles(self.storage, self.schema)

    @cached_property
    def _added(self) -> dict[str, dict[str, Any]]:
        versions = self.manifest["versions"][self.since + 1 : self.version + 1]
        return {file["path"]: file for added in versions for file in added}

    @cached_property
    def _files(self) -> pa.Table:
        blank = {"modification_time": 0, "partition": {}, "deletion_vector": None}
        return pa.Table.from_pylist([{**file, **blank} for file in self._added.values()], schema=_FILES)

    def statistics(self, files: pa.Table, columns: Collection[Column]) -> pa.StructArray:
        fields, _ = prune(self.schema, self.schema, {column.path for column in columns})
        told = [self._added[path]["statistics"] for path in files["path"].to_pylist()]
        return pa.array(told, statistics_type(fields))

    exact_statistics = statistics


class ToyTable:
    """Implements `scan.Table`."""

    format = "toy"
    asks_one_version = False

    def __init__(self, storage: Storage, zone: str = "UTC") -> None:
        self.storage, self.location, self.zone = storage, storage.location, zone

    def snapshot(self, version: int | str | None = None, timestamp: str | datetime | None = None) -> ToySnapshot:
        if timestamp is not None:
            raise InvalidVersion(timestamp, "a toy's versions have no times.")
        manifest = json.loads(self.storage.read(MANIFEST))
        newest = len(manifest["versions"]) - 1
        wanted = newest if version is None else int(version)
        if not 0 <= wanted <= newest:
            raise VersionNotFound(self.location, f"version {version}", 0, newest)
        return ToySnapshot(self.storage, manifest, wanted)

    def changes(self, start: int | str | datetime, end: int | str | datetime | None = None) -> ToySnapshot:
        last = self.snapshot() if end is None else self.snapshot(str(end))
        return replace(last, since=int(str(start)) - 1)

    def history(self, limit: int | None = None) -> pa.Table:
        return pa.table({"version": list(range(self.snapshot().version, -1, -1))[:limit]})


class ToyStream:
    """Implements `scan.stream.Stream`: a batch is what some versions added, and an offset the last of them."""

    def __init__(self, table: ToyTable, output: pa.Schema) -> None:
        self._table, self._output = table, output
        self._end: int | None = None

    def at_checkpoint(self, source: str) -> None:
        pass

    def initial_offset(self) -> Offset:
        return not_begun()

    def fix_end(self) -> None:
        self._end = self._newest()

    def newest_offset(self) -> Offset:
        return {**_offset(self._newest()), "newestVersion": self._newest()}

    def next_offset(self, start: Offset, limits: Limits) -> Offset:
        end = self._newest() if self._end is None else self._end
        return start if _reached(start) == end else _offset(min(end, _reached(start) + (limits.files or end + 1)))

    def end_offset(self) -> Offset:
        return _offset(self._newest())

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[StreamTask]:
        newest = self._table.snapshot()
        scan = replace(newest, since=_reached(start), version=_reached(end)).scan().project(self._output).build()
        return [StreamTask(scan.read_plan, task) for task in scan.tasks(parallelism)]

    def commit(self, end: Offset) -> None:
        return None

    def _newest(self) -> int:
        return self._table.snapshot().version


def _offset(version: int) -> Offset:
    return {**not_begun(), "version": version}


def _reached(offset: Offset) -> int:
    version = parsed(offset, lambda fields: int(fields["version"]))
    return -1 if version is None else version


@dataclass(frozen=True)
class PinnedToyStream:
    """Implements `scan.stream.PinnedStream`."""

    storage: Storage
    schema_json: str
    limits: Limits
    needs_admission_control: str | None = None

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema(json.loads(self.schema_json))

    def open(self, output: pa.Schema) -> ToyStream:
        return ToyStream(ToyTable(self.storage), output)


def _asked_of(table: ToyTable, given: Mapping[str, str], newest: Callable[[], ToySnapshot]) -> ToySnapshot:
    return table.snapshot(given["versionAsOf"]) if "versionAsOf" in given else newest()


FORMAT = Format(
    name="toy",
    title="Toy",
    sign=f"a toy's manifest ({MANIFEST})",
    detect=lambda storage: storage.has_file(MANIFEST),
    open=ToyTable,
    options=Options(
        "toy",
        (
            Option("versionAsOf", (Read.BATCH,), TEXT, "The version to read.", sets_rows=True, asks_one_version=True),
            Option("maxFilesPerTrigger", (Read.STREAM,), TEXT, "The most versions of a batch of a stream."),
        ),
    ),
    asked_of=_asked_of,
    range_asked=lambda given: None,
    pinned=lambda snapshot, given: {**given, "versionAsOf": str(snapshot.version)},
    pin_stream=lambda table, given, seen: PinnedToyStream(
        table.storage, (seen or table.snapshot()).schema_json, given_limits(given)
    ),
)
