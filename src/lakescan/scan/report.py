"""What a scan considered, skipped and read, for people and for tests."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lakescan.show.report_page import report_fragment, report_page
from lakescan.show.text import count, duration, shown, size

TABLE = "table"
# What planning does, by the names of its steps, in the order in which it does it.
STEPS = (
    TABLE,
    "newest files",
    "partitions",
    "generated columns",
    "statistics",
    "sample",
    "deletion vectors",
    "metadata",
    "limit",
    "offset",
    "top-n",
    "runtime filters",
)
READ = "read"
NUMBER = "number"
"""The column of a file's place in its table, where `file_fates` asks for it."""


@dataclass(frozen=True)
class Step:
    """One step of planning and what was left after it."""

    name: str
    files: int
    bytes: int
    numbers: Any = field(default=None, compare=False, repr=False)
    """Which files are left, where they have numbers (`file_fates`)."""


@dataclass(frozen=True)
class FileFates:
    """What became of each file of a table, in the table's order: the place of a name in `names`."""

    names: tuple[str, ...]
    """`READ`, and the steps that dropped files."""
    fates: npt.NDArray[np.int8]

    def counts(self) -> dict[str, int]:
        """How many files had each fate."""
        return dict(zip(self.names, np.bincount(self.fates, minlength=len(self.names)).tolist(), strict=True))

    def bins(self, most: int) -> npt.NDArray[np.int64]:
        """The files in at most so many runs of equal length: a row a run, a column a fate, how many files had it."""
        count = min(most, len(self.fates))
        counts = np.zeros((count, len(self.names)), np.int64)
        if count:
            np.add.at(counts, (np.arange(len(self.fates)) * count // len(self.fates), self.fates), 1)
        return counts


@dataclass(frozen=True, repr=False)
class ScanReport:
    """A scan's planning, step by step. The first step is the whole table."""

    table: str
    version: int | str
    filter: str
    columns: tuple[str, ...]
    steps: tuple[Step, ...]
    rows_deleted: int
    """Rows that deletion vectors drop from the files that are read."""
    planning_ms: float
    metadata_only: bool = False
    """Whether the log alone gave the answer: no data file is opened."""
    aggregation: str = ""
    readers: tuple[tuple[str, int], ...] = ()
    """Who reads, and how many tasks; empty where no task has been made."""
    why_workers: tuple[str, ...] = ()
    """Why workers read those tasks that they read."""
    reading_ms: float | None = None
    """How long tasks took, all together; None where none has run."""
    rows: int | None = None
    """Rows that left the scan; None where it has not run."""
    failed: tuple[str, ...] = ()
    """The optimizations that were given up, since they failed by a fault of Lakescan."""
    fates: Callable[[], FileFates] | None = field(default=None, compare=False, repr=False)
    """What became of each file; the scan is planned once more for it."""

    @property
    def files_total(self) -> int:
        return self.steps[0].files

    @property
    def files_planned(self) -> int:
        return self.steps[-1].files

    @property
    def files_skipped(self) -> int:
        return self.files_total - self.files_planned

    @property
    def bytes_total(self) -> int:
        return self.steps[0].bytes

    @property
    def bytes_planned(self) -> int:
        return self.steps[-1].bytes

    @property
    def summary(self) -> str:
        """What was read and what was skipped, in one line."""
        read = f"{self.files_planned:,} of {count(self.files_total, 'files')} read"
        sizes = f"{size(self.bytes_planned)} of {size(self.bytes_total)}"
        skipped = [
            f"{before.files - after.files:,} by {after.name}"
            for before, after in pairwise(self.steps)
            if after.files < before.files
        ]
        return f"{read} ({sizes})" + (f", skipped {', '.join(skipped)}" if skipped else "")

    def as_json(self) -> dict[str, object]:
        """The same figures by name."""
        return {
            "table": self.table,
            "version": self.version,
            "columns": list(self.columns),
            "filter": self.filter,
            "aggregation": self.aggregation or None,
            "metadata_only": self.metadata_only,
            "steps": [{"step": step.name, "files": step.files, "bytes": step.bytes} for step in self.steps],
            "rows_deleted": self.rows_deleted,
            "planning_ms": self.planning_ms,
            "tasks": dict(self.readers),
            "why_workers": list(self.why_workers),
            "reading_ms": self.reading_ms,
            "rows": self.rows,
            "failed_optimizations": list(self.failed),
        }

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return Report((self,))._repr_html_()

    def __str__(self) -> str:
        lines = [
            f"scan of {shown(self.table)} at version {shown(self.version)}",
            f"  columns: {', '.join(map(shown, self.columns)) or '(none: only rows are counted)'}",
            f"  filter:  {shown(self.filter)}",
            f"  files:   {self.files_total} considered, {self.files_skipped} skipped, {self.files_planned} read"
            f" ({size(self.bytes_planned)} of {size(self.bytes_total)})",
        ]
        lines += [f"    after {step.name}: {step.files} files, {size(step.bytes)}" for step in self.steps[1:]]
        if self.aggregation:
            source = "the log alone" if self.metadata_only else "the log and the files left"
            lines.append(f"  aggregates: {shown(self.aggregation)}, from {source}")
        lines.append(f"  rows dropped by deletion vectors: {self.rows_deleted}")
        if self.readers:
            tasks = ", ".join(f"{tasks} by {reader}" for reader, tasks in self.readers)
            lines.append(f"  tasks:   {tasks}{shown_reasons(self.why_workers)}")
        if self.failed:
            lines.append(f"  gave up: {', '.join(self.failed)} (please report this as a bug)")
        lines.append(f"  planned in {duration(self.planning_ms)}")
        if self.reading_ms is not None:
            rows = "" if self.rows is None else f", {count(self.rows, 'rows')}"
            lines.append(f"  read in {duration(self.reading_ms)} of the tasks' time{rows}")
        return "\n".join(lines)


def shown_reasons(reasons: tuple[str, ...]) -> str:
    """Reasons behind what they are of; nothing where there are none."""
    return f" ({', '.join(map(shown, reasons))})" if reasons else ""


@dataclass(frozen=True, repr=False)
class Report:
    """A query's scans: one report each, in the order of the plan."""

    scans: tuple[ScanReport, ...]
    explain: Callable[[], str] | None = field(default=None, compare=False, repr=False)
    """Gives the query's plan, as the engine explains it."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.scans)) or "no scan by Lakescan in this query"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return report_fragment(self)

    def html(self) -> str:
        """The report as one page, with a picture of every scan; it loads nothing."""
        return report_page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write that page to a file."""
        Path(path).write_text(self.html(), encoding="utf-8")
