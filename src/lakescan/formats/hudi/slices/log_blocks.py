"""The blocks of a log file, from its first byte to its last, each as its frame and its headers say.

Written by hand because hudi-rs, as Hudi's own reader, passes over a block that is cut off or whose frame does not fit,
and the rows of that block are then missing from the answer in silence; and because it has no way to the blocks of the
metadata table. A frame is a magic word, the block's length, and behind the block its length once more. All lengths
inside must fit together too.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from lakescan.errors import CorruptDataFile, MissingDataFile
from lakescan.io.storage import Storage

_MAGIC = b"#HUDI#"
_LENGTH = 8
_HEAD = len(_MAGIC) + _LENGTH
_VERSION = 1
_INSTANT, _SCHEMA, _POSITIONS, _IS_PARTIAL = 0, 2, 5, 7
COMMAND_BLOCK, DELETE_BLOCK, AVRO_BLOCK, HFILE_BLOCK, PARQUET_BLOCK = 0, 1, 3, 4, 5


@dataclass(frozen=True)
class LogBlock:
    """A block's kind, what its header says, and its content as it is."""

    kind: int
    headers: Mapping[int, str]
    content: bytes

    @property
    def instant(self) -> str:
        """The commit that wrote it."""
        return self.headers.get(_INSTANT, "")

    @property
    def schema(self) -> str:
        """The Avro schema of its records."""
        return self.headers.get(_SCHEMA, "")

    @property
    def positions(self) -> str:
        """Which rows of the base file its records are about, where the writer knew."""
        return self.headers.get(_POSITIONS, "")

    @property
    def is_partial(self) -> bool:
        """Whether its records have some columns only, and the others stay as they were."""
        return self.headers.get(_IS_PARTIAL, "").lower() == "true"


def log_blocks(storage: Storage, path: str) -> Iterator[LogBlock]:
    """The blocks of a log file, in the order in which they were written; an error where one is not whole."""
    name = storage.full_path(path)
    with _opened(storage, path) as file, storage.named_failures(path):
        whole = file.readall()
    for at, end in _frames(pa.BufferReader(whole), len(whole), name):
        try:
            yield _block(whole[at + _HEAD : end])
        except (struct.error, UnicodeDecodeError) as error:
            raise CorruptDataFile(name, f"the log block at byte {at} is damaged: {error}") from error


def _opened(storage: Storage, path: str) -> pa.NativeFile:
    try:
        return storage.open(path)
    except FileNotFoundError as error:
        raise MissingDataFile(storage.full_path(path)) from error


def _frames(file: pa.NativeFile, size: int, name: str) -> Iterator[tuple[int, int]]:
    """Where each block begins and ends."""
    at, head = 0, file.read_at(_HEAD, 0)
    while at < size:
        end = _end_of_block(head, name, at, size)
        # The length behind a block and the head of the next are neighbours, and a store is asked for both at once.
        tail = file.read_at(_LENGTH + _HEAD, end - _LENGTH)
        _check_tail(tail[:_LENGTH], name, at, end)
        yield at, end
        at, head = end, tail[_LENGTH:]


def _block(body: bytes) -> LogBlock:
    """A block behind its frame: the format's version, its kind, headers, content, footers and the length once more."""
    version, kind = struct.unpack_from(">ii", body, 0)
    if version != _VERSION:
        raise struct.error(f"its format is of version {version}")
    headers, at = _texts(body, 8)
    (length,) = struct.unpack_from(">q", body, at)
    content = body[at + 8 : at + 8 + max(0, length)]
    if len(content) != length:
        raise struct.error("its content is longer than the block")
    _, end = _texts(body, at + 8 + length)
    if end != len(body) - _LENGTH:
        raise struct.error(f"it ends at byte {end} of {len(body) - _LENGTH}")
    return LogBlock(kind, headers, content)


def _texts(body: bytes, at: int) -> tuple[dict[int, str], int]:
    """Headers or footers, and where they end: how many, and of each a number, a length and the text."""
    (count,) = struct.unpack_from(">i", body, at)
    at, texts = at + 4, {}
    if count < 0:
        raise struct.error(f"it says {count} headers")
    for _ in range(count):
        key, length = struct.unpack_from(">ii", body, at)
        at += 8 + length
        if length < 0 or at > len(body):
            raise struct.error(f"a header says {length} bytes")
        texts[key] = body[at - length : at].decode()
    return texts, at


def _end_of_block(head: bytes, name: str, at: int, size: int) -> int:
    """Where the block at `at` ends; `head` is how it begins, `size` is the file's."""
    if head[: len(_MAGIC)] != _MAGIC:
        raise CorruptDataFile(name, f"no log block begins at byte {at}")
    if len(head) < _HEAD:
        raise CorruptDataFile(name, f"the log block at byte {at} is cut off")
    length = int.from_bytes(head[len(_MAGIC) :], "big")
    end = at + _HEAD + length
    if length < _LENGTH or end > size:
        raise CorruptDataFile(name, f"the log block at byte {at} is cut off: it should end at byte {end} of {size}")
    return end


def _check_tail(tail: bytes, name: str, at: int, end: int) -> None:
    length, again = end - at - _HEAD, int.from_bytes(tail, "big")
    # The length behind a block counts the magic word too.
    if again != length + len(_MAGIC):
        raise CorruptDataFile(name, f"the log block at byte {at} is damaged: it says {length} bytes and then {again}")
