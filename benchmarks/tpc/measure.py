"""What a query costs: wall time, and the processor time and memory of this process and of all that it started.

Spark's JVM and its Python workers are below this process; one that has ended counts with whoever waited for it.
"""

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """Seconds."""

    wall: float
    processor: float


def measured(job: Callable[[], Any]) -> tuple[Any, Cost]:
    """What the job gives, and its cost."""
    began, spent = time.perf_counter(), processor_seconds()
    outcome = job()
    return outcome, Cost(time.perf_counter() - began, processor_seconds() - spent)


def processor_seconds() -> float:
    """Of this process and everything below it, so far."""
    return sum(sum(map(int, fields[11:15])) for fields in _below().values()) / _TICKS


def peak_megabytes() -> float:
    """The most memory that this process and each that lives below it had, together."""
    peaks = [_peak(process) for process in _below()]
    return sum(peaks) / 1024


def _peak(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)


def _below() -> dict[int, list[str]]:
    """What `/proc` says of this process and of everything below it."""
    every = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            # Behind the name of the program, which may hold spaces and brackets.
            every[int(folder.name)] = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
    own = os.getpid()
    return {process: fields for process, fields in every.items() if _is_below(process, own, every)}


def _is_below(process: int, above: int, every: dict[int, list[str]]) -> bool:
    while process != above and process in every:
        process = int(every[process][1])
    return process == above


def same_rows(ours: Iterable[Any], theirs: Iterable[Any]) -> bool:
    """Whether both have the same rows, in any order. Sums of doubles depend on the order in which rows come."""
    return sorted(map(_comparable, ours)) == sorted(map(_comparable, theirs))


def _comparable(row: Any) -> str:
    return repr([_rounded(value) for value in row])


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.9g}"
    return str(value.normalize()) if isinstance(value, Decimal) else value
