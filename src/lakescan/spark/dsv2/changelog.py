"""A table's changes by Spark's own syntax, from PySpark 4.2 on: `SELECT … FROM t CHANGES FROM VERSION 1 TO VERSION 5`.

They are the rows of the change feed, each change once: rows that were only copied are not among them, and an update is
two rows, before and after. So there is nothing left for Spark to remove or to pair.
"""

from datetime import datetime, timedelta, timezone

from lakescan.errors import InvalidOption
from lakescan.scan.settings import Settings
from lakescan.scan.snapshot import Snapshot, Table
from lakescan.spark.bridge import CATALOG, Bridge, JavaObject, Proxy
from lakescan.spark.dsv2.scan_builder import SparkScanBuilder, scan_builder

_KIND_OF_CHANGE = "_change_type"


class Changes(Proxy):
    """Spark's `Changelog` of a range of versions."""

    def __init__(self, bridge: Bridge, name: str, snapshot: Snapshot) -> None:
        super().__init__(bridge)
        self._name, self._snapshot = name, snapshot

    @property
    def token(self) -> str:
        return self._snapshot.token

    def name(self) -> str:
        return self._name

    def columns(self) -> JavaObject:
        return self.bridge.columns(self._snapshot.schema_json)

    def containsCarryoverRows(self) -> bool:
        return False

    def containsIntermediateChanges(self) -> bool:
        return False

    def representsUpdateAsDeleteAndInsert(self) -> bool:
        return False

    def newScanBuilder(self, options: JavaObject) -> SparkScanBuilder:
        given = self.bridge.text_map(options.asCaseSensitiveMap())
        return scan_builder(self.bridge, self._snapshot, Settings.of(self.bridge.confs("lakescan."), given))

    def rowId(self) -> JavaObject:
        return self.bridge.references([])

    def rowVersion(self) -> None:
        return None

    class Java:
        implements = (CATALOG + "Changelog",)
        since = (4, 2)


def changes_of(bridge: Bridge, name: str, table: Table, context: JavaObject) -> Changes:
    """The changes that Spark's context asks for."""
    if str(context.deduplicationMode()) == "NET_CHANGES":
        raise InvalidOption(
            "deduplicationMode", "'netChanges' needs to know which rows are the same row, which no table says here."
        )
    changes = table.changes(*_range(table.location, context.range()))
    if _KIND_OF_CHANGE not in changes.schema.names:
        # Spark would hide an error that says it is not supported behind one about the catalog.
        raise InvalidOption("CHANGES", f"the changes of {table.location} do not say what kind each is.")
    return Changes(bridge, name, changes)


def _range(location: str, asked: JavaObject) -> tuple[int | datetime, int | datetime | None]:
    """The first and the last commit, both included; the newest where there is no last one."""
    kind = asked.getClass().getSimpleName()
    if kind == "UnboundedRange":
        raise InvalidOption(
            "CHANGES", f'a stream of {location} is spark.readStream.format(…).option("readChangeFeed", "true").'
        )
    before, after = int(not asked.endingBoundInclusive()), int(not asked.startingBoundInclusive())
    if kind == "VersionRange":
        last = asked.endingVersion()
        return int(asked.startingVersion()) + after, int(last.get()) - before if last.isPresent() else None
    last = asked.endingTimestamp()
    # Commits have times in milliseconds.
    first = _moment(asked.startingTimestamp()) + timedelta(milliseconds=after)
    return first, _moment(last.get()) - timedelta(milliseconds=before) if last.isPresent() else None


def _moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)
