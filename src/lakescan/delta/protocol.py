"""What a table asks of its readers, and what it says of itself: the protocol and metadata actions.

A table is opened only when every feature that its protocol demands of a reader is one that Lakescan
implements; any other is refused by name, before any data file is touched.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from lakescan.delta import column_mapping
from lakescan.delta.type_widening import once_float
from lakescan.errors import CatalogManaged, CorruptLog, UnsupportedFeature
from lakescan.schema import arrow_schema

SUPPORTED_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantShredding",
        "variantShredding-preview",
        "variantType",
        "variantType-preview",
    }
)
_CATALOG_FEATURES = frozenset({"catalogManaged", "catalogOwned", "catalogOwned-preview"})
_NO_COLUMNS = '{"type": "struct", "fields": []}'
_GENERATED = "delta.generationExpression"
_NEWEST_READER = 3
_FEATURES_NAMED_FROM = 3
_MAPPING_FROM = 2


@dataclass(frozen=True)
class Protocol:
    """The protocol action: what a reader must know to read this table."""

    reader_version: int
    writer_version: int
    reader_features: frozenset[str]

    @staticmethod
    def of(action: Mapping[str, Any], file: str) -> "Protocol":
        try:
            return Protocol(
                int(action["minReaderVersion"]),
                int(action.get("minWriterVersion") or 0),
                frozenset(action.get("readerFeatures") or ()),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptLog(file, f"its protocol action is malformed ({error!r})") from error

    @property
    def maps_columns(self) -> bool:
        if self.reader_version >= _FEATURES_NAMED_FROM:
            return "columnMapping" in self.reader_features
        return self.reader_version >= _MAPPING_FROM

    def refuse_unsupported(self, location: str) -> None:
        if not 1 <= self.reader_version <= _NEWEST_READER:
            raise UnsupportedFeature(location, f"version {self.reader_version} of Delta's reader protocol")
        if self.reader_version < _FEATURES_NAMED_FROM:
            return
        if managed := sorted(self.reader_features & _CATALOG_FEATURES):
            raise CatalogManaged(location, managed[0])
        if unknown := sorted(self.reader_features - SUPPORTED_FEATURES):
            raise UnsupportedFeature(location, "the table feature " + ", ".join(unknown))


@dataclass(frozen=True)
class Metadata:
    """The metadata action: the table's schema, partition columns and properties."""

    table_id: str
    schema_json: Mapping[str, Any]
    partition_columns: tuple[str, ...]
    properties: Mapping[str, str]
    maps_columns: bool

    @staticmethod
    def of(action: Mapping[str, Any], protocol: Protocol, file: str) -> "Metadata":
        provider = (action.get("format") or {}).get("provider") or "parquet"
        if provider != "parquet":
            raise UnsupportedFeature(file, f"data files in the format {provider}")
        try:
            found = Metadata(
                str(action.get("id") or ""),
                # Delta reads a metaData action without a schema as a table without columns.
                json.loads(action.get("schemaString") or _NO_COLUMNS),
                tuple(action.get("partitionColumns") or ()),
                dict(action.get("configuration") or {}),
                protocol.maps_columns,
            )
            # Whatever is malformed in these must be known now, with the file's name.
            _ = found.schema, found.source_schema
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptLog(file, f"its metaData action is malformed ({error!r})") from error
        for name in found.partition_columns:
            if name not in found.schema.names:
                raise CorruptLog(file, f"it is partitioned by {name}, which is not a column of its schema")
        return found

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's schema, in the names that users see."""
        return arrow_schema(dict(self.schema_json))

    @cached_property
    def partition_places(self) -> tuple[int, ...]:
        """Where in the schema each partition column is, in the table's partition order."""
        return tuple(self.schema.names.index(name) for name in self.partition_columns)

    @cached_property
    def source_schema(self) -> pa.Schema:
        """The same fields in the same order, in the names and ids that files and statistics use."""
        return arrow_schema(column_mapping.physical_names(self.schema_json, self.mapping_mode))

    @cached_property
    def once_float(self) -> frozenset[tuple[str, ...]]:
        """The columns whose statistics in old files are only as close as a float."""
        return once_float(self.schema_json)

    @cached_property
    def spark_schema(self) -> str:
        """The schema as Spark's JSON, without what only Delta understands."""
        return json.dumps(column_mapping.without_delta_metadata(self.schema_json))

    @cached_property
    def generated_columns(self) -> Mapping[str, str]:
        """Generated top-level columns and their expressions."""
        notes = {field["name"]: field.get("metadata") or {} for field in self.schema_json["fields"]}
        return {name: str(found[_GENERATED]) for name, found in notes.items() if _GENERATED in found}

    @cached_property
    def partition_fields(self) -> list[pa.Field]:
        """The partition columns as fields of the schema, in partition order."""
        return [self.schema.field(at) for at in self.partition_places]

    def under(self, protocol: Protocol) -> "Metadata":
        """The same metadata where the protocol changed beside it."""
        return replace(self, maps_columns=protocol.maps_columns)

    @property
    def mapping_mode(self) -> str:
        return self.properties.get(column_mapping.MODE, "none").lower() if self.maps_columns else "none"
