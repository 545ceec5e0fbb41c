"""Which Java Spark would start, looked at only where it could not: PySpark itself says no more than that it failed."""

import os
import re
import shutil
import subprocess

from pyspark.errors import PySparkRuntimeError

from lakescan.errors import JavaNotFound

_OLDEST = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def refuse_without_java(error: PySparkRuntimeError) -> None:
    """Raise an error that says what to do where a session could not be made for want of a Java that Spark can use."""
    if error.getCondition() != "JAVA_GATEWAY_EXITED":
        return
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None:
        raise JavaNotFound("none was found: JAVA_HOME is not set and there is no java on the PATH") from None
    if not os.access(java, os.X_OK):
        raise JavaNotFound(f"JAVA_HOME is {home}, where there is no bin/java") from None
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    release = _VERSION.search(said)
    if release and int(release[1]) < _OLDEST:
        raise JavaNotFound(f"{java} is Java {release[1]}") from None
