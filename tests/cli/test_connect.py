"""`lakescan connect` as a process: its one line, what it refuses, and that nothing of it is left when it ends."""

import os
import signal
import socket
from pathlib import Path

import pytest

from lakescan.cli.exit_codes import FAILED, NO_TABLE, NOT_SUPPORTED, USAGE
from lakescan.spark import connect_server
from tests.cli.conftest import ORDERS, Command
from tests.processes import processes, wait_for
from tests.spark.connect import ask, server, started


@pytest.mark.own_jvm
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_server_and_all_of_its_processes(number: signal.Signals) -> None:
    with server("--table", f"orders={ORDERS}") as (process, address):
        # A worker of Python's runs too.
        counted = ask(address, "answer['n'] = spark.table('lake.orders').where('quantity > 2').count()")
        assert counted["n"] > 0
        os.kill(process.pid, number)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (0, "", "")
        assert wait_for(lambda: not processes(process.pid), 30), processes(process.pid)


@pytest.mark.own_jvm
def test_nothing_is_left_of_a_server_that_is_killed() -> None:
    with server("--table", f"orders={ORDERS}") as (process, address):
        ask(address, "answer['n'] = spark.table('lake.orders').where('quantity > 2').count()")
        assert any("java" in name for name in processes(process.pid))
        process.kill()
        assert wait_for(lambda: not processes(process.pid), 60), processes(process.pid)


@pytest.mark.own_jvm
def test_a_server_whose_java_has_ended_says_so() -> None:
    with server() as (process, _):
        (java,) = [name.split()[0] for name in processes(process.pid) if name.endswith("java")]
        os.kill(int(java), signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (FAILED, "")
        assert err.startswith("lakescan: The Spark Connect server cannot run: its Java process has ended.")
        assert err.count("\n") == 1


@pytest.mark.own_jvm
def test_a_port_that_is_taken_is_told_in_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = started("--port", port)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (FAILED, "")
    assert err == (
        f"lakescan: The Spark Connect server cannot run: 127.0.0.1:{port} is taken, or not of this machine. Choose "
        "another --port (0 is any) or --host.\n"
    )


def test_what_cannot_be_served_is_refused_before_anything_starts(command: Command, tmp_path: Path) -> None:
    def refused(code: int, words: str, *arguments: object) -> None:
        ran = command("connect", *arguments)
        assert (ran.code, ran.out) == (code, "")
        assert words in ran.err
        assert ran.err.count("\n") == 1

    refused(NO_TABLE, "No table at", "--table", f"orders={tmp_path}")
    refused(USAGE, "is no folder", "--tables", tmp_path / "none")
    refused(USAGE, "cannot be read", "--catalog", tmp_path / "none.toml")
    refused(USAGE, "'a b' cannot name a table", "--table", f"a b={ORDERS}")
    refused(USAGE, "70000", "--port", 70000)
    refused(USAGE, "NAME=VALUE", "--conf", "spark.x")
    other = "spark.sql.catalog.lake=org.example.SomeCatalog"
    refused(USAGE, "--conf spark.sql.catalog.lake", "--table", f"orders={ORDERS}", "--conf", other)


def test_a_missing_package_is_named_before_anything_starts(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_server, "_NEEDED", (*connect_server._NEEDED, "grpcio-more"))
    ran = command("connect")
    assert (ran.code, ran.out) == (NOT_SUPPORTED, "")
    assert ran.err == (
        "lakescan: A Spark Connect server, which uses grpcio-more, needs the package 'lakescan[connect]', which is not "
        "installed: pip install 'lakescan[connect]'.\n"
    )
