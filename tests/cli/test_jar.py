"""`lakescan jar` where it cannot make its JAR; `tests/spark/test_jar.py` has drivers that use it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lakescan.cli.exit_codes import NOT_SUPPORTED, STORAGE
from tests.cli.conftest import Command, started

_WITHOUT_PYSPARK = "import sys; sys.modules['pyspark'] = None; from lakescan.cli.main import run; run()"


def test_a_cache_that_cannot_be_written_to_is_told_before_java_starts(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no java"))
    for cache, why in ((tmp_path / "file", "Not a directory"), (Path("/proc/none"), "No such file or directory")):
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        ran = command("jar")
        assert (ran.code, ran.out) == (STORAGE, "")
        assert ran.err == (
            f"lakescan: The JAR cannot be written to {cache}/lakescan: {why}. Set XDG_CACHE_HOME to a folder that this "
            "user may write to.\n"
        )


def test_a_missing_pyspark_is_told_in_one_sentence() -> None:
    done = subprocess.run([sys.executable, "-c", _WITHOUT_PYSPARK, "jar"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (NOT_SUPPORTED, "")
    assert done.stderr == (
        "lakescan: A SparkSession needs the package 'lakescan[spark]', which is not installed: pip install "
        "'lakescan[spark]'.\n"
    )


@pytest.mark.spark
def test_a_missing_java_is_told_in_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    nowhere = {**os.environ, "JAVA_HOME": str(tmp_path / "java"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    process = started("jar", env=nowhere)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err.count("\n")) == (NOT_SUPPORTED, "", 1)
    assert err.startswith("lakescan: Spark needs Java 17 or newer")
    assert os.listdir(tmp_path / "cache" / "lakescan") == []
