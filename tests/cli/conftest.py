"""The command line as a test runs it: in this process, or as a process of its own."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from lakescan.cli.main import main
from lakescan.demo import TABLE
from tests.sample_tables import sample_table
from tests.tables import DeltaBuilder

ORDERS = TABLE


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command: TypeAlias = Callable[..., Ran]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command line in this process."""

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run


def started(*arguments: object, **settings: Any) -> subprocess.Popen[str]:
    """The command as a process of its own."""
    words = [sys.executable, "-m", "lakescan", *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings)


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[str], Path]:
    """A sample table's own folder, by its name."""
    return lambda name: sample_table(name).unpack(tmp_path)


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """A table that needs a feature of readers that nobody has heard of."""
    import pyarrow as pa

    return DeltaBuilder(tmp_path / "newer", pa.schema([("id", pa.int64())]), features=["timeCrystals"]).root
