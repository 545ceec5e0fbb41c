"""A checkpoint goes on from Delta Spark to Lakescan and back: each row is given exactly once.

`LAKESCAN_STREAM_WALKS` is how many walks there are, 5 where it is not set; `LAKESCAN_STREAM_WALK` picks one.
"""

import os
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.peers.stream_walk import ENGINES, StreamWalk

pytestmark = [pytest.mark.peers, pytest.mark.timeout(900)]
_ONE = os.environ.get("LAKESCAN_STREAM_WALK")
WALKS = [int(_ONE)] if _ONE else range(int(os.environ.get("LAKESCAN_STREAM_WALKS", "5")))
_DONE: Counter[str] = Counter()


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
