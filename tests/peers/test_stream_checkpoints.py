"""A checkpoint goes on from Delta Spark to Lakescan and back: each row is given exactly once.

`LAKESCAN_STREAM_WALKS` is how many walks there are, 5 where it is not set; `LAKESCAN_STREAM_WALK` picks one.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.peers.stream_walk import ENGINES, Query, StreamWalk

pytestmark = [pytest.mark.peers, pytest.mark.timeout(900)]
_ONE = os.environ.get("LAKESCAN_STREAM_WALK")
WALKS = [int(_ONE)] if _ONE else range(int(os.environ.get("LAKESCAN_STREAM_WALKS", "5")))
ORDERS = [ENGINES, ENGINES[::-1]]
_DONE: Counter[str] = Counter()


def insert(spark: SparkSession, path: str, first: int, files: int, column: str = "val") -> None:
    """A commit of files of two rows each."""
    rows = spark.range(first, first + 2 * files, 1, files).selectExpr("id", f"id * 10 AS {column}")
    rows.write.format("delta").mode("append").save(path)


def create(spark: SparkSession, path: str) -> None:
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, val BIGINT) USING delta TBLPROPERTIES "
        "('delta.columnMapping.mode' = 'name', 'delta.enableChangeDataFeed' = 'true')"
    )


@pytest.mark.parametrize(("one", "other"), ORDERS)
@pytest.mark.parametrize("options", [{}, {"startingVersion": "1"}, {"startingVersion": "1", "readChangeFeed": "true"}])
def test_a_stream_goes_on_in_the_middle_of_a_commit_and_of_the_initial_snapshot(
    delta_spark: SparkSession, tmp_path: Path, one: str, other: str, options: dict[str, str]
) -> None:
    path = str(tmp_path / "table")
    create(delta_spark, path)
    insert(delta_spark, path, 0, 5)
    stream = Query(delta_spark, path, tmp_path / "checkpoint", {"maxFilesPerTrigger": "2", **options})
    stream.run(one, stop_after=1)
    first = json.loads(stream.ends[0])
    half = one == "delta" or "readChangeFeed" not in options
    assert (first["index"], first["isStartingVersion"]) == (1 if half else -1, not options)
    stream.run(other)
    batches = len(stream.ends)
    for engine in (one, other, one):
        # Where nothing is new there is no batch, whoever wrote the last offset.
        stream.run(engine)
    assert len(stream.ends) == batches
    insert(delta_spark, path, 10, 3)
    stream.run(one)
    given = Counter(row["id"] for batch in stream.batches.values() for row in batch)
    assert given == Counter(range(16))


@pytest.mark.parametrize(("one", "other"), ORDERS)
def test_a_stream_goes_on_with_the_schema_log_of_the_other(
    delta_spark: SparkSession, tmp_path: Path, one: str, other: str
) -> None:
    path = str(tmp_path / "table")
    create(delta_spark, path)
    insert(delta_spark, path, 0, 1)
    stream = Query(delta_spark, path, tmp_path / "checkpoint", {}, tracked=True)
    stream.run(one)
    for number, engine in enumerate((one, other, one), start=1):
        before = "val" if number == 1 else f"val{number - 1}"
        delta_spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN {before} TO val{number}")
        insert(delta_spark, path, 2 * number, 1, f"val{number}")
        stream.run(engine)
    names = ("val", "val1", "val2", "val3")
    expected = [{"id": at, names[at // 2]: at * 10} for at in range(8)]
    given = [row for batch in stream.batches.values() for row in batch]
    assert sorted(given, key=lambda row: row["id"]) == expected


@pytest.mark.parametrize("number", WALKS)
def test_batches_by_either_engine_in_turns_give_the_rows_of_delta_spark_alone(
    delta_spark: SparkSession, tmp_path: Path, number: int
) -> None:
    walk = StreamWalk(delta_spark, tmp_path, number)
    walk.run()
    assert sum(walk.turns.rows.values())
    _DONE.update(walk.kinds)


def test_the_walks_have_handed_a_stream_over_everywhere() -> None:
    """Runs last; a walk in which no engine takes over from the other would prove nothing."""
    for kind, count in sorted(_DONE.items()):
        print(f"{count:5d} {kind}")
    if len(WALKS) < 50:
        pytest.skip(f"{len(WALKS)} walks may leave some of it out")
    for place in ("snapshot", "commit", "log"):
        for one, other in (ENGINES, reversed(ENGINES)):
            assert any(kind.startswith(f"{one} to {other} in the {place}") for kind in _DONE)
