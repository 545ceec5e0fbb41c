"""Two catalogs for a session's SQL: `delta`, whose tables are paths, and `lake`, whose tables were attached by name.

Installing puts them into a running session and changes nothing else in it. They only read: a statement that
would write is refused.
"""

import os
import re
from datetime import datetime, timedelta, timezone
from typing import Any

from pyspark.sql import SparkSession

from lakescan.errors import InvalidName, InvalidVersion, ReadOnly, TableNotFound
from lakescan.formats import is_table
from lakescan.spark.bridge import CATALOG, Bridge, JavaObject, Proxy
from lakescan.spark.source import LakescanDataSource
from lakescan.spark.table import SparkTable, load_snapshot
from lakescan.storage import Storage

PATHS = "delta"
NAMES = "lake"
_DELTAS_OWN = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_NAME = re.compile(r"^[^`./\\\s]+$")


class LakeCatalog(Proxy):
    """A read-only catalog; subclasses say where a name's table is."""

    def __init__(self, bridge: Bridge, name: str) -> None:
        super().__init__(bridge)
        self._catalog_name = name

    def _location(self, namespace: tuple[str, ...], name: str) -> str | None:
        raise TableNotFound(name)

    def _names(self) -> list[str]:
        return []

    def initialize(self, name: str, options: JavaObject) -> None:
        return None

    def name(self) -> str:
        return self._catalog_name

    def defaultNamespace(self) -> JavaObject:
        return self.bridge.array("java.lang.String", [])

    def capabilities(self) -> JavaObject:
        return self.bridge.java_set([])

    def tableStateOptionKeys(self) -> JavaObject:
        return self.bridge.java_set([])

    def changelogStateOptionKeys(self) -> JavaObject:
        return self.bridge.java_set([])

    def useNullableQuerySchema(self) -> bool:
        return True

    def listTables(self, namespace: JavaObject) -> JavaObject:
        identifier = self.bridge.java_class(CATALOG + "Identifier")
        names = [] if len(namespace) else sorted(self._names())
        return self.bridge.array(CATALOG + "Identifier", [identifier.of(namespace, name) for name in names])

    def loadTable(self, identifier: JavaObject, *when: Any) -> SparkTable:
        """Overloaded in Java: the table now, at a version (text), at a time (microseconds), or in a context."""
        location = self._location(tuple(identifier.namespace()), identifier.name())
        if location is None:
            raise self.bridge.no_such_table(identifier)
        travel = self.bridge.time_travel(when[0]) if when else None
        version = travel if isinstance(travel, str) else None
        timestamp = _moment(travel) if isinstance(travel, int) else None
        try:
            snapshot = load_snapshot(self.bridge, location, version, timestamp)
        except TableNotFound as missing:
            raise self.bridge.no_such_table(identifier) from missing
        return SparkTable(self.bridge, f"{self._catalog_name}.`{identifier.name()}`", snapshot)

    def tableExists(self, identifier: JavaObject) -> bool:
        location = self._location(tuple(identifier.namespace()), identifier.name())
        return location is not None and is_table(Storage.at(location))

    def invalidateTable(self, identifier: JavaObject) -> None:
        return None

    def createTable(self, *arguments: Any) -> None:
        raise ReadOnly(self._catalog_name, "CREATE TABLE")

    def alterTable(self, *arguments: Any) -> None:
        raise ReadOnly(self._catalog_name, "ALTER TABLE")

    def dropTable(self, *arguments: Any) -> None:
        raise ReadOnly(self._catalog_name, "DROP TABLE")

    def purgeTable(self, *arguments: Any) -> None:
        raise ReadOnly(self._catalog_name, "DROP TABLE PURGE")

    def renameTable(self, *arguments: Any) -> None:
        raise ReadOnly(self._catalog_name, "ALTER TABLE RENAME")

    class Java:
        implements = (CATALOG + "TableCatalog",)


class PathCatalog(LakeCatalog):
    """Tables by their path: ``delta.`/path` ``."""

    def _location(self, namespace: tuple[str, ...], name: str) -> str | None:
        return None if namespace or not name else name


class NameCatalog(LakeCatalog):
    """Tables by the name they were attached under: `lake.orders`."""

    def __init__(self, bridge: Bridge, name: str) -> None:
        super().__init__(bridge, name)
        self.attached: dict[str, str] = {}

    def _location(self, namespace: tuple[str, ...], name: str) -> str | None:
        return None if namespace else self.attached.get(name.lower())

    def _names(self) -> list[str]:
        return list(self.attached)


def install_catalogs(spark: SparkSession, claim_delta: bool) -> NameCatalog:
    """Both catalogs in the session, those of an earlier call stay with their tables; and `format("lakescan")`."""
    bridge = Bridge(spark)
    wanted = claim_delta or not _has_deltas_own(spark)
    if wanted and not isinstance(bridge.catalog(PATHS), PathCatalog):
        bridge.put_catalog(PATHS, PathCatalog(bridge, PATHS))
    names = bridge.catalog(NAMES)
    if not isinstance(names, NameCatalog):
        names = NameCatalog(bridge, NAMES)
        bridge.put_catalog(NAMES, names)
        spark.dataSource.register(LakescanDataSource)
    return names


def attach_table(spark: SparkSession, name: str, path: str | os.PathLike[str]) -> None:
    if not _NAME.match(name):
        raise InvalidName(name, "use letters, digits and underscores; no dots, slashes, backticks or spaces.")
    location = Storage.at(path)
    if not is_table(location):
        raise TableNotFound(location.location)
    install_catalogs(spark, claim_delta=False).attached[name.lower()] = location.location


def _has_deltas_own(spark: SparkSession) -> bool:
    own = spark.conf.get("spark.sql.catalog.spark_catalog", "") == _DELTAS_OWN
    return own or bool(spark.conf.get(f"spark.sql.catalog.{PATHS}", ""))


def _moment(micros: int) -> datetime:
    try:
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)
    except OverflowError as error:
        raise InvalidVersion(micros, "the time is too far away.") from error
