"""What a query costs: wall time, and the processor time of this process and of all that it started.

Spark's JVM and its Python workers are below this process; one that has ended counts with whoever waited for it.
"""

import gc
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_TICKS = os.sysconf("SC_CLK_TCK")
_LOOK, _MOST_WAITED = 0.2, 10.0
# A look at `/proc` is a tick or two itself, and so is what a JVM does while it waits.
_QUIET_TICKS = 4


@dataclass(frozen=True)
class Cost:
    """Seconds."""

    wall: float
    processor: float


def measured(job: Callable[[], Any]) -> tuple[Any, Cost]:
    """What the job gives, and its cost."""
    _wait_until_quiet()
    began, before = time.perf_counter(), _below()
    outcome = job()
    return outcome, Cost(time.perf_counter() - began, _spent(before, _below()) / _TICKS)


def collect_garbage(spark: SparkSession) -> None:
    """Python's, since a DataFrame is in a cycle of references, and with it lives all that its query has broadcast: a
    query that broadcasts a large table found no room for it. And Java's, half a second that whoever ran when the heap
    was full paid for what others had left there."""
    gc.collect()
    java: Any = spark.sparkContext._jvm
    java.System.gc()


def _wait_until_quiet() -> None:
    """Java compiles what a query ran for up to half a second after its end; that was counted as the next one's."""
    spent, deadline = _all_ticks(), time.monotonic() + _MOST_WAITED
    while time.monotonic() < deadline:
        time.sleep(_LOOK)
        spent, before = _all_ticks(), spent
        if spent - before <= _QUIET_TICKS:
            return


def _all_ticks() -> int:
    return sum(map(_own, _below().values()))


def _spent(before: Mapping[int, Sequence[str]], after: Mapping[int, Sequence[str]]) -> int:
    """The ticks that processes spent between two looks at them. What one spent that has ended is its parent's where
    that waited for it, and nobody's otherwise: Spark's idle workers end while somebody else is measured."""
    own = sum(_own(fields) - _own(before.get(process)) for process, fields in after.items())
    waited = sum(_waited(fields) - _waited(before.get(process)) for process, fields in after.items())
    ended = sum(_own(fields) + _waited(fields) for process, fields in before.items() if process not in after)
    return own + max(0, waited - ended)


def _own(fields: Sequence[str] | None) -> int:
    return 0 if fields is None else sum(map(int, fields[11:13]))


def _waited(fields: Sequence[str] | None) -> int:
    return 0 if fields is None else sum(map(int, fields[13:15]))


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
