"""An optimization that fails is given up: the answer is right, one warning names it, and the report counts it."""

import warnings
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import CorruptLog, InternalError, OptimizationFailed
from lakescan.predicate import Column
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.reader.top_rows import SortColumn
from lakescan.scan.attempts import attempt, failures
from lakescan.scan.builder import ScanBuilder
from lakescan.scan.planning import at_run_time
from tests.tables import DeltaBuilder

COUNT = Aggregation((), (Aggregate("count_rows"), Aggregate("max", Column(("id",)))))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> DeltaBuilder:
    """Four files of ten ids, in two partitions, with two rows deleted."""
    schema = pa.schema([("id", pa.int64()), ("part", pa.string())])
    built = DeltaBuilder(tmp_path_factory.mktemp("t"), schema, partition_by=["part"], features=["deletionVectors"])
    for first in range(0, 40, 10):
        added = built.append(pa.table({"id": range(first, first + 10)}), partition={"part": f"p{first // 20}"})
        if first == 10:
            built.delete(added, [0, 1])
    return built


def scan(table: DeltaBuilder) -> ScanBuilder:
    return lakescan.open(table.path).snapshot().scan()


def fails(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("a fault of ours")


LIVE = [at for at in range(40) if at not in (10, 11)]
SHORTCUTS: list[tuple[str, str, Callable[[ScanBuilder], ScanBuilder], Callable[[list[Any]], bool]]] = [
    ("planning in pieces", "planning.planned_in_pieces", lambda s: s, lambda rows: len(rows) == 38),
    ("counts without paths", "planning._counted", lambda s: s.aggregate(COUNT), lambda rows: rows == [(38, 39)]),
    (
        "aggregates from metadata",
        "planning.answered_by_metadata",
        lambda s: s.aggregate(COUNT),
        lambda rows: rows == [(38, 39)],
    ),
    ("limit", "planning.plan_limit", lambda s: s.limit(3), lambda rows: len(rows) == 3),
    (
        "top-n",
        "planning.keep_top_n",
        lambda s: s.first(2, SortColumn(Column(("id",)), False, True)),
        lambda rows: {(0, "p0"), (1, "p0")} <= set(rows),
    ),
    ("statistics", "pruning.StatisticsFilter.keeps", lambda s: s.filter("id > 35"), lambda rows: len(rows) == 4),
    (
        "generated columns",
        "pruning.derived_from",
        lambda s: s.filter("id > 35"),
        lambda rows: sorted(row[0] for row in rows) == [36, 37, 38, 39],
    ),
    (
        "deletion vectors",
        "pruning._with_every_row_deleted",
        lambda s: s,
        lambda rows: sorted(row[0] for row in rows) == LIVE,
    ),
]


@pytest.mark.parametrize(("name", "place", "ask", "is_right"), SHORTCUTS, ids=[one[0] for one in SHORTCUTS])
def test_a_shortcut_of_the_planner_that_fails_costs_no_row(
    table: DeltaBuilder,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    place: str,
    ask: Callable[[ScanBuilder], ScanBuilder],
    is_right: Callable[[list[Any]], bool],
) -> None:
    monkeypatch.setattr(f"lakescan.scan.{place}", fails)

    with pytest.warns(OptimizationFailed, match=rf"\({name}\): ZeroDivisionError: a fault of ours") as caught:
        plan = ask(scan(table)).build()

    assert len(caught) == 1
    assert plan.report().failed == (name,)
    assert plan.report().as_json()["failed_optimizations"] == [name]
    assert f"gave up: {name}" in str(plan.report())
    assert is_right([tuple(row.values()) for row in plan.to_arrow().to_pylist()])


def test_a_count_of_distinct_values_that_metadata_fails_at_is_planned_with_every_file(
    table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakescan.scan.planning._counted", lambda *_: None)
    monkeypatch.setattr("lakescan.scan.planning.answered_by_metadata", fails)
    parts = Aggregation((), (Aggregate("count_distinct", Column(("part",))),) * 2)

    with pytest.warns(OptimizationFailed, match="aggregates from metadata"):
        plan = scan(table).aggregate(parts).build()

    assert (plan.metadata_only, plan.planned.files.num_rows) == (False, 4)
    assert plan.ready is not None
    assert [tuple(row.values()) for row in plan.ready.to_pylist()] == [(0, 0)]


def test_an_answer_made_without_an_optimization_is_not_remembered(
    table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = scan(table).aggregate(COUNT)
    with monkeypatch.context() as patched:
        patched.setattr("lakescan.scan.planning._counted", fails)
        with pytest.warns(OptimizationFailed):
            asked.build()

    assert asked.build().report().failed == ()


def test_values_of_a_join_that_cannot_be_used_leave_the_plan_as_it_was(
    table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = scan(table).build()
    monkeypatch.setattr("lakescan.scan.planning.narrowed", fails)

    with pytest.warns(OptimizationFailed, match="runtime filters"):
        narrowed = at_run_time(plan, "id = 3")

    assert narrowed.planned.files.num_rows == 4
    assert narrowed.failed == ("runtime filters",)


def test_estimates_that_fail_are_the_bytes_alone(table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = scan(table).filter("id > 35").build()
    monkeypatch.setattr("lakescan.scan.plan.expected_share", fails)

    with pytest.warns(OptimizationFailed, match="estimates"):
        estimates = plan.estimates()

    assert (estimates.bytes > 0, estimates.rows, estimates.columns) == (True, None, {})


def test_an_error_that_a_user_can_cause_is_no_failed_optimization() -> None:
    def damaged() -> int:
        raise CorruptLog("a.json", "cut off")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CorruptLog):
            attempt("limit", damaged, lambda: 1)


def test_an_internal_error_is_a_failed_optimization_and_is_counted_once() -> None:
    def faulty() -> int:
        raise InternalError("this")

    def both() -> tuple[int, int]:
        return attempt("limit", faulty, lambda: 7), attempt("limit", faulty, lambda: 8)

    with failures([]) as failed, pytest.warns(OptimizationFailed):
        values = both()

    assert values == (7, 8)
    assert failed == ["limit"]
