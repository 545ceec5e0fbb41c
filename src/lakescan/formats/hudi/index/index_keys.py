"""Keys of the column statistics index: the hashes of a column, of a folder and of a file's name, one after the other.

They are what Hudi computes: XXH64 for column and folder, MD5 for the file, each in Base64. A column's entries are so
next to each other in a file that is sorted by key.
"""

import hashlib
from base64 import b64encode
from functools import lru_cache

_SEED = 0xFFFFFFFFDABADABA
_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
# How Hudi writes the folder of a table without partitions.
_NO_PARTITION = "."


def column_key(column: str) -> bytes:
    """What the keys of a column begin with."""
    return _short(column)


def file_key(path: str) -> bytes:
    """What the keys of a file, by its path in the table, end in."""
    folder, _, name = path.rpartition("/")
    return _short(folder or _NO_PARTITION) + b64encode(hashlib.md5(name.encode(), usedforsecurity=False).digest())


@lru_cache(maxsize=4096)
def _short(text: str) -> bytes:
    return b64encode(xxh64(text.encode()).to_bytes(8, "big"))


def xxh64(data: bytes, seed: int = _SEED) -> int:
    """XXH64 as its specification has it."""
    at, size = 0, len(data)
    if size >= 32:
        lanes = [(seed + _P1 + _P2) & _MASK, (seed + _P2) & _MASK, seed, (seed - _P1) & _MASK]
        while at + 32 <= size:
            for lane in range(4):
                lanes[lane] = _round(lanes[lane], _number(data, at, 8))
                at += 8
        total = sum(_turn(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            total = ((total ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        total = (seed + _P5) & _MASK
    total = (total + size) & _MASK
    while at + 8 <= size:
        total = (_turn(total ^ _round(0, _number(data, at, 8)), 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= size:
        total = (_turn(total ^ (_number(data, at, 4) * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        total = _turn(total ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    total = (total ^ (total >> 33)) * _P2 & _MASK
    total = (total ^ (total >> 29)) * _P3 & _MASK
    return total ^ (total >> 32)


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _round(lane: int, number: int) -> int:
    return _turn((lane + number * _P2) & _MASK, 31) * _P1 & _MASK


def _turn(number: int, by: int) -> int:
    return ((number << by) | (number >> (64 - by))) & _MASK
