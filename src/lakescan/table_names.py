"""Names for tables, however they are given: one by one, by a folder of tables, or by a TOML file.

A name may stand in namespaces, as `sales.orders`; one that stands in none is in `default`. Upper and lower case are the
same in a name, as in Spark. Nothing is opened before a name is asked for, and a folder is looked at anew each time.
"""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from lakescan.errors import InvalidName, InvalidOption
from lakescan.formats.registry import format_at, open_table
from lakescan.io.locations import has_scheme
from lakescan.io.storage import Storage

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEFAULT = ("default",)
"""The namespace of names that say none."""
_NAME = re.compile(r"[^`./\\\s\x00-\x1f\x7f]+")
_ASKING = 8
_TABLE = "table."
_KEYS = "folder=…, table.<name>=… and file=…"

NAMES = "lake"
"""The catalog that every session with Lakescan has."""
CATALOG_CLASS = "lakescan.LakeCatalog"
"""What Spark's settings say of a catalog that has these names."""

Names: TypeAlias = tuple[str, ...]
Opener: TypeAlias = Callable[[str], Storage]


@dataclass(frozen=True)
class NamedTable:
    """Where a name's table is, and the read options of every query that uses the name."""

    location: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableNames:
    """Tables by name, and folders whose folders are tables or namespaces. Given names come before those of a folder."""

    given: Mapping[Names, NamedTable] = field(default_factory=dict)
    """By all parts of the name, in lower case."""
    folders: Sequence[str] = ()

    @staticmethod
    def of_options(options: Mapping[str, str]) -> "TableNames":
        """What the settings of a catalog say: `folder`, `file`, and `table.<name>` for each name."""
        given: dict[Names, NamedTable] = {}
        folders: list[str] = []
        for option, value in options.items():
            if option == "folder":
                folders.append(value)
            elif option == "file":
                from_file = _in_file(Path(value).expanduser())
                given = {**from_file.given, **given}
                folders += from_file.folders
            elif option.startswith(_TABLE):
                given[_parts(option[len(_TABLE) :])] = NamedTable(value)
            else:
                raise InvalidOption(option, f"a catalog of tables takes {_KEYS}.")
        return TableNames(given, tuple(folders))

    def check(self) -> None:
        """Refuse what cannot be read on this machine: a name without a table, a folder that is not there."""
        for table in self.given.values():
            open_table(table.location)
        for folder in map(Storage.at, self.folders):
            if not folder.has_folder(""):
                raise InvalidOption("folder", f"{folder.location} is no folder.")

    def find(self, namespace: Names, name: str, opened: Opener) -> NamedTable | None:
        """The table of a name; None where there is no such name. What is found in a folder need not be a table."""
        parts = (*(namespace or DEFAULT), name)
        table = self.given.get(tuple(part.lower() for part in parts))
        if table is not None:
            return table
        found = (_below(opened(folder), parts, opened) for folder in self.folders)
        place = next((place for place in found if place is not None), None)
        return None if place is None else NamedTable(place.location)

    def tables(self, namespace: Names, opened: Opener) -> list[str]:
        """The names in a namespace."""
        inside = _lower(namespace or DEFAULT)
        names = {parts[-1] for parts in self.given if parts[:-1] == inside}
        for place in self._places(namespace, opened):
            names |= {name for name, is_table in _children(place, opened) if is_table}
        return sorted(names)

    def namespaces(self, inside: Names, opened: Opener) -> list[Names]:
        """The namespaces directly in another; `default` is always there."""
        depth, lower = len(inside), _lower(inside)
        found = {parts[: depth + 1] for parts in self.given if len(parts) > depth + 1 and parts[:depth] == lower}
        if not inside:
            found.add(DEFAULT)
        for place in self._places(inside, opened) if inside != DEFAULT else ():
            found |= {(*inside, name) for name, is_table in _children(place, opened) if not is_table}
        return sorted(found)

    def has_namespace(self, namespace: Names, opened: Opener) -> bool:
        if namespace in ((), DEFAULT):
            return True
        lower = _lower(namespace)
        if any(len(parts) > len(lower) and parts[: len(lower)] == lower for parts in self.given):
            return True
        return any(format_at(place) is None for place in self._places(namespace, opened))

    def _places(self, namespace: Names, opened: Opener) -> list[Storage]:
        """The folders that are a namespace."""
        roots = [opened(folder) for folder in self.folders]
        if namespace in ((), DEFAULT):
            return roots
        return [place for root in roots if (place := _walked(root, namespace, opened)) is not None]


def catalog_settings(name: str, options: Mapping[str, str]) -> dict[str, str]:
    """The settings of Spark's that make a catalog of these options."""
    setting = f"spark.sql.catalog.{name}"
    return {setting: CATALOG_CLASS, **{f"{setting}.{option}": value for option, value in options.items()}}


def check_name(name: str) -> None:
    """Refuse a name that SQL could not say, or not as one part."""
    if not _NAME.fullmatch(name):
        raise InvalidName(
            name, "use letters, digits and underscores; no dots, slashes, backticks, spaces or line breaks."
        )


def _parts(name: str) -> Names:
    parts = tuple(name.lower().split("."))
    for part in parts:
        check_name(part)
    return parts if len(parts) > 1 else (*DEFAULT, *parts)


def _lower(names: Names) -> Names:
    return tuple(name.lower() for name in names)


def _below(root: Storage, parts: Names, opened: Opener) -> Storage | None:
    if parts[:-1] == DEFAULT:
        return _walked(root, parts[-1:], opened)
    return _walked(root, parts, opened)


def _walked(place: Storage, parts: Names, opened: Opener) -> Storage | None:
    """The folder below another by names; None where there is none, or more than one but for the case of letters."""
    for part in parts:
        if not _NAME.fullmatch(part):
            return None
        if not place.has_folder(part):
            alike = [name for name in place.folder_names() if name.lower() == part.lower()]
            if len(alike) != 1:
                return None
            part = alike[0]
        place = opened(f"{place.location.rstrip('/')}/{part}")
    return place


def _children(place: Storage, opened: Opener) -> list[tuple[str, bool]]:
    """The folders in a folder that can be named, and whether each is a table."""
    names = [name for name in place.folder_names() if _NAME.fullmatch(name) and name[0] != "_"]
    with ThreadPoolExecutor(_ASKING) as threads:
        formats = threads.map(lambda name: format_at(opened(f"{place.location.rstrip('/')}/{name}")), names)
        return [(name, known is not None) for name, known in zip(names, formats, strict=True)]


def _in_file(path: Path) -> TableNames:
    """What a TOML file says: `folder`, and names in `[tables]`, whose tables are namespaces."""
    try:
        written = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidOption("file", f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise InvalidOption("file", f"{path} is no TOML: {error}.") from error
    unknown = next((key for key in written if key not in ("folder", "tables")), None)
    if unknown is not None:
        raise InvalidOption("file", f"{path} has the key {unknown!r}; known are folder and [tables].")
    folder, tables = written.get("folder"), written.get("tables", {})
    if not isinstance(folder, str | None) or not isinstance(tables, dict):
        raise InvalidOption("file", f"{path}: folder is a text and [tables] a table of names.")
    given = dict(_entries(path, (), tables))
    return TableNames(given, () if folder is None else (_from_here(path, folder),))


def _entries(path: Path, namespace: Names, entries: Mapping[str, Any]) -> "list[tuple[Names, NamedTable]]":
    made: list[tuple[Names, NamedTable]] = []
    for name, entry in entries.items():
        inside = (*namespace, *name.split("."))
        if isinstance(entry, str):
            made.append((_parts(".".join(inside)), NamedTable(_from_here(path, entry))))
        elif isinstance(entry, dict) and isinstance(entry.get("path"), str):
            options = {key: _text(value) for key, value in entry.items() if key != "path"}
            made.append((_parts(".".join(inside)), NamedTable(_from_here(path, entry["path"]), options)))
        elif isinstance(entry, dict):
            made += _entries(path, inside, entry)
        else:
            raise InvalidOption("file", f"{path}: {'.'.join(inside)} is neither a path nor a table of names.")
    return made


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _from_here(path: Path, location: str) -> str:
    """A location in a file, from the file's own folder on."""
    if has_scheme(location):
        return location
    return os.path.join(path.resolve().parent, os.path.expanduser(location))
