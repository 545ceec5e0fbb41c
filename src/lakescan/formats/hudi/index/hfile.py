"""HFile, the sorted key-value file of HBase in which Hudi keeps its metadata table.

Written by hand because hudi-rs reads such files only for itself. Only version 3 without encodings, plain or gzip, which
is all that Hudi writes: anything else is refused by name. Of a large file only the index and the blocks that may hold a
wanted key are read. Whatever does not fit what the file says of itself is an error, never a guess.
"""

import struct
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import pyarrow as pa

from lakescan.errors import CorruptDataFile, UnsupportedFeature

_TRAILER_BYTES = 4096
_TRAILER_MAGIC = b'TRABLK"$'
_VERSION = 3
_GZIP, _PLAIN = 1, 2
# The trailer's fields, by number.
_INFO_AT, _INDEX_AT, _INDEX_ENTRIES, _ENTRIES, _INDEX_LEVELS, _CODEC = 1, 2, 5, 7, 8, 12
_BLOCK_HEADER = struct.Struct(">8siiqBii")
_DATA, _ROOT, _INNER, _LEAF, _INFO = b"DATABLK*", b"IDXROOT2", b"IDXINTE2", b"IDXLEAF2", b"FILEINF2"
_MOST_LEVELS = 16
_INFO_MAGIC = b"PBUF"
_LENGTHS = struct.Struct(">ii")
_PLACE = struct.Struct(">qi")


@dataclass(frozen=True)
class HFile:
    """An open file; `name` is for messages."""

    file: pa.NativeFile
    name: str

    def entries(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The keys that begin with these bytes, in order, and their values."""
        keys = [key for key, _, _ in self._blocks]
        # A block's key in the index may be less than its first one, but not less than any of the block before.
        first = max(0, bisect_right(keys, prefix) - 1)
        last = bisect_left(keys, True, key=lambda key: key > prefix and not key.startswith(prefix))
        for _, at, size in self._blocks[first:last]:
            yield from self._entries(self._block(at, size, (_DATA,)), prefix)

    @cached_property
    def info(self) -> dict[bytes, bytes]:
        """What the writer says of the file: Hudi puts the Avro schema of its values there."""
        content = self._block(self._field(_INFO_AT), None, (_INFO,))
        if not content.startswith(_INFO_MAGIC):
            raise self._corrupt("its description is not in the form of version 3")
        _, at = self._varint(content, len(_INFO_MAGIC))
        info = {}
        for _, pair in self._message(content[at:]):
            members = dict(self._message(self._bytes(pair)))
            info[self._bytes(members.get(1, b""))] = self._bytes(members.get(2, b""))
        return info

    @cached_property
    def _trailer(self) -> dict[int, int | bytes]:
        size = self.file.size()
        if size < _TRAILER_BYTES:
            raise self._corrupt(f"it has {size} bytes, fewer than its trailer")
        content = self._read(size - _TRAILER_BYTES, _TRAILER_BYTES)
        if not content.startswith(_TRAILER_MAGIC):
            raise self._corrupt("it does not end in a trailer")
        version = int.from_bytes(content[-3:], "big")
        if version != _VERSION:
            raise UnsupportedFeature(self.name, f"version {version} of the HFile format")
        length, at = self._varint(content, len(_TRAILER_MAGIC))
        return dict(self._message(content[at : at + length]))

    @cached_property
    def _blocks(self) -> list[tuple[bytes, int, int]]:
        """(a key, offset, size) of each block of data, in the order of keys."""
        if not self._field(_ENTRIES):
            return []
        root = self._block(self._field(_INDEX_AT), None, (_ROOT,))
        blocks = list(self._root_index(root, self._field(_INDEX_ENTRIES)))
        levels = self._field(_INDEX_LEVELS)
        if levels > _MOST_LEVELS:
            raise self._corrupt(f"its index has {levels} levels")
        for _ in range(levels - 1):
            below = [self._leaf_index(self._block(at, size, (_INNER, _LEAF))) for _, at, size in blocks]
            blocks = [entry for entries in below for entry in entries]
        return blocks

    def _root_index(self, content: bytes, count: int) -> Iterator[tuple[bytes, int, int]]:
        at = 0
        for _ in range(count):
            offset, size = self._unpack(_PLACE, content, at)
            length, at = self._hadoop_varint(content, at + _PLACE.size)
            yield self._row(self._part(content, at, length)), offset, size
            at += length

    def _leaf_index(self, content: bytes) -> list[tuple[bytes, int, int]]:
        """An index below the root: how many entries, where each begins, and the entries."""
        count = int.from_bytes(self._part(content, 0, 4), "big")
        if count > len(content):
            raise self._corrupt(f"an index says {count} entries")
        starts = self._unpack(struct.Struct(f">{count + 1}i"), content, 4)
        base = 4 * (count + 2)
        entries = []
        for start, end in pairwise(starts):
            offset, size = self._unpack(_PLACE, content, base + start)
            head = base + start + _PLACE.size
            entries.append((self._row(self._part(content, head, base + end - head)), offset, size))
        return entries

    def _entries(self, content: bytes, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        at = 0
        while at < len(content):
            key_length, value_length = self._unpack(_LENGTHS, content, at)
            at += _LENGTHS.size
            if value_length < 0:
                raise self._corrupt("a value has a negative length")
            key = self._row(self._part(content, at, key_length))
            at += key_length
            if key.startswith(prefix):
                yield key, self._part(content, at, value_length)
            elif key > prefix:
                return
            # Behind each value is the number of its version, one byte as Hudi has only one.
            at += value_length + 1

    def _row(self, key: bytes) -> bytes:
        """The part of an HBase key that Hudi uses: a length and the row; family, time and type follow."""
        return self._part(key, 2, int.from_bytes(self._part(key, 0, 2), "big"))

    def _block(self, at: int, size: int | None, kinds: tuple[bytes, ...]) -> bytes:
        """What a block holds, decompressed; checksums behind it are left out."""
        header = self._read(at, _BLOCK_HEADER.size)
        kind, _, plain_size, _, _, _, end = self._unpack(_BLOCK_HEADER, header, 0)
        if kind not in kinds:
            raise self._corrupt(f"the block at byte {at} is {kind!r} where {kinds[0]!r} belongs")
        if size is not None and end > size:
            raise self._corrupt(f"the block at byte {at} has {end} bytes, and {size} by the index")
        content = self._read(at + len(header), end - len(header))
        codec = self._field(_CODEC)
        if codec == _GZIP:
            content = self._unzipped(content, plain_size, at) if content else content
        elif codec != _PLAIN:
            raise UnsupportedFeature(self.name, f"compression {codec} of an HFile")
        if len(content) < plain_size:
            raise self._corrupt(f"the block at byte {at} is cut off")
        return content[:plain_size]

    def _unzipped(self, content: bytes, size: int, at: int) -> bytes:
        """Decompressed, and no further than it should be; gzip ends in a checksum of what it holds."""
        unzip = zlib.decompressobj(31)
        try:
            unzipped = unzip.decompress(content, max(1, size + 1))
        except zlib.error as error:
            raise self._corrupt(f"the block at byte {at} cannot be decompressed ({error})") from error
        if not unzip.eof or len(unzipped) != size:
            raise self._corrupt(f"the block at byte {at} has other than {size} bytes when it is decompressed")
        return unzipped

    # Bytes

    def _field(self, number: int) -> int:
        stored = self._trailer.get(number, 0)
        if not isinstance(stored, int):
            raise self._corrupt(f"field {number} of its trailer is no number")
        return stored

    def _read(self, at: int, length: int) -> bytes:
        if at < 0 or length < 0 or at + length > self.file.size():
            raise self._corrupt(f"it has no {length} bytes at byte {at}")
        self.file.seek(at)
        return bytes(self.file.read(length))

    def _part(self, content: bytes, at: int, length: int) -> bytes:
        if length < 0 or at + length > len(content):
            raise self._corrupt("an entry is longer than its block")
        return content[at : at + length]

    def _unpack(self, form: struct.Struct, content: bytes, at: int) -> tuple[Any, ...]:
        return form.unpack(self._part(content, at, form.size))

    def _message(self, content: bytes) -> Iterator[tuple[int, int | bytes]]:
        """The fields of a Protocol Buffers message of numbers and bytes."""
        at = 0
        while at < len(content):
            tag, at = self._varint(content, at)
            if tag & 7 == 0:
                number, at = self._varint(content, at)
                yield tag >> 3, number
            elif tag & 7 == 2:
                length, at = self._varint(content, at)
                yield tag >> 3, self._part(content, at, length)
                at += length
            else:
                raise self._corrupt("its description has a field of an unknown kind")

    def _bytes(self, stored: int | bytes) -> bytes:
        if isinstance(stored, int):
            raise self._corrupt("its description has a number where bytes belong")
        return stored

    def _varint(self, content: bytes, at: int) -> tuple[int, int]:
        """(a number in Protocol Buffers' form, where it ends)."""
        number = shift = 0
        while True:
            byte = self._part(content, at, 1)[0]
            number, shift, at = number | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                return number, at

    def _hadoop_varint(self, content: bytes, at: int) -> tuple[int, int]:
        """(a number in Hadoop's form, where it ends); lengths are never negative."""
        first = self._part(content, at, 1)[0]
        if first < 128:
            return first, at + 1
        more = 256 - 112 - first
        if not 1 <= more <= 8:
            raise self._corrupt("its index has a negative length")
        return int.from_bytes(self._part(content, at + 1, more), "big"), at + 1 + more

    def _corrupt(self, why: str) -> CorruptDataFile:
        return CorruptDataFile(self.name, why)
