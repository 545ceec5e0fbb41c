"""One version of a table as Spark's `Table`: its name, columns and properties, and the way to a scan.

The version is fixed when Spark loads the table, so a query, however often it names the table, sees one version
of it.
"""

import os
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type

from lakescan.errors import TableNotFound, UnsupportedFeature
from lakescan.formats import as_asked, open_table
from lakescan.scan.settings import Settings
from lakescan.scan.snapshot import ChangeFeed, Snapshot, Table
from lakescan.spark.bridge import CATALOG, Bridge, JavaObject, Proxy
from lakescan.spark.pinned import PinnedVersions
from lakescan.spark.scan_builder import SparkScanBuilder
from lakescan.storage import Storage

_TABLES_KEPT = 32
_PINNED: WeakKeyDictionary[JavaObject, PinnedVersions] = WeakKeyDictionary()


class SparkTable(Proxy):
    """A snapshot, named as the query named it."""

    def __init__(self, bridge: Bridge, name: str, snapshot: Snapshot, options: Mapping[str, str] | None = None) -> None:
        super().__init__(bridge)
        self.snapshot = snapshot
        self._name = name
        self._options = options or {}

    @property
    def token(self) -> str:
        return self.snapshot.token

    def name(self) -> str:
        return self._name

    def id(self) -> str:
        return f"{self.snapshot.format}:{self.snapshot.location}"

    def version(self) -> str:
        return str(self.snapshot.version)

    def schema(self) -> JavaObject:
        return self.bridge.data_type(self.snapshot.spark_schema)

    def columns(self) -> JavaObject:
        return self.bridge.columns(self.snapshot.spark_schema)

    def partitioning(self) -> JavaObject:
        return self.bridge.identity_partitions(self.snapshot.partition_columns)

    def properties(self) -> JavaObject:
        own = {"provider": self.snapshot.format, "location": self.snapshot.location}
        return self.bridge.java_map({**self.snapshot.properties, **own})

    def capabilities(self) -> JavaObject:
        return self.bridge.java_set([self.bridge.java_class(CATALOG + "TableCapability").BATCH_READ])

    def constraints(self) -> JavaObject:
        return self.bridge.array(CATALOG + "constraints.Constraint", [])

    def metadataColumns(self) -> JavaObject:
        hidden = self.snapshot.hidden_columns
        return self.bridge.array(CATALOG + "MetadataColumn", [HiddenColumn(self.bridge, field) for field in hidden])

    def canRenameConflictingMetadataColumns(self) -> bool:
        return False

    def newScanBuilder(self, options: JavaObject) -> SparkScanBuilder:
        given = {**self._options, **self.bridge.text_map(options.asCaseSensitiveMap())}
        settings = Settings.of(self.bridge.confs("lakescan."), given)
        return SparkScanBuilder(self.bridge, as_asked(self.snapshot, given), settings)

    class Java:
        implements = (CATALOG + "SupportsRead", CATALOG + "SupportsMetadataColumns")


class HiddenColumn(Proxy):
    """A column that a query may name and that no `*` stands for."""

    def __init__(self, bridge: Bridge, field: pa.Field) -> None:
        super().__init__(bridge)
        self._field = field

    @property
    def token(self) -> str:
        return f"{self._field.name}: {self._field.type}"

    def name(self) -> str:
        return str(self._field.name)

    def dataType(self) -> JavaObject:
        return self.bridge.data_type(from_arrow_type(self._field.type).json())

    def isNullable(self) -> bool:
        return bool(self._field.nullable)

    def comment(self) -> str:
        return "Which file a row comes from, and which row of it."

    def transform(self) -> None:
        return None

    def metadataInJSON(self) -> None:
        return None

    class Java:
        implements = (CATALOG + "MetadataColumn",)


@lru_cache(maxsize=_TABLES_KEPT)
def _kept(location: str, time_zone: str) -> Table:
    return open_table(location, time_zone)


def table_format(bridge: Bridge, path: str) -> str | None:
    """The format of the table at a path, None where there is none; storage is not asked twice for a table's."""
    try:
        return _kept(Storage.at(path).location, bridge.time_zone).format
    except TableNotFound:
        return None


def load_snapshot(
    bridge: Bridge,
    path: str | os.PathLike[str],
    version: int | str | None = None,
    timestamp: str | datetime | None = None,
) -> Snapshot:
    """The table's version; tables are kept between queries, so that an unchanged log is not read again."""
    table = _kept(Storage.at(path).location, bridge.time_zone)
    if version is None and timestamp is None:
        return _pinned(bridge).newest(bridge.query, table)
    return table.snapshot(version, timestamp)


def _pinned(bridge: Bridge) -> PinnedVersions:
    """The one memory of a JVM's queries, whichever catalog asks."""
    if bridge.gateway not in _PINNED:
        _PINNED[bridge.gateway] = PinnedVersions(bridge.identity_map())
    return _PINNED[bridge.gateway]


def check_options(bridge: Bridge, path: str, options: Mapping[str, str]) -> None:
    """A mistyped option is told where it was written, and not when the query runs."""
    Settings.of(options)
    if options:
        as_asked(load_snapshot(bridge, path), options)


def read_table(
    spark: SparkSession,
    path: str | os.PathLike[str],
    version: int | str | None,
    timestamp: str | datetime | None,
    options: Mapping[str, Any],
) -> DataFrame:
    bridge = Bridge(spark)
    texts = {name: str(value) for name, value in options.items()}
    Settings.of(texts)
    snapshot = load_snapshot(bridge, path, version, timestamp)
    as_asked(snapshot, texts)
    return bridge.data_frame(SparkTable(bridge, f"{snapshot.format}.`{snapshot.location}`", snapshot), texts)


def read_changes(
    spark: SparkSession,
    path: str | os.PathLike[str],
    start: int | str | datetime,
    end: int | str | datetime | None,
) -> DataFrame:
    bridge = Bridge(spark)
    table = _kept(Storage.at(path).location, bridge.time_zone)
    if not isinstance(table, ChangeFeed):
        raise UnsupportedFeature(table.location, "a change data feed, which its format does not have")
    changes = table.changes(start, end)
    return bridge.data_frame(SparkTable(bridge, f"{changes.format}.changes.`{changes.location}`", changes), {})
