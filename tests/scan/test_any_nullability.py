"""NOT NULL at any level of any column: rows, filters, orders and aggregates are those of the rows written."""

import operator
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import lakescan
from lakescan.predicate import Column, Comparison, In, IsNull, Literal, Not, Predicate
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.reader.rebase import HybridCalendar, rebased
from lakescan.reader.top_rows import SortColumn
from tests.nullability import RequiredTable, random_field, random_table, random_value
from tests.strategies import many

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
SEEDS = st.integers(0, 2**32)


def _filter(random: Random, table: RequiredTable) -> tuple[Predicate, set[int]]:
    """A filter, and the ids of the rows that it keeps."""
    path, kind = random.choice(table.leaves)
    column, values = Column(path), table.values(path)
    literal = random_value(random, pa.field("x", kind, nullable=False))
    roll = random.random()
    if roll < 0.2:
        return IsNull(column), {at for at, value in values.items() if value is None}
    if roll < 0.4:
        return Not(IsNull(column)), {at for at, value in values.items() if value is not None}
    if roll < 0.5:
        return In(column, (Literal(literal, kind),)), {at for at, value in values.items() if value == literal}
    op = random.choice(list(_COMPARE))
    kept = {at for at, value in values.items() if value is not None and _COMPARE[op](value, literal)}
    return Comparison(op, column, Literal(literal, kind)), kept


@given(seed=SEEDS)
@many(60)
def test_rows_and_filters_of_a_table_with_not_null_anywhere(seed: int) -> None:
    random = Random(seed)
    with tempfile.TemporaryDirectory() as root:
        table = random_table(random, Path(root))
        snapshot = lakescan.open(table.path).snapshot()
        rows = snapshot.scan().build().to_arrow()
        rows.validate(full=True)
        assert sorted(rows.to_pylist(), key=lambda row: int(row["id"])) == table.rows
        for _ in range(4):
            predicate, kept = _filter(random, table)
            scan = snapshot.scan().filter(predicate)
            assert sorted(scan.build().to_arrow()["id"].to_pylist()) == sorted(kept), str(predicate)
            few = snapshot.scan().select("id").filter(predicate).build().to_arrow()
            assert sorted(few["id"].to_pylist()) == sorted(kept), str(predicate)
            left = snapshot.scan().skip_unless(predicate).build().to_arrow()["id"].to_pylist()
            assert kept <= set(left), str(predicate)


@given(seed=SEEDS)
@many(50)
def test_orders_and_aggregates_of_fields_that_are_not_null_inside_their_structs(seed: int) -> None:
    random = Random(seed)
    with tempfile.TemporaryDirectory() as root:
        table = random_table(random, Path(root))
        snapshot = lakescan.open(table.path).snapshot()
        path, _ = random.choice(table.leaves)
        known = [value for value in table.values(path).values() if value is not None]
        how = Aggregation((), tuple(Aggregate(name, Column(path)) for name in ("count", "min", "max")))
        (row,) = snapshot.scan().aggregate(how).build().to_arrow().to_pylist()
        assert list(row.values()) == [len(known), min(known, default=None), max(known, default=None)]
        limit, down = random.randint(1, 6), random.random() < 0.5
        by = SortColumn(Column(path), down, nulls_first=random.random() < 0.5)
        ids = snapshot.scan().first(limit, by).build().to_arrow()["id"].to_pylist()
        values = table.values(path)
        order = sorted(known, reverse=down)
        nulls = [None] * (len(values) - len(known))
        wanted = ([*nulls, *order] if by.nulls_first else [*order, *nulls])[:limit]
        # Each file may give its own first rows: the first of all must be among them.
        left = [values[at] for at in ids]
        for value in wanted:
            left.remove(value)


@given(seed=SEEDS)
@many(60)
def test_a_field_of_the_hybrid_calendar_stays_not_null_wherever_it_is_nested(seed: int) -> None:
    random = Random(seed)
    field = random_field(random, "a", 3)
    rows = [random_value(random, field) for _ in range(random.randint(0, 5))]
    array = pa.array(rows, field.type)
    start = random.randint(0, len(rows))
    dates = rebased(array.slice(start), HybridCalendar(dates=True, int96=True, zone="UTC"))
    dates.validate(full=True)
    assert dates.is_null().to_pylist() == [row is None for row in rows[start:]]
