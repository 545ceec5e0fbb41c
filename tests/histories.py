"""Random histories of Delta tables in a few folders: commits, checkpoints, tables made anew, copied and moved.

A `Place` is a folder and what is in it now: the rows of each version that can be rebuilt, known from the history itself
and from no reader. Files of different tables have the same names, sizes and often the same table id.
"""

import copy
import os
import shutil
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pyarrow as pa

from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64())])
# The clock of a file system may stand still for ten milliseconds, in which several tables are written here. So files
# of a log get times of their own, all of them long before now.
_TIMES = count(1_000_000_000)
_LONG_AGO = 1_500_000_000


class Place:
    """A folder with a table."""

    def __init__(self, root: Path, random: Random) -> None:
        self.root, self._random = root, random
        self.state = 0
        """Another number whenever anything in the folder has changed."""
        self.made = 0
        """Another number whenever the table is another one."""
        self._table: DeltaBuilder
        self._rows: dict[int, list[int]]
        self._live: list[tuple[dict[str, Any], list[int]]]
        self._make()

    @property
    def path(self) -> str:
        return str(self.root)

    @property
    def newest(self) -> int:
        return self._table.version

    @property
    def versions(self) -> list[int]:
        """Those that can be rebuilt."""
        return [version for version in self._rows if version >= self._first]

    def rows(self, version: int | None = None) -> list[int]:
        """The ids in a version, the newest where none is named."""
        return sorted(self._rows[self.newest if version is None else version])

    def change(self, others: Sequence["Place"]) -> str:
        """One random change; says which."""
        self.state += 1
        changes = {
            "append": 6,
            "remove": 2,
            "checkpoint": 2,
            "checksum": 1,
            "clean": 1,
            "make": 2,
            "copy": 1,
            "move": 1,
        }
        what = self._random.choices(list(changes), list(changes.values()))[0]
        match what:
            case "append":
                self._append()
            case "remove":
                self._remove()
            case "checkpoint" | "clean":
                self._table.checkpoint(stats=self._random.choice(["json", "parsed"]), parsed=SCHEMA)
                if what == "clean":
                    self._table.clean_log(self.newest)
                    self._first = self.newest
            case "checksum":
                self._table.checksum()
            case "make":
                shutil.rmtree(self.root)
                self._make()
            case "copy" | "move":
                self._take(self._random.choice([other for other in others if other is not self]), what == "move")
        self._set_times()
        return what

    def _set_times(self) -> None:
        for file in self._table.log.iterdir():
            if file.is_file() and file.stat().st_mtime > _LONG_AGO:
                time = next(_TIMES)
                os.utime(file, (time, time))

    def _make(self) -> None:
        self.made += 1
        self._first, self._live = 0, []
        self._table = DeltaBuilder(self.root, SCHEMA, create=False)
        metadata = self._table.metadata()
        if self._random.random() < 0.5:
            metadata["metaData"]["id"] = str(UUID(int=self._random.getrandbits(128)))
        self._table.metadata = lambda: metadata  # type: ignore[method-assign]
        self._table.commit(self._table.protocol(), metadata)
        self._rows = {0: []}
        for _ in range(self._random.randint(1, 2)):
            self._append()
        # As many versions as before, each from a checkpoint of the same name.
        if self._random.random() < 0.5:
            self._table.checkpoint()
        self._set_times()

    def _append(self) -> None:
        # Two digits each, so that files of different tables are as long.
        ids = self._random.sample(range(10, 100), 2)
        self._live.append((self._table.append(pa.table({"id": ids}, SCHEMA)), ids))
        self._now()

    def _remove(self) -> None:
        if self._live:
            add, _ = self._live.pop(self._random.randrange(len(self._live)))
            self._table.commit(self._table.remove(add))
            self._now()

    def _now(self) -> None:
        self._rows[self.newest] = [id_ for _, ids in self._live for id_ in ids]

    def _take(self, other: "Place", moves: bool) -> None:
        """The table of another folder in place of this one; where it is moved, another is made there."""
        shutil.rmtree(self.root)
        self.made += 1
        self._first, self._live, self._rows = other._first, list(other._live), dict(other._rows)
        self._table = copy.copy(other._table)
        self._table._cleaned = dict(other._table._cleaned)
        self._table.root, self._table.log = self.root, self.root / "_delta_log"
        if not moves:
            shutil.copytree(other.root, self.root)
            return
        other.root.rename(self.root)
        other.state += 1
        other._make()
