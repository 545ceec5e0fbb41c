"""Columns that were renamed, dropped or added anew, followed by their ids.

A table that was changed by ALTER TABLE keeps every version of its schema, with an id for each field that outlives its
name. Data files have names only: those of the version in force when the file was written. Written by hand because
hudi-rs reads by name. A table without such a history needs none of this: there a column is its name.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lakescan.errors import CorruptLog
from lakescan.formats.hudi.names import META_FOLDER
from lakescan.formats.hudi.timeline.timeline import Timeline
from lakescan.io.storage import Storage

_FOLDER = f"{META_FOLDER}/.schema"
_SUFFIX = ".schemacommit"
# No column of a file is called this: a field that the file's version did not have is looked for and not found.
_NOWHERE = "\0"
# What is in arrays and maps, as histories and ALTER TABLE call it.
_ELEMENT, _KEY, _VALUE = "element", "key", "value"


@dataclass(frozen=True)
class FileNames:
    """How files from an instant on name the fields that are called otherwise, or are not there at all."""

    since: int
    names: Mapping[str, str]
    """By the table's dotted name; only the fields that differ."""

    def rename(self, source: pa.Schema) -> pa.Schema:
        return pa.schema([self._field(field, "") for field in source])

    def differs(self, path: tuple[str, ...]) -> bool:
        """Whether a field, or a struct that it is in, has another name in these files, or is another field."""
        return any(".".join(path[:length]) in self.names for length in range(1, len(path) + 1))

    def _field(self, field: pa.Field, parent: str) -> pa.Field:
        path = f"{parent}{field.name}"
        return field.with_type(self._type(field.type, path)).with_name(self.names.get(path, field.name))

    def _type(self, kind: pa.DataType, path: str) -> pa.DataType:
        if pa.types.is_struct(kind):
            return pa.struct([self._field(child, f"{path}.") for child in kind])
        if pa.types.is_list(kind):
            item = kind.value_field
            return pa.list_(item.with_type(self._type(item.type, f"{path}.{_ELEMENT}")))
        if pa.types.is_map(kind):
            key, item = kind.key_field, kind.item_field
            keys = key.with_type(self._type(key.type, f"{path}.{_KEY}"))
            return pa.map_(keys, item.with_type(self._type(item.type, f"{path}.{_VALUE}")))
        return kind


def file_names(storage: Storage, timeline: Timeline, instant: str) -> tuple[FileNames, ...]:
    """The versions of the schema up to an instant, oldest first; none where no field ever changed its name."""
    path = _newest_history(storage)
    if path is None:
        return ()
    try:
        return _names(json.loads(storage.read(path))["schemas"], timeline, instant)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = f"it is no history of schemas ({type(error).__name__}: {error})"
        raise CorruptLog(storage.full_path(path), why) from error


def _names(history: list[dict[str, Any]], timeline: Timeline, instant: str) -> tuple[FileNames, ...]:
    versions = sorted(
        (entry for entry in history if _counts(entry["version_id"], timeline, instant)),
        key=lambda version: int(version["version_id"]),
    )
    if not versions:
        return ()
    now = dict(_fields(versions[-1]["fields"], "", ()))
    per_version = []
    for version in versions:
        then = {ids: path for path, ids in _fields(version["fields"], "", ())}
        taken = set(then.values())
        differ = {}
        for path, ids in now.items():
            # A field that came later is simply not found, unless another one had its name before.
            old = then.get(ids, _NOWHERE if path in taken else path)
            if old != path:
                differ[path] = old.rsplit(".", 1)[-1]
        per_version.append(FileNames(int(version["version_id"]), differ))
    return tuple(per_version) if any(version.names for version in per_version) else ()


def _counts(version: int, timeline: Timeline, instant: str) -> bool:
    """Whether a version came into force: before every commit (0), by an archived commit, or by that of the instant."""
    known = timeline.instants
    archived = bool(known) and str(version) < known[0]
    return version == 0 or archived or (str(version) <= instant and str(version) in known)


def _newest_history(storage: Storage) -> str | None:
    """The newest file of the history, which repeats the versions before it."""
    if not storage.has_folder(_FOLDER):
        return None
    files = [entry.name for entry in storage.list_from(_FOLDER) if entry.name.endswith(_SUFFIX)]
    return f"{_FOLDER}/{max(files)}" if files else None


def _fields(fields: list[dict[str, Any]], parent: str, ids: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The dotted name of each field, through structs, arrays and maps, and the ids on the way to it."""
    for field in fields:
        path, own = f"{parent}{field['name']}", (*ids, field["id"])
        yield path, own
        yield from _inside(field["type"], path, own)


def _inside(kind: Any, path: str, ids: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    if not isinstance(kind, dict):
        return
    if kind["type"] == "record":
        yield from _fields(kind["fields"], f"{path}.", ids)
    for part in (_ELEMENT, _KEY, _VALUE):
        if part in kind:
            yield from _inside(kind[part], f"{path}.{part}", (*ids, kind[f"{part}_id"]))
