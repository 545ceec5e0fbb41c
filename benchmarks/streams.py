"""Streams of a Delta table, by Lakescan and by Delta Spark, in one session of the peers' environment.

Catch-up from the first commit on (all columns, one of them, one partition) and the initial snapshot of 200 commits of
10,000 rows, 500 tiny commits in one batch and in many, and the time from a commit to its row in a stream that waits for
it. All of the bounds are 1.0.
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

from harness import NotPossible, Result, results_page
from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
PEERS = HERE.parent / ".venv-peers" / "bin" / "python"
RESULTS = HERE / "results" / "streams.md"
_SAID = """# Streams, measured

Written by `make bench ARGS=streams`: median seconds of 4 runs each, in turns, in one session of PySpark 4.2
with Delta Spark 4.4; from a commit to its row is the median of 20. The bound of each ratio is 1.0."""


def run(spark: SparkSession) -> Iterable[Result]:
    if not PEERS.exists():
        raise NotPossible("There is no .venv-peers, with Delta Spark in it: make peers makes it.")
    command = [str(PEERS), str(HERE / "streams_peer.py")]
    results = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                results.append(Result(**json.loads(line)))
                yield results[-1]
    if process.returncode:
        raise NotPossible(f"The process with Delta Spark ended with {process.returncode}.")
    RESULTS.write_text(results_page(_SAID, "stream | Lakescan | Delta Spark", results))
