"""What metadata answered is not worked out again for the same snapshot, and for no other."""

import gc
from pathlib import Path
from typing import Any
from weakref import ref

import pyarrow as pa
import pytest

import lakescan
from lakescan.predicate import Column, col
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.scan import planning
from lakescan.scan.kept_answers import ANSWERS, KeptAnswers
from lakescan.scan.settings import Settings
from lakescan.scan.snapshot import Snapshot
from tests.tables import DeltaBuilder

COUNT = Aggregation((), (Aggregate("count_rows"),))
LEAST = Aggregation((), (Aggregate("min", Column(("id",))),))


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1, 2, 3]}))
    return table


def answers(snapshot: Snapshot, how: Aggregation = COUNT, settings: Settings | None = None) -> list[Any]:
    plan = snapshot.scan().with_settings(settings or Settings()).aggregate(how).build()
    assert plan.metadata_only
    return list(plan.to_arrow().to_pylist()[0].values())


def test_the_same_question_is_not_planned_again(table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = lakescan.open(table.path).snapshot()
    first = snapshot.scan().aggregate(COUNT).build()

    def nobody(*_: Any) -> Any:
        raise AssertionError("planned again")

    monkeypatch.setattr(planning, "_made", nobody)
    again = snapshot.scan().aggregate(COUNT).build()
    assert again.to_arrow() == first.to_arrow()
    assert again.report().steps == first.report().steps
    assert again.report().metadata_only
    for other in (snapshot.scan().aggregate(LEAST), snapshot.scan().filter(col("id") > 0).aggregate(COUNT)):
        with pytest.raises(AssertionError, match="planned again"):
            other.build()


def test_another_sample_has_another_answer(table: DeltaBuilder) -> None:
    for _ in range(5):
        table.append(pa.table({"id": [4]}))
    scan = lakescan.open(table.path).snapshot().scan()
    counts = {scan.sample(0.5, seed).aggregate(COUNT).build().to_arrow()[0][0].as_py() for seed in range(30)}
    assert len(counts) > 2
    assert scan.aggregate(COUNT).build().to_arrow()[0][0].as_py() == 8


def test_another_version_has_another_answer(table: DeltaBuilder) -> None:
    opened = lakescan.open(table.path)
    assert answers(opened.snapshot()) == [3]
    table.append(pa.table({"id": [0]}))
    assert answers(opened.snapshot()) == [4]
    assert answers(opened.snapshot(version=1)) == [3]
    assert answers(opened.snapshot(), LEAST) == [0]


def test_an_answer_does_not_keep_its_snapshot(table: DeltaBuilder) -> None:
    snapshot: Snapshot | None = lakescan.open(table.path).snapshot()
    assert snapshot is not None
    answers(snapshot)
    gone = ref(snapshot)
    snapshot = None
    gc.collect()
    assert gone() is None


def test_answers_are_few(table: DeltaBuilder) -> None:
    kept, snapshot = KeptAnswers(), lakescan.open(table.path).snapshot()
    plans = [snapshot.scan().filter(col("id") > -at).aggregate(COUNT).build() for at in range(70)]
    for plan in plans:
        kept.put(plan)
    known = [kept.get(plan.spec) is not None for plan in plans]
    assert known == [False] * 6 + [True] * 64
    assert ANSWERS.get(plans[-1].spec) is not None
