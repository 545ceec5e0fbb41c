"""The few actions that are read one by one (protocol, metaData, commitInfo, sidecar, a checksum's own), field by field.

A field is what Delta's protocol says it is or an error that names the action, the field and the file; a field that is
absent or null is None, or empty. As in Delta, a number or a boolean where text should be is that text.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakescan.errors import CorruptLog

_LONGEST_SHOWN = 40
_GREATEST = (1 << 63) - 1


@dataclass(frozen=True)
class TypedAction:
    """One action of a log file."""

    kind: str
    fields: Mapping[str, Any]
    file: str

    def integer(self, name: str) -> int | None:
        number = self.fields.get(name)
        if number is None:
            return None
        if isinstance(number, str) and number.strip().lstrip("-").isdecimal() and len(number) < _LONGEST_SHOWN:
            number = int(number)
        if isinstance(number, bool) or not isinstance(number, int) or abs(number) > _GREATEST:
            raise self.malformed(name, "a whole number")
        return number

    def text(self, name: str) -> str | None:
        raw = self.fields.get(name)
        return None if raw is None else self._text(name, raw, "text")

    def texts(self, name: str) -> tuple[str, ...]:
        raw = self.fields.get(name)
        if raw is None:
            return ()
        if not isinstance(raw, list) or not all(isinstance(one, str) for one in raw):
            raise self.malformed(name, "a list of texts")
        return tuple(raw)

    def text_map(self, name: str) -> dict[str, str]:
        """A map of texts, without the keys whose value is null; a checkpoint has it as a list of pairs."""
        return {
            key: self._text(name, value, "a map of texts") for key, value in self.map(name).items() if value is not None
        }

    def map(self, name: str) -> Mapping[str, Any]:
        entries = self.fields.get(name)
        if isinstance(entries, list) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in entries):
            entries = dict(entries)
        if entries is not None and not isinstance(entries, Mapping):
            raise self.malformed(name, "a map")
        return entries or {}

    def malformed(self, name: str, wanted: str) -> CorruptLog:
        shown = repr(self.fields.get(name))
        shown = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"
        return CorruptLog(self.file, f"the field {name} of its {self.kind} action is {shown} and not {wanted}")

    def _text(self, name: str, raw: Any, wanted: str) -> str:
        if isinstance(raw, str):
            return raw
        if isinstance(raw, bool | int | float):
            return json.dumps(raw)
        raise self.malformed(name, wanted)
