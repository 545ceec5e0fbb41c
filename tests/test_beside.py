"""What the Python process beside a driver refuses, in one line; `tests/spark/test_jar.py` has such drivers."""

import os
import subprocess
import sys

import pyspark
import pytest

RELEASE = pyspark.__version__
LINE = ".".join(RELEASE.split(".")[:2])


def said(driver: str, jar: str, digest: str = "another") -> str:
    told = {
        "LAKESCAN_DRIVER_SPARK": driver,
        "LAKESCAN_JAR_SPARK": jar,
        "LAKESCAN_JAR": digest,
        "LAKESCAN_DRIVER_PYTHON_PATH": "/no/such/pyspark.zip:/no/such/py4j.zip",
    }
    words = [sys.executable, "-m", "lakescan.beside"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **told}, timeout=60)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    return done.stderr


@pytest.mark.parametrize(
    ("driver", "jar", "sentence"),
    [
        (
            "4.9.1",
            "4.0.2",
            "This driver is Spark 4.9.1, and its JAR of Lakescan's was made for Spark 4.0.2. Make it anew",
        ),
        (
            "4.9.1",
            "4.9.0",
            f"This driver is Spark 4.9.1, and {sys.executable} beside it has PySpark {RELEASE}: pip install",
        ),
        (f"{LINE}.99", RELEASE, "This driver's JAR was made by another release of Lakescan"),
        (RELEASE, RELEASE, "This driver's JAR was made by another release of Lakescan"),
    ],
)
def test_a_jar_or_a_pyspark_of_another_release_is_named(driver: str, jar: str, sentence: str) -> None:
    assert said(driver, jar).startswith(f"[LAKESCAN_UNSUPPORTED_SPARK] {sentence}")
