"""Every version of tables that Delta Spark writes reads the same through Delta Spark and through Lakescan."""

import shutil
import time

import pytest
from peers.results import RESULTS, Results
from peers.walk import Walk
from pyspark.sql import SparkSession

pytestmark = [pytest.mark.peers, pytest.mark.timeout(1800)]


def test_every_version_reads_the_same(seed: int, delta_spark: SparkSession, results: Results) -> None:
    if results.passed(seed):
        return
    began = time.perf_counter()
    root = RESULTS / "tables" / str(seed)
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    outcome = Walk(delta_spark, root, seed).run()
    results.keep(outcome, time.perf_counter() - began)
    shutil.rmtree(root)
