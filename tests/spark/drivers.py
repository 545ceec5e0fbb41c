"""Drivers that are not Python, from pip's PySpark: each with its processes in a session of the system's own."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests.processes import processes, wait_for

HOME = Path(pyspark.__file__).parent
_MOST_SECONDS = 150


@dataclass(frozen=True)
class Driver:
    """One that runs; what it says is in a log."""

    process: "subprocess.Popen[str]"
    log: Path

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def says(self, text: str) -> str:
        """What it has said, when that has a text in it."""
        wait_for(lambda: text in self.log.read_text() or self.process.poll() is not None, _MOST_SECONDS)
        said = self.log.read_text()
        assert text in said, said[-4000:]
        return said

    def listens(self, port: int) -> None:
        wait_for(lambda: is_open(port) or self.process.poll() is not None, _MOST_SECONDS)
        assert is_open(port), self.log.read_text()[-4000:]

    def beside(self) -> list[int]:
        """The Python processes that serve it."""
        started = [int(name.split()[0]) for name in processes(self.process.pid)]
        return [number for number in started if b"lakescan.beside" in _command_line(number)]

    def leaves_nothing(self) -> None:
        assert wait_for(lambda: not processes(self.process.pid), 60), processes(self.process.pid)


@contextmanager
def driver(folder: Path, program: str, *arguments: str, settings: Mapping[str, str]) -> Iterator[Driver]:
    """A program of Spark's `bin` with these settings, which works in a folder and is ended in any case."""
    confs = {"spark.master": "local[1]", "spark.driver.memory": "1g", "spark.ui.enabled": "false", **settings}
    words = [word for name, value in confs.items() for word in ("--conf", f"{name}={value}")]
    log = folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(HOME / "bin" / program), *words, *arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=environment(),
            cwd=folder,
            text=True,
            start_new_session=True,
        )
    try:
        yield Driver(process, log)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        if processes(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)


def environment() -> dict[str, str]:
    """This process's, without what says which Python or which Spark to use."""
    left_out = ("PYSPARK_", "SPARK_", "PYTHONPATH", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return {**kept, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _command_line(number: int) -> bytes:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return b""
