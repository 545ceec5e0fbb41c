"""A merge-on-read Hudi table of 2 million rows, a fifth of them in log files, against Hudi's own reader on Spark.

Hudi writes the table and reads it in a process of its own, in the environment that `make .venv-hudi/.installed` makes;
both sides take turns in one run. First both must give the same aggregates, so that a fast wrong answer is no result.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from harness import NotPossible, Result, compare
from pyspark.sql import SparkSession
from scan_columns import DATA, consume

import lakescan

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parent / ".venv-hudi" / "bin" / "python"
ROWS = 2_000_000
FILES = 8
BOUND = 1.0
AGGREGATE = (
    "SELECT city, count(*) AS n, sum(quantity) AS quantity, max(amount) AS amount, min(note) AS note "
    "FROM bench GROUP BY city ORDER BY city"
)
WHOLE = "SELECT * FROM bench"
SOME = "SELECT id, amount FROM bench"


@dataclass
class Hudi:
    """Hudi on Spark behind a pipe."""

    process: subprocess.Popen[str]

    def ask(self, **request: Any) -> Any:
        requests: IO[str] | None = self.process.stdin
        answers: IO[str] | None = self.process.stdout
        assert requests
        assert answers
        print(json.dumps(request), file=requests, flush=True)
        answer = answers.readline()
        if not answer:
            raise RuntimeError("Hudi on Spark ended; what it said is above.")
        return json.loads(answer)


@contextmanager
def hudi_on_spark() -> Iterator[Hudi]:
    command = [str(PYTHON), str(HERE / "hudi_peer.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Hudi(process)
        assert process.stdin
        process.stdin.close()


def build(path: Path, hudi: Hudi) -> None:
    """The table, written once and kept: a half-written one never gets the final name."""
    if path.exists():
        return
    unfinished = path.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    hudi.ask(write=str(unfinished), rows=ROWS, files=FILES)
    unfinished.rename(path)


def run(spark: SparkSession) -> Iterable[Result]:
    if not PYTHON.exists():
        raise NotPossible("Hudi on Spark is not installed here. `make .venv-hudi/.installed` installs it.")
    path = DATA / f"hudi_merge_{FILES}x{ROWS // FILES}"
    with hudi_on_spark() as hudi:
        build(path, hudi)

        def ours(query: str) -> Any:
            lakescan.read(spark, str(path)).createOrReplaceTempView("bench")
            return spark.sql(query)

        rows = [[str(value) for value in row] for row in ours(AGGREGATE).collect()]
        assert rows == hudi.ask(path=str(path), query=AGGREGATE, consume=False), "the two sides read different rows"
        for name, query in (("whole", WHOLE), ("2 of 13 columns", SOME), ("aggregated", AGGREGATE)):
            yield compare(
                f"Hudi merge on read, {name}, 2 M rows",
                lambda query=query: consume(ours(query)),  # type: ignore[misc]
                lambda query=query: hudi.ask(path=str(path), query=query, consume=True),  # type: ignore[misc]
                BOUND,
                runs=5,
            )
