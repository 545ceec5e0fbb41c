"""Cases handed to processes, and processes started anew where one dies or takes too long."""

import json
import os
import queue
import re
import select
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .samples import Case
from .verdicts import CRASH, HANG

# A read of a sample table takes some hundredths of a second; on a busy machine, the first one with its imports, more.
PATIENCE = 60.0
_REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Finding:
    """What became of a case."""

    case: Case
    file: str
    what: str
    outcome: str
    question: str
    detail: str
    trace: str = ""

    def shown(self) -> str:
        return f"{self.outcome}: {self.case} {self.file}: {self.what}; {self.question}: {self.detail}"

    @property
    def kind(self) -> str:
        """Findings of one kind are likely to have one cause."""
        places = re.findall(r'src/lakescan/(\S+?)", line (\d+)', self.trace)
        where = f"{places[-1][0]}:{places[-1][1]}" if places else re.sub(r"\d+", "N", self.detail)[:80]
        return f"{self.outcome}, {self.question}: {self.detail.split(':')[0][:60]} at {where}"


def run(root: Path, groups: list[list[Case]], processes: int) -> Iterator[Finding]:
    """The findings, as they come."""
    waiting: queue.SimpleQueue[list[Case]] = queue.SimpleQueue()
    for group in groups:
        waiting.put(group)
    findings: queue.SimpleQueue[Finding | None] = queue.SimpleQueue()
    threads = [threading.Thread(target=_work, args=(root, waiting, findings), daemon=True) for _ in range(processes)]
    for thread in threads:
        thread.start()
    for _ in threads:
        while (finding := findings.get()) is not None:
            yield finding


def _work(root: Path, waiting: "queue.SimpleQueue[list[Case]]", findings: "queue.SimpleQueue[Finding | None]") -> None:
    child = _Child(root)
    try:
        while True:
            for case in waiting.get_nowait():
                findings.put(child.read(case))
    except queue.Empty:
        pass
    finally:
        child.stop()
        findings.put(None)


class _Child:
    """A process that reads; a new one for the case after one that it did not survive."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._process: subprocess.Popen[str] | None = None
        self._heard = b""
        self._said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115

    def read(self, case: Case) -> Finding:
        process = self._process or self._start()
        assert process.stdin
        # One that has died already says so by its reply.
        with suppress(BrokenPipeError):
            process.stdin.write(f"{case}\n")
            process.stdin.flush()
        place: dict[str, Any] = {"file": "", "what": "before anything was damaged"}
        given = self._reply()
        if isinstance(given, dict):
            place = given
            given = self._reply()
        if isinstance(given, dict):
            return Finding(case, **place, **given)
        self.stop()
        return Finding(case, **place, outcome=given, question="", detail=self._last_words())

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate()
        self._process = None

    def _start(self) -> "subprocess.Popen[str]":
        self._heard = b""
        self._said.seek(0)
        self._said.truncate()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.child", str(self._root)],
            cwd=_REPOSITORY,
            env={**os.environ, "RUST_BACKTRACE": "0"},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
        )
        return self._process

    def _reply(self) -> dict[str, Any] | str:
        """What the child says, or what has become of it."""
        assert self._process
        assert self._process.stdout
        # Lines are cut here and not by a reader of Python's, which would keep the second of two to itself.
        source = self._process.stdout.fileno()
        while b"\n" not in self._heard:
            ready, _, _ = select.select([source], [], [], PATIENCE)
            if not ready:
                return HANG
            read = os.read(source, 1 << 16)
            if not read:
                return CRASH
            self._heard += read
        line, _, self._heard = self._heard.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _last_words(self) -> str:
        self._said.seek(0)
        return self._said.read()[-400:].replace("\n", " ")
