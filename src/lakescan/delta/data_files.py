"""What executors must know of Delta's data files: how the log spells their paths, and which rows are deleted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from lakescan.delta.deletion_vector import DeletedRows, DeletionVectors
from lakescan.storage import Storage, has_scheme


@dataclass(frozen=True)
class DeltaFiles:
    """Implements `reader.DataFiles`."""

    storage: Storage

    def path(self, file: Mapping[str, Any]) -> str:
        path: str = file["path"]
        # The log percent-encodes paths; where one has a scheme, `Storage` decodes it with the rest of the URI.
        return path if has_scheme(path) else unquote(path)

    def deleted_rows(self, file: Mapping[str, Any]) -> DeletedRows | None:
        vector = file["deletion_vector"]
        return None if vector is None else DeletionVectors(self.storage).deleted_rows(vector)
