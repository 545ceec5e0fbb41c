"""The options of reads of Hudi tables, named as in Hudi and with its meaning: the table, and what a batch asks.

`hoodie.datasource.query.type` says which of a table's rows are wanted. A snapshot is everything, base and log files
merged. A read-optimized query is the base files alone: faster, and each file group as it was when last compacted. An
incremental query is the rows that the commits of a range wrote: those completed after its begin and not after its end.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from lakescan.errors import InvalidOption, UnsupportedFeature, VersionNotFound
from lakescan.formats.hudi.names import NO_COMMIT
from lakescan.options import TIME, TRUE_OR_FALSE, Option, Options, Read, Value, is_true, one_of

if TYPE_CHECKING:
    from lakescan.formats.hudi.snapshot import HudiSnapshot
    from lakescan.formats.hudi.table import HudiTable
    from lakescan.formats.hudi.timeline.timeline import Timeline

QUERY_TYPE = "hoodie.datasource.query.type"
AS_OF = "as.of.instant"
_READ_OPTIMIZED_NAME = "hoodie.query.as.ro.table"
BEGIN = "hoodie.datasource.read.begin.instanttime"
END = "hoodie.datasource.read.end.instanttime"
_FORMAT = "hoodie.datasource.query.incremental.format"
_TRAVEL = ("versionAsOf", "timestampAsOf", AS_OF)
_TYPES = ("snapshot", "read_optimized", "incremental")
_EARLIEST = "earliest"
_BEFORE_ALL = re.compile(r"^0[0-9]*$")
_SPELLED = re.compile(r"^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{3}))?)?$")
_TYPE = Value(
    "`snapshot`, `read_optimized` or `incremental`",
    "neither 'snapshot' nor 'read_optimized' nor 'incremental'",
    lambda text: text.strip().lower() in _TYPES,
)
_INSTANT = Value(
    "an instant of 14 or 17 digits, or a time as `2024-01-31 12:00:00` in the zone of the timeline",
    "neither an instant (digits) nor a time as 2024-01-31 12:00:00",
    lambda text: _is_time(_digits(text)),
)
# Of a range: digits that begin with a zero are before every commit.
_END = Value(_INSTANT.says, _INSTANT.wrong, lambda text: bool(_BEFORE_ALL.match(text.strip())) or _INSTANT.fits(text))
_BEGIN = Value(f"{_END.says}, or `earliest`", _END.wrong, lambda text: text == _EARLIEST or _END.fits(text))
_STREAM = (Read.STREAM,)

OPTIONS = Options(
    "hudi",
    (
        Option(
            QUERY_TYPE,
            (Read.BATCH,),
            _TYPE,
            "All rows, those of base files alone, or those that a range of commits wrote.",
            sets_rows=True,
        ),
        Option(
            _READ_OPTIMIZED_NAME,
            (Read.BATCH,),
            TRUE_OR_FALSE,
            "`true`: base files alone. Hudi says so of the name ending in `_ro` that it gives a table in a metastore.",
            sets_rows=True,
        ),
        *(
            Option(name, (Read.BATCH,), value, says, sets_rows=True, asks_one_version=True)
            for name, value, says in (
                ("versionAsOf", Value("an instant"), "The instant to read."),
                ("timestampAsOf", TIME, "The newest instant not after that moment is read."),
                (AS_OF, _INSTANT, "The newest instant not after this one is read."),
            )
        ),
        Option(
            BEGIN,
            (Read.BATCH,),
            _BEGIN,
            "Of an incremental query: commits completed after this instant are read.",
            sets_rows=True,
        ),
        Option(END, (Read.BATCH,), _END, "Of an incremental query: and not after this one.", sets_rows=True),
        Option(
            _FORMAT,
            (Read.BATCH,),
            Value("`latest_state`", "not 'latest_state'", lambda text: text.strip().lower() == "latest_state"),
            "Of an incremental query: rows as they are after its end.",
        ),
        Option(
            "mergeSchema", (Read.BATCH, Read.STREAM), TRUE_OR_FALSE, "Nothing: rows have the schema the timeline says."
        ),
        Option(
            "startingVersion",
            _STREAM,
            Value("an instant, or `latest`"),
            "The first commit whose rows a stream gives.",
        ),
        Option("startingTimestamp", _STREAM, TIME, "The first commit not before that time is the first."),
        Option("maxFilesPerTrigger", _STREAM, Value("a number above zero"), "The most files of a batch of a stream."),
        Option("maxBytesPerTrigger", _STREAM, Value("a size, as `10m`"), "The most bytes of a batch of a stream."),
    ),
)


def asked_of(table: "HudiTable", given: Mapping[str, str], newest: "Callable[[], HudiSnapshot]") -> "HudiSnapshot":
    """What a batch with these options reads; `newest` is for one that asks for nothing else."""
    travel = one_of(given, *_TRAVEL)
    if range_asked(given):
        if travel is not None:
            raise InvalidOption(travel, f"an incremental query reads a range of commits: give {BEGIN} and {END}.")
        return _incremental(table, given)
    for name in (BEGIN, END):
        if name in given:
            raise InvalidOption(name, f"it is for an incremental query. Add {QUERY_TYPE} = incremental.")
    if travel is None:
        snapshot = newest()
    elif travel == AS_OF:
        snapshot = table.snapshot(_instant_as_of(newest().timeline, given[AS_OF]))
    else:
        snapshot = table.snapshot(given.get("versionAsOf"), given.get("timestampAsOf"))
    asked = given.get(QUERY_TYPE, "").strip().lower()
    # As in Hudi, what a metastore says of a name comes before what a query asks.
    optimized = asked == "read_optimized" or is_true(given, _READ_OPTIMIZED_NAME)
    return snapshot.read_optimized() if optimized else snapshot


def range_asked(given: Mapping[str, str]) -> str | None:
    return QUERY_TYPE if given.get(QUERY_TYPE, "").strip().lower() == "incremental" else None


def pinned(snapshot: "HudiSnapshot", given: Mapping[str, str]) -> dict[str, str]:
    """The options that ask for just what a snapshot is that was read with `given`."""
    own = {name: value for name, value in given.items() if name not in _TRAVEL}
    if range_asked(given):
        # Commits of later on may end before an end that is to come.
        newest = max(_ended(snapshot.timeline).values(), default=snapshot.instant)
        return {**own, END: min(_digits(given[END]), newest) if END in given else newest}
    return {**own, "versionAsOf": snapshot.instant}


def _instant_as_of(timeline: "Timeline", text: str) -> str:
    # As text, so that 14 digits are before every instant of 17 that begins with them.
    wanted = _digits(text)
    reached = [instant for instant in timeline.instants if instant <= wanted]
    if not reached:
        earliest = timeline.instants[0] if timeline.instants else timeline.newest()
        raise VersionNotFound(timeline.storage.location, f"{AS_OF} = {text}", earliest, timeline.newest())
    return reached[-1]


def _incremental(table: "HudiTable", given: Mapping[str, str]) -> "HudiSnapshot":
    from lakescan.formats.hudi.snapshot import HudiSnapshot

    if BEGIN not in given:
        raise InvalidOption(QUERY_TYPE, f"an incremental query needs {BEGIN}, after which its commits begin.")
    table.refuse_changes_without_meta_fields()
    timeline = table.snapshot().timeline
    begin = "" if given[BEGIN] == _EARLIEST else _digits(given[BEGIN])
    end = _digits(given[END]) if END in given else NO_COMMIT
    ended = _ended(timeline)
    chosen = [instant for instant, at in ended.items() if begin < at <= end]
    if timeline.has_archived and all(at > begin for at in ended.values()):
        raise VersionNotFound(
            table.location, f"{BEGIN} = {given[BEGIN]}, after which commits were archived", min(ended), max(ended)
        )
    since = timeline.first_that_changes_rows(chosen)
    if since is None:
        return HudiSnapshot.of(table.storage, timeline.newest(), timeline, since=NO_COMMIT)
    between = [instant for instant in timeline.instants if chosen[0] <= instant <= chosen[-1]]
    if between != chosen:
        raise UnsupportedFeature(
            table.location,
            f"an incremental query from {given[BEGIN]} of commits that overlapped in time",
            "Give a begin and an end at which no write was under way.",
        )
    return HudiSnapshot.of(table.storage, chosen[-1], timeline, since=since)


def _ended(timeline: "Timeline") -> dict[str, str]:
    """When each commit was completed, by which Hudi tells ranges; before table version 8, its own name."""
    return {instant: timeline.completions.get(instant, instant) for instant in timeline.instants}


def _digits(text: str) -> str:
    """An instant as a timeline writes it; Hudi takes times too, and reads them in the timeline's own zone.

    As in Hudi a time without milliseconds is the end of its second, and a day without a time its beginning.
    """
    match = _SPELLED.match(text.strip())
    if match is None:
        return text.strip()
    year, month, day, hour, minute, second, millis = match.groups()
    time = "000000000" if hour is None else f"{hour}{minute}{second}{millis or '999'}"
    return f"{year}{month}{day}{time}"


def _is_time(digits: str) -> bool:
    """Whether an instant is of a length that timelines have, and a time that there is."""
    if not (digits.isascii() and digits.isdigit() and len(digits) in (14, 17)):
        return False
    try:
        datetime.strptime(digits[:14], "%Y%m%d%H%M%S")
    except ValueError:
        return False
    return True
