"""HFiles: what a writer of our own puts in comes out, and a damaged one is an error.

The writer below follows HBase's description of the format and shares nothing with the reader. Real ones, that Hudi
wrote, are read in `test_column_statistics.py`.
"""

import gzip
import struct
from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakescan.errors import CorruptDataFile, UnsupportedFeature
from lakescan.formats.hudi.index.hfile import HFile

T = TypeVar("T")

Entry = tuple[bytes, bytes]


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def hadoop_varint(number: int) -> bytes:
    if number < 128:
        return bytes([number])
    content = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([256 - 112 - len(content)]) + content


def row_key(key: bytes) -> bytes:
    return struct.pack(">h", len(key)) + key + b"\0" + b"\x7f" * 8 + b"\x04"


def in_parts(entries: list[T], size: int) -> Iterator[list[T]]:
    rest = iter(entries)
    while part := list(islice(rest, size)):
        yield part


class Writer:
    def __init__(self, packed: bool) -> None:
        self.packed, self.content = packed, b""

    def block(self, magic: bytes, content: bytes) -> tuple[int, int]:
        stored = gzip.compress(content) if self.packed else content
        end = 33 + len(stored)
        checksums = b"\xee" * (4 * -(-end // 16384))
        sizes = (len(stored) + len(checksums), len(content), -1, 2, 16384, end)
        at = len(self.content)
        self.content += magic + struct.pack(">iiqBii", *sizes) + stored + checksums
        return at, 33 + len(stored) + len(checksums)

    def leaf(self, index: list[tuple[bytes, int, int]]) -> tuple[int, int]:
        parts = [struct.pack(">qi", at, size) + row_key(key) for key, at, size in index]
        starts = [sum(map(len, parts[:number])) for number in range(len(parts) + 1)]
        head = struct.pack(f">{len(starts) + 1}i", len(parts), *starts)
        return self.block(b"IDXLEAF2", head + b"".join(parts))

    def write(self, entries: list[Entry], per_block: int, per_index: int, version: int = 3, codec: int = 0) -> bytes:
        index = []
        before = b""
        for part in in_parts(entries, per_block):
            body = b"".join(
                struct.pack(">ii", len(row_key(key)), len(value)) + row_key(key) + value + b"\0" for key, value in part
            )
            # As HBase does, any key will do that is after the last block's and not after this one's.
            first = part[0][0]
            shorter = [first[:length] for length in range(len(first)) if first[:length] > before]
            index.append(([*shorter, first][0], *self.block(b"DATABLK*", body)))
            before = part[-1][0]
        levels = 1
        while len(index) > per_index:
            index = [(part[0][0], *self.leaf(part)) for part in in_parts(index, per_index)]
            levels += 1
        root = b"".join(
            struct.pack(">qi", at, size) + hadoop_varint(len(row_key(key))) + row_key(key) for key, at, size in index
        )
        load, _ = self.block(b"IDXROOT2", root)
        self.block(b"IDXROOT2", b"")
        pairs = b"".join(b"\x0a" + varint(len(pair)) + pair for pair in [b"\x0a\x06schema\x12\x02{}"])
        info, _ = self.block(b"FILEINF2", b"PBUF" + varint(len(pairs)) + pairs)
        fields = {1: info, 2: load, 5: len(index), 7: len(entries), 8: levels, 12: codec or (1 if self.packed else 2)}
        message = b"".join(varint(number << 3) + varint(value) for number, value in fields.items())
        trailer = b'TRABLK"$' + varint(len(message)) + message
        return self.content + trailer.ljust(4092, b"\0") + bytes([3, 0, 0, version])


def opened(content: bytes) -> HFile:
    return HFile(pa.BufferReader(content), "some.hfile")


@given(
    entries=st.dictionaries(st.binary(min_size=1, max_size=40), st.binary(max_size=30), max_size=60),
    prefixes=st.lists(st.binary(max_size=3), max_size=5),
    per_block=st.integers(1, 9),
    per_index=st.integers(2, 9),
    packed=st.booleans(),
)
def test_the_entries_of_a_prefix_are_those_that_were_written(
    entries: dict[bytes, bytes], prefixes: list[bytes], per_block: int, per_index: int, packed: bool
) -> None:
    wanted = sorted(entries.items())
    file = opened(Writer(packed).write(wanted, per_block, per_index))
    for prefix in [b"", *prefixes, *list(entries)[:5]]:
        assert list(file.entries(prefix)) == [entry for entry in wanted if entry[0].startswith(prefix)]
    assert file.info == {b"schema": b"{}"}


def test_a_long_key_has_a_length_of_several_bytes() -> None:
    entries = [(b"k" * 300 + bytes([letter]), b"v") for letter in b"abc"]
    assert list(opened(Writer(True).write(entries, 1, 9)).entries(b"k" * 300 + b"b")) == [entries[1]]


WHOLE = Writer(True).write([(b"key-%03d" % number, b"value" * 9) for number in range(50)], 7, 3)


@pytest.mark.parametrize("length", [0, 100, 4095, len(WHOLE) - 1])
def test_a_file_that_is_cut_off_is_an_error_that_names_it(length: int) -> None:
    with pytest.raises(CorruptDataFile, match=r"some\.hfile"):
        list(opened(WHOLE[:length]).entries(b""))


@given(at=st.integers(0, len(WHOLE) - 1), by=st.integers(1, 255))
def test_a_byte_that_changed_is_an_error_or_changes_nothing(at: int, by: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[at] ^= by
    try:
        entries = list(opened(bytes(damaged)).entries(b""))
    except (CorruptDataFile, UnsupportedFeature):
        return
    # Gzip has a checksum, but the trailer that says where blocks are has none: an entry may go unseen, never change.
    assert set(entries) <= set(opened(WHOLE).entries(b""))


def test_other_versions_and_compressions_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeature, match="version 2 of the HFile"):
        list(opened(Writer(False).write([(b"k", b"v")], 1, 9, version=2)).entries(b""))
    with pytest.raises(UnsupportedFeature, match="compression 3 of an HFile"):
        list(opened(Writer(False).write([(b"k", b"v")], 1, 9, codec=3)).entries(b""))
