"""Streams of a Delta table, by Lakescan and by Delta Spark, in one session of the peers' environment.

Catch-up from the first commit on and the initial snapshot of 200 commits of 10,000 rows, 500 tiny commits in one batch
and in many, and the time from a commit to its row in a stream that waits for it.
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

from harness import NotPossible, Result
from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
PEERS = HERE.parent / ".venv-peers" / "bin" / "python"


def run(spark: SparkSession) -> Iterable[Result]:
    if not PEERS.exists():
        raise NotPossible("There is no .venv-peers, with Delta Spark in it: make peers makes it.")
    command = [str(PEERS), str(HERE / "streams_peer.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                yield Result(**json.loads(line))
