"""Tables that the session's own catalog keeps the names of: `CREATE TABLE t USING … LOCATION …`, or another engine did.

They are read at any version, like tables of the other catalogs. What would change a table is refused. A name can be
dropped, and nothing else goes with it; where the catalog would delete the table's folder too, it is refused.
"""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from lakescan.errors import ManagedTable, ReadOnly
from lakescan.formats import registry
from lakescan.formats.registry import no_table, options_of
from lakescan.io.storage import Storage
from lakescan.spark.bridge import Bridge, JavaObject
from lakescan.spark.bridge.loads import write_asked
from lakescan.spark.bridge.session_tables import KeptTable, kept_table, serve_names
from lakescan.spark.dsv2.catalog import LakeCatalog
from lakescan.spark.dsv2.data_source import check_source
from lakescan.spark.dsv2.opened_tables import or_anew, table_format
from lakescan.spark.dsv2.table import SparkTable


class SessionNames(LakeCatalog):
    """The tables of our data sources; `SessionNames.java` asks for no other."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge, "spark_catalog")

    def _shown(self, identifier: JavaObject) -> str:
        inside, name = self.bridge.names(identifier)
        return ".".join(f"`{part}`" for part in (self._catalog_name, *inside, name))

    def loadTable(self, identifier: JavaObject, *when: Any) -> SparkTable:
        statement = write_asked(when)
        if statement is not None:
            raise ReadOnly(f"the table {self._shown(identifier)}", statement)
        kept = kept_table(self.bridge, *self.bridge.names(identifier))
        if kept is None:
            raise self.bridge.no_such_table(identifier)
        location = kept.location
        if location is None:
            raise ReadOnly(f"the table {self._shown(identifier)}", "A table without a location")
        return or_anew(location, lambda: self._loaded_by_name(identifier, location, kept, when))

    def _loaded_by_name(
        self, identifier: JavaObject, location: str, kept: KeptTable, when: Sequence[Any]
    ) -> SparkTable:
        format_ = table_format(self.bridge, location)
        if format_ is None:
            raise no_table(Storage.at(location))
        check_source(self.bridge.spark, location, kept.source, format_)
        # A catalog keeps much beside the options that a table was made with.
        known = options_of(format_)
        defaults = {name: value for name, value in kept.options.items() if known.find(name) is not None}
        return self._loaded(identifier, location, defaults, when, kept.is_managed)

    def _location(self, namespace: tuple[str, ...], name: str) -> str | None:
        kept = kept_table(self.bridge, namespace, name)
        return None if kept is None else kept.location

    def dropTable(self, identifier: JavaObject) -> bool:
        raise ManagedTable(self._shown(identifier), "DROP TABLE")

    def renameTable(self, *identifiers: JavaObject) -> None:
        raise ManagedTable(self._shown(identifiers[0]), "ALTER TABLE RENAME")

    def alterTable(self, identifier: JavaObject, changes: JavaObject) -> JavaObject:
        raise ReadOnly(f"the table {self._shown(identifier)}", "ALTER TABLE")


def install_names(spark: SparkSession, sources: Sequence[str]) -> None:
    """Serve the tables of these data sources that the session's own catalog keeps; again is the same as once."""
    bridge = Bridge(spark)
    others = [format_.own_catalog.java_class for format_ in registry.FORMATS if format_.own_catalog is not None]
    serve_names(bridge, SessionNames(bridge), sources, others)
