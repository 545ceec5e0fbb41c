"""A slice whose files differ in their schemas, rewritten in one so that hudi-rs can merge it.

Written by hand because hudi-rs merges files of one schema only: it knows neither a renamed column nor a float that
became a double; and it refuses a payload class of older tables that newer ones have settings for. The base file and
every data block are brought into the table's schema, as any file is, in a folder of their own; keys, positions, deletes
and the order of blocks stay as they are, so the merging is still hudi-rs'. This is slow, and only for slices that need
it.
"""

import io
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from lakescan.errors import CorruptDataFile
from lakescan.formats.hudi.index.avro_records import avro_rows
from lakescan.formats.hudi.names import PROPERTIES, instant_of_base_file
from lakescan.formats.hudi.schema.evolution import FileNames
from lakescan.formats.hudi.schema.physical_schema import physical_schema
from lakescan.formats.hudi.slices.log_blocks import LogBlock, log_blocks
from lakescan.formats.hudi.slices.ordering import with_modes
from lakescan.io.storage import Storage
from lakescan.predicate import TRUE
from lakescan.reader.align import align_batch, find_fields
from lakescan.reader.parquet_file import ParquetRows

_MAGIC = b"#HUDI#"
_VERSION = 1
_AVRO, _PARQUET = 3, 5
_WHOLE_FILE = 1 << 62


@dataclass(frozen=True)
class OneSchema:
    """The table's columns, and how files of an age name them."""

    storage: Storage
    schema: pa.Schema
    names: Callable[[str], FileNames | None]
    """By the instant that a file or a block was written at; None where they are the table's."""
    has_modes_for_payload: bool = False
    """Whether the table's payload class is to be spelled as the modes that newer tables have for it."""

    @contextmanager
    def rewritten(self, base: str, logs: list[str]) -> Iterator[Storage]:
        """A folder with the slice's files under their own names, while it is needed."""
        with TemporaryDirectory(prefix="lakescan-") as folder:
            properties = self.storage.read(PROPERTIES)
            _put(Path(folder, PROPERTIES), with_modes(properties) if self.has_modes_for_payload else properties)
            _put(Path(folder, base), self._base_file(base))
            for log in logs:
                _put(Path(folder, log), b"".join(self._block(log, block) for block in log_blocks(self.storage, log)))
            yield Storage(folder)

    def _base_file(self, path: str) -> bytes:
        source = self._source(instant_of_base_file(path.rsplit("/", 1)[-1]))
        rows = ParquetRows.open(self.storage, path, self.schema, source)
        batches = [batch for group in rows.groups(0, _WHOLE_FILE, TRUE) for batch in rows.batches(group)]
        return _parquet(pa.Table.from_batches(batches, self.schema))

    def _block(self, path: str, block: LogBlock) -> bytes:
        name = self.storage.full_path(path)
        if block.kind == _PARQUET:
            return _framed(_PARQUET, block, self._aligned(name, block, _parquet_rows(block.content, name)))
        if block.kind == _AVRO:
            return _framed(_PARQUET, block, self._aligned(name, block, avro_rows(block.content, block.schema, name)))
        return _framed(block.kind, block, block.content)

    def _aligned(self, name: str, block: LogBlock, rows: pa.Table) -> bytes:
        """A block's rows in the table's schema, as a Parquet file."""
        source = self._source(block.instant)
        # A block of a partial update has some columns only, and means it.
        places = find_fields(source, rows.schema)
        kept = [at for at, place in enumerate(places) if place is not None or not block.is_partial]
        schema, physical = (pa.schema([whole.field(at) for at in kept]) for whole in (self.schema, source))
        batches = []
        for batch in rows.to_batches():
            columns = [
                None if (at := places[one]) is None else (batch.column(at), rows.schema.field(at)) for one in kept
            ]
            batches.append(align_batch(name, batch.num_rows, columns, physical, schema))
        return _parquet(pa.Table.from_batches(batches, schema))

    def _source(self, instant: str) -> pa.Schema:
        source, names = physical_schema(self.schema), self.names(instant)
        return source if names is None else names.rename(source)


def _parquet_rows(content: bytes, name: str) -> pa.Table:
    try:
        return pq.read_table(io.BytesIO(content))
    except (pa.ArrowInvalid, OSError) as error:
        raise CorruptDataFile(name, f"a log block is no Parquet file ({error})") from error


def _framed(kind: int, block: LogBlock, content: bytes) -> bytes:
    headers = [(key, text.encode()) for key, text in block.headers.items()]
    body = struct.pack(">iii", _VERSION, kind, len(headers))
    body += b"".join(struct.pack(">ii", key, len(text)) + text for key, text in headers)
    body += struct.pack(">q", len(content)) + content + struct.pack(">i", 0)
    # The length counts what follows it; the one behind the block counts the magic word too.
    length = len(body) + 8
    return _MAGIC + struct.pack(">q", length) + body + struct.pack(">q", length + len(_MAGIC))


def _parquet(rows: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(rows, sink)
    return sink.getvalue()


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
