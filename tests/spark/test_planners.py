"""Scans are planned side by side by a few threads, which end when there is nothing left to plan."""

import threading
import time
from concurrent.futures import Future

import pytest

from lakescan.spark.dsv2.planners import Planners


def _planning() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "lakescan-planner"]


def test_no_more_threads_plan_at_once_than_are_set_and_none_stays() -> None:
    planners, most, lock = Planners(3), [0, 0], threading.Lock()

    def plan() -> None:
        with lock:
            most[0] += 1
            most[1] = max(most)
        time.sleep(0.02)
        with lock:
            most[0] -= 1

    done: list[Future[None]] = [planners.submit(plan) for _ in range(12)]
    assert [future.result(timeout=20) for future in done] == [None] * 12
    assert most == [0, 3]
    for thread in _planning():
        thread.join(timeout=20)
    assert not _planning()
    planners.submit(plan).result(timeout=20)


def test_what_planning_raises_is_raised_where_the_plan_is_wanted_and_the_next_is_planned() -> None:
    def fail() -> None:
        raise ValueError("no such log")

    planners = Planners(1)
    failed, planned = planners.submit(fail), planners.submit(lambda: None)
    with pytest.raises(ValueError, match="no such log"):
        failed.result(timeout=20)
    assert planned.result(timeout=20) is None
