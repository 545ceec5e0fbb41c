"""Options and names of files: the same as with Delta Spark in the same session."""

from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import input_file_name

import lakescan
from lakescan.errors import LakescanError

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]
FEED = {"readChangeFeed": "true"}


@pytest.fixture(scope="module")
def path(delta_spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four versions with the feed on: created, inserted twice, deleted; in folders with unusual names."""
    table = str(tmp_path_factory.mktemp("options") / "a table")
    delta_spark.sql(
        f"CREATE TABLE delta.`{table}` (id BIGINT, day STRING) USING delta PARTITIONED BY (day) "
        "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )
    delta_spark.sql(f"INSERT INTO delta.`{table}` VALUES (1, 'a b'), (2, 'c%d')")
    delta_spark.sql(f"INSERT INTO delta.`{table}` VALUES (3, 'a b'), (4, 'é')")
    delta_spark.sql(f"DELETE FROM delta.`{table}` WHERE id = 1")
    return table


def outcome(make: Any) -> Any:
    """The rows of a DataFrame in any order, or that it is refused."""
    try:
        frame: DataFrame = make()
        return sorted(map(tuple, frame.collect()), key=str)
    except (PySparkException, LakescanError):
        return "refused"


@pytest.mark.parametrize(
    "options",
    [
        {"versionAsOf": 1},
        {"VERSIONASOF": "2"},
        {"versionAsOf": 9},
        {"versionAsOf": 1, "timestampAsOf": "2030-01-01"},
        {"timestampAsOf": "2090-01-01"},
        {"timestampAsOf": "1990-01-01"},
        {"mergeSchema": "true"},
        {"readChangeFeed": "false"},
        FEED,
        {**FEED, "startingVersion": 0},
        {"readChangeData": "TRUE", "startingversion": 1},
        {**FEED, "startingVersion": 1, "endingVersion": 2},
        {**FEED, "startingVersion": 3, "endingVersion": 2},
        {**FEED, "startingVersion": 9},
        {**FEED, "startingVersion": 1, "endingVersion": 9},
        {**FEED, "startingTimestamp": "2020-01-01"},
        {**FEED, "startingTimestamp": "2090-01-01"},
        {**FEED, "startingVersion": 0, "endingTimestamp": "2090-01-01"},
        {**FEED, "startingVersion": 0, "versionAsOf": 1},
        {**FEED, "startingVersion": "one"},
    ],
    ids=str,
)
def test_an_option_means_what_it_means_to_delta(delta_spark: SparkSession, path: str, options: dict[str, Any]) -> None:
    theirs = outcome(lambda: delta_spark.read.format("delta").options(**options).load(path))
    assert outcome(lambda: lakescan.read(delta_spark, path, options=options)) == theirs
    assert outcome(lambda: delta_spark.read.format("lakescan").options(**options).load(path)) == theirs


def test_two_beginnings_are_refused_where_delta_passes_over_one(delta_spark: SparkSession, path: str) -> None:
    """Different on purpose: what is passed over in silence may be what was meant."""
    both: dict[str, Any] = {**FEED, "startingVersion": 3, "startingTimestamp": "2020-01-01"}
    assert len(outcome(lambda: delta_spark.read.format("delta").options(**both).load(path))) == 1
    assert outcome(lambda: lakescan.read(delta_spark, path, options=both)) == "refused"


@pytest.mark.parametrize("plain", ["true", "false"])
def test_input_file_name_is_the_one_that_delta_gives(delta_spark: SparkSession, path: str, plain: str) -> None:
    theirs = delta_spark.read.format("delta").load(path).select("id", input_file_name())
    ours = lakescan.read(delta_spark, path, options={"lakescan.pushdown.plain_files": plain})
    assert sorted(map(tuple, ours.select("id", input_file_name()).collect())) == sorted(map(tuple, theirs.collect()))
