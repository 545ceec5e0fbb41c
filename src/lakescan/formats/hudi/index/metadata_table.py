"""Hudi's metadata table, a partition of it at a time: which files hold its entries, and the entries of some keys.

Written by hand because hudi-rs reads its partition of file names alone, and only for itself. The table is merge on
read: each of a partition's file groups has a base file once it was compacted, and log files that follow it, in which
blocks are HFiles again. Only what a completed instant of the metadata table's own timeline wrote is read. Blocks that
are no data are passed over: an entry that is lost so is an entry less, and whoever asks must do without.
"""

import io
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import fastavro
import pyarrow as pa

from lakescan.errors import CorruptDataFile, MissingDataFile
from lakescan.formats.hudi.index.hfile import HFile
from lakescan.formats.hudi.names import (
    META_FOLDER,
    file_group_of,
    instant_of_base_file,
    instant_of_log_file,
    log_file_order,
)
from lakescan.formats.hudi.slices.log_blocks import HFILE_BLOCK, log_blocks
from lakescan.formats.hudi.timeline.timeline_listing import timeline_folder
from lakescan.io.storage import Storage

_FOLDER = f"{META_FOLDER}/metadata"
_COMPLETED = re.compile(r"^(\d+)(?:_(\d+))?\.(?:commit|deltacommit|replacecommit)$")
_BASE_SUFFIX = ".hfile"
_SCHEMA = b"schema"


@dataclass(frozen=True)
class MetadataPartition:
    """One partition of the metadata table of the table at `storage`, as it is when first asked."""

    storage: Storage
    name: str
    options: Mapping[str, str]
    """The settings of the table."""

    @staticmethod
    def of(storage: Storage, name: str, options: Mapping[str, str]) -> "MetadataPartition | None":
        """None where the table has no such partition, or has it only half built."""
        built = options.get("hoodie.table.metadata.partitions", "").split(",")
        return MetadataPartition(storage, name, options) if name in built else None

    def records(self, prefix: bytes, endings: Collection[bytes] | None) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """(what a key ends in, its record) of the keys that begin and end so; of one key the newest record last.

        None stands for every ending.
        """
        for file, schema in self._files():
            reader = None
            with self.storage.named_failures(file.name):
                for key, value in file.entries(prefix):
                    ending = key[len(prefix) :]
                    if endings is None or ending in endings:
                        reader = reader or _reader(schema.encode() or file.info.get(_SCHEMA, b""), file.name)
                        yield ending, _decoded(value, reader, file.name)

    def check(self) -> None:
        """Raises an error that names the file unless every entry can be read; nothing else need be believed then."""
        for _ in self.records(b"", None):
            pass

    def _files(self) -> Iterator[tuple[HFile, str]]:
        """The HFiles, oldest first in each file group, and the schema of their values where it is not in the file."""
        for (base, _), logs in zip(self._slices, self._log_blocks, strict=True):
            if base:
                name = self.storage.full_path(base)
                try:
                    opened = self.storage.open(base)
                except FileNotFoundError as error:
                    raise MissingDataFile(name) from error
                with opened as file, self.storage.named_failures(base):
                    yield HFile(file, name), ""
            yield from logs

    @cached_property
    def _log_blocks(self) -> list[list[tuple[HFile, str]]]:
        """The HFiles in the log files of each slice. They are kept: whatever is asked for may be in any of them."""
        return [[block for log in logs for block in self._blocks(log)] for _, logs in self._slices]

    def _blocks(self, log: str) -> Iterator[tuple[HFile, str]]:
        for block in log_blocks(self.storage, log):
            if block.kind == HFILE_BLOCK and block.content and self._is_complete(block.instant):
                yield HFile(pa.BufferReader(block.content), self.storage.full_path(log)), block.schema

    @cached_property
    def _slices(self) -> list[tuple[str, list[str]]]:
        """The newest base file of each file group, empty where it has none yet, and the log files since."""
        folder = f"{_FOLDER}/{self.name}"
        bases: dict[str, str] = {}
        logs: dict[str, list[str]] = {}
        for entry in self.storage.list_from(folder):
            group = file_group_of(entry.name)
            if instant_of_log_file(entry.name):
                logs.setdefault(group, []).append(entry.name)
            elif entry.name.endswith(_BASE_SUFFIX) and self._is_complete(instant_of_base_file(entry.name)):
                bases[group] = max(bases.get(group, ""), entry.name, key=instant_of_base_file)
        slices = []
        for group in sorted({*bases, *logs}):
            base = bases.get(group, "")
            since = [name for name in logs.get(group, []) if self._end(name) >= instant_of_base_file(base)]
            paths = [f"{folder}/{name}" for name in sorted(since, key=log_file_order)]
            slices.append((f"{folder}/{base}" if base else "", paths))
        return slices

    def _is_complete(self, instant: str) -> bool:
        """Whether an instant is complete; those before the first that the timeline has left are, or are undone."""
        return instant in self._completed or "" < instant < self._first

    @cached_property
    def _first(self) -> str:
        return min(self._completed, default="")

    def _end(self, log: str) -> str:
        """When a log file was committed: one that began before a compaction and ended after it is not in its result."""
        instant = instant_of_log_file(log)
        return self._completed.get(instant, instant)

    @cached_property
    def _completed(self) -> dict[str, str]:
        """The completed instants, and when each ended, where the timeline says so."""
        entries = self.storage.list_from(f"{_FOLDER}/{timeline_folder(self.options)}")
        matches = (_COMPLETED.match(entry.name) for entry in entries)
        return {match[1]: match[2] or match[1] for match in matches if match}


def _decoded(value: bytes, schema: Any, name: str) -> dict[str, Any]:
    try:
        record = fastavro.schemaless_reader(io.BytesIO(value), schema, return_record_name=True)
    except Exception as error:
        # fastavro has no class of its own for what is wrong with the bytes.
        raise CorruptDataFile(name, f"an entry is not in its schema ({type(error).__name__}: {error})") from error
    return record if isinstance(record, dict) else {}


def _reader(schema: bytes, name: str) -> Any:
    """An Avro schema, ready to read with; `name` is the file that has it."""
    try:
        return _parsed(schema.decode())
    except Exception as error:
        # As above.
        why = f"it has no Avro schema for its values ({type(error).__name__}: {error})"
        raise CorruptDataFile(name, why) from error


@lru_cache(maxsize=16)
def _parsed(schema: str) -> Any:
    """Without logical types: values come as the numbers and bytes that they are."""
    return fastavro.parse_schema(_plain(json.loads(schema)))


def _plain(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _plain(value) for key, value in schema.items() if key != "logicalType"}
    return [_plain(part) for part in schema] if isinstance(schema, list) else schema
