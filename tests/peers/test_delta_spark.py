"""Every version of tables that Delta Spark writes reads the same through Delta Spark and through Lakescan."""

import shutil
import time
import traceback

import pytest
from pyspark.sql import SparkSession

from tests.peers.operations import OPERATIONS
from tests.peers.results import RESULTS, Results
from tests.peers.walk import FEWEST_OPERATIONS, Walk

pytestmark = [pytest.mark.peers, pytest.mark.timeout(1800)]


def test_every_version_reads_the_same(seed: int, delta_spark: SparkSession, results: Results) -> None:
    if results.passed(seed):
        return
    began = time.perf_counter()
    root = RESULTS / "tables" / str(seed)
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    try:
        outcome = Walk(delta_spark, root, seed).run()
    except Exception:
        # Beside the table, for whoever looks at it before the whole run is over.
        (root / "failure.txt").write_text(traceback.format_exc(), encoding="utf-8")
        raise
    results.keep(outcome, time.perf_counter() - began)
    shutil.rmtree(root)


def test_the_whole_walk_has_done_every_operation(results: Results) -> None:
    """Runs last; an operation that Delta Spark always refuses would prove nothing."""
    done = results.all()
    if len(done) < results.wanted:
        pytest.skip(f"{len(done)} of {results.wanted} tables are walked; the other parts are to be run")
    seen = {kind for outcome in done for kind in outcome["kinds"]}
    assert seen >= set(OPERATIONS)
    assert min(len(outcome["operations"]) for outcome in done) > FEWEST_OPERATIONS
