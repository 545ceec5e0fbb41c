"""Version checksum files (`.crc`): a version's protocol and metadata without its commits and its checkpoint.

A checksum only saves work: it is used where both actions in it are whole, and one that is malformed, or that is
gone since the log was listed, is as good as none. It is written after its commit, by the same writer.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakescan.storage import Storage

_NAMES = {"protocol": "protocol", "metaData": "metadata"}
_NEEDED = {"protocol": "minReaderVersion", "metaData": "schemaString"}


@dataclass(frozen=True)
class Checksum:
    """The actions of a checksum file, by the names that commits give them."""

    actions: Mapping[str, Mapping[str, Any]]

    def action(self, name: str) -> Mapping[str, Any]:
        return self.actions[name]


def read_checksum(storage: Storage, path: str) -> Checksum | None:
    """The checksum at a path, None where it is of no use."""
    try:
        found = json.loads(storage.read(path))
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(found, dict):
        return None
    actions = {name: found.get(inside) for name, inside in _NAMES.items()}
    whole = all(isinstance(action, dict) and action.get(_NEEDED[name]) for name, action in actions.items())
    return Checksum({name: action for name, action in actions.items() if action}) if whole else None
