"""The blocks of a log file, walked to see that none is cut off, and read where hudi-rs gives no way to.

Written by hand because hudi-rs, as Hudi's own reader, passes over a block that is cut off or whose frame does not fit,
and the rows of that block are then missing from the answer in silence. A check reads only frames: a magic word, the
block's length, and behind the block its length once more. Whole blocks are read for the metadata table alone.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from lakescan.errors import CorruptDataFile, MissingDataFile
from lakescan.storage import Storage

_MAGIC = b"#HUDI#"
_LENGTH = 8
_HEAD = len(_MAGIC) + _LENGTH
_INSTANT, _SCHEMA, _IS_PARTIAL = 0, 2, 7
HFILE_BLOCK = 4


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
    def is_partial(self) -> bool:
        """Whether its records have some columns only, and the others stay as they were."""
        return self.headers.get(_IS_PARTIAL, "").lower() == "true"


def check_log_file(storage: Storage, path: str) -> None:
    """Raises an error that names the file unless it is whole blocks from its first byte to its last."""
    with _opened(storage, path) as file, storage.named_failures(path):
        for _ in _frames(file, file.size(), storage.full_path(path)):
            pass


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
    """A block behind its frame: the format's version, its kind, headers, content."""
    _, kind, count = struct.unpack_from(">iii", body, 0)
    at, headers = 12, {}
    for _ in range(count):
        key, length = struct.unpack_from(">ii", body, at)
        headers[key] = body[at + 8 : at + 8 + length].decode()
        at += 8 + length
    (length,) = struct.unpack_from(">q", body, at)
    content = body[at + 8 : at + 8 + length]
    if len(content) != length:
        raise struct.error("its content is longer than the block")
    return LogBlock(kind, headers, content)


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
