"""The options of reads of Delta tables, named as in Delta Spark and with its meaning: the table, and what a batch asks.

A batch gives one version or, with `readChangeFeed`, the changes of a range of versions.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone

from lakescan.errors import InvalidOption
from lakescan.formats.delta.changes.change_feed import DeltaChanges
from lakescan.formats.delta.log.time_travel import parse_timestamp
from lakescan.formats.delta.table import DeltaTable
from lakescan.options import FOLDER, TIME, TRUE_OR_FALSE, Option, Options, Read, Value, is_true, one_of
from lakescan.scan.snapshot import Snapshot

VERSION = Value("a version's number")
_START = Value("a version's number; of a stream also `latest`")
_ALL = (Read.BATCH, Read.CHANGES, Read.STREAM)
_RANGE = (Read.CHANGES, Read.STREAM)
_STREAM = (Read.STREAM,)
_LIMITS_OF_A_RANGE = ("startingVersion", "startingTimestamp", "endingVersion", "endingTimestamp")

OPTIONS = Options(
    "delta",
    (
        Option("versionAsOf", (Read.BATCH,), VERSION, "The version to read.", sets_rows=True, asks_one_version=True),
        Option(
            "timestampAsOf",
            (Read.BATCH,),
            TIME,
            "The version in force at that moment is read.",
            sets_rows=True,
            asks_one_version=True,
        ),
        Option(
            "readChangeFeed",
            _ALL,
            TRUE_OR_FALSE,
            "The rows that a range of versions inserted, updated and deleted, instead of a version's rows.",
            aliases=("readChangeData",),
            sets_rows=True,
        ),
        Option("startingVersion", _RANGE, _START, "The first commit whose changes are read.", sets_rows=True),
        Option(
            "startingTimestamp", _RANGE, TIME, "The first commit not before that time is the first.", sets_rows=True
        ),
        Option("endingVersion", (Read.CHANGES,), VERSION, "The last commit whose changes are read.", sets_rows=True),
        Option(
            "endingTimestamp", (Read.CHANGES,), TIME, "The last commit not after that time is the last.", sets_rows=True
        ),
        Option("mergeSchema", _ALL, TRUE_OR_FALSE, "Nothing: rows always have the schema that the log says."),
        Option(
            "startingVersionMode",
            _STREAM,
            Value("`exact` or `relaxed`"),
            "Whether a stream may start with a newer version's metadata where the version's own is gone.",
        ),
        Option("maxFilesPerTrigger", _STREAM, Value("a number above zero"), "The most files of a batch of a stream."),
        Option("maxBytesPerTrigger", _STREAM, Value("a size, as `10m`"), "The most bytes of a batch of a stream."),
        Option("ignoreDeletes", _STREAM, TRUE_OR_FALSE, "Commits that only delete rows are passed over."),
        Option("ignoreChanges", _STREAM, TRUE_OR_FALSE, "Files that a commit rewrites are given again."),
        Option("ignoreFileDeletion", _STREAM, TRUE_OR_FALSE, "Delta's old name of `ignoreChanges`."),
        Option("skipChangeCommits", _STREAM, TRUE_OR_FALSE, "Commits that delete or change rows are left out."),
        Option(
            "failOnDataLoss",
            _STREAM,
            TRUE_OR_FALSE,
            "`false`: commits that are gone when a stream goes on are left out, with a warning.",
        ),
        Option("excludeRegex", _STREAM, Value("a pattern"), "Files in whose path in the log it is found are left out."),
        Option(
            "ignoreMissingFiles",
            _STREAM,
            TRUE_OR_FALSE,
            "Nothing, as in Delta Spark: a data file that is missing is an error.",
        ),
        Option(
            "schemaTrackingLocation",
            _STREAM,
            FOLDER,
            "Where a stream keeps the schema it is at.",
            aliases=("schemaLocation",),
            sets_rows=True,
        ),
        Option(
            "streamingSourceTrackingId",
            _STREAM,
            Value("a name"),
            "Tells this stream's schemas from those of others in one `schemaTrackingLocation`.",
        ),
        *(
            Option(
                f"allowSourceColumn{change}",
                _STREAM,
                Value("`always`, or the version of the change"),
                f"With `schemaTrackingLocation`: only changes that such an option allows are passed; {what}.",
            )
            for change, what in {"Rename": "renames", "Drop": "drops", "TypeChange": "other types"}.items()
        ),
    ),
)


def asked_of(table: DeltaTable, given: Mapping[str, str], newest: Callable[[], Snapshot]) -> Snapshot:
    """What a batch with these options reads; `newest` is for one that asks for nothing else."""
    if range_asked(given):
        return _changes(table, given)
    for name in _LIMITS_OF_A_RANGE:
        if name in given:
            raise InvalidOption(
                name,
                "a batch reads one version. Add readChangeFeed = true to read the changes of a range of versions, or "
                "give versionAsOf to read one of them.",
            )
    if one_of(given, "versionAsOf", "timestampAsOf") is None:
        return newest()
    return table.snapshot(given.get("versionAsOf"), given.get("timestampAsOf"))


def range_asked(given: Mapping[str, str]) -> str | None:
    return "readChangeFeed" if is_true(given, "readChangeFeed") else None


def pinned(snapshot: Snapshot, given: Mapping[str, str]) -> dict[str, str]:
    """The options that ask for just what a snapshot is that was read with `given`."""
    own = {name: value for name, value in given.items() if name not in OPTIONS.state_names()}
    if isinstance(snapshot, DeltaChanges):
        span = {"startingVersion": str(snapshot.start), "endingVersion": str(snapshot.end)}
        return {**own, "readChangeFeed": "true", **span}
    return {**own, "versionAsOf": str(snapshot.version)}


def _changes(table: DeltaTable, given: Mapping[str, str]) -> Snapshot:
    for name in ("versionAsOf", "timestampAsOf"):
        if name in given:
            raise InvalidOption(name, "readChangeFeed reads a range of versions. Leave one of the two out.")
    start = one_of(given, "startingVersion", "startingTimestamp")
    end = one_of(given, "endingVersion", "endingTimestamp")
    if start is None:
        raise InvalidOption("readChangeFeed", "give startingVersion or startingTimestamp with it: where changes begin.")
    last = None if end is None else _limit(table, given, end)
    if isinstance(last, int):
        # As in Delta, a range may end at a version that is yet to come.
        last = min(last, table.snapshot().version)
    return table.changes(_limit(table, given, start), last)


def _limit(table: DeltaTable, given: Mapping[str, str], name: str) -> int | datetime:
    """A version or a moment: which of the two is said by the option's name, not by how its value looks."""
    text = given[name].strip()
    if name.endswith("Timestamp"):
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=parse_timestamp(text, table.zone))
    if not text.isdecimal():
        raise InvalidOption(name, f"{text!r} is not a version's number.")
    return int(text)
