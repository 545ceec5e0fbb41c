"""The sample tables, each unpacked once, and copies of them in which one file at a time is damaged.

A copy is made of hard links, so only the damaged file is written. It has another name for each case: whatever is
remembered of a location is then not met again.
"""

import os
import random
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tests.sample_tables import sample_table

from .mutations import mutate

_MARKS = ("_delta_log", ".hoodie")


@dataclass(frozen=True)
class Case:
    """One damaged file of one table: what it is follows from these three."""

    seed: int
    table: str
    number: int

    def __str__(self) -> str:
        return f"{self.seed}/{self.table}/{self.number}"

    @staticmethod
    def of(text: str) -> "Case":
        seed, table, number = text.split("/")
        return Case(int(seed), table, int(number))


@dataclass
class Sample:
    """A table as it is, and the copy that is damaged."""

    whole: Path
    work: Path
    files: list[str] = field(init=False)
    _copy: Path | None = None
    _damaged: str = ""
    _copies: int = 0

    def __post_init__(self) -> None:
        paths = (path for path in self.whole.rglob("*") if path.is_file() and not _is_side_file(path))
        self.files = sorted(path.relative_to(self.whole).as_posix() for path in paths)

    def damage(self, case: Case) -> tuple[Path, str, str]:
        """The copy, the file in it that is now damaged, and what was done to it."""
        rng = random.Random(str(case))
        kinds: dict[str, list[str]] = {}
        for file in self.files:
            kinds.setdefault(_kind(file), []).append(file)
        # A kind first: of some there are many files, and these would be all that is ever tried.
        file = rng.choice(kinds[rng.choice(sorted(kinds))])
        content, what = mutate(file, (self.whole / file).read_bytes(), rng)
        copy = self._fresh_copy()
        (copy / file).unlink()
        if content is not None:
            (copy / file).write_bytes(content)
        self._damaged = file
        return copy, file, what

    def _fresh_copy(self) -> Path:
        self._copies += 1
        place = self.work / f"{self._copies}"
        if self._copy is None:
            shutil.copytree(self.whole, place, copy_function=os.link)
        else:
            (self._copy / self._damaged).unlink(missing_ok=True)
            os.link(self.whole / self._damaged, self._copy / self._damaged)
            self._copy.rename(place)
        self._copy = place
        return place


def unpacked(name: str, root: Path) -> Path:
    """The table's folder below `root`, unpacked by whoever needs it first."""
    place = root / name
    if not place.exists():
        made = Path(tempfile.mkdtemp(dir=root))
        sample_table(name).unpack(made)
        try:
            made.rename(place)
        except OSError:
            # Another process was faster.
            shutil.rmtree(made)
    (table,) = {mark.parent for mark in place.rglob("*") if mark.name in _MARKS and ".hoodie" not in mark.parent.parts}
    return table


def _is_side_file(path: Path) -> bool:
    """Hadoop's own checksum of another file, which belongs to no table format."""
    return path.name.startswith(".") and path.name.endswith(".crc")


def _kind(file: str) -> str:
    """Files that are read for the same thing."""
    place = Path(file)
    if place.suffix in (".requested", ".inflight") or place.name == ".hoodie_partition_metadata":
        return "seldom read"
    log = "log" if ".log." in place.name else place.suffix
    if file.startswith(".hoodie/metadata/"):
        return f"index {place.parts[2]} {log}" if place.parts[2] in ("files", "column_stats") else "seldom read"
    parts = [part for part in place.parts[:-1] if part.startswith(("_", "."))] or ["data"]
    return f"{parts[0]} {log} {'checkpoint' in place.name} {'compacted' in place.name}"
