"""The names that a session's own catalog keeps, in memory or in a Hive metastore, and the catalog that serves them.

`SessionNames.java` takes the place of Spark's class for that catalog, which it extends, in one session. Which of its
subclasses it is depends on Spark's version: later releases load tables in more ways.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from lakescan.io.locations import plain
from lakescan.spark.bridge.java_classes import driver_class, is_present
from lakescan.spark.bridge.jvm import Bridge
from lakescan.spark.bridge.proxy import JavaObject, Proxy

_BUILT_IN = ("", "builtin")
_NAME = "spark_catalog"
_SETTING = f"spark.sql.catalog.{_NAME}"
# Each extends the one before it; the release in which Spark has what it needs.
_CLASSES = {"SessionNames": (4, 0), "since_4_2/SessionChanges": (4, 2), "since_4_3/SessionOptions": (4, 3)}


@dataclass(frozen=True)
class KeptTable:
    """What the catalog keeps of a table: the data source, where it is, and the options it was made with."""

    source: str
    location: str | None
    options: dict[str, str]
    is_managed: bool
    """Whether its folder goes with its name."""


def kept_table(bridge: Bridge, namespace: tuple[str, ...], name: str) -> KeptTable | None:
    """What the session's catalog keeps of a table, None where the name is no table of a data source."""
    catalog = bridge.spark._jsparkSession.sessionState().catalog()
    option = bridge.java_class("scala.Option")
    identifier = bridge.java_class("org.apache.spark.sql.catalyst.TableIdentifier")(
        name, option.apply(namespace[0] if namespace else None)
    )
    if len(namespace) > 1 or not catalog.tableExists(identifier):
        return None
    metadata = catalog.getTableMetadata(identifier)
    source = metadata.provider()
    if source.isEmpty():
        return None
    storage, location = metadata.storage(), metadata.storage().locationUri()
    pairs = [line.partition(" -> ") for line in str(storage.properties().mkString("\0")).split("\0")]
    return KeptTable(
        str(source.get()).lower(),
        None if location.isEmpty() else plain(str(location.get().toString())),
        {key: value for key, _, value in pairs if key},
        str(metadata.tableType().name()) == "MANAGED",
    )


def serve_names(bridge: Bridge, catalog: Proxy, sources: Iterable[str], others: Iterable[str]) -> None:
    """Let a catalog of ours load the tables of some data sources that the session's own catalog keeps.

    Where the session has another's catalog in that place, it stays. Others are the classes of such catalogs: a view
    that was made in a session with one keeps its name and is resolved by it, which without its JAR Spark cannot load.
    """
    if bridge.spark.conf.get(_SETTING, "") not in _BUILT_IN:
        return
    state = bridge.spark._jsparkSession.sessionState()
    manager = state.catalogManager()
    field = manager.getClass().getDeclaredField("defaultSessionCatalog")
    field.setAccessible(True)
    release = bridge.release
    made = driver_class(bridge, *(name for name, since in _CLASSES.items() if since <= release))
    if field.get(manager).getClass().getName() == made.getName():
        return
    arguments: list[JavaObject] = [state.catalog(), catalog, bridge.java_set(sources)]
    served = made.getConstructors()[0].newInstance(bridge.array("java.lang.Object", arguments))
    field.set(manager, served)
    if not any(is_present(bridge, name) for name in others):
        bridge.put_catalog(_NAME, served)
