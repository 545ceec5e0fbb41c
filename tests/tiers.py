"""Says which tests belong to which tier, and shares them out among the processes of pytest-xdist.

A test that takes the fixture `spark`, or is marked as starting a JVM or a cluster, has the mark `spark`; what of them
is in `CORE` has the mark `core` too. One process runs all tests of a file, so that what a module builds is built once,
and the whole core, so that it has one session. `LAKESCAN_ORDER=7` shuffles files and the tests of each by that seed.
"""

import os
import random
from itertools import groupby
from typing import Any

import pytest

CORE: dict[str, str] = {}
"""The core of Spark: files or beginnings of tests' names, each with what it proves."""

_SLOWEST: tuple[str, ...] = ()
"""Files that begin first, so that no process waits for one of them at the end."""

_BYTES_OF_A_PROCESS = 3 << 30
"""Memory of a process with a session, its JVM and its workers."""


def is_core(nodeid: str) -> bool:
    return nodeid.startswith(tuple(CORE))


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        starts_jvm = any(map(item.get_closest_marker, ("own_jvm", "cluster")))
        if starts_jvm or "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
        if is_core(item.nodeid) and not starts_jvm:
            item.add_marker("core")
    seed = os.environ.get("LAKESCAN_ORDER")
    if seed:
        items[:] = _shuffled(items, random.Random(seed))
    elif hasattr(config, "workerinput"):
        items.sort(key=lambda item: (not is_core(item.nodeid), not item.nodeid.startswith(_SLOWEST)))


def _shuffled(items: list[pytest.Item], chance: random.Random) -> list[pytest.Item]:
    files = [list(of_file) for _, of_file in groupby(items, key=lambda item: file_of(item.nodeid))]
    chance.shuffle(files)
    for of_file in files:
        chance.shuffle(of_file)
    return [item for of_file in files for item in of_file]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many processes as there are cores, as far as memory carries a session in each.

    One more where one process has the only session: many tests of stores wait for an answer that does not come.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if _has_one_session(config):
        return cores + 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(cores, memory // _BYTES_OF_A_PROCESS))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files as units, in the order of the collection; the core is one unit where it is what is chosen of Spark."""
    from xdist.scheduler import LoadScopeScheduling

    one_session = _has_one_session(config)
    config.option.loadscopereorder = False
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = lambda nodeid: "core" if one_session and is_core(nodeid) else file_of(nodeid)
    return scheduler


def _has_one_session(config: pytest.Config) -> bool:
    return "core" in str(config.option.markexpr)
