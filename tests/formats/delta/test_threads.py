"""One snapshot may be planned by several threads at once. Each case runs in a process of its own: what breaks here
kills the process, or never ends."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])

# Each thread asks for the statistics of all files and of some; all must agree with what one thread alone gets.
PROGRAM = """
import sys, threading
import lakescan
from lakescan.predicate import Column
snapshot = lakescan.open(sys.argv[1]).snapshot()
columns = [Column(("id",)), Column(("name",))]
files = snapshot.files()
expected = [snapshot.statistics(files.slice(0, n), columns).to_pylist() for n in (files.num_rows, 5)]
fresh = lakescan.open(sys.argv[1]).snapshot()
wrong = []
def ask():
    try:
        for _ in range(40):
            listed = fresh.files()
            for n, known in zip((listed.num_rows, 5), expected):
                if fresh.statistics(listed.slice(0, n), columns).to_pylist() != known:
                    wrong.append(n)
    except BaseException as error:
        wrong.append(error)
threads = [threading.Thread(target=ask) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not wrong, wrong
print("same")
"""


@pytest.mark.parametrize(
    "checkpoint",
    [{}, {"row_group_size": 7}, {"parts": 3}, {"top": "parquet"}, {"top": "json", "row_group_size": 7}],
    ids=["one file", "row groups", "parts", "Parquet sidecars", "sidecars of a JSON top"],
)
@pytest.mark.parametrize("stats", ["json", "parsed"])
def test_threads_may_ask_a_snapshot_for_statistics_at_once(
    checkpoint: dict[str, Any], stats: str, tmp_path: Path
) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, features=["v2Checkpoint"])
    for number in range(40):
        table.append(pa.table({"id": [number, number + 1], "name": [f"n{number}", None]}, SCHEMA))
    table.checkpoint(stats=stats, parsed=SCHEMA if stats == "parsed" else None, **checkpoint)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, table.path], capture_output=True, text=True, timeout=100, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "same\n", "")
