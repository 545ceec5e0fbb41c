"""A plan says itself whether it only decodes, and whatever is added to plans later counts as more than that."""

from dataclasses import dataclass, fields, replace
from typing import Any

import pyarrow as pa
import pytest

from lakescan.predicate import Column, col
from lakescan.reader.aggregation import Aggregation
from lakescan.reader.read_plan import ReadPlan, ReadTask
from lakescan.reader.top_rows import SortColumn, TopRows

SCHEMA = pa.schema([("id", pa.int64())])
PLAN = ReadPlan(None, SCHEMA, SCHEMA, SCHEMA, frozenset())  # type: ignore[arg-type]
TASK = ReadTask(pa.table({"path": ["a"]}))

# A value of each field that is not what a plan without it has.
OTHERS: dict[str, Any] = {
    "filter": col("id") > 1,
    "unclaimed": col("id") > 1,
    "skip": col("id") > 1,
    "limit": 0,
    "top": TopRows((SortColumn(Column(("id",)), False, True),), 3),
    "aggregation": Aggregation((), ()),
    "computed": {"_metadata": object()},
    "skip_rows": 1,
    "from_row": 1,
}
DECODING = {"files", "output", "schema", "source", "partition_columns", "pieces"}


def test_a_plan_and_a_task_without_more_only_decode() -> None:
    assert PLAN.only_decodes
    assert TASK.only_decodes


@pytest.mark.parametrize("given", [PLAN, TASK], ids=["plan", "task"])
def test_every_field_that_does_more_is_noticed(given: Any) -> None:
    for field in fields(given):
        if field.name not in DECODING:
            assert field.name in OTHERS, f"say in OTHERS what {field.name} may be"
            assert not replace(given, **{field.name: OTHERS[field.name]}).only_decodes, field.name


def test_columns_that_only_the_filter_needs_are_more_than_decoding() -> None:
    read = SCHEMA.append(pa.field("other", pa.string()))
    assert not replace(PLAN, schema=read, source=read).only_decodes


def test_a_field_that_nobody_has_thought_of_yet_is_noticed() -> None:
    @dataclass(frozen=True)
    class Sampling(ReadPlan):
        share: float | None = None

    @dataclass(frozen=True, kw_only=True)
    class Always(ReadTask):
        seed: int

    given = {field.name: getattr(PLAN, field.name) for field in fields(PLAN)}
    assert Sampling(**given).only_decodes
    assert not Sampling(**given, share=0.5).only_decodes
    assert not Always(pieces=TASK.pieces, seed=0).only_decodes
