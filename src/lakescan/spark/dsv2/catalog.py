"""Catalogs for a session's SQL: one a format, whose tables are paths, and `lake`, whose tables have names.

They only read: a statement that would write is refused, or left to the format's own catalog where the session has it
and it takes paths. Where a format's own switch is off, no table of that format is theirs.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from lakescan.errors import InvalidName, InvalidOption, InvalidVersion, ReadOnly, WrongFormat
from lakescan.formats.registry import format_at, format_named, no_table, state_options
from lakescan.io.configuration import is_storage_option
from lakescan.io.storage import Storage
from lakescan.scan.format import AnyFormat
from lakescan.spark.bridge import CATALOG, Bridge, JavaObject, Proxy
from lakescan.spark.bridge.hadoop import storage_at
from lakescan.spark.bridge.loads import (
    load_options,
    loads_no_relation,
    made_catalog,
    namespaces,
    no_such_namespace,
    session_catalog,
    time_travel,
    write_asked,
)
from lakescan.spark.dsv2.changelog import Changes, changes_of
from lakescan.spark.dsv2.opened_tables import kept_open, or_anew, table_format
from lakescan.spark.dsv2.ownership import is_read_here, is_sessions_own
from lakescan.spark.dsv2.table import SparkTable, load_snapshot, load_table
from lakescan.table_names import CATALOG_CLASS, DEFAULT, NAMES, NamedTable, Names, TableNames, check_name


class LakeCatalog(Proxy):
    """A read-only catalog; subclasses say where a name's table is."""

    ANSWERS_FOR_EVER = (
        "name",
        "defaultNamespace",
        "capabilities",
        "tableStateOptionKeys",
        "changelogStateOptionKeys",
        "useNullableQuerySchema",
    )

    def __init__(self, bridge: Bridge, name: str) -> None:
        super().__init__(bridge)
        self._catalog_name = name

    def _location(self, namespace: Names, name: str) -> str | None:
        """Where the table of a name is, None where there is no such name."""
        return None

    def _claims(self, format_: str | None) -> bool:
        """Whether this catalog is for tables of a format; None is that of no table."""
        return format_ is not None and is_read_here(self.bridge.spark, format_named(format_))

    def _refuse(self, location: str | None, format_: str | None) -> None:
        """Raise an error that says more than that there is no table, where there is more to say."""

    def _left_to(self, statement: str | None) -> JavaObject | None:
        """The format's own catalog, for what this one does not serve: a statement that writes, or asks no rows."""
        return None

    def _owns_name(self, identifier: JavaObject) -> JavaObject:
        """A table's name as the format's own catalog has it."""
        names = self.bridge.array("java.lang.String", [self._catalog_name])
        return self.bridge.java_class(CATALOG + "Identifier").of(names, identifier.name())

    def _options(self, namespace: Names, name: str) -> Mapping[str, str]:
        """The read options of every scan of a table."""
        return {}

    def _tables(self, namespace: Names) -> list[str]:
        """The names in a namespace."""
        return []

    def _has_namespace(self, namespace: Names) -> bool:
        """Tables that are paths have no namespaces but the one without a name."""
        return not namespace

    def _namespaces(self, inside: Names) -> list[Names]:
        """The namespaces in another."""
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
        """The options with which `loadTable` is called, in Spark 4.3; before, only a scan is told its options."""
        return self.bridge.java_set(state_options())

    def changelogStateOptionKeys(self) -> JavaObject:
        return self.bridge.java_set([])

    def useNullableQuerySchema(self) -> bool:
        return True

    def listTableSummaries(self, namespace: JavaObject) -> JavaObject:
        summary = self.bridge.java_class(CATALOG + "TableSummary")
        summaries = [summary.of(identifier, "EXTERNAL") for identifier in self.listTables(namespace)]
        return self.bridge.array(CATALOG + "TableSummary", summaries)

    def listTables(self, namespace: JavaObject) -> JavaObject:
        identifier = self.bridge.java_class(CATALOG + "Identifier")
        if not self._has_namespace(tuple(namespace)):
            raise no_such_namespace(self.bridge, namespace)
        names = self._tables(tuple(namespace))
        # Spark's `listTables` cannot say the name of a table in no namespace.
        inside = self.bridge.array("java.lang.String", tuple(namespace) or DEFAULT)
        return self.bridge.array(CATALOG + "Identifier", [identifier.of(inside, name) for name in names])

    def loadTable(self, identifier: JavaObject, *when: Any) -> SparkTable | JavaObject:
        """Overloaded in Java: the table now, at a version (text), at a time (microseconds), or in a context."""
        statement = write_asked(when)
        own = self._left_to(statement)
        if own is not None:
            # Whatever else is told of such a load is for catalogs that check privileges.
            return own.loadTable(self._owns_name(identifier))
        if statement is not None:
            raise ReadOnly(f"the catalog {self._catalog_name}", statement)
        inside, name = self.bridge.names(identifier)
        location = self._location(inside, name)
        if location is None:
            self._refuse(location, None)
            raise self.bridge.no_such_table(identifier)
        return or_anew(location, lambda: self._loaded_at(identifier, location, self._options(inside, name), when))

    def _loaded_at(
        self, identifier: JavaObject, location: str, defaults: Mapping[str, str], when: Sequence[Any]
    ) -> SparkTable:
        """The table at a location, if this catalog is for such tables."""
        format_ = table_format(self.bridge, location)
        if not self._claims(format_):
            self._refuse(location, format_)
            raise self.bridge.no_such_table(identifier)
        return self._loaded(identifier, location, defaults, when)

    def _shown(self, identifier: JavaObject) -> str:
        """A table's name as plans show it."""
        return f"{self._catalog_name}.`{identifier.name()}`"

    def _loaded(
        self,
        identifier: JavaObject,
        location: str,
        defaults: Mapping[str, str],
        when: Sequence[Any],
        is_managed: bool = False,
    ) -> SparkTable:
        """The table at a location, as the arguments of `loadTable` ask for it."""
        travel = time_travel(when[0]) if when else None
        version = travel if isinstance(travel, str) else None
        timestamp = _moment(travel) if isinstance(travel, int) else None
        options = load_options(self.bridge, when)
        table = load_table(self.bridge, self._shown(identifier), location, version, timestamp, options, defaults)
        table.is_managed = is_managed
        return table

    def tableExists(self, identifier: JavaObject) -> bool:
        location = self._location(*self.bridge.names(identifier))
        return location is not None and self._claims(format_at(storage_at(self.bridge, location)))

    def invalidateTable(self, identifier: JavaObject) -> None:
        return None

    def loadChangelog(self, identifier: JavaObject, context: JavaObject, options: JavaObject) -> Changes:
        location = self._location(*self.bridge.names(identifier))
        if location is None or not self._claims(table_format(self.bridge, location)):
            raise self.bridge.no_such_table(identifier)
        shown = self._shown(identifier)
        return or_anew(location, lambda: changes_of(self.bridge, shown, kept_open(self.bridge, location), context))

    def createTableLike(self, identifier: JavaObject, *arguments: Any) -> JavaObject:
        return self._writer("CREATE TABLE LIKE").createTableLike(self._owns_name(identifier), *arguments)

    def createTable(self, identifier: JavaObject, *arguments: Any) -> JavaObject:
        own = self._writer("CREATE TABLE")
        if len(arguments) == 1:
            # All that Spark knows in one object: Py4J does not find a method that an interface gives by default.
            info = arguments[0]
            arguments = (info.columns(), info.partitions(), info.properties())
        return own.createTable(self._owns_name(identifier), *arguments)

    def alterTable(self, identifier: JavaObject, changes: JavaObject) -> JavaObject:
        return self._writer("ALTER TABLE").alterTable(self._owns_name(identifier), changes)

    def dropTable(self, identifier: JavaObject) -> bool:
        return bool(self._writer("DROP TABLE").dropTable(self._owns_name(identifier)))

    def purgeTable(self, identifier: JavaObject) -> bool:
        return bool(self._writer("DROP TABLE PURGE").purgeTable(self._owns_name(identifier)))

    def renameTable(self, *arguments: Any) -> None:
        raise ReadOnly(f"the catalog {self._catalog_name}", "ALTER TABLE RENAME")

    def _writer(self, statement: str) -> JavaObject:
        own = self._left_to(statement)
        if own is None:
            raise ReadOnly(f"the catalog {self._catalog_name}", statement)
        return own

    def listNamespaces(self, *namespace: JavaObject) -> JavaObject:
        inside = tuple(namespace[0]) if namespace else ()
        if not self._has_namespace(inside):
            raise no_such_namespace(self.bridge, namespace[0])
        return namespaces(self.bridge, self._namespaces(inside))

    def namespaceExists(self, namespace: JavaObject) -> bool:
        return self._has_namespace(tuple(namespace))

    def loadNamespaceMetadata(self, namespace: JavaObject) -> JavaObject:
        if not self._has_namespace(tuple(namespace)):
            raise no_such_namespace(self.bridge, namespace)
        return self.bridge.java_map({})

    def createNamespace(self, *arguments: Any) -> None:
        raise ReadOnly(f"the catalog {self._catalog_name}", "CREATE NAMESPACE")

    def alterNamespace(self, *arguments: Any) -> None:
        raise ReadOnly(f"the catalog {self._catalog_name}", "ALTER NAMESPACE")

    def dropNamespace(self, *arguments: Any) -> None:
        raise ReadOnly(f"the catalog {self._catalog_name}", "DROP NAMESPACE")

    class Java:
        implements = (CATALOG + "TableCatalog", CATALOG + "SupportsNamespaces")


class PathCatalog(LakeCatalog):
    """Tables of one format by their path, under the format's name: ``name.`/path` ``."""

    def __init__(self, bridge: Bridge, format_: AnyFormat) -> None:
        super().__init__(bridge, format_.name)
        self._format = format_

    def _claims(self, format_: str | None) -> bool:
        return format_ == self._catalog_name and super()._claims(format_)

    def _location(self, namespace: Names, name: str) -> str | None:
        return None if namespace or not name else name

    def _refuse(self, location: str | None, format_: str | None) -> None:
        if location is not None and format_ is not None and format_ != self._catalog_name:
            raise WrongFormat(location, self._catalog_name, format_)
        if location is not None and format_ is None:
            # Told that there is no such table, Spark would ask the data source of this name for files to query.
            raise no_table(Storage.at(location))

    def _left_to(self, statement: str | None) -> JavaObject | None:
        """Where the session has the format's own catalog and its name was claimed, that writes and describes tables."""
        own = self._format.own_catalog
        if own is None or not own.serves_paths or not is_sessions_own(self.bridge.spark, self._format):
            return None
        return session_catalog(self.bridge) if statement is not None or loads_no_relation(self.bridge) else None


class NameCatalog(LakeCatalog):
    """Tables by names, those that were given and those that were attached: `lake.orders` is `lake.default.orders`."""

    def __init__(self, bridge: Bridge, name: str, names: TableNames | None = None) -> None:
        super().__init__(bridge, name)
        self.attached: dict[str, NamedTable] = {}
        self._given = names or TableNames()

    def _opened(self, location: str) -> Storage:
        return storage_at(self.bridge, location)

    def _table(self, namespace: Names, name: str) -> NamedTable | None:
        attached = self.attached.get(name.lower()) if namespace in ((), DEFAULT) else None
        return attached or self._given.find(namespace, name, self._opened)

    def _location(self, namespace: Names, name: str) -> str | None:
        table = self._table(namespace, name)
        return None if table is None else table.location

    def _options(self, namespace: Names, name: str) -> Mapping[str, str]:
        table = self._table(namespace, name)
        return {} if table is None else table.options

    def _refuse(self, location: str | None, format_: str | None) -> None:
        if format_ is None and any(table.location == location for table in self._given.given.values()):
            # The name is known: what is wrong is where it points to.
            raise no_table(Storage.at(str(location)))

    def _tables(self, namespace: Names) -> list[str]:
        attached = set(self.attached) if namespace in ((), DEFAULT) else set()
        return sorted(attached.union(self._given.tables(namespace, self._opened)))

    def _has_namespace(self, namespace: Names) -> bool:
        return self._given.has_namespace(namespace, self._opened)

    def _namespaces(self, inside: Names) -> list[Names]:
        return self._given.namespaces(inside, self._opened)

    def _shown(self, identifier: JavaObject) -> str:
        inside, name = self.bridge.names(identifier)
        parts = (*(inside if inside != DEFAULT else ()), name)
        return ".".join([self._catalog_name, *(f"`{part}`" for part in parts)])


def attach(bridge: Bridge, name: str, path: str | os.PathLike[str], options: Mapping[str, Any]) -> None:
    """Give the table at a path a name in the session's catalog `lake`."""
    check_name(name)
    setting = f"spark.sql.catalog.{NAMES}"
    # Someone else's catalog is not made only to say that it is theirs.
    may_be_ours = bridge.spark.conf.get(setting, CATALOG_CLASS) == CATALOG_CLASS
    catalog = made_catalog(bridge, NAMES) if may_be_ours else bridge.catalog(NAMES)
    if not isinstance(catalog, NameCatalog):
        raise InvalidName(
            name,
            f"the session's catalog {NAMES} is not Lakescan's (see its setting {setting}). Give that catalog another "
            f"name, or the table one in Spark's own: CREATE TABLE {name} USING … LOCATION …",
        )
    kept = next((option for option in options if is_storage_option(option)), None)
    if kept is not None:
        raise InvalidOption(kept, "a name keeps no options of storage. Set it in the session: spark.conf.set(...).")
    location = storage_at(bridge, path)
    if format_at(location) is None:
        raise no_table(location)
    # A mistyped option is told here, where it is written, and not when a query runs.
    _, asked = load_snapshot(bridge, location.location, options=options)
    catalog.attached[name.lower()] = NamedTable(location.location, asked.options)


def _moment(micros: int) -> datetime:
    try:
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)
    except OverflowError as error:
        raise InvalidVersion(micros, "the time is too far away.") from error
