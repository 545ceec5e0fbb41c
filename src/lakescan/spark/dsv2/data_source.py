"""`spark.read.format("…")` by a format's name, and by `lakescan` for tables of any: the same table as every other way.

Installing opens the names for every session of the application, other threads' and those of Connect clients too. A
name that another data source has stays its own. Only reads are served: a write is refused by name.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from lakescan.errors import InvalidOption, ReadOnly, WrongFormat
from lakescan.formats import registry
from lakescan.io.locations import has_scheme, plain
from lakescan.options import OF_A_SOURCE
from lakescan.spark.bridge import CATALOG, Bridge, JavaObject, Proxy
from lakescan.spark.bridge.java_classes import claim_source, named_source
from lakescan.spark.bridge.loads import Use, use_of_source
from lakescan.spark.dsv2.opened_tables import or_anew, table_format
from lakescan.spark.dsv2.ownership import is_read_here
from lakescan.spark.dsv2.table import SparkTable, load_snapshot, load_stream
from lakescan.spark.given_schema import chosen_columns
from lakescan.spark.python_source.python_data_source import NAME, LakescanDataSource

_NO_COLUMNS = '{"type": "struct", "fields": []}'


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
            return or_anew(_location(given), lambda: self._stream(bridge, schema, given))
        if use is Use.ROWS:
            return or_anew(_location(given), lambda: self._table(bridge, schema, given))
        if use is Use.NEW_NAME and all(name.lower() != "path" for name in given):
            raise ReadOnly("the session's catalog", "CREATE TABLE without a LOCATION")
        # A catalog that keeps no columns cannot keep old ones: the table has its own.
        shown = _NO_COLUMNS if use is Use.NEW_NAME and schema is None else None
        named = _of_a_named_table(given)
        return or_anew(_location(named), lambda: self._table(bridge, shown, named))

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
        format_ = table_format(bridge, location, zone, options)
        if format_ is not None:
            check_source(bridge.spark, location, self._name, format_)
        return location

    def _table(self, bridge: Bridge, schema: JavaObject | str | None, options: Mapping[str, str]) -> SparkTable:
        location = self._own_location(bridge, options)
        zone = next((value for name, value in options.items() if name.lower() == "timezone"), None)
        snapshot, asked = load_snapshot(bridge, location, options=options, more=OF_A_SOURCE, zone=zone)
        own = snapshot.schema_json
        if isinstance(schema, str):
            own = schema
        elif schema is not None:
            fields = {field["name"]: field for field in json.loads(own)["fields"]}
            chosen = chosen_columns(StructType.fromJson(json.loads(schema.json())), own)
            own = json.dumps({"type": "struct", "fields": [fields[name] for name in chosen]})
        return SparkTable(bridge, f"{snapshot.format}.`{snapshot.location}`", snapshot, asked, own)

    class Java:
        implements = (CATALOG + "TableProvider",)


def install_sources(spark: SparkSession) -> list[str]:
    """Open the names of all formats, and `lakescan`, in the session's JVM: those that are ours, which are given."""
    bridge = Bridge(spark)
    bridge.register_data_source(LakescanDataSource)
    return serve_sources(bridge)


def serve_sources(bridge: Bridge) -> list[str]:
    """The same without a word to the session itself."""
    any_format = named_source(bridge, NAME)
    others = [known.name for known in registry.FORMATS if any_format is None or not any_format.registered(known.name)]
    served = []
    for name in (NAME, *others):
        source = named_source(bridge, name)
        if source is not None:
            source.serve(NamedSource(bridge, name))
            served.append(name)
    return served


def claim_sources(spark: SparkSession, claimed: Collection[str], served: Collection[str]) -> None:
    """Read by the claimed names too, where another data source has them: in this session, and reads alone."""
    for format_ in registry.FORMATS:
        own = format_.own_catalog
        if own is not None and format_.name in claimed and format_.name not in served:
            claim_source(Bridge(spark), format_.name, NAME, own.packages)


def check_source(spark: SparkSession, location: str, source: str, format_: str) -> None:
    """Refuse a table of another format than the data source's, and one that the session leaves to another reader."""
    if source not in (format_, NAME):
        raise WrongFormat(location, source, format_)
    known = registry.format_named(format_)
    if not is_read_here(spark, known) and known.own_catalog is not None:
        raise InvalidOption(
            str(known.own_catalog.switch), f"it leaves {known.title} tables to another reader. Set it to true."
        )


def _location(options: Mapping[str, str]) -> str:
    named = {name.lower(): value for name, value in options.items()}
    if "paths" in named:
        raise InvalidOption("paths", "a table has one path. Load each table alone, and put them together by union.")
    if "path" not in named:
        raise InvalidOption("path", "no path is given. Write .load(path), or CREATE TABLE … LOCATION 'path'.")
    return plain(named["path"])


def _of_a_named_table(properties: Mapping[str, str]) -> dict[str, str]:
    """The options among what a catalog knows of a table: those it was made with, and where it is."""
    # Spark has undone the escapes of a catalog's location: a percent sign that is left is one.
    given = {
        name: value.replace("%", "%25") if has_scheme(value) else value
        for name, value in properties.items()
        if name.lower() == "path"
    }
    prefix = "option."
    return given | {name[len(prefix) :]: value for name, value in properties.items() if name.startswith(prefix)}
