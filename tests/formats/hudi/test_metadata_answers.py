"""COUNT, MIN, MAX, limits, the first rows and the optimizer's figures from Hudi's column statistics, where exact."""

from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.predicate import Column
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.reader.top_rows import SortColumn
from lakescan.scan.plan import Plan

from .tables import open_hudi
from .test_column_statistics import GROUPS, INDEXED, LOGS, TYPES, Unpack, kept

UTC = timezone.utc


def aggregate(path: Path, column: str, where: str = "TRUE") -> Plan:
    functions = tuple(Aggregate(name, Column((column,))) for name in ("count", "min", "max"))
    return lakescan.open(path).snapshot().scan().filter(where).aggregate(Aggregation((), functions)).build()


def answer(plan: Plan) -> tuple[Any, ...]:
    (row,) = plan.to_arrow().to_pylist()
    return tuple(row.values())


def files_read(plan: Plan) -> int:
    return int(plan.planned.files.num_rows)


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        ("id", (29, 0, 60)),
        ("big", (27, 0, 51 * 10**12)),
        ("price", (27, Decimal("0.00"), Decimal("12.75"))),
        ("wide", (27, Decimal("1e-18"), Decimal("6.375000000000000001"))),
        ("day", (27, date(2020, 1, 1), date(2020, 2, 21))),
        (
            "at",
            (27, datetime(2024, 1, 1, 0, 0, 0, 123456, UTC), datetime(2024, 1, 1, 0, 0, 51, 123456, UTC)),
        ),
    ],
)
def test_counts_and_extremes_of_most_types_need_no_file(column: str, wanted: tuple[Any, ...], unpack: Unpack) -> None:
    plan = aggregate(unpack(TYPES), column)
    assert answer(plan) == wanted
    assert files_read(plan) == 0


def test_false_among_nulls_may_stand_for_no_value_at_all_and_is_read(unpack: Unpack) -> None:
    """The file with a null has FALSE for its least value, as a row group of nulls would; others have it for sure."""
    plan = aggregate(unpack(TYPES), "ok")
    assert answer(plan) == (27, False, True)
    assert files_read(plan) <= 1


@pytest.mark.parametrize("column", ["name", "ratio", "small", "raw"])
def test_what_may_be_cut_short_or_left_out_is_read(column: str, unpack: Unpack) -> None:
    plan = aggregate(unpack(TYPES), column)
    assert files_read(plan) > 0
    snapshot = lakescan.open(unpack(TYPES)).snapshot()
    whole = snapshot.scan().build().to_arrow()[column].drop_null()
    assert answer(plan)[0] == len(whole)
    if column == "name":
        assert answer(plan)[1:] == (min(whole.to_pylist()), max(whole.to_pylist(), key=str.encode))


def test_a_row_group_of_nulls_makes_no_zero(unpack: Unpack) -> None:
    """Hudi's entry has 0 for the least value, and counts long text as nulls."""
    path = unpack(GROUPS)
    assert answer(aggregate(path, "big")) == (301, 1200 * 10**12, 1500 * 10**12)
    assert answer(aggregate(path, "ok"))[1:] == (True, True)
    assert answer(aggregate(path, "name"))[0] == 500
    assert files_read(aggregate(path, "id")) == 0


def test_slices_with_log_files_are_read_and_the_others_are_not(unpack: Unpack) -> None:
    path = unpack(LOGS)
    plan = aggregate(path, "id")
    assert answer(plan) == (22, 0, 32)
    snapshot = lakescan.open(path).snapshot()
    merged = [logs is not None for logs in snapshot.files()["merged_with"].to_pylist()]
    assert files_read(plan) == sum(merged) == 2


@pytest.mark.parametrize("name", INDEXED)
def test_every_answer_is_that_of_the_rows(name: str, unpack: Unpack) -> None:
    path = unpack(name)
    whole = lakescan.open(path).snapshot().scan().build().to_arrow()
    for field in whole.schema:
        if pa.types.is_nested(field.type) or pa.types.is_floating(field.type) or pa.types.is_binary(field.type):
            continue
        values = whole[field.name].drop_null().to_pylist()
        order = str.encode if pa.types.is_string(field.type) else None
        wanted = (len(values), min(values, key=order, default=None), max(values, key=order, default=None))
        assert answer(aggregate(path, field.name)) == wanted, field.name


def test_a_filter_that_whole_files_pass_is_counted_from_metadata(unpack: Unpack) -> None:
    plan = aggregate(unpack(TYPES), "id", "id >= 10 and id <= 41")
    assert answer(plan) == (16, 10, 41)
    assert files_read(plan) == 0
    assert files_read(aggregate(unpack(TYPES), "id", "id > 10")) == 1


def test_a_limit_reads_the_one_file_that_fills_it(unpack: Unpack) -> None:
    snapshot = lakescan.open(unpack(TYPES)).snapshot()
    assert snapshot.scan().filter("id >= 10").limit(9).build().files().num_rows == 1
    assert snapshot.scan().filter("id >= 10").limit(9).build().to_arrow().num_rows == 9


@pytest.mark.parametrize(
    ("column", "descending", "count", "ids"),
    [
        ("id", False, 3, [0, 1, 2]),
        ("id", True, 3, [51, 50, 60]),
        ("day", True, 2, [50, 51]),
        ("big", True, 1, [51]),
    ],
)
def test_the_first_rows_are_in_the_files_that_are_kept(
    column: str, descending: bool, count: int, ids: list[int], unpack: Unpack
) -> None:
    snapshot = lakescan.open(unpack(TYPES)).snapshot()
    order = SortColumn(Column((column,)), descending=descending, nulls_first=False)
    scan = snapshot.scan().first(count, order).build()
    assert scan.files().num_rows < snapshot.num_files
    assert set(ids) <= set(scan.to_arrow()["id"].to_pylist())


def test_the_optimizer_is_told_bounds_and_nulls_of_columns(unpack: Unpack) -> None:
    estimates = lakescan.open(unpack(TYPES)).snapshot().scan().build().estimates(with_columns=True)
    assert estimates.rows == 29
    assert (estimates.columns["id"].minimum, estimates.columns["id"].maximum) == (0, 60)
    assert estimates.columns["day"].nulls == 2
    assert estimates.columns["ratio"].minimum is None


def test_of_changes_only_the_rows_of_their_commits_are_counted(unpack: Unpack) -> None:
    """A file may hold rows of older commits too: the second file of `logs_v8` has twelve rows, of which one changed."""
    table = open_hudi(unpack(LOGS))
    newest = table.snapshot().timeline.instants[-1]
    functions = (Aggregate("count_rows"), Aggregate("min", Column(("id",))), Aggregate("max", Column(("id",))))
    assert answer(table.changes(newest).scan().aggregate(Aggregation((), functions)).build()) == (1, 12, 12)
    first = table.snapshot().timeline.instants[0]
    assert answer(table.changes(first, first).scan().aggregate(Aggregation((), functions)).build()) == (20, 0, 19)
    assert kept(table.changes(newest), "id > 45") == []
