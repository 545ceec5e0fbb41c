"""What executors must know of Delta's data files: how the log spells their paths, and which rows are deleted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakescan.delta.deletion_vector import DeletedRows, DeletionVectors
from lakescan.delta.names import stored_path
from lakescan.storage import Storage


@dataclass(frozen=True)
class DeltaFiles:
    """Implements `reader.DataFiles`."""

    storage: Storage

    def path(self, file: Mapping[str, Any]) -> str:
        return stored_path(file["path"])

    def deleted_rows(self, file: Mapping[str, Any]) -> DeletedRows | None:
        vector = file["deletion_vector"]
        return None if vector is None else DeletionVectors(self.storage).deleted_rows(vector)
