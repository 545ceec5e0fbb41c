"""Ctrl-C while Spark starts or runs: told in one line, and nothing of it is left."""

import os
import signal
import time
from pathlib import Path

import pytest

from lakescan.cli.exit_codes import INTERRUPTED
from tests.cli.conftest import ORDERS, started
from tests.processes import processes, wait_for


def java_processes(session: int) -> list[str]:
    return [name for name in processes(session) if "java" in name]


@pytest.mark.own_jvm
def test_ctrl_c_ends_a_query_and_its_java(tmp_path: Path) -> None:
    sql = "SELECT count(*) FROM orders a, orders b, orders c WHERE a.amount + b.amount + c.amount < 0"
    rows = tmp_path / "rows"
    process = started("query", sql, "--table", f"orders={ORDERS}", "-o", rows, start_new_session=True)
    assert wait_for(lambda: bool(java_processes(process.pid)), 120)
    time.sleep(10)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (INTERRUPTED, "", "lakescan: interrupted\n")
    assert wait_for(lambda: not java_processes(process.pid), 60)
    assert not rows.exists()
