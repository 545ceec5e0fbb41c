"""Whether a slice's files hold what they say and what the commits wrote to them, before hudi-rs merges them.

Written by hand because hudi-rs takes a block's word for how much is in it: a length or a count that one damaged byte
made huge ends the whole process, and records that are not there are not missed. What passes here can neither end the
process nor lack a record that was counted. Lengths are walked; only deletes and records with lists or maps are decoded.
"""

import base64
import io
import json
import struct
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from lakescan.errors import CorruptDataFile, LakescanError, MissingDataFile
from lakescan.formats.hudi.slices.log_blocks import AVRO_BLOCK, DELETE_BLOCK, PARQUET_BLOCK, LogBlock, log_blocks
from lakescan.formats.hudi.slices.pages import check_pages
from lakescan.io.storage import Storage, failure_of_store

_BLOCK_VERSION = 3
_INT = struct.Struct(">i")
# The form of a delete block: keys, and the value that says how new each delete is, by its number in Hudi's union. Hudi
# wraps each value in a record of one field, whose bytes are the value's own. Only lengths matter here, so no value has
# its logical type: a date is an int, a decimal is bytes, a time and a timestamp are longs.
_OPTIONAL_TEXT = ["null", "string"]
_ORDERING = ["boolean", "int", "long", "float", "double", "bytes", "string"]
_ORDERING += ["int", "bytes", "long", "long"]  # date, decimal, time, timestamp
_IN_ARRAYS = [*_ORDERING, "int"]  # local date


def check_log_file(storage: Storage, path: str, written: Mapping[str, int]) -> None:
    """Raises an error that names the file unless it is whole blocks, each with its records, and none is missing that a
    commit wrote: `written` has how many, by instant."""
    name = storage.full_path(path)
    counts: Counter[str] = Counter()
    for block in log_blocks(storage, path):
        try:
            counts[block.instant] += records_in(block)
        except LakescanError:
            raise
        except Exception as error:
            # Whatever the decoders stumble over is the block's fault.
            why = f"a log block of {block.instant} is damaged ({type(error).__name__}: {error})"
            raise CorruptDataFile(name, why) from error
    for instant, count in written.items():
        if counts[instant] < count:
            raise CorruptDataFile(name, f"it has {counts[instant]} records of {instant}, whose commit wrote {count}")


def check_base_file(storage: Storage, path: str, columns: Collection[str], rows: int | None) -> None:
    """Raises an error that names the file unless the pages of these columns are whole, and its rows as many."""
    name = storage.full_path(path)
    try:
        with storage.open(path) as opened:
            counted = check_pages(opened, columns)
    except FileNotFoundError as error:
        raise MissingDataFile(name) from error
    except LakescanError:
        raise
    except Exception as error:
        raise failure_of_store(name, error) or CorruptDataFile(name, str(error)) from error
    if rows is not None and counted != rows:
        raise CorruptDataFile(name, f"it has {counted} rows, and its commit wrote {rows}")


def records_in(block: LogBlock) -> int:
    """How many records a block has; whatever error a decoder stumbles over where it is damaged."""
    if not block.instant.isascii() or not block.instant.isdigit():
        raise ValueError(f"its instant is {block.instant!r}")
    if block.kind == AVRO_BLOCK:
        count = _avro_records(block.content, *_parsed(block.schema))
    elif block.kind == DELETE_BLOCK:
        count = _deletes(block.content)
    elif block.kind == PARQUET_BLOCK:
        count = _rows(pq.ParquetFile(pa.BufferReader(block.content), page_checksum_verification=True))
    else:
        return 0
    if block.positions and len(BitMap64.deserialize(base64.b64decode(block.positions, validate=True))) != count:
        raise ValueError(f"it has {count} records and another number of positions")
    return count


def _avro_records(content: bytes, schema: Any, has_lists: bool) -> int:
    version, count = struct.unpack_from(">ii", content, 0)
    if version != _BLOCK_VERSION or count < 0:
        raise ValueError(f"it is of version {version} and says {count} records")
    at = 8
    for _ in range(count):
        (length,) = _INT.unpack_from(content, at)
        if length < 0:
            raise ValueError(f"a record has {length} bytes")
        if has_lists:
            _check_record(content[at + 4 : at + 4 + length], schema)
        at += 4 + length
    if at != len(content):
        raise ValueError(f"its records end at byte {at} of {len(content)}")
    return int(count)


def _check_record(content: bytes, schema: Any) -> None:
    """A list says how many values it has, and room for them is made before they are looked at."""
    record = io.BytesIO(content)
    fastavro.schemaless_reader(record, schema, None)
    if record.tell() != len(content):
        raise ValueError(f"a record of {len(content)} bytes ends at byte {record.tell()}")


def _deletes(content: bytes) -> int:
    version, length = struct.unpack_from(">ii", content, 0)
    if version != _BLOCK_VERSION or length != len(content) - 8:
        raise ValueError(f"it is of version {version} and says {length} bytes of {len(content) - 8}")
    keys = io.BytesIO(content[8:])
    deletes: Any = fastavro.schemaless_reader(keys, _delete_list(), None)
    if keys.tell() != length:
        raise ValueError(f"its keys end at byte {keys.tell()} of {length}")
    return len(deletes["deleteRecordList"])


def _rows(file: pq.ParquetFile) -> int:
    """How many rows a block that is a Parquet file has, by decoding it: it is small."""
    rows = sum(batch.num_rows for batch in file.iter_batches(use_threads=False))
    if rows != file.metadata.num_rows:
        raise ValueError(f"its footer says {file.metadata.num_rows} rows, and there are {rows}")
    return int(rows)


@lru_cache(maxsize=64)
def _parsed(schema: str) -> tuple[Any, bool]:
    """A schema, ready to read with, and whether it has lists or maps."""
    described = _plain(json.loads(schema))
    _check_sizes(described)
    return fastavro.parse_schema(described), _has_lists(described)


def _has_lists(schema: Any) -> bool:
    if isinstance(schema, dict):
        return schema.get("type") in ("array", "map") or any(map(_has_lists, schema.values()))
    return isinstance(schema, list) and any(map(_has_lists, schema))


def _plain(schema: Any) -> Any:
    """Without logical types, whose values would be made for nothing."""
    if isinstance(schema, dict):
        return {key: _plain(value) for key, value in schema.items() if key != "logicalType"}
    return [_plain(part) for part in schema] if isinstance(schema, list) else schema


def _check_sizes(schema: Any) -> None:
    """A value of fixed size is made before it is read, however large it claims to be."""
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    if isinstance(schema, dict) and schema.get("type") == "fixed" and not 0 < int(schema["size"]) < 1 << 20:
        raise ValueError(f"its schema has a value of {schema['size']} bytes")
    for part in parts:
        _check_sizes(part)


@lru_cache(maxsize=1)
def _delete_list() -> Any:
    listed = ["null", {"type": "array", "items": ["null", *_wrapped(_IN_ARRAYS, "Part")]}]
    ordering = ["null", *_wrapped(_ORDERING, "Value"), _record("Array", {"wrappedValues": listed})]
    types = {"recordKey": _OPTIONAL_TEXT, "partitionPath": _OPTIONAL_TEXT, "orderingVal": ordering}
    records = {"type": "array", "items": _record("HoodieDeleteRecord", types)}
    return fastavro.parse_schema(_record("HoodieDeleteRecordList", {"deleteRecordList": records}))


def _wrapped(kinds: list[str], name: str) -> list[dict[str, Any]]:
    """A record for each, so that a union may have two of one type."""
    return [_record(f"{name}{at}", {"value": kind}) for at, kind in enumerate(kinds)]


def _record(name: str, types: Mapping[str, Any]) -> dict[str, Any]:
    fields = [{"name": field, "type": kind} for field, kind in types.items()]
    return {"type": "record", "name": name, "fields": fields}
