"""The frames of a log file, walked to see that no block is cut off.

Written by hand because hudi-rs, as Hudi's own reader, passes over a block that is cut off or whose frame does not fit,
and the rows of that block are then missing from the answer in silence. Only frames are read, never contents: a magic
word, the block's length, and behind the block its length once more.
"""

import pyarrow as pa

from lakescan.errors import CorruptDataFile, MissingDataFile
from lakescan.storage import Storage

_MAGIC = b"#HUDI#"
_LENGTH = 8


def check_log_file(storage: Storage, path: str) -> None:
    """Raises an error that names the file unless it is whole blocks from its first byte to its last."""
    name = storage.full_path(path)
    try:
        file = storage.open(path)
    except FileNotFoundError as error:
        raise MissingDataFile(name) from error
    with file:
        size, at = file.size(), 0
        while at < size:
            at = _next_block(file, name, at, size)


def _next_block(file: pa.NativeFile, name: str, at: int, size: int) -> int:
    """Where the block at `at` ends; `size` is the file's."""
    file.seek(at)
    head = file.read(len(_MAGIC) + _LENGTH)
    if head[: len(_MAGIC)] != _MAGIC:
        raise CorruptDataFile(name, f"no log block begins at byte {at}")
    if len(head) < len(_MAGIC) + _LENGTH:
        raise CorruptDataFile(name, f"the log block at byte {at} is cut off")
    length = int.from_bytes(head[len(_MAGIC) :], "big")
    end = at + len(_MAGIC) + _LENGTH + length
    if length < _LENGTH or end > size:
        raise CorruptDataFile(name, f"the log block at byte {at} is cut off: it should end at byte {end} of {size}")
    file.seek(end - _LENGTH)
    again = int.from_bytes(file.read(_LENGTH), "big")
    # The length behind a block counts the magic word too.
    if again != length + len(_MAGIC):
        raise CorruptDataFile(name, f"the log block at byte {at} is damaged: it says {length} bytes and then {again}")
    return end
