"""The pages of a Parquet file, walked without decoding them: sizes, counts and checksums.

Written by hand because hudi-rs reads the base file of a slice that it merges, and verifies no checksum; and decoding it
a second time to have Arrow verify them costs more than the merging. A walk reads bytes and page headers, which are
structs in Thrift's compact form: of each page its size, how many values it says it has, its CRC-32 where it has one.
"""

import zlib
from collections.abc import Collection, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

_KIND, _PLAIN_SIZE, _SIZE, _CHECKSUM = 1, 2, 3, 4
# The structs in a page header that say how many values there are, each in its first field; and a dictionary's.
_VALUES_IN = (5, 8)
_DICTIONARY_PAGE = 2
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_NUMBERS = (4, 5, 6)


def check_pages(file: pa.NativeFile, columns: Collection[str]) -> int:
    """How many rows the file says it has; a ValueError where a page of these columns is not what it says."""
    metadata = pq.ParquetFile(file).metadata
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.path_in_schema.split(".", 1)[0] in columns:
                _check_chunk(file, chunk)
    rows = sum(metadata.row_group(at).num_rows for at in range(metadata.num_row_groups))
    if rows != metadata.num_rows:
        raise ValueError(f"its footer says {metadata.num_rows} rows, and its row groups have {rows}")
    return int(rows)


def _check_chunk(file: pa.NativeFile, chunk: pq.ColumnChunkMetaData) -> None:
    start, size = chunk.dictionary_page_offset or chunk.data_page_offset, chunk.total_compressed_size
    start = min(start, chunk.data_page_offset)
    if start < 0 or size < 0 or start + size > file.size():
        raise ValueError(f"the column {chunk.path_in_schema} has {size} bytes at byte {start}")
    content = file.read_at(size, start)
    values = at = 0
    while at < len(content):
        page = _Header(content, at)
        end = page.end + page.size
        if page.size < 0 or end > len(content) or page.plain_size < 0:
            raise ValueError(f"a page of {chunk.path_in_schema} says {page.size} bytes")
        if page.checksum is not None and zlib.crc32(content[page.end : end]) != page.checksum & 0xFFFFFFFF:
            raise ValueError(f"a page of {chunk.path_in_schema} has another checksum than it says")
        values += page.values
        at = end
    if values != chunk.num_values:
        raise ValueError(f"the pages of {chunk.path_in_schema} have {values} values, and the footer {chunk.num_values}")


class _Header:
    """The header of the page at a place."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content, self.end = content, at
        self.plain_size = self.size = self.values = 0
        self.checksum: int | None = None
        kind = 0
        for number, type_ in self._fields():
            if type_ in _NUMBERS:
                value = self._number()
                kind = value if number == _KIND else kind
                self.plain_size = value if number == _PLAIN_SIZE else self.plain_size
                self.size = value if number == _SIZE else self.size
                self.checksum = value if number == _CHECKSUM else self.checksum
            elif type_ == _STRUCT and number in _VALUES_IN:
                self.values = self._first_number()
            else:
                self._skip(type_)
        if kind == _DICTIONARY_PAGE:
            self.values = 0

    def _first_number(self) -> int:
        first = 0
        for number, type_ in self._fields():
            if number == 1 and type_ in _NUMBERS:
                first = self._number()
            else:
                self._skip(type_)
        return first

    def _fields(self) -> Iterator[tuple[int, int]]:
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._number()
            yield number, head & 15

    def _byte(self) -> int:
        self.end += 1
        return self._content[self.end - 1]

    def _unsigned(self) -> int:
        bits = shift = 0
        while True:
            byte = self._byte()
            bits, shift = bits | (byte & 127) << shift, shift + 7
            if byte < 128:
                return bits

    def _number(self) -> int:
        zigzag = self._unsigned()
        return (zigzag >> 1) ^ -(zigzag & 1)

    def _skip(self, type_: int) -> None:
        if type_ in _NUMBERS:
            self._unsigned()
        elif type_ == _STRUCT:
            for _, inner in self._fields():
                self._skip(inner)
        elif type_ in (_LIST, _SET):
            self._skip_list()
        elif type_ == _BINARY:
            length = self._unsigned()
            self.end += length
        elif type_ in (_BYTE, _DOUBLE):
            self.end += 1 if type_ == _BYTE else 8
        elif type_ not in (_TRUE, _FALSE):
            raise ValueError(f"a page's header has a field of the type {type_}")

    def _skip_list(self) -> None:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._unsigned()
        if count > len(self._content):
            raise ValueError(f"a page's header has a list of {count}")
        for _ in range(count):
            self._skip(head & 15)
