"""What a scan considered, skipped and read, for people and for tests."""

from dataclasses import dataclass
from itertools import pairwise

from lakescan.show.text import count, duration, shown, size

TABLE = "table"


@dataclass(frozen=True)
class Step:
    """One step of planning and what was left after it."""

    name: str
    files: int
    bytes: int


@dataclass(frozen=True)
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
        }

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
        lines.append(f"  planned in {duration(self.planning_ms)}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Report:
    """A query's scans: one report each, in the order of the plan."""

    scans: tuple[ScanReport, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.scans)) or "no scan by Lakescan in this query"
