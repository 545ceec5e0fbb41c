"""What users of Delta Spark write runs unchanged on Lakescan, with the same rows: `snippets.py` has the code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.peers.snippets import SNIPPETS

# Two sessions start and run all snippets before the first test ends.
pytestmark = pytest.mark.timeout(1900)
ROOT = Path(__file__).parents[2]
Answers = dict[str, list[str]]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Answers, Answers]:
    """Those of a session with Delta's JARs, which writes the tables, and then those of one with Lakescan and no JAR."""
    folder = tmp_path_factory.mktemp("snippets")
    given: list[Answers] = []
    for kind in ("delta", "lakescan"):
        done = subprocess.run(
            [sys.executable, "-m", "tests.peers.snippets", kind, str(folder)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        given.append(json.loads((folder / f"{kind}.json").read_text(encoding="utf-8")))
    return given[0], given[1]


@pytest.mark.parametrize("name", [snippet.__name__ for snippet in SNIPPETS])
def test_a_snippet_gives_the_rows_that_it_gives_on_delta_spark(name: str, answers: tuple[Answers, Answers]) -> None:
    by_delta, by_lakescan = answers
    assert by_delta[name], "a snippet without rows compares nothing"
    assert all(text.startswith("Row(") for text in by_delta[name]), by_delta[name]
    assert by_lakescan[name] == by_delta[name]
