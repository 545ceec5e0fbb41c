"""A server by `lakescan connect`, and clients of it, each a process of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# A client that cannot import Lakescan, as if it were not installed.
WITHOUT_LAKESCAN = "import sys\nsys.modules['lakescan'] = None\n"
_PATIENCE_S = 250
_CLIENT = f"""
import faulthandler, json, sys
faulthandler.dump_traceback_later({_PATIENCE_S - 10}, exit=True)
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
answer = dict()
"""
_END = "\nspark.stop()\nprint('ANSWER' + json.dumps(answer, default=str))\n"


def started(*arguments: object) -> subprocess.Popen[str]:
    """A server, in a session of the system that all of its processes belong to."""
    words = [sys.executable, "-m", "lakescan", "connect", "--port", "0", "--conf", "spark.master=local[2]"]
    words += ["--conf", "spark.driver.memory=1g", "--conf", "spark.sql.shuffle.partitions=2", *map(str, arguments)]
    environment = {key: value for key, value in os.environ.items() if key != "PYSPARK_PYTHON"}
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, start_new_session=True, env=environment)


@contextmanager
def server(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server that runs, and its address."""
    process = started(*arguments)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("sc://127.0.0.1:"), process.communicate()
        yield process, address
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def ask(address: str, program: str, *arguments: object, has_lakescan: bool = False) -> Any:
    """What a client program has put into `answer`; it has `spark`, and its arguments from `sys.argv[2]` on.

    One that takes too long ends with what each of its threads does.
    """
    text = ("" if has_lakescan else WITHOUT_LAKESCAN) + _CLIENT + program + _END
    done = subprocess.run(
        [sys.executable, "-c", text, address, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
    )
    assert done.returncode == 0, _said(done.stderr)
    return json.loads(done.stdout.split("ANSWER")[1])


def _said(stderr: str) -> str:
    """The end of what a client said, without stacks of the server's: its message stands before them."""
    stack = ("\tat ", r"\tat ")
    return "\n".join(line for line in stderr.splitlines() if not line.startswith(stack))[-4000:]
