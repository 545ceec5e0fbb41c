"""Which files an aggregate must still read, on tables small enough to say which and why."""

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import lakescan
from lakescan.predicate import Column
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.scan.aggregates import can_average, can_read
from lakescan.scan.plan import Plan
from tests.tables import DeltaBuilder, statistics_of

NAN = float("nan")
V = Column(("v",))
ROWS, COUNT, MIN, MAX, SUM = (
    Aggregate("count_rows"),
    Aggregate("count", V),
    Aggregate("min", V),
    Aggregate("max", V),
    Aggregate("sum", V),
)


def table_of(root: Path, files: Sequence[Sequence[Any]], kind: pa.DataType, **arguments: Any) -> DeltaBuilder:
    """A table with one column, `v`; file n has the n-th values."""
    table = DeltaBuilder(root, pa.schema([("v", kind)]), features=["deletionVectors", "timestampNtz"])
    for number, values in enumerate(files):
        table.append(pa.table({"v": pa.array(values, kind)}), name=str(number), **arguments)
    return table


def scan(root: Path, *functions: Aggregate, by: Sequence[str] = (), where: str = "TRUE") -> Plan:
    how = Aggregation(tuple(Column((name,)) for name in by), functions)
    return lakescan.open(root).snapshot().scan().filter(where).aggregate(how).build()


def answer(plan: Plan) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in plan.to_arrow().to_pylist()]


def read(plan: Plan) -> list[str]:
    return sorted(plan.planned.files["path"].to_pylist())


@pytest.mark.parametrize(
    ("kind", "values", "least", "most"),
    [
        (pa.int8(), [3, None, -4], -4, 3),
        (pa.int64(), [2**63 - 1, -(2**63)], -(2**63), 2**63 - 1),
        (pa.date32(), [date(2024, 2, 29), date(1969, 12, 31)], date(1969, 12, 31), date(2024, 2, 29)),
        (pa.decimal128(9, 2), [Decimal("-1.50"), Decimal("7.25")], Decimal("-1.50"), Decimal("7.25")),
    ],
)
def test_exact_statistics_answer_alone(tmp_path: Path, kind: Any, values: Any, least: Any, most: Any) -> None:
    table_of(tmp_path, [values], kind)
    plan = scan(tmp_path, ROWS, COUNT, MIN, MAX)
    assert plan.metadata_only
    assert answer(plan) == [(len(values), len(values) - values.count(None), least, most)]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.string(), ["a", "b"]),
        (pa.timestamp("us", "UTC"), [datetime(2024, 1, 1, tzinfo=timezone.utc)]),
        (pa.timestamp("us"), [datetime(2024, 1, 1, 0, 0, 0, 500)]),
        (pa.decimal128(38, 20), [Decimal("1.00000000000000000001")]),
        (pa.float64(), [0.0, 1.0]),
        (pa.float64(), [-0.0]),
    ],
)
def test_a_statistic_that_may_be_cut_or_rounded_is_not_an_answer(tmp_path: Path, kind: Any, values: Any) -> None:
    table_of(tmp_path, [values], kind)
    plan = scan(tmp_path, MIN, MAX)
    assert read(plan) == ["0"]
    assert answer(plan) == [(min(values), max(values))]


def test_a_decimal_that_its_writer_rounded_is_read(tmp_path: Path) -> None:
    exact = Decimal("1.00000000000000000001")
    write_deltalake(tmp_path, pa.table({"v": pa.array([exact], pa.decimal128(38, 20))}))
    assert answer(scan(tmp_path, MIN, MAX)) == [(exact, exact)]


def test_a_timestamp_finer_than_the_milliseconds_is_not_cut(tmp_path: Path) -> None:
    moment = datetime(2024, 1, 1, 0, 0, 0, 123456)
    text = moment.isoformat()
    stats = {"numRecords": 1, "minValues": {"v": text}, "maxValues": {"v": text}, "nullCount": {"v": 0}}
    table_of(tmp_path, [[moment]], pa.timestamp("us"), stats=stats)
    plan = scan(tmp_path, MIN, MAX)
    assert plan.metadata_only
    assert answer(plan) == [(moment, moment)]


def test_a_least_float_is_an_answer_and_a_greatest_is_not(tmp_path: Path) -> None:
    values = [1.5, NAN]
    hidden = {"numRecords": 2, "minValues": {"v": 1.5}, "maxValues": {"v": 1.5}, "nullCount": {"v": 0}}
    table_of(tmp_path, [values], pa.float64(), stats=hidden)
    assert scan(tmp_path, MIN).metadata_only
    assert answer(scan(tmp_path, MIN)) == [(1.5,)]
    plan = scan(tmp_path, MAX)
    assert read(plan) == ["0"]
    assert str(answer(plan)) == "[(nan,)]"


def test_only_files_that_may_have_the_greatest_value_are_read(tmp_path: Path) -> None:
    table_of(tmp_path, [["a", "b"], ["c", "e"], ["d", "f"], ["g", "h"]], pa.string())
    plan = scan(tmp_path, ROWS, MIN, MAX)
    assert read(plan) == ["0", "3"]
    assert answer(plan) == [(8, "a", "h")]


def test_a_file_without_a_count_is_read_for_its_part(tmp_path: Path) -> None:
    table = table_of(tmp_path, [[1, 2], [3, 4]], pa.int64())
    table.append(pa.table({"v": [5, None]}), name="2", stats=False)
    plan = scan(tmp_path, ROWS, COUNT, MAX)
    assert read(plan) == ["2"]
    assert answer(plan) == [(6, 5, 5)]


def test_nulls_that_are_not_counted_are_read(tmp_path: Path) -> None:
    partial = {"numRecords": 2, "minValues": {"v": 1}, "maxValues": {"v": 2}}
    table_of(tmp_path, [[1, 2]], pa.int64(), stats=partial)
    assert scan(tmp_path, MIN).metadata_only
    assert read(scan(tmp_path, COUNT)) == ["0"]


def test_under_a_deletion_vector_bounds_are_no_values(tmp_path: Path) -> None:
    table = table_of(tmp_path, [[1, 5, 9]], pa.int64())
    table.append(pa.table({"v": [4, 6]}), name="1")
    first = {"add": _adds(table)["0"]}
    table.delete(first, [2])
    plan = scan(tmp_path, ROWS)
    assert plan.metadata_only
    assert answer(plan) == [(4,)]
    assert read(scan(tmp_path, MAX)) == ["0"]
    assert answer(scan(tmp_path, MAX)) == [(6,)]
    assert scan(tmp_path, COUNT).metadata_only


def test_nulls_among_rows_some_of_which_are_deleted_are_read(tmp_path: Path) -> None:
    table = table_of(tmp_path, [[1, None, 9], [None, None]], pa.int64())
    adds = _adds(table)
    table.delete({"add": adds["0"]}, [1])
    table.delete({"add": adds["1"]}, [1])
    plan = scan(tmp_path, COUNT)
    assert read(plan) == ["0"]
    assert answer(plan) == [(2,)]


def test_tight_bounds_are_values_in_spite_of_a_deletion_vector(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("v", pa.int64())]), features=["deletionVectors"])
    live = {**statistics_of(pa.table({"v": [1, 5]}), tight=True), "numRecords": 3}
    table.append(pa.table({"v": [1, 5, 9]}), vector=table.vector([2]), stats=live)
    plan = scan(tmp_path, ROWS, COUNT, MIN, MAX)
    assert plan.metadata_only
    assert answer(plan) == [(2, 2, 1, 5)]


def test_under_a_filter_only_the_files_in_between_are_read(tmp_path: Path) -> None:
    table_of(tmp_path, [[1, 2], [3, 6], [7, 8], [9, None]], pa.int64())
    plan = scan(tmp_path, ROWS, MAX, where="v > 5")
    assert read(plan) == ["1", "3"]
    assert answer(plan) == [(4, 9)]


def test_partition_columns_group_filter_and_are_values_themselves(tmp_path: Path) -> None:
    schema = pa.schema([("v", pa.int64()), ("day", pa.date32())])
    table = DeltaBuilder(tmp_path, schema, partition_by=["day"])
    days: Sequence[str | None] = ["2024-01-01", "2024-01-02", "2024-01-02", None]
    for number, day in enumerate(days):
        table.append(pa.table({"v": [number, number + 10]}), partition={"day": day})
    greatest_day = Aggregate("max", Column(("day",)))
    plan = scan(tmp_path, ROWS, MAX, by=["day"], where="day >= DATE '2024-01-02'")
    assert plan.metadata_only
    assert answer(plan) == [(date(2024, 1, 2), 4, 12)]
    assert answer(scan(tmp_path, greatest_day, Aggregate("count", Column(("day",))))) == [(date(2024, 1, 2), 6)]
    assert len(answer(scan(tmp_path, by=["day"]))) == 3
    assert scan(tmp_path, by=["day"]).metadata_only
    assert not scan(tmp_path, ROWS, by=["v"]).metadata_only


def test_distinct_partition_values_are_counted_from_the_log(tmp_path: Path) -> None:
    schema = pa.schema([("v", pa.int64()), ("day", pa.int32()), ("city", pa.string())])
    table = DeltaBuilder(tmp_path, schema, partition_by=["day", "city"])
    for number, (day, city) in enumerate([("1", "x"), ("1", "x"), ("2", "x"), (None, "x"), ("2", "y"), (None, "z")]):
        table.append(pa.table({"v": [number, number + 10]}), partition={"day": day, "city": city})
    days, cities = (Aggregate("count_distinct", Column((name,))) for name in ("day", "city"))
    plan = scan(tmp_path, days, MAX, cities, ROWS)
    assert plan.metadata_only
    assert str(plan.spec.aggregation) == "COUNT(DISTINCT `day`), MAX(`v`), COUNT(DISTINCT `city`), COUNT(*)"
    assert answer(plan) == [(2, 15, 3, 12)]
    by_city = scan(tmp_path, ROWS, days, by=["city"])
    assert by_city.metadata_only
    assert sorted(answer(by_city)) == [("x", 8, 2), ("y", 2, 1), ("z", 2, 0)]
    assert answer(scan(tmp_path, days, where="day = 7")) == [(0,)]
    # Some rows of a file pass: whether any does is not in the log. Values of other columns are not there at all.
    for unknown in (scan(tmp_path, days, where="v > 5"), scan(tmp_path, Aggregate("count_distinct", V))):
        assert not unknown.metadata_only
        assert not can_read(unknown)


def test_zeros_of_either_sign_are_one_group_so_floats_are_left_to_spark(tmp_path: Path) -> None:
    schema = pa.schema([("v", pa.int64()), ("p", pa.float64())])
    table = DeltaBuilder(tmp_path, schema, partition_by=["p"])
    for zero in ("0.0", "-0.0"):
        table.append(pa.table({"v": [1]}), partition={"p": zero})
    for plan in (scan(tmp_path, ROWS, by=["p"]), scan(tmp_path, Aggregate("count_distinct", Column(("p",))))):
        assert not plan.metadata_only
        assert not can_read(plan)


def test_a_file_whose_rows_are_all_deleted_makes_no_group(tmp_path: Path) -> None:
    schema = pa.schema([("v", pa.int64()), ("day", pa.int32())])
    table = DeltaBuilder(tmp_path, schema, partition_by=["day"], features=["deletionVectors"])
    table.append(pa.table({"v": [1]}), partition={"day": "1"})
    table.delete(table.append(pa.table({"v": [2, 3]}), partition={"day": "2"}), [0, 1])
    assert answer(scan(tmp_path, ROWS, by=["day"])) == [(1, 1)]


def test_no_file_at_all_still_gives_a_count(tmp_path: Path) -> None:
    table_of(tmp_path, [], pa.int64())
    assert answer(scan(tmp_path, ROWS, MIN)) == [(0, None)]
    assert scan(tmp_path, ROWS).metadata_only


def test_a_sum_is_never_in_the_log(tmp_path: Path) -> None:
    table_of(tmp_path, [[1, 2], [3, 4]], pa.int64())
    plan = scan(tmp_path, SUM, ROWS)
    assert read(plan) == ["0", "1"]
    assert answer(plan) == [(10, 4)]


def test_an_average_of_integers_needs_sums_that_doubles_hold(tmp_path: Path) -> None:
    table_of(tmp_path / "small", [[1, 2], [3, 4]], pa.int64())
    assert can_average(scan(tmp_path / "small", SUM), [V])
    table_of(tmp_path / "large", [[2**52, 2**52]], pa.int64())
    assert not can_average(scan(tmp_path / "large", SUM), [V])
    table_of(tmp_path / "uncounted", [[1]], pa.int64(), stats=False)
    assert not can_average(scan(tmp_path / "uncounted", SUM), [V])


def _adds(table: DeltaBuilder) -> Mapping[str, Any]:
    adds = {}
    for file in sorted(table.log.glob("*.json")):
        for line in file.read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                adds[action["add"]["path"]] = action["add"]
    return adds
