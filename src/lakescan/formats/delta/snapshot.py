"""One version of a Delta table, as the planner sees it.

The version, its schema and its properties are known when the snapshot is made, because a table that cannot be
read must be refused then. Files are read from the log when a scan asks, once, and kept as Arrow columns. A scan that
needs only some files may ask for partial replays of the version: the same version with only its newest files.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from lakescan.formats.delta.data_files import DeltaFiles
from lakescan.formats.delta.log.actions import StatisticsRequest
from lakescan.formats.delta.log.live_files import LiveFiles
from lakescan.formats.delta.log.log_filter import LogFilter
from lakescan.formats.delta.log.log_pieces import LogPiece, LogPieces
from lakescan.formats.delta.log.log_segment import LogSegment, list_log
from lakescan.formats.delta.log.names import LOG_FOLDER
from lakescan.formats.delta.log.protocol import Metadata, Protocol
from lakescan.formats.delta.log.replay import Replay
from lakescan.formats.delta.partition_values import typed_partition
from lakescan.formats.delta.row_tracking import is_tracked, row_tracking, with_tracking
from lakescan.io.storage import Storage
from lakescan.predicate import Column
from lakescan.reader.file_metadata import NAME as METADATA
from lakescan.reader.file_metadata import FileMetadata
from lakescan.scan.divided import Divided
from lakescan.scan.executors import Executors
from lakescan.scan.file_filters import FileFilter, StatisticsFilter
from lakescan.scan.identity import SnapshotIdentity, TableIdentity
from lakescan.scan.listed_snapshot import ListedSnapshot
from lakescan.scan.log_state import LogState
from lakescan.scan.packing import total_bytes
from lakescan.types.schema import prune

# How many steps' files are kept, and no more files of a step: some five megabytes each.
_KEPT_STEPS, _FEW_FILES = 8, 1 << 14


@dataclass(frozen=True, repr=False)
class DeltaSnapshot(ListedSnapshot):
    """A version of a table. Implements `scan.Snapshot`."""

    version: int
    zone: str
    _replay: Replay
    _some: LiveFiles | LogPiece | None = None
    """The only files there are in a partial replay or a piece of the version."""
    _listed: pa.Table | None = None
    """The same as `files` gives them, where that is known."""

    format = "delta"

    @staticmethod
    def of(storage: Storage, segment: LogSegment, zone: str, last: "DeltaSnapshot | None" = None) -> "DeltaSnapshot":
        """The version of a segment; what it shares with the one that was last read is not read again."""
        replay = Replay(storage, segment, None if last is None else last._replay)
        snapshot = DeltaSnapshot(storage, segment.version, zone, replay)
        _ = snapshot._replay.metadata
        return snapshot

    def __reduce__(self) -> tuple[Any, ...]:
        # Where it arrives the version is opened again: what was read of the log may be large, and reads itself.
        return _opened_again, (self.storage, self.zone, self.version)

    @property
    def segment(self) -> LogSegment:
        return self._replay.segment

    @property
    def has_large_checkpoint(self) -> bool:
        return self._replay.has_large_checkpoint

    @property
    def metadata(self) -> Metadata:
        return self._replay.metadata

    @property
    def protocol(self) -> Protocol:
        return self._replay.protocol

    @cached_property
    def identity(self) -> SnapshotIdentity:
        table = TableIdentity(self.format, self.storage, self.metadata.table_id)
        return SnapshotIdentity(table, str(self.version), self.segment.identity, self._zone_that_matters)

    @property
    def _zone_that_matters(self) -> str:
        """The zone, where the text of a partition value is a time in it."""
        zoned = (field.type for field in self.metadata.partition_fields if pa.types.is_timestamp(field.type))
        return self.zone if any(type_.tz is not None for type_ in zoned) else ""

    def seen_at(self, storage: Storage, zone: str) -> "DeltaSnapshot":
        return self if (storage, zone) == (self.storage, self.zone) else replace(self, storage=storage, zone=zone)

    @property
    def schema(self) -> pa.Schema:
        return self._replay.metadata.schema

    @property
    def physical_schema(self) -> pa.Schema:
        return self._replay.metadata.physical_schema

    @property
    def schema_json(self) -> str:
        return self._replay.metadata.spark_schema

    @property
    def hidden_columns(self) -> pa.Schema:
        return pa.schema([column.field for column in self.computed_columns.values()])

    @cached_property
    def computed_columns(self) -> Mapping[str, FileMetadata]:
        if any(name.lower() == METADATA for name in self.schema.names):
            return {}
        return {METADATA: FileMetadata(self.data_files, row_tracking(self.properties))}

    @cached_property
    def partition_columns(self) -> tuple[str, ...]:
        return tuple(field.name for field in self._replay.metadata.partition_fields)

    @property
    def generated_columns(self) -> Mapping[str, str]:
        return self._replay.metadata.generated_columns

    @property
    def properties(self) -> Mapping[str, str]:
        return self._replay.metadata.properties

    @property
    def log_state(self) -> LogState:
        protocol, checkpoint = self._replay.protocol, self.segment.checkpoint
        return LogState(
            protocol=f"reader {protocol.reader_version}, writer {protocol.writer_version}",
            features=tuple(sorted(protocol.reader_features | protocol.writer_features)),
            checkpoint_version=None if checkpoint is None else checkpoint.version,
            checkpoint_ms=None if checkpoint is None else checkpoint.modified_ms,
            commits_since_checkpoint=self.version - (-1 if checkpoint is None else checkpoint.version),
        )

    @property
    def data_files(self) -> DeltaFiles:
        return DeltaFiles(self.storage)

    def partial_replays(self) -> "Iterator[DeltaSnapshot]":
        return (replace(self, _some=some) for some in self._replay.partial_replays())

    def divided(self, at_least: int, executors: Executors) -> Divided | None:
        with self._lock:
            if self._some is not None or "_files" in self.__dict__:
                return None
            cut = self._replay.pieces(at_least, executors)
        if cut is None:
            return None
        here, log, counted = cut
        elsewhere = DeltaPieces(self.storage, self.zone, self.version, (self.protocol, self.metadata), log)
        known = tuple(replace(self, _some=some) for some in here)
        return Divided(known, elsewhere, counted.files, counted.bytes, self._together)

    def _together(self, files: pa.Table) -> "DeltaSnapshot":
        return replace(self, _some=self._replay.together(files), _listed=files)

    def without_paths(self, partition: bool) -> "DeltaSnapshot | None":
        with self._lock:
            listed = self._some is not None or "_files" in self.__dict__
            some = None if listed else self._replay.without_paths(partition)
        return None if some is None else replace(self, _some=some)

    def narrowed(self, step: FileFilter) -> "DeltaSnapshot":
        with self._lock:
            if "_files" in self.__dict__ or isinstance(self._some, LiveFiles):
                return self
            known = self._narrowed.get(step)
            if known is not None:
                return known
            wanted = self._in_the_log(step)
            some = self._replay.matching(wanted) if self._some is None else self._some.matching(wanted)
            if some is None:
                return self
            made = replace(self, _some=some)
            if some.table.num_rows <= _FEW_FILES:
                self._narrowed[step] = made
                for oldest in list(self._narrowed)[:-_KEPT_STEPS]:
                    del self._narrowed[oldest]
            return made

    @cached_property
    def _narrowed(self) -> "dict[FileFilter, DeltaSnapshot]":
        """What steps kept that were asked for last: the same filter is mostly asked for again."""
        return {}

    def _in_the_log(self, step: FileFilter) -> LogFilter:
        columns = step.columns if isinstance(step, StatisticsFilter) else ()
        metadata = self._replay.metadata
        names = metadata.physical_partition_names
        request = self._request(columns, exact=False)
        return LogFilter(step, request, names, metadata.partition_fields, self.zone, f"{self.location}/{LOG_FOLDER}")

    @property
    def num_files(self) -> int:
        return int(self._census.num_rows)

    @property
    def size_in_bytes(self) -> int:
        return total_bytes(self._census["size"].to_numpy())

    @property
    def _census(self) -> pa.Table:
        """What is counted of the files; their paths are not needed for it."""
        with self._lock:
            listed = self._some is not None or "_files" in self.__dict__
            return self._files if listed else self._replay.census

    def census(self) -> pa.Table:
        with self._lock:
            listed = self._some is not None or "_files" in self.__dict__
            counted = None if listed else self._replay.census_with_rows()
        return super().census() if counted is None else counted

    def details(self, files: pa.Table, names: Collection[str]) -> pa.Table:
        if not is_tracked(names):
            return files
        return with_tracking(files, self._live_files.row_tracking(files["source"], files["row"]))

    def statistics(self, files: pa.Table, columns: Collection[Column]) -> pa.StructArray:
        return self._statistics(files, columns, exact=False)

    def exact_statistics(self, files: pa.Table, columns: Collection[Column]) -> pa.StructArray:
        return self._statistics(files, columns, exact=True)

    def _statistics(self, files: pa.Table, columns: Collection[Column], exact: bool) -> pa.StructArray:
        return self._live_files.statistics(files["source"], files["row"], self._request(columns, exact))

    def _request(self, columns: Collection[Column], exact: bool) -> StatisticsRequest:
        logical, physical = prune(self.schema, self.physical_schema, {column.path for column in columns})
        return StatisticsRequest(logical, physical, self._replay.metadata.once_float, exact)

    @property
    def _live_files(self) -> LiveFiles:
        if self._some is None:
            return self._replay.live_files
        return self._some.live_files if isinstance(self._some, LogPiece) else self._some

    @cached_property
    def _files(self) -> pa.Table:
        if self._listed is not None:
            return self._listed
        live = self._live_files.table
        # Paths are the most of it, and are shared with what the log was replayed to.
        columns = [live[name] if name == "path" else live[name].combine_chunks() for name in live.column_names]
        raw = pa.table(columns, schema=live.schema)
        texts = raw["partition"].combine_chunks()
        partition = typed_partition(
            texts, self._replay.metadata.partition_fields, self.zone, f"{self.location}/{LOG_FOLDER}"
        )
        return raw.set_column(raw.schema.get_field_index("partition"), "partition", partition)


@dataclass(frozen=True)
class DeltaPieces:
    """Implements `scan.divided.Pieces`: nothing of the log is read where they arrive but what a piece lists."""

    storage: Storage
    zone: str
    version: int
    state: tuple[Protocol, Metadata]
    log: LogPieces

    def __len__(self) -> int:
        return len(self.log)

    def __getitem__(self, at: int) -> DeltaSnapshot:
        known = Replay.of_state(self.storage, self.version, *self.state)
        return DeltaSnapshot(self.storage, self.version, self.zone, known, self.log.piece(at))


def _opened_again(storage: Storage, zone: str, version: int) -> DeltaSnapshot:
    return DeltaSnapshot.of(storage, list_log(storage).segment(version), zone)
