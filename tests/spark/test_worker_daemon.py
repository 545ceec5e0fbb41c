"""Workers start from a daemon that has imported what they need, and from Spark's own where that is not to be."""

import os
import shutil
import signal
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakescan
from lakescan.spark.bridge import Bridge, worker_daemon
from tests.processes import processes, wait_for
from tests.spark.connect import ask, server
from tests.tables import DeltaBuilder

OURS, SPARKS_OWN = "lakescan_worker_daemon", "pyspark.daemon"
ROWS = 30


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """One with the daemon in it."""
    made = tmp_path / "folder"
    made.mkdir()
    shutil.copy(worker_daemon.__file__, made / f"{OURS}.py")
    return str(made)


@contextmanager
def daemon(*paths: str) -> Iterator[int]:
    """One that serves: it has said on which port."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    process = subprocess.Popen(
        [sys.executable, "-m", OURS, "pyspark.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert struct.unpack("!i", process.stdout.read(4))[0] > 0
        yield process.pid
        process.stdin.close()
        process.wait(30)
    finally:
        process.kill()
        process.wait(30)
        process.stdout.close()


def module_of(process: int | str) -> str:
    """The module that a process of Python's runs."""
    words = _told(process, "cmdline").split("\0")
    return words[words.index("-m") + 1] if "-m" in words else ""


def _told(process: int | str, what: str) -> str:
    """What the system tells of a process; nothing of one that has just ended."""
    try:
        return Path(f"/proc/{process}/{what}").read_text()
    except OSError:
        return ""


def environment_of(process: int) -> Mapping[str, str]:
    pairs = _told(process, "environ").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def test_a_daemon_has_one_thread_when_it_has_imported_what_workers_need(folder: str) -> None:
    with daemon(folder) as process:
        assert module_of(process) == OURS
        assert os.listdir(f"/proc/{process}/task") == [str(process)]
        assert "libarrow" in Path(f"/proc/{process}/maps").read_text()


def test_a_daemon_that_would_fork_with_a_thread_is_sparks_own(folder: str, tmp_path: Path) -> None:
    starting = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    (tmp_path / "sitecustomize.py").write_text(starting)
    with daemon(folder, str(tmp_path)) as process:
        assert module_of(process) == SPARKS_OWN
        assert environment_of(process)["PYTHONPATH"] == str(tmp_path)


def test_a_daemon_that_finds_no_lakescan_is_sparks_own_as_it_would_have_been(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    (tmp_path / "lakescan.py").write_text("raise ModuleNotFoundError('No module named lakescan')")
    with daemon(folder, str(tmp_path)) as process:
        assert module_of(process) == SPARKS_OWN
        assert environment_of(process)["OPENBLAS_NUM_THREADS"] == "3"
        assert "JE_ARROW_MALLOC_CONF" not in environment_of(process)


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    built = DeltaBuilder(tmp_path / "table", pa.schema([("id", pa.int64())]))
    built.append(pa.table({"id": range(ROWS)}))
    return built


def by_workers(spark: SparkSession, table: DeltaBuilder) -> list[int]:
    frame = lakescan.read(spark, table.path, options={"lakescan.pushdown.plain_files": False})
    return sorted(row.id for row in frame.collect())


def running(module: str, session: int = 0) -> set[int]:
    """The processes of a session of the system, or of this one, that run a module."""
    numbers = [line.split()[0] for line in processes(session or os.getsid(0))]
    return {int(number) for number in numbers if module_of(number) == module}


def parent_of(process: int) -> int:
    fields = _told(process, "stat").rpartition(")")[2].split()
    return int(fields[1]) if fields else 0


def daemons(spark: SparkSession, module: str) -> set[int]:
    """The processes that run a module and that the session's JVM has started: no workers, and no other executor's."""
    assert spark._jvm is not None
    jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())
    return {process for process in running(module) if parent_of(process) == jvm}


@pytest.mark.spark
def test_workers_that_were_killed_are_forked_again_by_the_same_daemon(spark: SparkSession, table: DeltaBuilder) -> None:
    assert by_workers(spark, table) == list(range(ROWS))
    ours = daemons(spark, OURS)
    workers = {process for process in running(OURS) if parent_of(process) in ours}
    assert workers
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    assert wait_for(lambda: not workers & running(OURS), 30)
    assert by_workers(spark, table) == list(range(ROWS))
    assert daemons(spark, OURS) == ours


@pytest.mark.spark
def test_an_interpreter_that_takes_no_paths_has_sparks_own_daemon(
    spark: SparkSession, table: DeltaBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -E "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(Bridge, "_worker_interpreter", str(python))
    before = daemons(spark, SPARKS_OWN)
    assert by_workers(spark, table) == list(range(ROWS))
    assert daemons(spark, SPARKS_OWN) > before
    assert by_workers(spark, table) == list(range(ROWS))


PROGRAM = """
import os, sys
import lakescan
from tests.spark.test_worker_daemon import running, OURS, SPARKS_OWN
path, others, own = sys.argv[1:]

def answer(spark, question):
    options = {"lakescan.pushdown.plain_files": False}
    rows = lakescan.read(spark, path, options=options).where("id > 5").collect()
    print("ANSWER", question, len(rows), bool(running(OURS)), bool(running(SPARKS_OWN)), bool(running("chosen_daemon")))
    for module in (OURS, SPARKS_OWN, "chosen_daemon"):
        for process in running(module):
            os.kill(process, 9)

settings = {"spark.ui.enabled": "false"}
spark = lakescan.session(**settings)
spark.sparkContext.addPyFile(others)
answer(spark, "others")
spark.sparkContext.addPyFile(own)
answer(spark, "own")
spark.stop()
answer(lakescan.session(**settings, **{"spark.python.daemon.module": "chosen_daemon"}), "chosen")
"""


@pytest.mark.own_jvm
def test_files_with_lakescan_in_them_and_a_daemon_that_is_chosen_are_used(table: DeltaBuilder, tmp_path: Path) -> None:
    (tmp_path / "chosen_daemon.py").write_text("from pyspark.daemon import manager\n\nmanager()\n")
    others, own = tmp_path / "others.zip", tmp_path / "own.zip"
    with zipfile.ZipFile(others, "w") as archive:
        archive.writestr("job.py", "")
    package = Path(lakescan.__file__).parent
    shutil.make_archive(str(own.with_suffix("")), "zip", package.parent, package.name)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.getcwd()])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, table.path, str(others), str(own)],
        capture_output=True,
        text=True,
        env=environment,
        start_new_session=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("ANSWER")]
    rows = str(ROWS - 6)
    assert answers == [
        ["others", rows, "True", "False", "False"],
        ["own", rows, "False", "True", "False"],
        ["chosen", rows, "False", "False", "True"],
    ]


CLIENT = """
spark.addArtifact(sys.argv[3], pyfile=True)
options = {"lakescan.pushdown.plain_files": "false"}
answer["rows"] = sorted(row.id for row in spark.read.format("delta").options(**options).load(sys.argv[2]).collect())
"""


@pytest.mark.own_jvm
def test_sessions_of_connect_clients_with_files_of_their_own_share_a_daemon(
    table: DeltaBuilder, tmp_path: Path
) -> None:
    with server() as (process, address):
        for number in range(2):
            (tmp_path / f"job_{number}.py").write_text("")
            assert ask(address, CLIENT, table.path, tmp_path / f"job_{number}.py")["rows"] == list(range(ROWS))
        ours = running(OURS, process.pid)
        assert len({process for process in ours if parent_of(process) not in ours}) == 1
