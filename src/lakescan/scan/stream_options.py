"""A stream's options as text: found by name in any case, and checked when the stream is made.

A name that is not an option is refused, because a misspelled starting point would otherwise read other rows than
were asked for.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from lakescan.errors import InvalidOption
from lakescan.scan.stream import Limits

LATEST = "latest"
LIMITS = ("maxFilesPerTrigger", "maxBytesPerTrigger")
# What a batch takes where nothing is said.
DEFAULT_LIMITS = Limits(files=1000)
# As Spark reads a size: 1k, 1ki, 1kb and 1kib are all 1024 bytes.
_UNITS = {"": 1, "b": 1} | {
    f"{letter}{ending}": 1 << (10 * power)
    for power, letter in enumerate("kmgtp", start=1)
    for ending in ("", "i", "b", "ib")
}
_SIZE = re.compile(r"([0-9]+)([a-z]*)")
_LARGEST = (1 << 63) - 1


def given_options(options: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The options by their own names; `path` and `timeZone` are not the stream's own."""
    by_name = {name.lower(): name for name in names}
    given: dict[str, str] = {}
    for key, value in options.items():
        if key.lower() in ("path", "timezone"):
            continue
        if key.lower() not in by_name:
            raise InvalidOption(key, f"there is no such option of a stream. There are: {', '.join(names)}.")
        given[by_name[key.lower()]] = value
    if "startingVersion" in given and "startingTimestamp" in given:
        raise InvalidOption("startingTimestamp", "startingVersion is given too. Give one of the two.")
    return given


def given_limits(given: Mapping[str, str]) -> Limits:
    """How much a batch may hold, as far as it was said."""
    return Limits(_positive(given, LIMITS[0], _count), _positive(given, LIMITS[1], _bytes))


def flag(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "false").lower()
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
    found = _SIZE.fullmatch(text.strip().lower())
    return int(found[1]) * _UNITS[found[2]] if found and found[2] in _UNITS else None
