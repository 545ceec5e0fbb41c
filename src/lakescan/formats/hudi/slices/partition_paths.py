"""Partition values from the folders that data files are in, wherever a folder's name says the value exactly.

Hudi keeps partition columns in its data files, and a folder's name is made from the value by a key generator that may
lose something: null and empty text share a folder, a timestamp becomes a date, a slash splits a name in two. Written by
hand because hudi-rs tells values only to its own pruning, and is silent where it cannot. A value is taken from a folder
only where writing it again gives the folder's name; anything else is unknown (None).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

UNKNOWN = object()
# Both stand for null and for empty text alike; the first was Hudi's name for them before 0.12.
_NO_VALUE = ("default", "__HIVE_DEFAULT_PARTITION__")
_PLAIN_GENERATORS = ("SIMPLE", "SIMPLE_AVRO", "COMPLEX", "COMPLEX_AVRO")
_PLAIN_CLASSES = ("SimpleKeyGenerator", "ComplexKeyGenerator", "SimpleAvroKeyGenerator", "ComplexAvroKeyGenerator")


@dataclass(frozen=True)
class PartitionPaths:
    """How a table names the folders of its partitions."""

    fields: tuple[pa.Field, ...]
    """The partition columns whose values folders tell, in the order of the folders; none where they do not."""
    hive_style: bool
    encoded: bool

    @staticmethod
    def of(options: Mapping[str, str], schema: pa.Schema) -> "PartitionPaths":
        names = [name for name in options.get("hoodie.table.partition.fields", "").split(",") if name]
        known = {field.name: field for field in schema}
        told = _plain(options) and all(name in known and _tellable(known[name].type) for name in names)
        return PartitionPaths(
            tuple(known[name] for name in names) if told else (),
            options.get("hoodie.datasource.write.hive_style_partitioning", "false").lower() == "true",
            options.get("hoodie.datasource.write.partitionpath.urlencode", "false").lower() == "true",
        )

    def values(self, path: str) -> dict[str, Any] | None:
        """The value of each partition column in a folder, None where the folder does not tell them all."""
        parts = path.split("/")
        if len(parts) != len(self.fields):
            return None
        values = {}
        for field, part in zip(self.fields, parts, strict=True):
            if self.hive_style:
                name, equals, part = part.partition("=")
                if not equals or name != field.name:
                    return None
            text = unquote(part) if self.encoded else part
            value = _value(text, field.type)
            if value is UNKNOWN:
                return None
            values[field.name] = value
        return values


def _plain(options: Mapping[str, str]) -> bool:
    """Whether the key generator writes values as they are. With neither name nor class, Hudi's default does."""
    kind = options.get("hoodie.table.keygenerator.type")
    if kind:
        return kind.upper() in _PLAIN_GENERATORS
    generator = options.get("hoodie.table.keygenerator.class")
    # One of the same name in another package may be anything.
    package, _, name = (generator or "").rpartition(".")
    return not generator or (package.startswith("org.apache.hudi") and name in _PLAIN_CLASSES)


def _tellable(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_boolean(kind)
    )


def _value(text: str, kind: pa.DataType) -> Any:
    if text in _NO_VALUE or not text:
        return UNKNOWN
    if pa.types.is_string(kind):
        return text
    if pa.types.is_boolean(kind):
        return {"true": True, "false": False}.get(text, UNKNOWN)
    try:
        value = date.fromisoformat(text) if pa.types.is_date(kind) else int(text)
        pa.scalar(value, kind)
    except (ValueError, OverflowError, pa.ArrowInvalid):
        return UNKNOWN
    return value if str(value) == text else UNKNOWN
