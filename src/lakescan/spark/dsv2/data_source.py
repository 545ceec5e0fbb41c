"""`spark.read.format("…")` by a format's name, and by `lakescan` for tables of any: the same table as every other way.

Installing opens the names for every session of the application, other threads' and those of Connect clients too. A
name that another data source has stays its own. Only reads are served: a write is refused by name.
"""

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from lakescan import formats
from lakescan.errors import InvalidOption, ReadOnly, WrongFormat
from lakescan.options import OF_A_SOURCE
from lakescan.spark.bridge import CATALOG, Bridge, JavaObject, Proxy
from lakescan.spark.bridge.java_classes import named_source
from lakescan.spark.bridge.loads import Use, use_of_source
from lakescan.spark.dsv2.table import SparkTable, load_snapshot, load_stream, table_format
from lakescan.spark.python_source.source import NAME, LakescanDataSource
from lakescan.spark.source_schema import chosen_columns


class NamedSource(Proxy):
    """Spark's `TableProvider` behind a name; its session is whichever asks."""

    def __init__(self, bridge: Bridge, name: str) -> None:
        super().__init__(bridge)
        self._name = name

    def inferSchema(self, options: JavaObject) -> JavaObject:
        return self._newest(options).schema()

    def inferPartitioning(self, options: JavaObject) -> JavaObject:
        return self._newest(options).partitioning()

    def supportsExternalMetadata(self) -> bool:
        """A schema may be given: it chooses columns."""
        return True

    def getTable(self, schema: JavaObject | None, partitions: JavaObject, properties: JavaObject) -> Any:
        """The table, with all of its columns where no schema is given."""
        bridge = self.bridge.of_calling_thread()
        use = use_of_source(bridge)
        if use is Use.WRITE:
            raise ReadOnly(f'format("{self._name}")', "Writing")
        given = bridge.text_map(properties)
        if use is Use.STREAM:
            return self._stream(bridge, schema, given)
        if use is Use.NAME:
            return self._table(bridge, None, _of_a_named_table(given))
        return self._table(bridge, schema, given)

    def _newest(self, options: JavaObject) -> Any:
        return self.getTable(None, None, options.asCaseSensitiveMap())

    def _stream(self, bridge: Bridge, schema: JavaObject | None, options: Mapping[str, str]) -> SparkTable:
        location = self._own_location(bridge, options)
        chosen = None if schema is None else StructType.fromJson(json.loads(schema.json()))
        return load_stream(bridge, f'format("{self._name}").`{location}`', location, options, chosen)

    def _own_location(self, bridge: Bridge, options: Mapping[str, str]) -> str:
        """Where the table is, which must be one of the source's format."""
        location = _location(options)
        zone = next((value for name, value in options.items() if name.lower() == "timezone"), None)
        format_ = table_format(bridge, location, zone)
        if format_ is not None and self._name not in (format_, NAME):
            raise WrongFormat(location, self._name, format_)
        return location

    def _table(self, bridge: Bridge, schema: JavaObject | None, options: Mapping[str, str]) -> SparkTable:
        location = self._own_location(bridge, options)
        zone = next((value for name, value in options.items() if name.lower() == "timezone"), None)
        snapshot, asked = load_snapshot(bridge, location, options=options, more=OF_A_SOURCE, zone=zone)
        own = snapshot.schema_json
        if schema is not None:
            fields = {field["name"]: field for field in json.loads(own)["fields"]}
            chosen = chosen_columns(StructType.fromJson(json.loads(schema.json())), own)
            own = json.dumps({"type": "struct", "fields": [fields[name] for name in chosen]})
        return SparkTable(bridge, f"{snapshot.format}.`{snapshot.location}`", snapshot, asked, own)

    class Java:
        implements = (CATALOG + "TableProvider",)


def install_sources(spark: SparkSession) -> None:
    """Open the names of all formats, and `lakescan`, in the session's JVM; those that are open already stay."""
    bridge = Bridge(spark)
    any_format = named_source(bridge, NAME)
    _serve(bridge, NAME)
    for format_ in formats.FORMATS:
        if any_format is None or any_format.registered(format_.name) is None:
            _serve(bridge, format_.name)
    bridge.register_data_source(LakescanDataSource)


def _serve(bridge: Bridge, name: str) -> None:
    source = named_source(bridge, name)
    if source is not None:
        source.serve(NamedSource(bridge, name))


def _location(options: Mapping[str, str]) -> str:
    named = {name.lower(): value for name, value in options.items()}
    if "paths" in named:
        raise InvalidOption("paths", "a table has one path. Load each table alone, and put them together by union.")
    if "path" not in named:
        raise InvalidOption("path", "no path is given. Write .load(path), or CREATE TABLE … LOCATION 'path'.")
    return named["path"]


def _of_a_named_table(properties: Mapping[str, str]) -> dict[str, str]:
    """The options among what a catalog knows of a table: those it was made with, and where it is."""
    given = {name: value for name, value in properties.items() if name.lower() == "path"}
    prefix = "option."
    return given | {name[len(prefix) :]: value for name, value in properties.items() if name.startswith(prefix)}
