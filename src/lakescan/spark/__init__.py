"""Spark's DataSource V2, implemented in Python. Nothing outside this folder imports pyspark."""

import sys
from importlib.metadata import PackageNotFoundError, version

from lakescan.errors import MissingPackage, UnsupportedSpark


def _refuse_older_releases() -> None:
    """Before anything of PySpark is imported: what an older one lacks would be an ImportError about its insides."""
    loaded = sys.modules.get("pyspark")
    try:
        # Metadata takes 50 ms to find, and in a worker PySpark is there already.
        release: str = version("pyspark") if loaded is None else loaded.__version__
    except PackageNotFoundError:
        return  # PySpark of a Spark distribution, which has no package's metadata
    if int(release.split(".")[0]) < 4:
        raise UnsupportedSpark(
            f"Lakescan needs PySpark 4.0 or newer for a session, and this is {release}: pip install 'pyspark>=4.0'. "
            "Without Spark, lakescan.open(path) works with any."
        )


def _refuse_none() -> None:
    try:
        import pyspark  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "pyspark":
            raise
        raise MissingPackage("A SparkSession", "'lakescan[spark]'") from error


_refuse_older_releases()
_refuse_none()
