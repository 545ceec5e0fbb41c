"""What a scan considered, skipped and read, for people and for tests."""

from dataclasses import dataclass

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

    def __str__(self) -> str:
        lines = [
            f"scan of {self.table} at version {self.version}",
            f"  columns: {', '.join(self.columns) or '(none: only rows are counted)'}",
            f"  filter:  {self.filter}",
            f"  files:   {self.files_total} considered, {self.files_skipped} skipped, {self.files_planned} read"
            f" ({_size(self.bytes_planned)} of {_size(self.bytes_total)})",
        ]
        lines += [f"    after {step.name}: {step.files} files, {_size(step.bytes)}" for step in self.steps[1:]]
        if self.aggregation:
            source = "the log alone" if self.metadata_only else "the log and the files left"
            lines.append(f"  aggregates: {self.aggregation}, from {source}")
        lines.append(f"  rows dropped by deletion vectors: {self.rows_deleted}")
        lines.append(f"  planned in {self.planning_ms:.1f} ms")
        return "\n".join(lines)


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
