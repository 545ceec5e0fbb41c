"""Which filters the reader may evaluate, by what comes before them; no JVM is needed to tell."""

import json
from pathlib import Path

import pyarrow as pa

import lakescan
from lakescan.predicate import Call, Column, Literal
from lakescan.spark.dsv2.comparable_columns import ComparableColumns
from lakescan.spark.dsv2.pushed_filters import FilterRules, Taken
from tests.tables import DeltaBuilder

FIVE = Call("=", (Column(("y",)), Literal(5, pa.int64())))
DIVIDED = Call(">", (Call("/", (Literal(1, pa.int64()), Column(("x",)))), Literal(0, pa.int64())))


def test_a_filter_behind_one_that_may_fail_drops_no_row_and_is_left_to_spark(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("x", pa.int64()), ("y", pa.int64())]))
    table.append(pa.table({"x": [0, 1], "y": [1, 5]}))
    table.append(pa.table({"x": [0, 0], "y": [7, 8]}))
    snapshot = lakescan.open(table.path).snapshot()
    rules, wanted = FilterRules(ComparableColumns(json.loads(snapshot.schema_json)), "UTC"), snapshot.scan()
    assert rules.may_fail(DIVIDED, wanted)
    assert not rules.may_fail(FIVE, wanted)
    first = rules.take(FIVE, wanted)
    assert first.is_claimed
    assert Taken.together([first], wanted).build().to_arrow().to_pylist() == [{"x": 1, "y": 5}]
    behind = rules.take(FIVE, wanted, unfailing=False)
    assert not behind.is_claimed
    # The file without a 5 is skipped, as Delta Spark skips it; of the other, Spark sees the row that fails.
    assert Taken.together([behind], wanted).build().to_arrow().to_pylist() == [{"x": 0, "y": 1}, {"x": 1, "y": 5}]
