"""One listing of a table's active timeline: its files at one moment, and what their names tell.

It is listed once for a snapshot and handed on, so that whatever is asked of it (what is finished, what is under way,
when a commit ended) is true of the same moment. An action that Hudi does not have is refused, because it may have
changed the table in a way that nobody reads. `timeline` says where a second listing is needed.
"""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from lakescan.errors import CorruptLog, TableNotFound, UnsupportedFeature
from lakescan.formats.hudi.names import META_FOLDER, PROPERTIES, SIGN
from lakescan.formats.hudi.timeline.properties import check_properties
from lakescan.io.storage import Entry, Storage

_ACTIONS = frozenset(
    [
        *("commit", "deltacommit", "replacecommit", "clustering", "compaction", "logcompaction"),
        *("clean", "rollback", "restore", "savepoint", "indexing", "schemacommit"),
    ]
)
# How older tables write a commit under way: `<instant>.inflight`.
_UNFINISHED = frozenset(["inflight", "requested"])
# Those that write rows.
_WRITES = frozenset(["commit", "deltacommit", "replacecommit", *_UNFINISHED])
_INSTANT = re.compile(r"^(?P<instant>\d+)(?:_(?P<ended>\d+))?\.(?P<action>\w+)(?:\.(?P<state>requested|inflight))?$")
# From this layout on.
_OWN_FOLDER = 2
# Moves rows to other file groups. When done it is a replacecommit; before table version 8 it is one from the beginning.
CLUSTERING = frozenset(["clustering"])


@dataclass(frozen=True)
class TimelineListing:
    """The files of the active timeline at one moment."""

    storage: Storage
    settings: Mapping[str, str] = field(compare=False, repr=False)
    """Those of the table, or at least those that say where its timeline is."""
    entries: tuple[Entry, ...]

    @staticmethod
    def of(storage: Storage, settings: Mapping[str, str]) -> "TimelineListing":
        """The timeline as it is now."""
        folder = timeline_folder(settings)
        try:
            listing = TimelineListing(storage, settings, tuple(storage.list_from(folder)))
        except FileNotFoundError as error:
            raise CorruptLog(
                storage.full_path(PROPERTIES), f"its timeline should be in {folder}, which is not there"
            ) from error
        for name, entry in listing._names:
            if name["action"] not in _ACTIONS | _UNFINISHED:
                raise UnsupportedFeature(
                    storage.location,
                    f"the action {name['action']!r} of its timeline ({entry.name})",
                    "A newer Hudi may have written it; read the table with that, or update Lakescan.",
                )
        return listing

    def again(self) -> "TimelineListing":
        """The same timeline as it is now."""
        return TimelineListing.of(self.storage, self.settings)

    @property
    def folder(self) -> str:
        return timeline_folder(self.settings)

    @property
    def is_avro(self) -> bool:
        """Whether its commits are Avro; those of older layouts are JSON."""
        return _layout(self.settings) >= _OWN_FOLDER

    @cached_property
    def finished(self) -> dict[str, Entry]:
        """The commits that changed data and are complete, and the file of each."""
        return {name["instant"]: entry for name, entry in self._finished}

    @cached_property
    def completions(self) -> dict[str, str]:
        """When each commit that changed data was complete, as far as names of files tell: from table version 8 on."""
        return {name["instant"]: name["ended"] for name, _ in self._finished if name["ended"]}

    @cached_property
    def has_archived(self) -> bool:
        """Whether commits have left the active timeline, so that its first one is not the table's first."""
        settings = self.settings
        if _layout(settings) < _OWN_FOLDER:
            folder = f"{META_FOLDER}/{settings.get('hoodie.archivelog.folder') or 'archived'}"
        else:
            folder = f"{self.folder}/{settings.get('hoodie.timeline.history.path') or 'history'}"
        names = [entry.name for entry in self.storage.list_from(folder)] if self.storage.has_folder(folder) else []
        return any(name.startswith(".commits_.archive") or name.endswith(".parquet") for name in names)

    def writing(self, more: frozenset[str] = frozenset()) -> list[str]:
        """Every commit that writes rows, finished or under way, oldest first; a plan to compact or cluster writes none.

        `more` are actions that count too.
        """
        return sorted({name["instant"] for name, _ in self._names if name["action"] in _WRITES | more})

    def unfinished(self, actions: Container[str] = _ACTIONS | _UNFINISHED) -> set[str]:
        """Every instant that is planned or under way and does one of these things; all of them where none are given."""
        names = [name for name, _ in self._names]
        is_begun = [bool(name["state"]) or name["action"] in _UNFINISHED for name in names]
        begun = {
            name["instant"] for name, begun in zip(names, is_begun, strict=True) if begun and name["action"] in actions
        }
        return begun - {name["instant"] for name, begun in zip(names, is_begun, strict=True) if not begun}

    @property
    def _finished(self) -> Iterator[tuple[re.Match[str], Entry]]:
        """The files of complete commits. A savepoint, which has the instant of its commit and another end, is none."""
        writes = _WRITES - _UNFINISHED
        return ((name, entry) for name, entry in self._names if name["action"] in writes and not name["state"])

    @cached_property
    def _names(self) -> list[tuple[re.Match[str], Entry]]:
        """The files that are named as an instant's, by the parts of their names."""
        matches = ((_INSTANT.match(entry.name), entry) for entry in self.entries)
        return [(match, entry) for match, entry in matches if match]


def timeline_settings(storage: Storage) -> dict[str, str]:
    """The settings that say where the timeline is, of a table that is not open yet."""
    try:
        lines = storage.read(PROPERTIES).decode("latin-1").splitlines()
    except FileNotFoundError as error:
        raise TableNotFound(storage.location, [SIGN]) from error
    pairs = (line.split("=", 1) for line in lines if line.startswith("hoodie.timeline.") and "=" in line)
    settings = {name.strip(): value.strip() for name, value in pairs}
    check_properties(storage, settings)
    return settings


def timeline_folder(options: Mapping[str, str]) -> str:
    """Where the active timeline is: in a folder of its own from layout 2 on."""
    if _layout(options) < _OWN_FOLDER:
        return META_FOLDER
    return f"{META_FOLDER}/{options.get('hoodie.timeline.path') or 'timeline'}"


def _layout(options: Mapping[str, str]) -> int:
    return int(options.get("hoodie.timeline.layout.version") or 1)
