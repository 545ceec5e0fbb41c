"""The hidden `_metadata` column: which file a row comes from, and which row of it.

Field names and types are those of Spark's own `_metadata`; a block is the piece of the file that a task reads. A row's
index is its position in the file as written, whatever was skipped or deleted. A format may add numbers that rows keep
when they move between files: a row's own is the one that the file stores for it, or else what the log says of the file.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from posixpath import basename
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.reader.read_plan import DataFiles

NAME = "_metadata"
_MOMENT = pa.timestamp("us", "UTC")
_FILE_FIELDS = (
    pa.field("file_path", pa.string(), nullable=False),
    pa.field("file_name", pa.string(), nullable=False),
    pa.field("file_size", pa.int64(), nullable=False),
    pa.field("file_block_start", pa.int64(), nullable=False),
    pa.field("file_block_length", pa.int64(), nullable=False),
    pa.field("file_modification_time", _MOMENT, nullable=False),
    pa.field("row_index", pa.int64(), nullable=False),
)
_NEEDS = {
    "file_path": "path",
    "file_name": "path",
    "file_size": "size",
    "file_block_length": "size",
    "file_modification_time": "modification_time",
}


@dataclass(frozen=True)
class KeptNumber:
    """A number that a row keeps when it moves between files, as a field of the column."""

    name: str
    of_file: str
    """The column of the planner's file table with what the log says of a file's rows."""
    stored_as: str | None
    """The column of data files with the numbers of rows that came from another file."""
    counts_on: bool = False
    """Whether the file's number is its first row's, and each row after it has the next one."""


@dataclass(frozen=True)
class FileMetadata:
    """Implements `reader.ComputedColumn`."""

    files: DataFiles
    kept: tuple[KeptNumber, ...] = ()

    @property
    def field(self) -> pa.Field:
        """The whole column, as a query may name it."""
        kept = [pa.field(number.name, pa.int64()) for number in self.kept]
        return pa.field(NAME, pa.struct([*_FILE_FIELDS, *kept]), nullable=False)

    def needs(self, wanted: pa.Field) -> Collection[str]:
        of_file = _NEEDS | {number.name: number.of_file for number in self.kept}
        return {of_file[field.name] for field in wanted.type if field.name in of_file} - {"path"}

    def stored(self, wanted: pa.Field) -> pa.Schema:
        return pa.schema([(name, pa.int64()) for name in self._stored_names(wanted).values()])

    def values(
        self, wanted: pa.Field, file: Mapping[str, Any], positions: pa.Array, stored: Sequence[pa.Array]
    ) -> pa.Array:
        own = dict(zip(self._stored_names(wanted), stored, strict=True))
        children = [self._child(field, file, positions, own.get(field.name)) for field in wanted.type]
        return pa.StructArray.from_arrays(children, fields=list(wanted.type))

    def _stored_names(self, wanted: pa.Field) -> dict[str, str]:
        names = {number.name: number.stored_as for number in self.kept}
        return {field.name: name for field in wanted.type if (name := names.get(field.name))}

    def _child(self, field: pa.Field, file: Mapping[str, Any], positions: pa.Array, own: pa.Array | None) -> pa.Array:
        if field.name == "row_index":
            return positions
        number = next((number for number in self.kept if number.name == field.name), None)
        if number is None:
            return _constant(self._value(field.name, file), field.type, len(positions))
        if number.counts_on:
            return _unless_stored(own, pc.add(positions, pa.scalar(file[number.of_file], pa.int64())))
        return _unless_stored(own, _constant(file[number.of_file], field.type, len(positions)))

    def _value(self, name: str, file: Mapping[str, Any]) -> Any:
        if name in ("file_path", "file_name"):
            path = self.files.storage.uri(self.files.path(file))
            return path if name == "file_path" else basename(path)
        if name == "file_block_start":
            return file["start"]
        if name == "file_block_length":
            return block_length(file)
        value = file[_NEEDS[name]]
        return value * 1000 if name == "file_modification_time" and value is not None else value


def block_length(piece: Mapping[str, Any]) -> int:
    """The bytes of a piece of a file; the last piece of a file is planned without an end."""
    size, start, length = piece["size"], piece["start"], piece["length"]
    return int(min(length, size - start) if size else length)


def _unless_stored(own: pa.Array | None, values: pa.Array) -> pa.Array:
    return values if own is None else pc.coalesce(own, values)


def _constant(value: Any, type_: pa.DataType, count: int) -> pa.Array:
    return _repeated(value, type_, 1 << max(0, count - 1).bit_length()).slice(0, count)


@lru_cache(maxsize=16)
def _repeated(value: Any, type_: pa.DataType, count: int) -> pa.Array:
    """Kept, because the batches of a file share it: a path for every row costs more to write than the row to read."""
    return pa.repeat(pa.scalar(value, type_), count)
