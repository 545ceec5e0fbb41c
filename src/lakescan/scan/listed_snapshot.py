"""What the snapshots of all formats do alike: a version's files are listed once, when they are first asked for.

A format's snapshot inherits this, says how its files are listed, and implements the rest of `scan.Snapshot`. Several
threads may ask at once: one lists, the others wait.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import TypeVar

import pyarrow as pa

from lakescan.io.storage import Storage
from lakescan.reader.read_plan import ComputedColumn
from lakescan.scan.builder import ScanBuilder
from lakescan.scan.divided import Divided
from lakescan.scan.executors import Executors
from lakescan.scan.file_filters import FileFilter
from lakescan.scan.identity import SnapshotIdentity
from lakescan.scan.log_state import LogState
from lakescan.scan.packing import total_bytes
from lakescan.scan.pruning import stored_rows
from lakescan.scan.snapshot import Snapshot
from lakescan.scan.snapshot_shown import snapshot_html, snapshot_text
from lakescan.show.schema import schema_tree

_Kind = TypeVar("_Kind", bound="ListedSnapshot")


@dataclass(frozen=True)
class ListedSnapshot(ABC):
    """A version of a table in a folder. What a format lacks (hidden columns, partial replays, …) is empty."""

    storage: Storage
    _lock: RLock = field(default_factory=RLock, repr=False, compare=False, kw_only=True)

    @property
    @abstractmethod
    def _files(self) -> pa.Table:
        """Every live file; kept by the format, and asked for by one thread at a time."""

    @property
    @abstractmethod
    def identity(self) -> SnapshotIdentity:
        """See `scan.Snapshot`."""

    @property
    def token(self) -> str:
        return self.identity.text

    def seen_at(self: _Kind, storage: Storage, zone: str) -> _Kind:
        return self if storage == self.storage else replace(self, storage=storage)

    @property
    def location(self) -> str:
        return self.storage.location

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return ()

    @property
    def generated_columns(self) -> Mapping[str, str]:
        return {}

    @property
    def properties(self) -> Mapping[str, str]:
        return {}

    @property
    def hidden_columns(self) -> pa.Schema:
        return pa.schema([])

    @property
    def computed_columns(self) -> Mapping[str, ComputedColumn]:
        return {}

    def __repr__(self: Snapshot) -> str:
        return snapshot_text(self)

    def print_schema(self: Snapshot) -> None:
        """Print the schema as Spark's `printSchema` does."""
        print(schema_tree(self.schema_json))

    def _repr_html_(self: Snapshot) -> str:
        return snapshot_html(self)

    @property
    def log_state(self) -> LogState:
        return LogState()

    @property
    def num_files(self) -> int:
        return int(self.files().num_rows)

    @property
    def size_in_bytes(self) -> int:
        return total_bytes(self.files()["size"].to_numpy())

    def files(self) -> pa.Table:
        with self._lock:
            return self._files

    def census(self: Snapshot) -> pa.Table:
        files = self.files()
        counted = [name for name in ("size", "deletion_vector", "merged_with") if name in files.schema.names]
        return files.select(counted).append_column("rows", stored_rows(self, files))

    def partial_replays(self) -> Iterator[Snapshot]:
        return iter(())

    def divided(self, at_least: int, executors: Executors) -> Divided | None:
        return None

    def without_paths(self, partition: bool) -> Snapshot | None:
        return None

    def narrowed(self: Snapshot, step: FileFilter) -> Snapshot:
        return self

    def details(self, files: pa.Table, names: Collection[str]) -> pa.Table:
        return files

    def scan(self: Snapshot) -> ScanBuilder:
        return ScanBuilder.of(self)
