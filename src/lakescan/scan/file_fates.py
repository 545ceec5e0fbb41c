"""Why each file of a table is read or not: which step of planning dropped it.

Planning keeps only how many files a step left, so that a million of them cost nothing more. The scan is planned once
more, with a number on each file, when somebody wants to see.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import TRUE
from lakescan.scan.plan import Plan
from lakescan.scan.planning import at_run_time, plan
from lakescan.scan.report import NUMBER, READ, FileFates
from lakescan.scan.snapshot import Snapshot


class _Numbered:
    """A snapshot whose files have numbers: their places in the table."""

    def __init__(self, snapshot: Snapshot, whole: pa.Table) -> None:
        self._snapshot, self._whole = snapshot, whole

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snapshot, name)

    def files(self) -> pa.Table:
        files = self._snapshot.files()
        if files is self._whole:
            places = pa.array(np.arange(files.num_rows))
        else:
            places = pc.index_in(files["path"].combine_chunks(), value_set=self._whole["path"].combine_chunks())
        return files.append_column(NUMBER, places.cast(pa.int64()))

    def narrowed(self, step: object) -> Snapshot:
        """Itself: every file has to be seen, also one that planning would never have listed."""
        return cast(Snapshot, self)

    def divided(self, at_least: int, executors: object) -> None:
        """Planned whole, for the same reason."""

    def partial_replays(self) -> Iterator[Snapshot]:
        return (cast(Snapshot, _Numbered(partial, self._whole)) for partial in self._snapshot.partial_replays())


def file_fates(made: Plan) -> FileFates:
    """What became of each file of the table that a plan is of."""
    spec = made.spec
    whole = spec.snapshot.files()
    numbered = cast(Snapshot, _Numbered(spec.snapshot, whole))
    again = plan(replace(spec, snapshot=numbered, runtime=TRUE))
    if spec.runtime != TRUE:
        again = at_run_time(again, spec.runtime)
    fates = np.zeros(whole.num_rows, np.int8)
    names = [READ]
    left = np.arange(whole.num_rows)
    for step in again.planned.steps:
        dropped = np.setdiff1d(left, step.numbers, assume_unique=True)
        if len(dropped):
            fates[dropped] = len(names)
            names.append(step.name)
        left = step.numbers
    return FileFates(tuple(names), fates)
