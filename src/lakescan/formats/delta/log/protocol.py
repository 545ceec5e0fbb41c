"""What a table asks of its readers, and what it says of itself: the protocol and metadata actions.

A table is opened only when every feature that its protocol demands of a reader is one that Lakescan
implements; any other is refused by name, before any data file is touched.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from lakescan.errors import CatalogManaged, CorruptLog, LakescanError, UnsupportedFeature
from lakescan.formats.delta import column_mapping
from lakescan.formats.delta.log.schema_json import read_schema
from lakescan.formats.delta.log.typed_action import TypedAction
from lakescan.formats.delta.type_widening import once_float
from lakescan.types.schema import arrow_schema

SUPPORTED_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        # The name that delta-rs once had for it, and still takes.
        "timestampWithoutTimezone",
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
_GENERATED = "delta.generationExpression"
_NEWEST_READER = 3
_FEATURES_NAMED_FROM = 3
_MAPPING, _MAPPING_FROM = "columnMapping", 2
_WRITERS_NAMED_FROM = 7


@dataclass(frozen=True)
class Protocol:
    """The protocol action: what a reader must know to read this table."""

    reader_version: int
    writer_version: int
    reader_features: frozenset[str]
    writer_features: frozenset[str] = field(default=frozenset(), compare=False)
    """No reader needs to know these."""

    def __str__(self) -> str:
        features = f" with {', '.join(sorted(self.reader_features))}" if self.reader_features else ""
        return f"{self.reader_version}, {self.writer_version}{features}"

    @staticmethod
    def of(action: Mapping[str, Any], file: str) -> "Protocol":
        typed = TypedAction("protocol", action, file)
        reader, features = typed.integer("minReaderVersion"), typed.texts("readerFeatures")
        if reader is None:
            raise typed.malformed("minReaderVersion", "a whole number")
        if reader == _FEATURES_NAMED_FROM and action.get("readerFeatures") is None:
            raise typed.malformed("readerFeatures", "a list of texts, which reader version 3 needs")
        if reader < _FEATURES_NAMED_FROM and features:
            raise typed.malformed("readerFeatures", f"empty, which it is at reader version {reader}")
        # They are only shown, so one that is malformed is no reason to refuse the table.
        named = action.get("writerFeatures")
        written = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
        return Protocol(reader, typed.integer("minWriterVersion") or 0, frozenset(features), frozenset(written))

    @property
    def maps_columns(self) -> bool:
        if self.reader_version == _MAPPING_FROM:
            return True
        # Whichever list names it: a writer that left it out of the readers' has mapped the columns all the same.
        by_writers = self.writer_features if self.writer_version >= _WRITERS_NAMED_FROM else frozenset[str]()
        return _MAPPING.lower() in _in_lower_case(self.reader_features | by_writers)

    def refuse_unsupported(self, location: str) -> None:
        if not 1 <= self.reader_version <= _NEWEST_READER:
            raise UnsupportedFeature(location, f"version {self.reader_version} of Delta's reader protocol")
        if self.reader_version < _FEATURES_NAMED_FROM:
            return
        managed, known = _in_lower_case(_CATALOG_FEATURES), _in_lower_case(SUPPORTED_FEATURES)
        for name in sorted(self.reader_features):
            if name.lower() in managed:
                raise CatalogManaged(location, name)
        if unknown := sorted(name for name in self.reader_features if name.lower() not in known):
            raise UnsupportedFeature(location, "the table feature " + ", ".join(unknown))


def _in_lower_case(names: Iterable[str]) -> frozenset[str]:
    """Names of features as Delta Spark compares them."""
    return frozenset(name.lower() for name in names)


@dataclass(frozen=True)
class Metadata:
    """The metadata action: the table's schema, partition columns and properties."""

    table_id: str
    schema_json: Mapping[str, Any]
    partition_columns: tuple[str, ...]
    properties: Mapping[str, str]
    maps_columns: bool
    name: str | None = field(default=None, compare=False)
    description: str | None = field(default=None, compare=False)
    created_ms: int | None = field(default=None, compare=False)

    @staticmethod
    def of(action: Mapping[str, Any], protocol: Protocol, file: str) -> "Metadata":
        typed = TypedAction("metaData", action, file)
        provider = typed.map("format").get("provider") or "parquet"
        if provider != "parquet":
            raise UnsupportedFeature(file, f"data files in the format {provider}")
        text = typed.text("schemaString")
        partitions, properties = typed.texts("partitionColumns"), typed.text_map("configuration")
        try:
            schema = read_schema(text)
        except ValueError as error:
            raise CorruptLog(file, f"its metaData action is malformed: {error}") from error
        notes = typed.text("name"), typed.text("description"), typed.integer("createdTime")
        metadata = Metadata(typed.text("id") or "", schema, partitions, properties, protocol.maps_columns, *notes)
        return metadata.checked(file)

    def checked(self, file: str) -> "Metadata":
        """Itself; an error that names the file where its schema, mapping or partition columns cannot be."""
        try:
            _ = self.schema, self.physical_schema
        except ValueError as error:
            if isinstance(error, LakescanError):
                raise
            raise CorruptLog(file, f"its metaData action is malformed: {error}") from error
        names, partitions = set(self.schema.names), self.partition_columns
        for name in partitions:
            if name not in names:
                raise CorruptLog(file, f"it is partitioned by {name}, which is not a column of its schema")
        if len(set(partitions)) != len(partitions):
            raise CorruptLog(file, f"it is partitioned twice by one of {', '.join(partitions)}")
        return self

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's schema, in the names that users see."""
        return arrow_schema(dict(self.schema_json))

    @cached_property
    def partition_places(self) -> tuple[int, ...]:
        """Where in the schema each partition column is, in the table's partition order."""
        places = {name: at for at, name in enumerate(self.schema.names)}
        return tuple(places[name] for name in self.partition_columns)

    @property
    def physical_partition_names(self) -> list[str]:
        """The partition columns' names in the log, in the table's partition order."""
        return [self.physical_schema.field(at).name for at in self.partition_places]

    @cached_property
    def physical_schema(self) -> pa.Schema:
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
        return {name: str(metadata[_GENERATED]) for name, metadata in notes.items() if _GENERATED in metadata}

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
