"""The JAR for drivers that are not Python: compiled once by Spark's own compiler, and kept in the user's cache.

Its name says all that decides what is in it, so another Spark, Lakescan or interpreter makes another. It is whole or
not there, also where two make it at once.
"""

import hashlib
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkRuntimeError
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway

import lakescan
from lakescan.errors import InternalError, JarNotWritten, NoPythonBeside
from lakescan.formats import registry
from lakescan.spark.bridge.java_classes import compiled_jar, digest_of_texts
from lakescan.spark.python_source.python_data_source import NAME
from lakescan.spark.session import refuse_without_java

# Of these, each would have PySpark do something else than start a JVM with Spark's classes.
_OF_OTHERS = ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS")


def jar() -> Path:
    """Where it is; made where it is not yet."""
    release = _spark_release()
    made_with = _made_with(release)
    name = f"lakescan-{lakescan.__version__}-spark-{release}-{hashlib.sha256(made_with).hexdigest()[:12]}.jar"
    path = _folder() / name
    if not path.exists():
        with _refusing(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            folder = tempfile.TemporaryDirectory(dir=path.parent)
        with folder:
            unfinished = Path(folder.name) / name
            content = {**_compiled(release), "lakescan/made_with": made_with}
            with _refusing(path.parent):
                with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
                    for inside, data in content.items():
                        archive.writestr(inside, data)
                os.replace(unfinished, path)
    return path


@contextmanager
def _refusing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise JarNotWritten(str(folder), error.strerror or str(error)) from error


class _Gateway:
    """A JVM that has Spark's classes and no session."""

    def __init__(self, gateway: Any) -> None:
        self._gateway = gateway

    def java_class(self, name: str) -> Any:
        return JavaClass(name, self._gateway._gateway_client)


def _compiled(release: str) -> dict[str, bytes]:
    for variable in _OF_OTHERS:
        os.environ.pop(variable, None)
    try:
        gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    except PySparkRuntimeError as error:
        refuse_without_java(error)
        raise
    try:
        return compiled_jar(_Gateway(gateway), release, [NAME, *(known.name for known in registry.FORMATS)])
    except Py4JJavaError as error:
        # While there is a JVM that knows what it says.
        raise InternalError(f"Spark {release} does not compile Lakescan's classes: {error.java_exception}") from None
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def _made_with(release: str) -> bytes:
    """What `PythonBeside.java` has to know: a line each."""
    error = NoPythonBeside("{}")
    return "\n".join([sys.executable, digest_of_texts(), release, f"[{error.condition}] {error}"]).encode()


def _spark_release() -> str:
    """Of the Spark for which it is made: SPARK_HOME's where that is set."""
    jars = Path(_find_spark_home()) / "jars"
    named = [file.stem.rpartition("_")[2].partition("-")[2] for file in jars.glob("spark-core_*.jar")]
    return named[0] if named else pyspark.__version__


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "lakescan"
