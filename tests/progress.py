"""Prints what runs while it runs, and nothing of a test that passed; then the failures, the reasons of skipped tests,
and last the line that counts. With `-v` pytest prints a line for each test, as ever."""

import time
from collections import Counter
from typing import TextIO

import pytest

_MOST_SECONDS_BETWEEN_LINES = 30
"""Where nothing can be written over, as in a log: a line so often."""


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput") or config.option.verbose or config.option.collectonly:
        return
    reporter.showfspath = False
    config.pluginmanager.register(Progress(reporter), "lakescan-progress")


class Progress:
    """The line that moves, and the reasons of skipped tests."""

    def __init__(self, reporter: pytest.TerminalReporter) -> None:
        self._reporter = reporter
        self._moves = reporter.isatty
        self._out: TextIO = reporter._tw._file
        self._begun = self._written = time.monotonic()
        self._chosen = self._finished = 0
        self._ended = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._chosen = self._chosen or len(session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._chosen = len(ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """No letter for a test while tests run: the kind still counts in the last line."""
        if self._ended:
            return None
        if report.when == "call" and not hasattr(report, "wasxfail"):
            return report.outcome, "", ""
        if report.skipped and not hasattr(report, "wasxfail"):
            return "skipped", "", ""
        if report.failed:
            return "error", "", ""
        return None

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._finished += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._ended = True
        if self._moves:
            self._out.write("\r\x1b[K")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
        if reasons:
            terminalreporter.section("skipped")
        for reason, count in sorted(reasons.items()):
            terminalreporter.line(f"{count:5} {reason}")

    def _write(self, nodeid: str) -> None:
        now = time.monotonic()
        if now - self._written < (0.1 if self._moves else _MOST_SECONDS_BETWEEN_LINES):
            return
        self._written = now
        bad = sum(len(self._reporter.stats.get(kind, [])) for kind in ("failed", "error"))
        failures = f", {bad} failed" if bad else ""
        passed = time.strftime("%M:%S", time.gmtime(now - self._begun))
        line = f"{passed}  {self._finished} of {self._chosen}{failures}  {nodeid}"
        width = self._reporter._tw.fullwidth - 1
        self._out.write(f"\r{line[:width]}\x1b[K" if self._moves else f"{line}\n")
        self._out.flush()


def _reason(report: pytest.TestReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")
