"""The records of an Avro data block as Arrow rows, in the schema that the block names.

hudi-rs decodes such a block only to merge it. Values go record by record, which is slow, so this is for blocks that
must be rewritten before they can be merged and for nothing else.
"""

import io
import json
import struct
from collections.abc import Iterator
from typing import Any

import fastavro
import pyarrow as pa

from lakescan.errors import CorruptDataFile
from lakescan.formats.hudi.names import META_COLUMNS
from lakescan.formats.hudi.schema.avro_schema import spark_schema
from lakescan.types.schema import arrow_schema

# Arrow takes the numbers of all other logical types as they are, also those that Python's own dates cannot hold.
_DECODED = ("decimal", "timestamp-millis", "local-timestamp-millis")


def avro_rows(content: bytes, schema: str, file: str) -> pa.Table:
    """The records of a block's content."""
    kinds = arrow_schema(spark_schema(schema, True, file))
    try:
        described = json.loads(schema)
        given = {field["name"] for field in described["fields"]}
        records = list(_records(content, fastavro.parse_schema(_numbers(described))))
    except Exception as error:
        # fastavro has no class of its own for what is wrong with the bytes.
        raise CorruptDataFile(file, f"an Avro log block cannot be decoded ({type(error).__name__}: {error})") from error
    fields = [field for field in kinds if field.name in given or field.name not in META_COLUMNS]
    columns = [pa.array([record[field.name] for record in records], field.type) for field in fields]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _records(content: bytes, schema: Any) -> Iterator[dict[str, Any]]:
    """A version, how many records there are, and before each how long it is."""
    _, count = struct.unpack_from(">ii", content, 0)
    at = 8
    for _ in range(count):
        (length,) = struct.unpack_from(">i", content, at)
        body = io.BytesIO(content[at + 4 : at + 4 + length])
        record = fastavro.schemaless_reader(body, schema, None)
        if body.tell() != length or not isinstance(record, dict):
            raise ValueError(f"a record has {length} bytes and {body.tell()} were read")
        yield record
        at += 4 + length


def _numbers(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_numbers(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _numbers(value) for key, value in schema.items() if key != "logicalType" or value in _DECODED}
