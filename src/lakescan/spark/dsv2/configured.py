"""Catalogs by configuration: `spark.sql.catalog.<name>` is `lakescan.LakeCatalog`, and its settings name the tables.

`spark.sql.catalog.<name>.folder` is a folder of tables, `.table.<table>` one table, `.file` a TOML file. Spark makes
such a catalog itself in each session that uses it, so names are in every session and there again after a restart.
"""

from pyspark.sql import SparkSession

from lakescan.spark.bridge import Bridge, JavaObject, Proxy
from lakescan.spark.bridge.java_classes import catalog_class
from lakescan.spark.dsv2.catalog import NameCatalog
from lakescan.table_names import CATALOG_CLASS, TableNames

_SETTING = "sql.catalog."


class Maker(Proxy):
    """Makes what is behind a catalog of the session that first uses it."""

    def call(self, name: str, options: JavaObject) -> NameCatalog:
        bridge = self.bridge.of_calling_thread()
        return NameCatalog(bridge, name, TableNames.of_options(bridge.text_map(options.asCaseSensitiveMap())))

    class Java:
        implements = ("org.apache.spark.sql.api.java.UDF2",)


def configured(spark: SparkSession) -> list[str]:
    """The names of the session's catalogs that its settings say are of this class."""
    settings = Bridge(spark).confs(_SETTING)
    prefix = f"spark.{_SETTING}"
    return [setting.removeprefix(prefix) for setting, value in settings.items() if value == CATALOG_CLASS]


def serve_configured(spark: SparkSession) -> None:
    """Let Spark make such catalogs, in every session of the JVM."""
    bridge = Bridge(spark)
    catalog_class(bridge).serve(Maker(bridge))
