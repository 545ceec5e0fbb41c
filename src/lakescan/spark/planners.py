"""One query, one plan: equal scans share a plan, and the scans of a query are planned side by side.

A plan is found again by what is asked, its settings and the very snapshot it was made of, so a table that was
replaced by another with the same version is never mistaken for it. A plan is forgotten with the last query that
uses it.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from weakref import WeakValueDictionary

from lakescan.scan.plan import Plan
from lakescan.scan.planning import plan
from lakescan.scan.spec import ScanSpec


@dataclass(frozen=True)
class Planning:
    """What is asked, and the plan of it, made or in the making."""

    spec: ScanSpec
    plan: Future[Plan]

    @staticmethod
    def done(plan: Plan) -> "Planning":
        """A plan that is there already."""
        made: Future[Plan] = Future()
        made.set_result(plan)
        return Planning(plan.spec, made)


_plannings: WeakValueDictionary[str, Planning] = WeakValueDictionary()
_lock = Lock()


@lru_cache(maxsize=8)
def planners(threads: int) -> ThreadPoolExecutor:
    """The pool of that many threads."""
    return ThreadPoolExecutor(threads, thread_name_prefix="lakescan-planner")


def planning(spec: ScanSpec) -> Planning:
    """The planning of an equal scan of a query that still lives, or else one that begins now, in the background."""
    key = f"{spec.token} {spec.settings}"
    with _lock:
        kept = _plannings.get(key)
        if kept is None or kept.spec.snapshot is not spec.snapshot or _has_failed(kept):
            pool = planners(spec.settings.planning_threads)
            kept = _plannings[key] = Planning(spec, pool.submit(plan, spec))
        return kept


def _has_failed(kept: Planning) -> bool:
    return kept.plan.done() and kept.plan.exception() is not None
