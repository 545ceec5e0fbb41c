"""`pyspark_lakescan`: PySpark finds the Python data source by itself, in sessions that Lakescan is not installed in."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakescan.spark.python_source.python_data_source import LakescanDataSource
from pyspark_lakescan import DefaultSource
from tests.spark.connect import ask
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])

CLASSIC = """
import json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
path, checkpoint = sys.argv[1:]
answer = {"imported": "lakescan" in sys.modules}
filtered = spark.read.format("lakescan").option("filter", "id > 1").load(path)
answer["batch"] = sorted(row.id for row in filtered.collect())
other = spark.newSession()
answer["other"] = other.read.format("lakescan").option("versionAsOf", 1).load(path).count()
query = spark.readStream.format("lakescan").load(path).writeStream.format("memory").queryName("rows")
query = query.trigger(availableNow=True).option("checkpointLocation", checkpoint).start()
query.awaitTermination(120)
answer["stream"] = sorted(row.id for row in spark.table("rows").collect())
try:
    spark.read.format("lakescan").load("/no/such/table").count()
except Exception as error:
    answer["error"] = str(error)
print("ANSWER" + json.dumps(answer))
spark.stop()
"""
CONNECT = """
import lakescan
answer["batch"] = sorted(row.id for row in lakescan.read(spark, sys.argv[2]).collect())
"""


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    table = DeltaBuilder(tmp_path / "t", SCHEMA)
    table.append(pa.table({"id": [0, 1], "name": ["a", "b"]}))
    table.append(pa.table({"id": [2, 3], "name": ["c", "d"]}))
    return table


def test_the_class_that_pyspark_finds_is_the_data_source_itself(table: DeltaBuilder) -> None:
    assert DefaultSource.name() == LakescanDataSource.name()
    made: Any = DefaultSource({"path": table.path, "timeZone": "UTC"})
    assert isinstance(made, LakescanDataSource)
    assert made.schema().names == ["id", "name"]


def test_what_pyspark_imports_in_every_application_imports_next_to_nothing() -> None:
    program = (
        "import sys, pyspark.sql.datasource; before = set(sys.modules)\n"
        "import pyspark_lakescan; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['pyspark_lakescan']"


@pytest.mark.own_jvm
def test_a_session_without_any_call_reads_batches_and_streams(table: DeltaBuilder, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLASSIC, table.path, str(tmp_path / "checkpoint")],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout.split("ANSWER")[1])
    assert not answer["imported"]
    assert answer["batch"] == [2, 3]
    assert answer["other"] == 2
    assert answer["stream"] == [0, 1, 2, 3]
    assert "No table at /no/such/table" in answer["error"]


@pytest.mark.own_jvm
def test_a_connect_server_without_any_call_reads_too(table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    # Spark starts a server of its own for such an address.
    assert ask("local[1]", CONNECT, table.path, has_lakescan=True)["batch"] == [0, 1, 2, 3]
