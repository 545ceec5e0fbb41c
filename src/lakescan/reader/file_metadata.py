"""The hidden `_metadata` column: which file a row comes from, and which row of it.

Field names and types are those of Spark's own `_metadata`. A row's index is its position in the file as written,
whatever was skipped or deleted. Where the table tracks rows, a row's id is the one that the file stores for it, or
else the file's first id plus the index; its commit version likewise, or else the file's.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from posixpath import basename
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.reader.plan import DataFiles

NAME = "_metadata"
BASE_ROW_ID = "base_row_id"
DEFAULT_ROW_COMMIT_VERSION = "default_row_commit_version"
_MOMENT = pa.timestamp("us", "UTC")
_FILE_FIELDS = (
    pa.field("file_path", pa.string(), nullable=False),
    pa.field("file_name", pa.string(), nullable=False),
    pa.field("file_size", pa.int64(), nullable=False),
    pa.field("file_modification_time", _MOMENT, nullable=False),
    pa.field("row_index", pa.int64(), nullable=False),
)
_TRACKING_FIELDS = (pa.field("row_id", pa.int64()), pa.field("row_commit_version", pa.int64()))
_NEEDS = {
    "file_path": "path",
    "file_name": "path",
    "file_size": "size",
    "file_modification_time": "modification_time",
    "row_id": BASE_ROW_ID,
    "row_commit_version": DEFAULT_ROW_COMMIT_VERSION,
}


@dataclass(frozen=True)
class RowTracking:
    """The names under which data files store rows' ids and commit versions, once a row has moved between files."""

    row_id_column: str | None
    row_commit_version_column: str | None


@dataclass(frozen=True)
class FileMetadata:
    """Implements `reader.ComputedColumn`; without `tracking` the table does not track rows."""

    files: DataFiles
    tracking: RowTracking | None = None

    @property
    def field(self) -> pa.Field:
        """The whole column, as a query may name it."""
        fields = _FILE_FIELDS if self.tracking is None else _FILE_FIELDS + _TRACKING_FIELDS
        return pa.field(NAME, pa.struct(fields), nullable=False)

    def needs(self, wanted: pa.Field) -> Collection[str]:
        return {_NEEDS[field.name] for field in wanted.type if field.name in _NEEDS} - {"path"}

    def stored(self, wanted: pa.Field) -> pa.Schema:
        return pa.schema([(name, pa.int64()) for name in self._stored_names(wanted).values()])

    def values(
        self, wanted: pa.Field, file: Mapping[str, Any], positions: pa.Array, stored: Sequence[pa.Array]
    ) -> pa.Array:
        own = dict(zip(self._stored_names(wanted), stored, strict=True))
        children = [self._child(field, file, positions, own.get(field.name)) for field in wanted.type]
        return pa.StructArray.from_arrays(children, fields=list(wanted.type))

    def _stored_names(self, wanted: pa.Field) -> dict[str, str]:
        if self.tracking is None:
            return {}
        names = {
            "row_id": self.tracking.row_id_column,
            "row_commit_version": self.tracking.row_commit_version_column,
        }
        return {field.name: name for field in wanted.type if (name := names.get(field.name))}

    def _child(self, field: pa.Field, file: Mapping[str, Any], positions: pa.Array, own: pa.Array | None) -> pa.Array:
        if field.name == "row_index":
            return positions
        if field.name == "row_id":
            first = pa.scalar(file[BASE_ROW_ID], pa.int64())
            return _unless_stored(own, pc.add(positions, first))
        return _unless_stored(own, _constant(self._value(field.name, file), field.type, len(positions)))

    def _value(self, name: str, file: Mapping[str, Any]) -> Any:
        if name in ("file_path", "file_name"):
            path = self.files.storage.uri(self.files.path(file))
            return path if name == "file_path" else basename(path)
        value = file[_NEEDS[name]]
        return value * 1000 if name == "file_modification_time" and value is not None else value


def _unless_stored(own: pa.Array | None, values: pa.Array) -> pa.Array:
    return values if own is None else pc.coalesce(own, values)


def _constant(value: Any, type_: pa.DataType, count: int) -> pa.Array:
    return _repeated(value, type_, 1 << max(0, count - 1).bit_length()).slice(0, count)


@lru_cache(maxsize=16)
def _repeated(value: Any, type_: pa.DataType, count: int) -> pa.Array:
    """Kept, because the batches of a file share it: a path for every row costs more to write than the row to read."""
    return pa.repeat(pa.scalar(value, type_), count)
