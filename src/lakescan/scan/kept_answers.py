"""Answers that metadata alone gave, kept for the next query that asks the same of the same version.

An answer is a few rows and the steps of its planning. It holds nothing of the snapshot, so that an old version and what
was read of it can go; what was used longest ago goes first.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from threading import Lock

import pyarrow as pa

from lakescan.scan.identity import AnswerIdentity
from lakescan.scan.plan import Plan
from lakescan.scan.pruning import PlannedFiles
from lakescan.scan.report import Step
from lakescan.scan.snapshot import Snapshot
from lakescan.scan.spec import ScanSpec

_MOST_ANSWERS = 64
_MOST_ROWS = 1_000


@dataclass(frozen=True)
class KeptAnswer:
    """What a plan said that reads no file."""

    rows: pa.Table
    steps: tuple[Step, ...]
    no_files: pa.Table

    def planned(self, snapshot: Snapshot) -> PlannedFiles:
        return PlannedFiles(snapshot, self.no_files, self.steps, 0.0)


class KeptAnswers:
    """A bounded number of answers."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[AnswerIdentity, KeptAnswer] = OrderedDict()

    def get(self, spec: ScanSpec) -> KeptAnswer | None:
        with self._lock:
            kept = self._kept.get(spec.answer)
            if kept is not None:
                self._kept.move_to_end(spec.answer)
            return kept

    def put(self, plan: Plan) -> None:
        if plan.ready is None or not plan.metadata_only or plan.ready.num_rows > _MOST_ROWS:
            return
        # A table of its own: a slice would hold all that it is cut from.
        no_files = plan.planned.files.schema.empty_table()
        steps = tuple(replace(step, numbers=None) for step in plan.planned.steps)
        kept = KeptAnswer(plan.ready, steps, no_files)
        with self._lock:
            self._kept[plan.spec.answer] = kept
            if len(self._kept) > _MOST_ANSWERS:
                self._kept.popitem(last=False)


ANSWERS = KeptAnswers()
