"""The tables that the project carries: written by real engines, each with the rows that the engine itself read back.

The scripts in `tests/data` wrote them (`make tables` writes them anew). A test goes through all of them or asks for one
by name, with the fixture `sample` to read it, with `unpack` for a copy of its own that it may damage.
"""

import json
import shutil
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class SampleTable:
    """One table: where it is kept, and where is told what is known of it."""

    name: str
    format: str  # delta or hudi
    source: Path  # an archive, or a folder
    expected: Path  # JSON, with values in the form of `tests.expected.plain`

    def unpack(self, folder: Path) -> Path:
        """A copy of the table below this folder; gives the table's own folder."""
        place = folder / self.name
        if self.source.is_dir():
            return Path(shutil.copytree(self.source, place, ignore=shutil.ignore_patterns("expected.json")))
        with tarfile.open(self.source) as archive:
            # Python 3.11.2, which Debian 12 has, knows no filters; the archives are the project's own.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(folder)
        return place

    @property
    def known(self) -> dict[str, Any]:
        """All that the engine that wrote it told of it."""
        told: dict[str, Any] = json.loads(self.expected.read_text())
        return told

    @property
    def features(self) -> frozenset[str]:
        """What a reader meets in it, in words."""
        return frozenset(self.known["features"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the newest version as the engine read them."""
        known = self.known
        return known["rows"] if "rows" in known else self.versions[-1] or []

    @property
    def versions(self) -> list[list[dict[str, Any]] | None]:
        """A Delta table's rows version by version, None where the engine could not read one any more."""
        return [
            rows and [{key: value for key, value in row.items() if key != "_metadata"} for row in rows]
            for rows in self.known.get("versions", [])
        ]


@cache
def sample_tables(format: str | None = None) -> tuple[SampleTable, ...]:
    """All of them, or those of one format."""
    folders = [SampleTable(file.parent.name, "delta", file.parent, file) for file in DATA.glob("*/expected.json")]
    archives = [
        SampleTable(file.name[: -len(".tar.xz")], kind, file, file.with_name(file.name.replace(".tar.xz", ".json")))
        for kind in ("delta", "hudi")
        for file in (DATA / kind).glob("*.tar.xz")
    ]
    tables = sorted([*folders, *archives], key=lambda table: (table.format, table.name))
    return tuple(table for table in tables if format in (None, table.format))


def sample_table(name: str) -> SampleTable:
    """The one of this name."""
    (table,) = [table for table in sample_tables() if table.name == name]
    return table
