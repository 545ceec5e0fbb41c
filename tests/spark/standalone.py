"""A real standalone cluster on this machine, a master and a worker from pip's PySpark, and `spark-submit` on it."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pyspark

HOME = Path(pyspark.__file__).parent
_DEPLOY = "org.apache.spark.deploy"
# Until this process closes the pipe, or ends in any way; executors are in their worker's group and end with it.
_WHILE_WANTED = '"$@" & read -r end; kill -KILL 0'
# Each read's ids, or what its error says.
APPLICATION = """
import json, sys
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
import lakescan

spark = lakescan.install(SparkSession.builder.getOrCreate())
spark.sparkContext.setLogLevel("OFF")
answers = []
for path, plain in zip(sys.argv[1::2], sys.argv[2::2]):
    frame = spark.read.format("delta").option("lakescan.pushdown.plain_files", plain).load(path)
    try:
        answers.append(sorted(row.id for row in frame.collect()))
    except (PySparkException, Py4JJavaError) as error:
        answers.append(str(error))
print("ANSWER" + json.dumps([lakescan.__file__, *answers]))
spark.stop()
"""


@dataclass(frozen=True)
class Cluster:
    """A running master with one worker."""

    url: str
    folder: Path

    def submit(self, reads: Sequence[tuple[str, bool]], python: str, *options: str) -> list[Any]:
        """Where the driver's Lakescan is, and then what the executors give for each table.

        A read is a path, and whether executors may read its files without a worker.
        """
        program = self.folder / "application.py"
        program.write_text(APPLICATION, "utf-8")
        settings = {
            "spark.pyspark.python": python,
            "spark.pyspark.driver.python": sys.executable,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "512m",
            "spark.cores.max": "2",
            "spark.task.maxFailures": "1",
            "spark.ui.enabled": "false",
        }
        confs = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        arguments = [part for path, plain in reads for part in (path, str(plain).lower())]
        done = subprocess.run(
            [str(HOME / "bin" / "spark-submit"), "--master", self.url, *confs, *options, str(program), *arguments],
            env=_environment(),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        answers: list[Any] = json.loads(done.stdout.split("ANSWER")[1])
        return answers


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A master and a worker for as long as the block runs; nothing of them is left after it."""
    port = _free_port()
    where = ["--host", "127.0.0.1", "--webui-port", "0"]
    url = f"spark://127.0.0.1:{port}"
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(_start(folder, f"{_DEPLOY}.master.Master", *where, "--port", str(port)))
        _wait_for(port, started[0])
        work = ["--cores", "2", "--memory", "1g", "--work-dir", str(folder / "work")]
        started.append(_start(folder, f"{_DEPLOY}.worker.Worker", *where, "--port", "0", *work, url))
        yield Cluster(url, folder)
    finally:
        for process in reversed(started):
            assert process.stdin is not None
            process.stdin.close()
            process.wait(30)


def python_with(folder: Path, packages: Sequence[str]) -> str:
    """An interpreter of its own that has these packages of this one, and no others."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    target = next(folder.glob("lib/python*/site-packages"))
    for package in packages:
        installed = distribution(package)
        for name in {file.parts[0] for file in installed.files or ()} - {"..", "__pycache__"}:
            source = Path(str(installed.locate_file(name)))
            if source.is_dir():
                shutil.copytree(source, target / name, dirs_exist_ok=True)
            else:
                shutil.copy2(source, target / name)
    return str(folder / "bin" / "python")


def _start(folder: Path, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
    log = (folder / f"{name.rpartition('.')[2]}.log").open("wb")
    with log:
        return subprocess.Popen(
            ["sh", "-c", _WHILE_WANTED, "sh", str(HOME / "bin" / "spark-class"), name, *arguments],
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _environment() -> dict[str, str]:
    """This process's, without what says which Python or which Spark to use."""
    left_out = ("PYSPARK_", "SPARK_", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if not name.startswith(left_out)} | {
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + 90
    while process.poll() is None and time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"nothing listens on port {port}")
