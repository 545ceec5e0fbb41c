"""One query, one plan: equal scans share a plan, and the scans of a query are planned side by side.

A plan is found again by the scan's token, its settings and the very snapshot it was made of, so a table that was
replaced by another with the same version is never mistaken for it. A plan is forgotten with the last query that
uses it.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from threading import Lock
from weakref import WeakValueDictionary

from lakescan.scan.scan import Scan

_plans: WeakValueDictionary[str, Scan] = WeakValueDictionary()
_lock = Lock()


@lru_cache(maxsize=8)
def planners(threads: int) -> ThreadPoolExecutor:
    """The pool of that many threads."""
    return ThreadPoolExecutor(threads, thread_name_prefix="lakescan-planner")


def shared(scan: Scan) -> Scan:
    """An equal scan of a query that still lives, with what it has planned, or else this one."""
    key = f"{scan.token} {scan.settings}"
    with _lock:
        kept = _plans.get(key)
        if kept is None or kept.snapshot is not scan.snapshot:
            kept = _plans[key] = scan
        return kept
