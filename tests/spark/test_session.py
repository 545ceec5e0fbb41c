"""`lakescan.session()` and real separate executors, each in a process of its own."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.sample_tables import sample_table
from tests.tables import DeltaBuilder

ON_A_CLUSTER = """
import json, sys
import lakescan, lakescan.spark.bridge
spark = lakescan.session(master="local-cluster[2,1,1024]", spark_sql_shuffle_partitions=2)
path = sys.argv[1]
frame = lakescan.read(spark, path)
rows = sorted((tuple(row) for row in frame.select("part", "col1", "col2").collect()), key=str)
sums = spark.sql(f"SELECT part, count(*) AS n FROM delta.`{path}` WHERE col1 > 10 GROUP BY part").collect()
# Files that need no worker: from here on there is none to be had.
lakescan.spark.bridge.Bridge._worker_interpreter = "/no/such/python"
plain = [sorted(row.id for row in lakescan.read(spark, path).collect()) for path in sys.argv[2:]]
hosts = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
print("ANSWER" + json.dumps([rows, [tuple(row) for row in sums], len(list(hosts)), plain]))
spark.stop()
"""


def run(program: str, *arguments: str) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYSPARK_PYTHON"}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=280, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.cluster
def test_separate_executors_read_the_same_rows(sample: Callable[[str], Path], tmp_path: Path) -> None:
    import lakescan

    path = str(sample("vectors_mapped"))
    plain = DeltaBuilder(tmp_path / "plain", pa.schema([("id", pa.int64()), ("day", pa.date32())]), ["day"])
    for day in (1, 2, 3):
        plain.append(pa.table({"id": [day, 10 * day]}), partition={"day": f"2024-01-0{day}"})
    deleted = DeltaBuilder(tmp_path / "deleted", pa.schema([("id", pa.int64())]), features=["deletionVectors"])
    for storage in "ui":
        deleted.delete(deleted.append(pa.table({"id": range(10)})), [0, 4, 5, 9], storage)
    answer = json.loads(run(ON_A_CLUSTER, path, plain.path, deleted.path).split("ANSWER")[1])
    here = lakescan.open(path).snapshot().scan().build().to_arrow()
    rows = sorted(((row["part"], row["col1"], row["col2"]) for row in here.to_pylist()), key=str)
    assert [tuple(row) for row in answer[0]] == rows
    assert dict(map(tuple, answer[1])) == Counter(row[0] for row in rows if row[1] is not None and row[1] > 10)
    assert answer[2] == 3, "a driver and two executors"
    assert answer[3] == [[1, 2, 3, 10, 20, 30], [1, 1, 2, 2, 3, 3, 6, 6, 7, 7, 8, 8]]


IN_A_RUNNING_SESSION = """
import os, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
assert spark.range(3).count() == 3
import lakescan
lakescan.install(spark)
assert lakescan.session() is spark
print("ANSWER", lakescan.read(spark, sys.argv[1]).count())
"""


@pytest.mark.own_jvm
def test_a_session_that_runs_already_gets_lakescan_and_its_workers_the_drivers_interpreter(
    sample: Callable[[str], Path],
) -> None:
    # No PYSPARK_PYTHON: the `python3` on the path may lack lakescan, and the workers must not use it.
    rows = len(sample_table("vectors_mapped").rows)
    assert f"ANSWER {rows}" in run(IN_A_RUNNING_SESSION, str(sample("vectors_mapped")))
