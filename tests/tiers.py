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

CORE = {
    "tests/spark/test_catalog.py": "a door: names in a catalog",
    "tests/spark/test_data_source.py": "a door: the formats' own names",
    "tests/spark/test_session_names.py": "a door: names in the session's own catalog",
    "tests/spark/test_functions.py": "a door: functions and statements of SQL",
    "tests/cli/test_query.py": "a door: the command line",
    "tests/spark/test_same_rows.py": "every door gives the rows of every kind of table",
    "tests/spark/test_delta_types.py": "a format: Delta",
    "tests/formats/hudi/test_spark.py": "a format: Hudi",
    "tests/spark/test_third_format.py": "a format: any other",
    "tests/spark/test_changes.py": "changes",
    "tests/spark/test_pushdowns.py": "pushdowns: columns, limits, orders, aggregates",
    "tests/spark/test_predicates.py": "a pushdown: filters",
    "tests/spark/test_filter_order.py": "a pushdown: filters that may fail",
    "tests/spark/test_skipping.py": "a pushdown: filters that skip files",
    "tests/spark/test_scan.py": "a pushdown: what Catalyst is told of a scan",
    "tests/spark/test_sample.py": "a pushdown: samples",
    "tests/spark/test_deleted_rows.py": "deleted rows, by a worker and by the executor",
    "tests/spark/test_plain_files.py": "files that the executor reads",
    "tests/spark/test_stored_columns.py": "columns that the executor reads",
    "tests/spark/test_task_blocks.py": "tasks on their way to executors",
    "tests/spark/test_file_metadata.py": "hidden columns",
    "tests/spark/test_options.py": "options",
    "tests/spark/test_stream.py": "a stream, by the format's name",
    "tests/spark/test_table_streams.py": "a stream, by a table's name",
    "tests/spark/test_errors.py": "errors",
    "tests/spark/test_messages.py": "errors of whoever starts",
}
"""The core of Spark: files or beginnings of tests' names, each with what it proves."""

_SLOWEST = (
    "tests/spark/test_load.py",
    "tests/spark/test_connect_server.py",
    "tests/spark/test_jar.py",
    "tests/spark/test_clusters.py",
    "tests/cli/test_connect.py",
    "tests/scan/test_in_pieces.py",
    "tests/fuzz/test_fuzz.py",
    "tests/formats/hudi/test_kinds.py",
    "tests/formats/hudi/test_object_store.py",
    "tests/io/",
    "tests/cli/test_main.py",
    "tests/formats/delta/stream/test_model.py",
    "tests/scan/test_any_filter.py",
)
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
