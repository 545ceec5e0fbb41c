"""What users of Delta Spark write runs unchanged on Lakescan, with the same rows: `snippets.py` has the code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.peers.snippets import SNIPPETS, settings
from tests.spark.connect import server

# Three sessions start and run all snippets before the first test ends.
pytestmark = pytest.mark.timeout(2800)
ROOT = Path(__file__).parents[2]
Answers = dict[str, list[str]]


def ran(kind: str, folder: Path, *address: str) -> Answers:
    done = subprocess.run(
        [sys.executable, "-m", "tests.peers.snippets", kind, str(folder), *address],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answers: Answers = json.loads((folder / f"{kind}.json").read_text(encoding="utf-8"))
    return answers


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answers]:
    """Those of a session with Delta's JARs, which writes the tables; then of one with Lakescan and no JAR; then those
    of a client of `lakescan connect`."""
    folder = tmp_path_factory.mktemp("snippets")
    given = {kind: ran(kind, folder) for kind in ("delta", "lakescan")}
    conf = [word for name, value in settings(str(folder)).items() for word in ("--conf", f"{name}={value}")]
    with server(*conf) as (_, address):
        given["connect"] = ran("connect", folder, address)
    return given


@pytest.mark.parametrize("kind", ["lakescan", "connect"])
@pytest.mark.parametrize("name", [snippet.__name__ for snippet in SNIPPETS])
def test_a_snippet_gives_the_rows_that_it_gives_on_delta_spark(
    name: str, kind: str, answers: dict[str, Answers]
) -> None:
    by_delta = answers["delta"][name]
    assert by_delta, "a snippet without rows compares nothing"
    assert all(text.startswith("Row(") for text in by_delta), by_delta
    assert answers[kind][name] == by_delta
