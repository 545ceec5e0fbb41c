"""Options of reads: what one is, and the check that none is ever ignored.

Every option of every way to read (`lakescan.read`, `attach`, SQL's `WITH`, `spark.read.option(…).table(…)`,
`format("lakescan")`, streams) is in one table a format, `formats.options_of`. A name is found in any case. One
that is not there, or that another kind of read has, is refused with what it may have been meant to be: an ignored
option gives the rows of another question. `docs/options.md` is made from the same table.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Any

from lakescan.errors import InvalidOption, UnknownOption

_NEAR = 3


class Read(Enum):
    """A kind of read; its value is what messages call it."""

    BATCH = "a batch"
    CHANGES = "a batch of changes"
    STREAM = "a stream (spark.readStream)"


@dataclass(frozen=True)
class Value:
    """What an option may be, as documentation says it; what a text is called that it cannot be, and the check of it.

    What only the table can tell (whether there is such a version) is checked where it is looked up.
    """

    says: str
    wrong: str = ""
    fits: Callable[[str], bool] = lambda text: True


TRUE_OR_FALSE = Value(
    "`true` or `false`", "neither 'true' nor 'false'", lambda text: text.strip().lower() in ("true", "false")
)
TEXT = Value("text")
TIME = Value("a time, as `2024-01-31 12:00:00`")
FOLDER = Value("a folder")


@dataclass(frozen=True)
class Option:
    """One option: its name, the reads that take it, what it may be and one sentence of what it does.

    `sets_rows` is true where it decides which rows or columns there are, which Spark must know when it loads a table;
    `asks_one_version` where it asks for one version, so that it gives way to a version asked for in another way.
    """

    name: str
    reads: tuple[Read, ...]
    value: Value
    says: str
    aliases: tuple[str, ...] = ()
    sets_rows: bool = False
    asks_one_version: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


@dataclass(frozen=True)
class Options:
    """The options of one kind of table (or, with no kind, those that all have)."""

    of: str
    known: tuple[Option, ...]

    def __add__(self, other: "Options") -> "Options":
        return Options(self.of or other.of, (*self.known, *other.known))

    def find(self, name: str) -> Option | None:
        """The option of that name, in any case."""
        wanted = name.lower()
        return next((option for option in self.known if wanted in map(str.lower, option.names)), None)

    def of_read(self, *reads: Read) -> tuple[Option, ...]:
        return tuple(option for option in self.known if set(reads) & set(option.reads))

    def state_names(self) -> list[str]:
        """Every spelling of the options that decide which rows or columns there are."""
        return [name for option in self.known if option.sets_rows for name in option.names]


_EVERY = (Read.BATCH, Read.CHANGES, Read.STREAM)
# One set of options is often given to both ends of a stream.
OF_THE_SINK = (
    "checkpointLocation",
    "queryName",
    "outputMode",
    "overwriteSchema",
    "partitionOverwriteMode",
    "maxRecordsPerFile",
    "compression",
    "optimizeWrite",
    "txnAppId",
    "txnVersion",
    "userMetadata",
)
OF_A_SOURCE = Options(
    "",
    (
        Option("path", _EVERY, TEXT, "Where the table is: what `.load(path)` sets."),
        Option(
            "timeZone",
            _EVERY,
            Value("a time zone; the session's unless it is given"),
            "The zone of times that name none.",
        ),
        Option(
            "filter",
            (Read.BATCH, Read.CHANGES),
            Value("SQL text"),
            "Files and rows that do not match are left out, whether or not Spark pushes its own filters.",
        ),
        *(Option(name, (Read.STREAM,), TEXT, "Nothing: it is for the stream's writer.") for name in OF_THE_SINK),
    ),
)
"""The options that only a data source has: `format(…)`."""


def given_options(
    options: Mapping[str, Any], known: Options, reads: Iterable[Read], others: Iterable[Options] = ()
) -> dict[str, str]:
    """The options by their own names, as text; each is one of these reads and has a value that it can have.

    `others` are those of other kinds of tables: only for what to say of an option that is one of theirs.
    """
    wanted = tuple(reads)
    given: dict[str, str] = {}
    for name, value in options.items():
        option = known.find(name)
        if option is None:
            raise _unknown(name, known, wanted, others)
        if not set(wanted) & set(option.reads):
            raise InvalidOption(option.name, _elsewhere(option, wanted))
        text = str(value)
        if not option.value.fits(text):
            raise InvalidOption(option.name, f"{text!r} is {option.value.wrong}.")
        if given.setdefault(option.name, text) != text:
            raise InvalidOption(option.name, f"it is given twice, as {given[option.name]!r} and as {text!r}.")
    return given


def is_true(given: Mapping[str, str], name: str) -> bool:
    """Whether an option that is true or false is given as true."""
    return given.get(name, "false").strip().lower() == "true"


def one_of(given: Mapping[str, str], *names: str) -> str | None:
    """The one of some options that is given, None where none is; two that contradict each other are refused."""
    chosen = [name for name in names if name in given]
    if len(chosen) > 1:
        raise InvalidOption(chosen[1], f"{chosen[0]} is given too. Give one of the two.")
    return chosen[0] if chosen else None


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The known names most like one that is not known, best first."""
    by_small = {spelling.lower(): spelling for spelling in known}
    return [by_small[small] for small in get_close_matches(name.lower(), list(by_small), _NEAR)]


def _unknown(name: str, known: Options, reads: tuple[Read, ...], others: Iterable[Options]) -> InvalidOption:
    for other in others:
        if other.of != known.of and (theirs := other.find(name)) is not None:
            return InvalidOption(theirs.name, f"it is an option of {other.of} tables, and this is a {known.of} table.")
    names = [spelling for option in known.of_read(*reads) for spelling in option.names]
    return UnknownOption(name, nearest(name, names), {read.value: _plain_names(known, read) for read in reads})


def _plain_names(known: Options, read: Read) -> list[str]:
    """The names to list where none is near: all but the settings, which have a page of their own."""
    return [option.name for option in known.of_read(read) if not option.name.startswith("lakescan.")]


def _elsewhere(option: Option, wanted: tuple[Read, ...]) -> str:
    places = " and of ".join(read.value for read in option.reads)
    here = " or ".join(read.value for read in wanted)
    return f"it is an option of {places}, not of {here}."
