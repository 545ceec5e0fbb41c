"""Random queries over several tables give what they give on copies in Parquet; `make walks` asks thousands."""

import os

import pytest
from pyspark.sql import SparkSession

from tests.walks.tables import declare
from tests.walks.walk import asked, question, recursion_is_known, smallest

pytestmark = pytest.mark.spark
TIMES = max(1, round(float(os.environ.get("LAKESCAN_WALKS", os.environ.get("LAKESCAN_FUZZ", "1")))))
AT_ONCE = 12


@pytest.fixture(scope="module")
def walked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    declare(spark, tmp_path_factory.mktemp("walks"))
    return spark


@pytest.mark.parametrize("first", range(0, 36 * TIMES, AT_ONCE))
def test_random_queries_give_what_they_give_on_parquet(walked: SparkSession, first: int) -> None:
    answered = 0
    for seed in range(first, first + AT_ONCE):
        of = question(seed, recursion_is_known(walked))
        outcome = asked(walked, of)
        answered += not outcome.theirs.error
        if outcome.differs:
            least, found = smallest(walked, of)
            pytest.fail(f"{least}\n  ours   {found.ours}\n  theirs {found.theirs}")
    assert answered > AT_ONCE / 2, "most queries are such that Spark answers them"
