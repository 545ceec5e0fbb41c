"""Columns of Spark's schema (as JSON) whose values compare by their bits and bytes, as Arrow compares them.

A string with a collation does not: what is equal and what comes first is the collation's business. Nor does a
column with a CHAR in it, whose values Spark pads when it reads them. An interval is a number only to its files.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from lakescan.types.schema import arrow_schema

_COLLATIONS = "__COLLATIONS"
_CHAR = re.compile(r"\bchar\(")
_PADDED = "__CHAR_VARCHAR_TYPE_STRING"


@dataclass(frozen=True)
class ComparableColumns:
    """A schema of Spark's by the names of its columns."""

    schema: Mapping[str, Any]

    def field(self, path: tuple[str, ...]) -> Mapping[str, Any] | None:
        """The field at a path of names; None where there is none or where its values compare in a way of their own."""
        reached: Mapping[str, Any] | None = None
        for depth, name in enumerate(path):
            fields = self._fields(path[:depth])
            reached = fields.get(name)
            if reached is None or not _compares_plainly(reached):
                return None
        return reached

    @cached_property
    def arrow(self) -> pa.Schema:
        """The schema in Arrow's types."""
        return arrow_schema(dict(self.schema))

    @cached_property
    def _structs(self) -> dict[tuple[str, ...], dict[str, Mapping[str, Any]]]:
        return {(): _by_name(self.schema["fields"])}

    def _fields(self, path: tuple[str, ...]) -> dict[str, Mapping[str, Any]]:
        """The fields of the struct at a path, by name."""
        if path not in self._structs:
            inside = self._fields(path[:-1])[path[-1]]["type"]
            is_struct = isinstance(inside, Mapping) and inside["type"] == "struct"
            self._structs[path] = _by_name(inside["fields"]) if is_struct else {}
        return self._structs[path]


def _by_name(fields: list[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The first field of each name."""
    return {field["name"]: field for field in reversed(fields)}


def _compares_plainly(field: Mapping[str, Any]) -> bool:
    metadata = field.get("metadata") or {}
    kind = str(metadata.get(_PADDED, field["type"])).lower()
    special = "collate" in kind or kind.startswith("interval") or _CHAR.search(kind) is not None
    return _COLLATIONS not in metadata and not special
