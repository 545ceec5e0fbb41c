"""Table functions: what was done to a table, what it is, what changed in it, and a name for it.

`lake_history` and `lake_detail` are what the statements DESCRIBE HISTORY and DESCRIBE DETAIL stand for. A table is a
name or a path. Of changes, a number is a version and text is a time; both ends are included.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from lakescan.errors import InvalidArgument, NotALakeTable
from lakescan.formats.registry import detail, options_of
from lakescan.io.locations import has_scheme
from lakescan.spark.bridge import Bridge, JavaObject, Proxy
from lakescan.spark.bridge.statements import local_plan, put_function, put_statements
from lakescan.spark.dsv2.catalog import PathCatalog, attach
from lakescan.spark.dsv2.opened_tables import kept_open, or_anew
from lakescan.spark.dsv2.table import SparkTable, load_snapshot

# The option by which a read asks for changes, of formats that have one: its range may end at a version yet to come.
_FEED = "readChangeFeed"
_NUMBERS = ("tinyint", "smallint", "integer", "long", "byte", "short", "int", "bigint")


class Function(Proxy):
    """One of the functions; Java gives its arguments as texts, each with its type."""

    def __init__(
        self, bridge: Bridge, name: str, usage: str, most: int, answer: Callable[[Bridge, list[Any]], DataFrame]
    ) -> None:
        super().__init__(bridge)
        self._name, self._usage, self._most, self._answer = name, usage, most, answer

    def call(self, texts: JavaObject) -> JavaObject:
        given = [_value(str(text)) for text in texts]
        least = 1 + self._usage.count(", ") - self._usage.count("[, ")
        if not least <= len(given) <= self._most or not isinstance(given[0], str):
            raise InvalidArgument(self._name, f"write {self._usage}")
        bridge = self.bridge.of_calling_thread()
        return local_plan(bridge, self._answer(bridge, given))

    class Java:
        implements = ("org.apache.spark.sql.api.java.UDF1",)


def install_functions(spark: SparkSession) -> None:
    """Make the functions known to a session, and the statements that are written with them."""
    bridge = Bridge(spark)
    for name, (usage, most, answer) in _FUNCTIONS.items():
        put_function(bridge, name, Function(bridge, name, f"{name}({usage})", most, answer))
    put_statements(bridge)


def _history(bridge: Bridge, given: Sequence[Any]) -> DataFrame:
    limit = given[1] if len(given) > 1 else None
    if limit is not None and not isinstance(limit, int):
        raise InvalidArgument("lake_history", "the second argument is how many commits are wanted, a number")
    location = _location(bridge, given[0])
    return _frame(bridge, or_anew(location, lambda: kept_open(bridge, location).history(limit)))


def _detail(bridge: Bridge, given: Sequence[Any]) -> DataFrame:
    location, name = _named_location(bridge, given[0])

    def told() -> pa.Table:
        table = kept_open(bridge, location)
        # A path of this machine as Hadoop writes it.
        known = {"location": table.location if has_scheme(table.location) else f"file:{table.location}"}
        return detail(table, known if name is None else {**known, "name": name})

    return _frame(bridge, or_anew(location, told))


def _changes(bridge: Bridge, given: Sequence[Any]) -> DataFrame:
    location = _location(bridge, given[0])
    return or_anew(location, lambda: _changes_by_path(bridge, [location, *given[1:]]))


def _changes_by_path(bridge: Bridge, given: Sequence[Any]) -> DataFrame:
    path, *limits = given
    table = kept_open(bridge, path)
    if options_of(table.format).find(_FEED) is None:
        snapshot, asked = table.changes(*limits), None
    else:
        sides = zip(("starting", "ending"), limits, strict=False)
        options = {_FEED: "true"} | {f"{side}{_kind(limit)}": str(limit) for side, limit in sides}
        snapshot, asked = load_snapshot(bridge, path, options=options)
    named = f"{snapshot.format}.changes.`{snapshot.location}`"
    return bridge.data_frame(SparkTable(bridge, named, snapshot, asked), {})


def _attach(bridge: Bridge, given: Sequence[Any]) -> DataFrame:
    """What `lakescan.attach` does, for who has only SQL. Spark may ask more than once: the last is the same."""
    name, path = given[:2]
    try:
        options = json.loads(given[2]) if len(given) > 2 else {}
    except ValueError as error:
        raise InvalidArgument("lake_attach", "the third argument is JSON: '{\"versionAsOf\": 3}'") from error
    attach(bridge, str(name), str(path), options)
    return _frame(bridge, pa.table({"table": [f"lake.{name}"], "location": [str(path)]}))


_FUNCTIONS: Mapping[str, tuple[str, int, Callable[[Bridge, list[Any]], DataFrame]]] = {
    "lake_history": ("table[, limit]", 2, _history),
    "lake_detail": ("table", 1, _detail),
    "lake_attach": ("name, path[, options]", 3, _attach),
    "table_changes": ("table, start[, end]", 3, _changes),
    "table_changes_by_path": ("path, start[, end]", 3, _changes_by_path),
}


def _kind(limit: Any) -> str:
    return "Version" if isinstance(limit, int) else "Timestamp"


def _location(bridge: Bridge, table: str) -> str:
    return _named_location(bridge, table)[0]


def _named_location(bridge: Bridge, table: str) -> tuple[str, str | None]:
    """Where a table is that is given by its path or by a name, and its full name where it has one."""
    if "/" in table and "`" not in table:
        return table, None
    try:
        plan = local_plan(bridge, bridge.spark.table(table))
    except AnalysisException as missing:
        raise NotALakeTable(table) from missing
    leaves = plan.collectLeaves()
    for leaf in (leaves.apply(at) for at in range(leaves.size())):
        is_relation = leaf.getClass().getSimpleName() == "DataSourceV2Relation"
        loaded = bridge.python_object(leaf.table()) if is_relation else None
        if isinstance(loaded, SparkTable) and leaves.size() == 1:
            return loaded.snapshot.location, _full_name(bridge, leaf)
    raise NotALakeTable(table)


def _full_name(bridge: Bridge, relation: JavaObject) -> str | None:
    """The name of a relation's table in its catalog; a path is none."""
    catalog, identifier = relation.catalog(), relation.identifier()
    if catalog.isEmpty() or identifier.isEmpty() or isinstance(bridge.python_object(catalog.get()), PathCatalog):
        return None
    return ".".join((catalog.get().name(), *identifier.get().namespace(), identifier.get().name()))


def _frame(bridge: Bridge, rows: pa.Table) -> DataFrame:
    frame: DataFrame = bridge.spark.createDataFrame(rows)
    return frame


def _value(text: str) -> Any:
    kind, _, value = text.partition(":")
    if kind in _NUMBERS:
        return int(value)
    if kind == "timestamp":
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=int(value))
    return value
