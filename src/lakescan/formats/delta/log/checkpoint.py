"""A checkpoint's files as Arrow: each is opened once, when it is first needed, and only the columns that are asked for
are read, statistics only when wanted, and of a large file, where its first rows are enough, no more than those.

The adds of a checkpoint are already reconciled with each other: each file stands in it once. A V2 checkpoint
spreads them over sidecars; each of those is a source like any other part. A file that cannot be read raises
UnreadableCheckpoint, so that replay can do without the checkpoint.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakescan.errors import CorruptLog, StorageFailure, UnreadableCheckpoint
from lakescan.formats.delta.log.actions import ROW_TRACKING, ActionSource, StatisticsRequest, adds_schema
from lakescan.formats.delta.log.checkpoint_adds import COLUMNS, filled_out, refuse_both, typed_adds
from lakescan.formats.delta.log.commits import CommitText, file_actions
from lakescan.formats.delta.log.log_segment import Checkpoint
from lakescan.formats.delta.log.names import SIDECAR_FOLDER
from lakescan.formats.delta.log.typed_action import TypedAction
from lakescan.formats.delta.statistics.parsed import parse_statistics, typed_statistics
from lakescan.io.locations import has_scheme
from lakescan.io.storage import Storage, failure_of_store
from lakescan.reader.file_checks import check_columns, footer_statistics
from lakescan.types.columns import empty_structs, member

_BATCH_ROWS = 4096


@dataclass(frozen=True)
class OpenedOnce:
    """A Parquet file that stays open once it was needed. Several threads may read it at once: a reader of Arrow's keeps
    what it has buffered in itself and is for one thread at a time, so each read has one to itself."""

    storage: Storage
    path: str
    size: int | None = None
    """How long it is said to be."""
    _idle: deque[pq.ParquetFile] = field(default_factory=deque, repr=False, compare=False)
    _opening: Lock = field(default_factory=Lock, repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.storage.full_path(self.path)

    @property
    def metadata(self) -> pq.FileMetaData:
        return self._opened[1]

    @property
    def schema(self) -> pa.Schema:
        return self._opened[2]

    @contextmanager
    def reader(self) -> Iterator[pq.ParquetFile]:
        """A reader that no other thread has; made anew only where all are in use."""
        source, metadata, _ = self._opened
        try:
            found = self._idle.pop()
        except IndexError:
            found = _parquet(source, metadata)
        try:
            yield found
        finally:
            self._idle.append(found)

    @property
    def _opened(self) -> tuple[pa.NativeFile, pq.FileMetaData, pa.Schema]:
        """What threads may share: the file, its footer and its schema."""
        with self._opening:
            return self._opened_first

    @cached_property
    def _opened_first(self) -> tuple[pa.NativeFile, pq.FileMetaData, pa.Schema]:
        with _named(self.name):
            source = self.storage.open(self.path)
            if self.size is not None and self.size != source.size():
                raise CorruptLog(self.name, f"it has {source.size()} bytes and the checkpoint says {self.size}")
            first = _parquet(source, None)
            check_columns(first.metadata, source.size())
            self._idle.append(first)
            return source, first.metadata, first.schema_arrow

    def actions(self, name: str) -> Iterator[Mapping[str, Any]]:
        """The few actions of one kind: protocol, metaData, sidecar."""
        if name not in self.schema.names:
            return
        if self.schema.names.count(name) != 1 or not pa.types.is_struct(self.schema.field(name).type):
            raise UnreadableCheckpoint(self.name, f"its column {name} is no struct")
        with _named(self.name):
            groups = self._row_groups_with(name)
        if not groups:
            # Nothing to buffer: pyarrow 18 fails at that.
            return
        with _named(self.name), self.reader() as parquet:
            # Whoever wants but the first one does not have the rest read.
            for batch in parquet.iter_batches(_BATCH_ROWS, groups, [name]):
                found = batch.column(0).drop_null()
                found.validate(full=True)
                yield from found.to_pylist()

    def _row_groups_with(self, name: str) -> list[int]:
        """The row groups but those without such an action, as the file's own statistics have it."""
        metadata = self.metadata
        leaves = [at for at, leaf in enumerate(metadata.schema) if leaf.path.startswith(f"{name}.")]
        return [
            at
            for at, group in enumerate(map(metadata.row_group, range(metadata.num_row_groups)))
            if not all(_is_all_null(footer_statistics(metadata, at, leaf), group.num_rows) for leaf in leaves)
        ]


@dataclass(frozen=True)
class CheckpointFile:
    """One Parquet file of a checkpoint: the whole of it, a part, or a sidecar."""

    file: OpenedOnce
    partition_names: tuple[str, ...]
    adds_are_elsewhere: bool = False
    """Whether it names sidecars, and so may have no column for adds of its own."""

    @property
    def num_rows(self) -> int:
        return int(self.file.metadata.num_rows)

    @cached_property
    def adds(self) -> pa.Table:
        return self.first_adds(self.num_rows)

    def first_adds(self, rows: int) -> pa.Table:
        names = self.file.schema.names
        if "add" not in names and self.adds_are_elsewhere:
            return adds_schema(self.partition_names).empty_table()
        with _named(self.file.name):
            if names.count("add") != 1 or not pa.types.is_struct(self.file.schema.field("add").type):
                raise CorruptLog(self.file.name, "it has no column of add actions")
            refuse_both(self.file.metadata, self.file.name)
            found = self._read(*[f"add.{name}" for name in COLUMNS], first=rows)
            add = found["add"].combine_chunks() if found.num_columns else empty_structs(found.num_rows)
            return typed_adds(add, self.partition_names, self.file.name)

    def statistics(self, rows: pa.Array, wanted: StatisticsRequest) -> pa.StructArray:
        add = self.file.schema.field("add").type
        at = add.get_field_index("stats_parsed")
        if at < 0 or not pa.types.is_struct(add.field(at).type):
            return parse_statistics(self._texts(rows), wanted)
        found = self._read(*_statistics_columns(wanted), first=_reaching(rows))
        if not found.num_columns:
            return parse_statistics(self._texts(rows), wanted)
        parsed = member(found["add"].combine_chunks().take(rows), "stats_parsed")
        typed = typed_statistics(parsed, wanted)
        if parsed.null_count and add.get_field_index("stats") >= 0:
            return pc.if_else(parsed.is_valid(), typed, parse_statistics(self._texts(rows), wanted))
        return typed

    def row_tracking(self, rows: pa.Array) -> pa.StructArray:
        found = self._read(*(f"add.{field.name}" for field in ROW_TRACKING), first=_reaching(rows))
        add = found["add"].combine_chunks().take(rows) if found.num_columns else empty_structs(len(rows))
        with _named(self.file.name):
            return filled_out(add, ROW_TRACKING)

    def _texts(self, rows: pa.Array) -> pa.Array:
        found = self._read("add.stats", first=_reaching(rows))
        if not found.num_columns:
            return pa.nulls(len(rows), pa.string())
        with _named(self.file.name):
            texts = _chosen(member(found["add"].combine_chunks(), "stats").cast(pa.string()), rows)
            texts.validate(full=True)
            return texts

    def _read(self, *columns: str, first: int | None = None) -> pa.Table:
        """These columns, where so many rows are enough perhaps no more than the first ones."""
        with _named(self.file.name), self.file.reader() as parquet:
            if first is None or 2 * first >= self.num_rows:
                return parquet.read(columns=list(columns))
            return pa.Table.from_batches(_first_batches(parquet, columns, first))


@dataclass(frozen=True)
class CheckpointFiles:
    """A checkpoint's own files, and the sidecars that they name."""

    storage: Storage
    checkpoint: Checkpoint

    def actions(self, name: str) -> Iterator[Mapping[str, Any]]:
        """The few actions of one kind in the checkpoint's own files."""
        return (action for action, _ in self.named_actions(name))

    def named_actions(self, name: str) -> Iterator[tuple[Mapping[str, Any], str]]:
        """The same, each with the file that it stands in."""
        for path, file in zip(self.checkpoint.paths, self._own, strict=True):
            full = self.storage.full_path(path)
            with _named(full):
                yield from ((action, full) for action in file.actions(name))

    def sources(self, partition_names: Sequence[str]) -> list[ActionSource]:
        """Every file of the checkpoint that may hold adds, its sidecars included."""
        names = tuple(partition_names)
        # What stands in several parts has no sidecars, so the parts need not be opened to look.
        sidecars = self._sidecars() if len(self.checkpoint.paths) == 1 else []
        sources: list[ActionSource] = []
        for file in self._own:
            if isinstance(file, OpenedOnce):
                sources.append(CheckpointFile(file, names, adds_are_elsewhere=bool(sidecars)))
                continue
            with _named(file.file):
                sources.append(file_actions([file], names))
        return [*sources, *(CheckpointFile(sidecar, names) for sidecar in sidecars)]

    def _sidecars(self) -> list[OpenedOnce]:
        found: dict[str, OpenedOnce] = {}
        for action, file in self.named_actions("sidecar"):
            with _named(file):
                sidecar = TypedAction("sidecar", action, file)
                path, size = sidecar.text("path"), sidecar.integer("sizeInBytes")
                if not path:
                    raise sidecar.malformed("path", "the name of a file")
                path = path if has_scheme(path) else unquote(path)
                inside = path if "/" in path else f"{SIDECAR_FOLDER}/{path}"
                if inside in found:
                    raise CorruptLog(file, f"it names the sidecar {path} twice")
                found[inside] = OpenedOnce(self.storage, inside, size)
        return list(found.values())

    @cached_property
    def _own(self) -> list[OpenedOnce | CommitText]:
        return [self._own_file(path) for path in self.checkpoint.paths]

    def _own_file(self, path: str) -> OpenedOnce | CommitText:
        if not path.endswith(".json"):
            return OpenedOnce(self.storage, path)
        name = self.storage.full_path(path)
        with _named(name):
            return CommitText(name, self.storage.read(path), reconciled=True)


def _parquet(source: pa.NativeFile, metadata: pq.FileMetaData | None) -> pq.ParquetFile:
    return pq.ParquetFile(
        source,
        metadata=metadata,
        coerce_int96_timestamp_unit="us",
        pre_buffer=True,
        page_checksum_verification=True,
    )


def _first_batches(file: pq.ParquetFile, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    """Batches until they have so many rows: only the first row groups are read, and the last is decoded in part."""
    counts = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
    needed = int(np.searchsorted(np.cumsum(counts), rows)) + 1
    for batch in file.iter_batches(_BATCH_ROWS, list(range(needed)), list(columns)):
        yield batch
        rows -= batch.num_rows
        if rows <= 0:
            return


def _is_all_null(known: pq.Statistics | None, rows: int) -> bool:
    return known is not None and known.has_null_count and known.null_count == rows


def _chosen(texts: pa.Array, rows: pa.Array) -> pa.Array:
    """The texts at these places; those of neighbours, as all of a checkpoint's adds mostly are, need no copy."""
    places = rows.to_numpy()
    if len(places) and np.all(np.diff(places) == 1):
        return texts.slice(places[0], len(places))
    return texts.take(rows)


def _reaching(rows: pa.Array) -> int:
    return int(pc.max(rows).as_py()) + 1


def _statistics_columns(wanted: StatisticsRequest) -> list[str]:
    leaves = _leaf_paths(list(wanted.physical))
    kinds = ("minValues", "maxValues", "nullCount")
    return [
        "add.stats_parsed.numRecords",
        "add.stats_parsed.tightBounds",
        *(f"add.stats_parsed.{kind}.{leaf}" for kind in kinds for leaf in leaves),
    ]


def _leaf_paths(fields: list[pa.Field]) -> list[str]:
    paths = []
    for found in fields:
        below = _leaf_paths(list(found.type)) if pa.types.is_struct(found.type) else []
        paths.extend([f"{found.name}.{leaf}" for leaf in below] or [found.name])
    return paths


@contextmanager
def _named(file: str) -> Iterator[None]:
    """Failures to read a checkpoint's file, as one error that says which; a failure of the store stays one."""
    try:
        yield
    except (UnreadableCheckpoint, StorageFailure):
        raise
    except FileNotFoundError as error:
        raise UnreadableCheckpoint(file, "the checkpoint names it and it is not there") from error
    except CorruptLog as error:
        raise UnreadableCheckpoint(file, error.why) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        # Arrow reports a page that does not decode as an OSError, and a name that is no text as Python does.
        raise failure_of_store(file, error) or UnreadableCheckpoint(file, str(error)) from error
