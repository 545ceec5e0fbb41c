"""The records of an Avro data block as Arrow rows, in the schema that the block names.

Written by hand because hudi-rs decodes such a block only to merge it. Values go record by record, which is slow, so
this is for blocks that must be rewritten before they can be merged and for nothing else.
"""

import json
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lakescan.errors import CorruptDataFile
from lakescan.hudi.avro_schema import spark_schema
from lakescan.hudi.names import META_COLUMNS
from lakescan.schema import arrow_schema

# A value and where the next one begins, from bytes and a place in them.
_Read = Callable[[bytes, int], tuple[Any, int]]


def avro_rows(content: bytes, schema: str, file: str) -> pa.Table:
    """The records of a block's content."""
    kinds = arrow_schema(spark_schema(schema, True, file))
    try:
        described = json.loads(schema)
        given = {field["name"] for field in described["fields"]}
        read = _reader(described, {})
        _, count = struct.unpack_from(">ii", content, 0)
        at, records = 8, []
        for _ in range(count):
            (length,) = struct.unpack_from(">i", content, at)
            found, end = read(content, at + 4)
            if end != at + 4 + length:
                raise ValueError(f"a record has {length} bytes and {end - at - 4} were read")
            records.append(found)
            at = end
    except (struct.error, IndexError, KeyError, ValueError, TypeError) as error:
        raise CorruptDataFile(file, f"an Avro log block cannot be decoded ({error})") from error
    fields = [field for field in kinds if field.name in given or field.name not in META_COLUMNS]
    columns = [pa.array([record[field.name] for record in records], field.type) for field in fields]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _reader(schema: Any, known: dict[str, _Read]) -> _Read:
    if isinstance(schema, list):
        return _union([_reader(option, known) for option in schema])
    if isinstance(schema, str):
        return known[schema] if schema in known else _PLAIN[schema]
    made = _complex(schema, known)
    if "name" in schema:
        known[schema["name"]] = made
        known[f"{schema.get('namespace')}.{schema['name']}"] = made
    return made


def _complex(schema: dict[str, Any], known: dict[str, _Read]) -> _Read:
    kind, logical = schema["type"], schema.get("logicalType")
    if kind == "record":
        return _record([(field["name"], _reader(field["type"], known)) for field in schema["fields"]])
    if kind == "array":
        return _blocks(_reader(schema["items"], known))
    if kind == "map":
        return _blocks(_pair(_reader(schema["values"], known)))
    if kind == "enum":
        return _mapped(_long, lambda index: schema["symbols"][index])
    raw = _fixed(schema["size"]) if kind == "fixed" else _reader(kind, known)
    if logical == "decimal":
        scale = schema.get("scale", 0)
        return _mapped(raw, lambda value: Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale))
    if logical in ("timestamp-millis", "local-timestamp-millis"):
        return _mapped(raw, lambda value: value * 1000)
    return raw


def _long(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = _long(data, at)
    return data[at : at + length], at + length


def _fixed(size: int) -> _Read:
    return lambda data, at: (data[at : at + size], at + size)


def _mapped(read: _Read, made: Callable[[Any], Any]) -> _Read:
    def mapped(data: bytes, at: int) -> tuple[Any, int]:
        value, at = read(data, at)
        return made(value), at

    return mapped


def _union(options: list[_Read]) -> _Read:
    def union(data: bytes, at: int) -> tuple[Any, int]:
        index, at = _long(data, at)
        return options[index](data, at)

    return union


def _record(fields: list[tuple[str, _Read]]) -> _Read:
    def record(data: bytes, at: int) -> tuple[Any, int]:
        found = {}
        for name, read in fields:
            found[name], at = read(data, at)
        return found, at

    return record


def _pair(value: _Read) -> _Read:
    def pair(data: bytes, at: int) -> tuple[Any, int]:
        key, at = _bytes(data, at)
        found, at = value(data, at)
        return (key.decode(), found), at

    return pair


def _blocks(item: _Read) -> _Read:
    """The items of an array or a map: blocks of so many, the last of none; a negative count is followed by a size."""

    def blocks(data: bytes, at: int) -> tuple[Any, int]:
        found: list[Any] = []
        while True:
            count, at = _long(data, at)
            if not count:
                return found, at
            if count < 0:
                _, at = _long(data, at)
            for _ in range(abs(count)):
                value, at = item(data, at)
                found.append(value)

    return blocks


def _number(form: str) -> _Read:
    size = struct.calcsize(form)
    return lambda data, at: (struct.unpack_from(form, data, at)[0], at + size)


_PLAIN: dict[str, _Read] = {
    "null": lambda data, at: (None, at),
    "boolean": lambda data, at: (data[at] != 0, at + 1),
    "int": _long,
    "long": _long,
    "float": _number("<f"),
    "double": _number("<d"),
    "bytes": _bytes,
    "string": _mapped(_bytes, bytes.decode),
}
