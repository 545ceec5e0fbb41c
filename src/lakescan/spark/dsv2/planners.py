"""One query, one plan: equal scans share a plan, and the scans of a query are planned side by side.

A plan is found again by what is asked of which version of which table, so a table that was replaced by another with the
same version is never mistaken for it. A plan is forgotten with the last query that uses it. Threads end when there is
nothing left to plan, so none outlives its session.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache, partial
from threading import Lock, Thread
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from lakescan.scan.identity import AnswerIdentity
from lakescan.scan.plan import Plan
from lakescan.scan.planning import plan
from lakescan.scan.spec import ScanSpec

_Made = TypeVar("_Made")


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


_plannings: WeakValueDictionary[AnswerIdentity, Planning] = WeakValueDictionary()
_lock = Lock()


class Planners:
    """So many threads at most, each started when there is something to plan that no other has time for."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._running = 0
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._lock = Lock()

    def submit(self, make: Callable[[], _Made]) -> "Future[_Made]":
        """What is made, soon; or what was raised."""
        made: Future[_Made] = Future()
        with self._lock:
            self._waiting.append((made, make))
            is_one_more = self._running < self._threads
            self._running += is_one_more
        if is_one_more:
            Thread(target=self._work, name="lakescan-planner").start()
        return made

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                made, make = self._waiting.popleft()
            try:
                outcome = make()
            except BaseException as error:
                made.set_exception(error)
            else:
                made.set_result(outcome)


@lru_cache(maxsize=8)
def planners(threads: int) -> Planners:
    """The planners of that many threads."""
    return Planners(threads)


def planning(spec: ScanSpec) -> Planning:
    """The planning of an equal scan of a query that still lives, or else one that begins now, in the background."""
    with _lock:
        kept = _plannings.get(spec.answer)
        if kept is None or _has_failed(kept):
            pool = planners(spec.settings.planning_threads)
            kept = _plannings[spec.answer] = Planning(spec, pool.submit(partial(plan, spec)))
        return kept


def _has_failed(kept: Planning) -> bool:
    return kept.plan.done() and kept.plan.exception() is not None
