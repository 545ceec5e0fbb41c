"""The Python process beside a driver that is not Python: `PythonBeside.java` starts it, and it ends with the driver.

It needs no PySpark of its own: a Spark distribution has one, whose place the driver tells. A refusal is one line.
"""

import importlib.util
import os
import sys
from importlib.metadata import PackageNotFoundError, version

from lakescan.errors import LakescanError, NoPythonBeside, UnsupportedSpark


def main() -> None:
    release = os.environ["LAKESCAN_DRIVER_SPARK"]
    try:
        _refuse_another_spark(release, os.environ["LAKESCAN_JAR_SPARK"])
        _find_pyspark(release, os.environ["LAKESCAN_DRIVER_PYTHON_PATH"].split(os.pathsep))
        from lakescan.spark.beside import serve

        serve(release, os.environ["LAKESCAN_JAR"])
    except LakescanError as error:
        sys.exit(f"[{error.condition}] {error}")
    # Nothing is ever written to it: it ends when the driver has ended, however that was.
    sys.stdin.buffer.read()
    os._exit(0)


def _refuse_another_spark(release: str, of_the_jar: str) -> None:
    if release.split(".")[:2] != of_the_jar.split(".")[:2]:
        raise UnsupportedSpark(
            f"This driver is Spark {release}, and its JAR of Lakescan's was made for Spark {of_the_jar}. Make it anew: "
            "SPARK_HOME=<that Spark's folder> lakescan jar."
        )


def _find_pyspark(release: str, of_the_driver: list[str]) -> None:
    """Let PySpark be the one that is installed here where it is the driver's release, else the driver's own."""
    if _installed() != release:
        sys.path[:0] = [path for path in of_the_driver if path.endswith(".zip") and os.path.exists(path)]
    if importlib.util.find_spec("pyspark") is None:
        raise NoPythonBeside(f"{sys.executable} has no PySpark")


def _installed() -> str | None:
    try:
        return version("pyspark")
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
