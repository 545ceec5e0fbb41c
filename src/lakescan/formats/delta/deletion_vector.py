"""Deletion vectors: which rows of a data file are deleted, read from wherever the log says they are stored.

A vector is given out only when everything that can be checked is right: its size, its checksum, its layout and
its number of rows. A wrong one is an error, because rows that should be gone would come back.
"""

import base64
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import CorruptDeletionVector, MissingDeletionVector
from lakescan.formats.delta.log.names import stored_path
from lakescan.io.storage import Storage
from lakescan.reader.read_plan import PLAIN_FILES
from lakescan.types.columns import member

if TYPE_CHECKING:
    from pyroaring import BitMap64

_MAGIC = 1681511377
_FILE_FORMAT = 1
_ENCODED_UUID = 20
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_RFC1924 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_TO_RFC1924 = bytes.maketrans(_Z85, _RFC1924)


@dataclass(frozen=True)
class DeletedRows:
    """The positions of a file's deleted rows."""

    bitmap: "BitMap64"

    def __len__(self) -> int:
        return len(self.bitmap)

    @property
    def last(self) -> int | None:
        return self.bitmap.max() if self.bitmap else None

    def between(self, start: int, stop: int) -> npt.NDArray[np.uint64]:
        """Positions in [start, stop), in order."""
        if self.bitmap.range_cardinality(start, stop) == 0:
            return np.empty(0, np.uint64)
        from pyroaring import BitMap64

        inside = self.bitmap & BitMap64(range(start, stop))
        return np.frombuffer(inside.to_array(), np.uint64)


@dataclass(frozen=True)
class DeletionVectors:
    """Reads the deletion vectors that a table's log describes; picklable, for executors."""

    storage: Storage

    def deleted_rows(self, descriptor: Mapping[str, Any]) -> DeletedRows:
        kind, where = descriptor["storageType"], descriptor["pathOrInlineDv"]
        size, cardinality = descriptor["sizeInBytes"], descriptor["cardinality"]
        if kind == "i":
            name, data = "the table's log (inline)", _decode85(where, "the table's log (inline)")[:size]
        elif kind in ("u", "p"):
            path = relative_path(where) if kind == "u" else stored_path(where)
            name = self.storage.full_path(path)
            data = self._stored(path, name, descriptor["offset"] or 0, size)
        else:
            raise CorruptDeletionVector("the table's log", f"its storage type {kind!r} is none of u, p and i")
        if len(data) != size:
            raise CorruptDeletionVector(name, f"it should have {size} bytes and has {len(data)}")
        bitmap = _bitmap(data, name)
        if len(bitmap) != cardinality:
            raise CorruptDeletionVector(name, f"it should delete {cardinality} rows and deletes {len(bitmap)}")
        return DeletedRows(bitmap)

    def _stored(self, path: str, name: str, offset: int, size: int) -> bytes:
        """The vector at `offset`: its size, its bytes, its checksum."""
        try:
            version, block = self.storage.read_ranges(path, [(0, 1), (offset, size + 8)])
        except FileNotFoundError as error:
            raise MissingDeletionVector(name) from error
        if version != bytes([_FILE_FORMAT]):
            raise CorruptDeletionVector(name, f"its format is {version!r}, and only format {_FILE_FORMAT} is known")
        if len(block) != size + 8:
            raise CorruptDeletionVector(name, f"it ends before byte {offset + size + 8}")
        stored_size, checksum = struct.unpack(">i", block[:4])[0], struct.unpack(">I", block[-4:])[0]
        if stored_size != size:
            raise CorruptDeletionVector(name, f"the file gives its size as {stored_size}, the log as {size}")
        data = block[4:-4]
        if zlib.crc32(data) != checksum:
            raise CorruptDeletionVector(name, f"its checksum is {zlib.crc32(data):08x} and should be {checksum:08x}")
        return data


def with_vectors(storage: Storage, files: pa.Table, vectors: pa.ChunkedArray) -> pa.Table:
    """`PLAIN_FILES` with where each file's vector is; without a path where a worker has to look, or to say what is
    wrong with what the log says."""
    # Vectors of one commit are mostly in one file, whose name has to be worked out once.
    texts = pc.binary_join_element_wise(member(vectors, "storageType"), member(vectors, "pathOrInlineDv"), "")
    coded = texts.combine_chunks().dictionary_encode()
    stored, inline = zip(*map(_place, coded.dictionary.to_pylist()), strict=True)
    paths = storage.plain_paths(pa.chunked_array([pa.array(stored, pa.string())]))
    columns = {
        "vector_file": paths.take(coded.indices),
        "vector": pa.chunked_array([pa.array(inline, pa.binary()).take(coded.indices)]),
        "vector_offset": pc.coalesce(member(vectors, "offset"), 0).cast(pa.int64()),
        "vector_size": member(vectors, "sizeInBytes").cast(pa.int64()),
        "vector_rows": member(vectors, "cardinality").cast(pa.int64()),
    }
    known = pc.or_(vectors.is_null(), pc.or_(columns["vector_file"].is_valid(), columns["vector"].is_valid()))
    known = pc.and_(known, pc.or_(vectors.is_null(), columns["vector_size"].is_valid()))
    known = pc.and_(known, pc.or_(vectors.is_null(), columns["vector_rows"].is_valid()))
    return pa.table({"path": pc.if_else(known, files["path"], None), **columns}, PLAIN_FILES)


def _place(text: str | None) -> tuple[str | None, bytes | None]:
    """The file of a vector, or the vector, by its storage type and what stands behind it."""
    kind, where = (text or " ")[0], (text or " ")[1:]
    try:
        if kind == "i":
            return None, _decode85(where, "")
        return (relative_path(where) if kind == "u" else stored_path(where) if kind == "p" else None), None
    except CorruptDeletionVector:
        # A worker that reads the file says so, of just that file.
        return None, None


def relative_path(encoded: str) -> str:
    """The file below the table's root for storage type `u`: an optional folder and a UUID in base 85."""
    folder, name = encoded[:-_ENCODED_UUID], encoded[-_ENCODED_UUID:]
    identity = _decode85(name, f"the table's log ({encoded})")
    if len(identity) != 16:
        raise CorruptDeletionVector(f"the table's log ({encoded})", "it does not end in a UUID of 20 characters")
    file = f"deletion_vector_{UUID(bytes=identity)}.bin"
    return f"{folder}/{file}" if folder else file


def _decode85(text: str, name: str) -> bytes:
    try:
        return base64.b85decode(text.encode("ascii").translate(_TO_RFC1924))
    except ValueError as error:
        raise CorruptDeletionVector(name, f"{text!r} is not base 85 ({error})") from error


def _bitmap(data: bytes, name: str) -> "BitMap64":
    from pyroaring import BitMap64

    if len(data) < 4 or struct.unpack("<i", data[:4])[0] != _MAGIC:
        raise CorruptDeletionVector(name, "it does not begin with the magic number of a 64-bit roaring bitmap")
    try:
        return BitMap64.deserialize(data[4:])
    except (ValueError, MemoryError, RuntimeError) as error:
        raise CorruptDeletionVector(name, f"its bitmap cannot be read ({error})") from error
