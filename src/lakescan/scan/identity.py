"""What tells tables, versions of them and answers from each other: whatever is remembered is looked up by one of these.

Two that are equal stand for the same rows, in every session and thread of a process. A path or a version's number alone
is none of them: a table may be deleted and made anew at its path, with as many versions as before.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from lakescan.io.storage import Entry, Storage
from lakescan.scan.settings import Settings


class LogFile(NamedTuple):
    """A file of a table's log as its listing has it; one that was written anew is another."""

    path: str
    size: int
    modified_ms: int

    @staticmethod
    def of(folder: str, entry: Entry) -> "LogFile":
        return LogFile(f"{folder}/{entry.name}", entry.size, entry.modified_ms)


@dataclass(frozen=True)
class TableIdentity:
    """A table: what kind it is, the folder that it is in, and the id that its log gives it, where a format has one."""

    format: str
    storage: Storage
    id: str = ""


@dataclass(frozen=True)
class SnapshotIdentity:
    """A version of a table, by the log that it was read from."""

    table: TableIdentity
    version: str
    log: str
    """The files that the version was rebuilt from, as `digest` says them."""
    view: str = ""
    """What else decides its rows: the zone of its times, a range of commits, its columns."""

    @cached_property
    def text(self) -> str:
        """All of it as text, which Spark compares: equal texts are equal identities."""
        table = self.table
        of_table = f"{table.format} {table.storage.identity}@{self.version} of {table.id or 'no id'}"
        return f"{of_table} by {self.log}{self.view and f' as {self.view}'}"

    def seen(self, view: str) -> "SnapshotIdentity":
        """The same version, of which something else decides the rows."""
        return replace(self, view=view)


@dataclass(frozen=True)
class AnswerIdentity:
    """An answer: the version that it is of, what was asked of it, and the settings by which it was planned."""

    snapshot: SnapshotIdentity
    question: str
    """The columns, filters, limits and aggregates."""
    settings: Settings


def digest(parts: Iterable[object]) -> str:
    """Many parts as a short text; other parts have another one."""
    text = "\0".join(map(repr, parts))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
