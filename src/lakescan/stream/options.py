"""A stream's options as text, checked when the stream is made: those of its format's table that a stream takes."""

import re
from collections.abc import Callable, Mapping

from lakescan import options as all_options
from lakescan.errors import InvalidOption
from lakescan.options import Options, Read, one_of
from lakescan.stream.stream import Limits

LATEST = "latest"
LIMITS = ("maxFilesPerTrigger", "maxBytesPerTrigger")
# What a batch takes where nothing is said.
DEFAULT_LIMITS = Limits(files=1000)
OF_A_BATCH = "it is an option of a batch. A stream has startingVersion and startingTimestamp, and gives every row."
# As Spark reads a size: 1k, 1ki, 1kb and 1kib are all 1024 bytes.
_UNITS = {"": 1, "b": 1} | {
    f"{letter}{ending}": 1 << (10 * power)
    for power, letter in enumerate("kmgtp", start=1)
    for ending in ("", "i", "b", "ib")
}
_SIZE = re.compile(r"([0-9]+)([a-z]*)")
_LARGEST = (1 << 63) - 1


def given_options(options: Mapping[str, str], known: Options) -> dict[str, str]:
    """The options by their own names; `path` and `timeZone` are not the stream's own."""
    own = {name: value for name, value in options.items() if name.lower() not in ("path", "timezone")}
    given = all_options.given_options(own, known, (Read.STREAM,))
    one_of(given, "startingVersion", "startingTimestamp")
    return given


def given_limits(given: Mapping[str, str]) -> Limits:
    """How much a batch may hold, as far as it was said."""
    return Limits(_positive(given, LIMITS[0], _count), _positive(given, LIMITS[1], _bytes))


def flag(given: Mapping[str, str], name: str, unless_given: str = "false") -> bool:
    text = given.get(name, unless_given).strip().lower()
    if text not in ("true", "false"):
        raise InvalidOption(name, f"{given[name]!r} is neither 'true' nor 'false'.")
    return text == "true"


def _positive(given: Mapping[str, str], name: str, read: Callable[[str], int | None]) -> int | None:
    if name not in given:
        return None
    value = read(given[name])
    if value is None or not 0 < value <= _LARGEST:
        raise InvalidOption(name, f"{given[name]!r} is not a number above zero.")
    return value


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None


def _bytes(text: str) -> int | None:
    """A size as Spark writes it: 1048576, 1m, 10MB, 1gib."""
    match = _SIZE.fullmatch(text.strip().lower())
    return int(match[1]) * _UNITS[match[2]] if match and match[2] in _UNITS else None
