"""What executors must know of Delta's data files: how the log spells their paths, and which rows are deleted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.formats.delta.deletion_vector import DeletedRows, DeletionVectors, with_vectors
from lakescan.formats.delta.log.names import stored_path
from lakescan.io.storage import Storage
from lakescan.reader.read_plan import undeleted_files


@dataclass(frozen=True)
class DeltaFiles:
    """Implements `reader.DataFiles`."""

    storage: Storage

    def path(self, file: Mapping[str, Any]) -> str:
        return stored_path(file["path"])

    def source(self, file: Mapping[str, Any], source: pa.Schema) -> pa.Schema:
        return source

    def deleted_rows(self, file: Mapping[str, Any]) -> DeletedRows | None:
        vector = file["deletion_vector"]
        return None if vector is None else DeletionVectors(self.storage).deleted_rows(vector)

    def merged_rows(self, file: Mapping[str, Any], source: pa.Schema) -> Iterator[pa.RecordBatch] | None:
        return None

    def plain_files(self, pieces: pa.Table) -> pa.Table:
        paths = pieces["path"]
        if pc.any(pc.match_substring(paths, "%")).as_py():
            paths = pa.chunked_array([pa.array(map(stored_path, paths.to_pylist()), pa.string())])
        files = undeleted_files(self.storage.plain_paths(paths))
        deleted = pieces["deletion_vector"]
        return files if deleted.null_count == len(deleted) else with_vectors(self.storage, files, deleted)
