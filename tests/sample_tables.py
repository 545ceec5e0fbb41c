"""The tables that the project carries: written by real engines, each with the rows that the engine itself read back.

`python tests/data/make_*.py` wrote them (`make tables` writes them anew). A test asks for one by name, or goes through
all of them, and gets a copy of its own that it may damage.
"""

import json
import shutil
import tarfile
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
ORDERS = Path(__file__).parent.parent / "examples" / "tables" / "orders"


@dataclass(frozen=True)
class SampleTable:
    """One table: where it is kept, what is special about it, and what is known of it."""

    name: str
    format: str  # delta or hudi
    source: Path  # an archive, or a folder
    expected: Path  # JSON: `rows` as the engine read them, in the form of `tests.expected.plain`; `features`

    def unpack(self, folder: Path) -> Path:
        """A copy of the table below this folder; gives the table's own folder."""
        place = folder / self.name
        if self.source.is_dir():
            return Path(shutil.copytree(self.source, place, ignore=shutil.ignore_patterns("expected.json")))
        if self.source.suffix == ".zip":
            with zipfile.ZipFile(self.source) as archive:
                archive.extractall(place)
        else:
            with tarfile.open(self.source) as archive:
                archive.extractall(place, filter="data")
        marks = {"_delta_log", ".hoodie"}
        (found,) = {
            mark.parent for mark in place.rglob("*") if mark.name in marks and ".hoodie" not in mark.parent.parts
        }
        return found

    @property
    def known(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.expected.read_text()) if self.expected.exists() else {}
        return found

    @property
    def features(self) -> frozenset[str]:
        return frozenset(self.known.get("features", ()))

    @property
    def rows(self) -> list[dict[str, Any]] | None:
        """All rows of the newest version as the engine read them; None where they are not kept."""
        known = self.known
        if "versions" in known and isinstance(known["versions"], list):
            return [{key: row[key] for key in row if key != "_metadata"} for row in known["versions"][-1]]
        rows = known.get("rows")
        return rows if isinstance(rows, list) and rows and isinstance(rows[0], dict) else None


@cache
def sample_tables(format: str | None = None) -> tuple[SampleTable, ...]:
    """All of them, or those of one format, by name."""
    folders = [
        SampleTable(file.parent.name, "delta", file.parent, file) for file in sorted(DATA.glob("*/expected.json"))
    ]
    archives = [
        SampleTable(file.name.split(".")[0], kind, file, file.with_name(f"{file.name.split('.')[0]}.json"))
        for folder, kind in (("delta", "delta"), ("hudi", "hudi"), ("hudi_merges", "hudi"))
        for file in sorted([*(DATA / folder).glob("*.tar.xz"), *(DATA / folder).glob("*.zip")])
    ]
    orders = SampleTable("orders", "delta", ORDERS, ORDERS / "expected.json")
    return tuple(table for table in [orders, *folders, *archives] if format in (None, table.format))


def sample_table(name: str) -> SampleTable:
    (found,) = [table for table in sample_tables() if table.name == name]
    return found
