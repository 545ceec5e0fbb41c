"""One query, one plan: equal scans share a plan, and the scans of a query are planned side by side.

A plan is found again by the scan's token, its settings and the very snapshot it was made of, so a table that was
replaced by another with the same version is never mistaken for it. Few plans are kept, the latest.
"""

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from threading import Lock

from lakescan.scan.scan import Scan

_PLANS_KEPT = 16
_plans: OrderedDict[str, Scan] = OrderedDict()
_lock = Lock()


@lru_cache(maxsize=8)
def planners(threads: int) -> ThreadPoolExecutor:
    """The pool of that many threads."""
    return ThreadPoolExecutor(threads, thread_name_prefix="lakescan-planner")


def shared(scan: Scan) -> Scan:
    """An equal scan of before, with what it has planned, or else this one."""
    key = f"{scan.token} {scan.settings}"
    with _lock:
        kept = _plans.get(key)
        if kept is None or kept.snapshot is not scan.snapshot:
            kept = _plans[key] = scan
        _plans.move_to_end(key)
        while len(_plans) > _PLANS_KEPT:
            _plans.popitem(last=False)
        return kept
