"""Names, numbers and times as people read them.

A name or a value from a table may hold anything. `shown` gives it as one line in which no character moves the cursor,
changes a colour or turns the direction of the text: such characters stand there by their codes.
"""

import re
from collections.abc import Iterable

# Control characters (C0, DEL, C1), lone surrogates, line separators, and those that turn or hide text.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb]"
)
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SECONDS = (("year", 31_557_600), ("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def shown(text: object) -> str:
    """The text in one line, with every character that a terminal would act on written as its code."""
    return _UNSEEN.sub(_code, str(text))


def shown_lines(text: object) -> str:
    """The same, but lines stay lines."""
    return "\n".join(map(shown, str(text).split("\n")))


def count(number: int, what: str = "") -> str:
    """A number with its thousands apart, and what is counted: `1,204 files`, `1 file`."""
    words = what[:-1] if number == 1 and what.endswith("s") else what
    return f"{number:,} {words}".rstrip()


def size(number: float) -> str:
    """A number of bytes: `3.1 MiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(number) < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


def duration(milliseconds: float) -> str:
    """How long something took: `3.2 ms`, `1.4 s`."""
    return f"{milliseconds:.1f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def age(seconds: float) -> str:
    """How long ago something was, in its largest unit: `3 days ago`."""
    for unit, length in _SECONDS:
        if seconds >= length:
            return f"{count(int(seconds // length), unit + 's')} ago"
    return "just now"


def listed(names: Iterable[object], most: int = 5) -> str:
    """The first of some names, and how many there are besides."""
    texts = [shown(name) for name in names]
    rest = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + rest


def _code(match: re.Match[str]) -> str:
    character = match[0]
    if character in _NAMED:
        return _NAMED[character]
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
