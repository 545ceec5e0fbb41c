"""A Parquet file written byte by byte, whose footer says whatever a test wants it to.

One column of one value in every row: a dictionary page with the value, and a data page that is one run of its index. So
few bytes stand for as many rows as a run can count.
"""

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"PAR1"
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12


@dataclass(frozen=True)
class Footer:
    """How many rows there are, as the three places of a footer have it."""

    file_rows: int
    group_rows: int
    column_values: int


LONG = 2


def thrift_file(footer: Footer, page_values: int, value: int = 7, name: bytes = b"a", chunk_type: int = LONG) -> bytes:
    """A file with one column of longs; its page really has `page_values` values."""
    dictionary = value.to_bytes(8, "little", signed=True)
    first = _page(2, len(dictionary), (7, _struct([(1, _I32, 1), (2, _I32, 0)]))) + dictionary
    # One bit an index; a run of so many zeros.
    run = b"\x01" + _varint(page_values << 1) + b"\x00"
    data = _struct([(1, _I32, page_values), (2, _I32, 8), (3, _I32, 3), (4, _I32, 3)])
    second = _page(0, len(run), (5, data)) + run
    size = len(first) + len(second)
    column: list[tuple[int, int, int | bytes]] = [
        (1, _I32, 2),
        (2, _LIST, _numbers([0, 3, 8])),
        (3, _LIST, _list(_BINARY, [_text(name)])),
        (4, _I32, 0),
        (5, _I64, footer.column_values),
        (6, _I64, size),
        (7, _I64, size),
        (9, _I64, len(_MAGIC) + len(first)),
        (11, _I64, len(_MAGIC)),
    ]
    chunk = _struct([(2, _I64, len(_MAGIC)), (3, _STRUCT, _struct(column))])
    group = _struct([(1, _LIST, _list(_STRUCT, [chunk])), (2, _I64, size), (3, _I64, footer.group_rows)])
    root = _struct([(4, _BINARY, _text(b"schema")), (5, _I32, 1)])
    leaf = _struct([(1, _I32, 2), (3, _I32, 0), (4, _BINARY, _text(name))])
    written = _struct(
        [
            (1, _I32, 2),
            (2, _LIST, _list(_STRUCT, [root, leaf])),
            (3, _I64, footer.file_rows),
            (4, _LIST, _list(_STRUCT, [group])),
        ]
    )
    return _MAGIC + first + second + written + len(written).to_bytes(4, "little") + _MAGIC


def _page(kind: int, size: int, header: tuple[int, bytes]) -> bytes:
    at, inside = header
    return _struct([(1, _I32, kind), (2, _I32, size), (3, _I32, size), (at, _STRUCT, inside)])


def _struct(fields: list[tuple[int, int, int | bytes]]) -> bytes:
    """Thrift's compact protocol: each field by how far its id is from the one before, then its value."""
    encoded, before = b"", 0
    for at, kind, value in fields:
        encoded += bytes([(at - before) << 4 | kind])
        encoded += _zigzag(value) if isinstance(value, int) else value
        before = at
    return encoded + b"\x00"


def _list(kind: int, values: list[bytes]) -> bytes:
    return bytes([len(values) << 4 | kind]) + b"".join(values)


def _numbers(values: list[int]) -> bytes:
    return _list(_I32, [_zigzag(value) for value in values])


def _text(value: bytes) -> bytes:
    return _varint(len(value)) + value


def _zigzag(value: int) -> bytes:
    return _varint((value << 1) ^ (value >> 63))


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    encoded = b""
    while value > 127:
        encoded, value = encoded + bytes([value & 127 | 128]), value >> 7
    return encoded + bytes([value])


def write_sums(file: Path, wrong_at: int) -> None:
    """Sums beside a file, as Hadoop writes them, of which one is wrong: they stop Hadoop's readers, and nobody else."""
    data = file.read_bytes()
    sums = [zlib.crc32(data[at : at + 512]) ^ (at <= wrong_at < at + 512) for at in range(0, len(data), 512)]
    (file.parent / f".{file.name}.crc").write_bytes(b"crc\0" + struct.pack(f">i{len(sums)}I", 512, *sums))
