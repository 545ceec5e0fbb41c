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
        found = self.fields.get(name)
        if found is None:
            return None
        if isinstance(found, str) and found.strip().lstrip("-").isdecimal() and len(found) < _LONGEST_SHOWN:
            found = int(found)
        if isinstance(found, bool) or not isinstance(found, int) or abs(found) > _GREATEST:
            raise self.malformed(name, "a whole number")
        return found

    def text(self, name: str) -> str | None:
        found = self.fields.get(name)
        return None if found is None else self._text(name, found, "text")

    def texts(self, name: str) -> tuple[str, ...]:
        found = self.fields.get(name)
        if found is None:
            return ()
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise self.malformed(name, "a list of texts")
        return tuple(found)

    def text_map(self, name: str) -> dict[str, str]:
        """A map of texts, without the keys whose value is null; a checkpoint has it as a list of pairs."""
        return {
            key: self._text(name, value, "a map of texts") for key, value in self.map(name).items() if value is not None
        }

    def map(self, name: str) -> Mapping[str, Any]:
        found = self.fields.get(name)
        if isinstance(found, list) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in found):
            found = dict(found)
        if found is not None and not isinstance(found, Mapping):
            raise self.malformed(name, "a map")
        return found or {}

    def malformed(self, name: str, wanted: str) -> CorruptLog:
        shown = repr(self.fields.get(name))
        shown = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"
        return CorruptLog(self.file, f"the field {name} of its {self.kind} action is {shown} and not {wanted}")

    def _text(self, name: str, found: Any, wanted: str) -> str:
        if isinstance(found, str):
            return found
        if isinstance(found, bool | int | float):
            return json.dumps(found)
        raise self.malformed(name, wanted)
