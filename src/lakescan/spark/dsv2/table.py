"""One version of a table as Spark's `Table`: its name, columns and properties, and the way to a scan.

Its columns are those of the version that Spark has loaded. Its rows are those of the version that was asked for or,
where none was, of the newest one when the query is optimized: the same for all parts of the query.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructType

from lakescan.errors import ChangedSinceAnalysis, InvalidOption, ReadOnly
from lakescan.formats.registry import asked, asks_one_version, can_stream, checked, format_named, sets_rows
from lakescan.io.configuration import is_storage_option
from lakescan.options import Options, Read
from lakescan.scan.settings import Settings
from lakescan.scan.snapshot import Snapshot, Table
from lakescan.spark.bridge import CATALOG, Bridge, JavaObject, Proxy
from lakescan.spark.bridge.hadoop import storage_at
from lakescan.spark.bridge.loads import loads_a_stream
from lakescan.spark.bridge.streams import is_for_a_stream, share_catalogs
from lakescan.spark.bridge.trips import rewrite_before_pushdown
from lakescan.spark.dsv2.opened_tables import OPENED, kept_open, or_anew, pinned_versions, zone_of
from lakescan.spark.dsv2.partitions import ShownPartitions
from lakescan.spark.dsv2.scan_builder import SparkScanBuilder, scan_builder
from lakescan.spark.dsv2.stream import StreamScanBuilder
from lakescan.spark.dsv2.stream_options import Seen, pinned_stream, stream_builder, stream_options
from lakescan.spark.given_schema import all_nullable, chosen_columns, not_there
from lakescan.stream.options import OF_A_BATCH


@dataclass(frozen=True)
class Asked:
    """What a table was loaded for: options by their own names, and whether a version was asked for beside them."""

    options: Mapping[str, str] = field(default_factory=dict)
    travelled: bool = False
    filter: str | None = None
    """SQL text: rows that do not match are not the table's."""
    checked: bool = False
    """Whether a scan's options are just those that the table was loaded with."""
    storage: frozenset[str] = frozenset()
    """The names of the options that opened its store; what they say is in its configuration, and nowhere else."""
    follows: Table | None = field(default=None, compare=False)
    """The table whose newest version is read, where nothing was asked for that stays."""

    def has(self, format_: str, name: str, value: str) -> bool:
        """Whether an option changes nothing about the table as it was loaded."""
        if is_storage_option(name):
            return name in self.storage
        if not sets_rows(format_, name) or (self.travelled and asks_one_version(format_, name)):
            return True
        return self.options.get(name) == value


class SparkTable(ShownPartitions):
    """A snapshot, named as the query named it; of its columns those of `schema_json`, all where it is not given."""

    ANSWERS_FOR_EVER = (
        "name",
        "id",
        "version",
        "schema",
        "columns",
        "partitioning",
        "capabilities",
        "constraints",
        "metadataColumns",
        "canRenameConflictingMetadataColumns",
    )

    def __init__(
        self,
        bridge: Bridge,
        name: str,
        snapshot: Snapshot,
        asked: Asked | None = None,
        schema_json: str | None = None,
        is_managed: bool = False,
    ) -> None:
        super().__init__(bridge)
        rewrite_before_pushdown(bridge)
        self.snapshot = snapshot
        self._name = name
        self._asked = asked or Asked()
        self._schema_json = schema_json or snapshot.schema_json
        self.is_managed = is_managed

    @cached_property
    def token(self) -> str:
        # What Spark caches of a table that follows is of a version that may be newer than the one that was loaded.
        follows = "" if self._asked.follows is None else "newest since "
        if self._asked.filter is None and self._schema_json == self.snapshot.schema_json:
            return follows + self.snapshot.token
        return f"{follows}{self.snapshot.token} where {self._asked.filter} as {self._schema_json}"

    def name(self) -> str:
        return self._name

    def id(self) -> str:
        # By this Spark finds what it has cached of a table of that name: rows of another version are others.
        return self.token

    def version(self) -> None:
        """Nothing: Spark loads a table anew that has one, before a query runs. Here the scan follows the table."""

    def schema(self) -> JavaObject:
        return self.bridge.data_type(self._schema_json)

    def columns(self) -> JavaObject:
        return self.bridge.columns(self._schema_json)

    def partitioning(self) -> JavaObject:
        names = {field["name"] for field in json.loads(self._schema_json)["fields"]}
        return self.bridge.identity_partitions(name for name in self.snapshot.partition_columns if name in names)

    def properties(self) -> JavaObject:
        own = {"provider": self.snapshot.format, "location": self.snapshot.location}
        external = {} if self.is_managed else {"external": "true"}
        return self.bridge.java_map({**self.snapshot.properties, **own, **external})

    def capabilities(self) -> JavaObject:
        known = self.bridge.java_class(CATALOG + "TableCapability")
        streams = [known.MICRO_BATCH_READ] if can_stream(self.snapshot.format) else []
        return self.bridge.java_set([known.BATCH_READ, *streams])

    def constraints(self) -> JavaObject:
        return self.bridge.array(CATALOG + "constraints.Constraint", [])

    def metadataColumns(self) -> JavaObject:
        hidden = [HiddenColumn(self.bridge, field) for field in self.snapshot.hidden_columns]
        return self.bridge.array(CATALOG + "MetadataColumn", map(self.bridge.remembered, hidden))

    def canRenameConflictingMetadataColumns(self) -> bool:
        return False

    def newScanBuilder(self, options: JavaObject) -> SparkScanBuilder | StreamScanBuilder:
        given = self.bridge.text_map(options.asCaseSensitiveMap())
        if is_for_a_stream(self.bridge):
            # Spark runs a stream in a copy of the user's session, which keeps the settings of its start.
            running = self.bridge.of_calling_thread()
            share_catalogs(self.bridge, running)
            storage = storage_at(running, self.snapshot.location, given)
            given = _without_storage(given)
            table = OPENED.at(storage, zone_of(running, {**given, **self._asked.options}))
            seen = Seen(table, self.snapshot, self._schema_json, self._asked.options, self._asked.checked)
            return stream_builder(running, seen, given)
        settings = Settings.of(self.bridge.confs("lakescan."), self._asked.options, given)
        if given and not self._asked.checked:
            self._refuse_what_was_not_asked(given)
        return scan_builder(self.bridge, self._scanned(), settings, self._asked.filter, self._schema_json)

    def _scanned(self) -> Snapshot:
        """What a scan reads that is built now."""
        table = self._asked.follows
        if table is None:
            return self.snapshot
        pinned = pinned_versions(self.bridge)
        newest = asked(table, self._asked.options, lambda: pinned.newest(self.bridge.optimization, table))
        if newest.schema_json != self.snapshot.schema_json:
            lost = not_there(json.loads(self._schema_json), json.loads(newest.schema_json))
            if lost is not None:
                raise ChangedSinceAnalysis(newest.location, newest.version, lost)
        return newest

    def _refuse_what_was_not_asked(self, given: Mapping[str, str]) -> None:
        """What a scan's options ask for must be what the table was loaded for."""
        known = checked(_without_storage(given), self.snapshot.format, Read.BATCH, Read.CHANGES)
        for name, value in {**known, **{name: "" for name in given if is_storage_option(name)}}.items():
            if not self._asked.has(self.snapshot.format, name, value):
                raise InvalidOption(
                    name,
                    "Spark up to 4.2 loads a table before it looks at options, so spark.read.option and WITH cannot "
                    f"carry it; this is {self.bridge.spark.version}. Write lakescan.read(spark, path, options=...).",
                )

    def truncateTable(self, *options: JavaObject) -> bool:
        # Spark loads a table to truncate it as if only to look at it: it is refused here, not when it is loaded.
        raise ReadOnly(self._name, "TRUNCATE TABLE")

    def supportedCustomMetrics(self) -> JavaObject:
        return self.bridge.metrics({})

    def reportDriverMetrics(self) -> JavaObject:
        return self.bridge.metric_values({})

    class Java:
        implements = tuple(
            CATALOG + name
            for name in ("SupportsRead", "SupportsMetadataColumns", "TruncatableTable", "SupportsPartitionManagement")
        )


class HiddenColumn(Proxy):
    """A column that a query may name and that no `*` stands for."""

    ANSWERS_FOR_EVER = ("name", "dataType", "isNullable", "comment", "transform", "metadataInJSON")

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


def load_snapshot(
    bridge: Bridge,
    path: str | os.PathLike[str],
    version: int | str | None = None,
    timestamp: str | datetime | None = None,
    options: Mapping[str, Any] | None = None,
    defaults: Mapping[str, str] | None = None,
    more: Options | None = None,
    zone: str | None = None,
) -> tuple[Snapshot, Asked]:
    """What a version or a moment and options ask for, and what that was; options win over those that are defaults.

    `more` are options that a data source has beside those of tables; `zone` is for times that name none, the session's
    where it is not given.
    """
    table = OPENED.at(storage_at(bridge, path, options), zone or bridge.time_zone)
    storage = frozenset(name for name in options or {} if is_storage_option(name))
    options = _without_storage(options or {})
    travelled = version is not None or timestamp is not None

    def chosen() -> Snapshot:
        if travelled:
            return table.snapshot(version, timestamp)
        return pinned_versions(bridge).newest(bridge.analysis, table)

    Settings.of(options)
    given = checked(options, table.format, Read.BATCH, Read.CHANGES, more=more)
    filter_ = given.get("filter")
    if more is not None:
        given = {name: value for name, value in given.items() if more.find(name) is None}
    travels = any(asks_one_version(table.format, name) for name in given)
    kept = {
        name: value
        for name, value in (defaults or {}).items()
        if not (travels and asks_one_version(table.format, name))
    }
    given = {**kept, **given}
    stays = travelled or table.asks_one_version or any(asks_one_version(table.format, name) for name in given)
    follows = None if stays or format_named(table.format).range_asked(given) is not None else table
    return asked(table, given, chosen, travelled), Asked(given, travelled, filter_, more is not None, storage, follows)


def load_table(
    bridge: Bridge,
    name: str,
    path: str,
    version: str | None,
    timestamp: datetime | None,
    options: Mapping[str, str],
    defaults: Mapping[str, str],
) -> SparkTable:
    """The table as a query names it: for a batch or, where `spark.readStream` loads it, for a stream."""
    if (version is not None or timestamp is not None) and loads_a_stream(bridge):
        # Spark makes a version of these options itself, and then fails at an assertion.
        raise InvalidOption("timestampAsOf" if version is None else "versionAsOf", OF_A_BATCH)
    try:
        snapshot, asked_for = load_snapshot(bridge, path, version, timestamp, options, defaults)
    except InvalidOption:
        if not loads_a_stream(bridge):
            raise
        return load_stream(bridge, name, path, {**defaults, **options})
    # Rows of an older version may lack what every row of the newest has.
    shown = json.loads(snapshot.schema_json)
    nullable = all_nullable(shown)
    streamed = json.dumps(nullable) if nullable != shown and loads_a_stream(bridge) else None
    return SparkTable(bridge, name, snapshot, asked_for, streamed)


def load_stream(
    bridge: Bridge, name: str, path: str, options: Mapping[str, str], schema: StructType | None = None
) -> SparkTable:
    """The table for a stream with these options; of its columns those of a schema, where one is given."""
    table = OPENED.at(storage_at(bridge, path, options), zone_of(bridge, options))
    given, snapshot = stream_options(_without_storage(options), table.format), table.snapshot()
    struct = all_nullable(json.loads(pinned_stream(table, given, snapshot).schema_json))
    if schema is not None:
        fields = {field["name"]: field for field in struct["fields"]}
        struct = {**struct, "fields": [fields[column] for column in chosen_columns(schema, json.dumps(struct))]}
    return SparkTable(bridge, name, snapshot, Asked(given, checked=True), json.dumps(struct))


def _without_storage(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if not is_storage_option(name)}


def read_table(
    spark: SparkSession,
    path: str | os.PathLike[str],
    version: int | str | None,
    timestamp: str | datetime | None,
    options: Mapping[str, Any],
) -> DataFrame:
    bridge = Bridge(spark)
    texts = {name: str(value) for name, value in options.items()}
    snapshot, asked_for = or_anew(path, lambda: load_snapshot(bridge, path, version, timestamp, texts))
    twice = [name for name in asked_for.options if asks_one_version(snapshot.format, name)]
    if twice and asked_for.travelled:
        raise InvalidOption(twice[0], "version= or timestamp= is given too. Give one of the two.")
    name = f"{snapshot.format}.`{snapshot.location}`"
    # What opens the store is in the snapshot: Spark shows the options of a relation.
    return bridge.data_frame(SparkTable(bridge, name, snapshot, asked_for), _without_storage(texts))


def read_changes(
    spark: SparkSession,
    path: str | os.PathLike[str],
    start: int | str | datetime,
    end: int | str | datetime | None,
) -> DataFrame:
    bridge = Bridge(spark)
    changes = or_anew(path, lambda: kept_open(bridge, path).changes(start, end))
    return bridge.data_frame(SparkTable(bridge, f"{changes.format}.changes.`{changes.location}`", changes), {})
