"""Pushed down or not, the rows are the same: random filters, columns and limits over the sample tables."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakescan
from lakescan.predicate import Predicate, bind, evaluate
from lakescan.scan.snapshot import Snapshot
from tests.examples import examples

from .tables import COW_PARTITIONED, MOR_PARTITIONED, MOR_STEPS, TRIPS_DELETED, TRIPS_INDEXED, TRIPS_UPDATED, rows_of

TABLES = (COW_PARTITIONED, MOR_PARTITIONED, MOR_STEPS, TRIPS_DELETED, TRIPS_INDEXED, TRIPS_UPDATED)
_WHOLE: dict[str, tuple[Snapshot, pa.Table]] = {}


def predicates(table: pa.Table) -> st.SearchStrategy[Predicate]:
    """Comparisons with values that the table has, and values between them, combined."""
    columns = [field.name for field in table.schema if not pa.types.is_nested(field.type)]

    def comparison(name: str) -> st.SearchStrategy[Predicate]:
        column = lakescan.col(name)
        values = st.sampled_from([value for value in table[name].unique().to_pylist() if value is not None] or [None])
        by_value = [lambda v: column == v, lambda v: column < v, lambda v: column >= v, lambda v: column != v]
        return st.one_of(
            st.just(column.is_null()), st.builds(lambda make, value: make(value), st.sampled_from(by_value), values)
        )

    leaves = st.sampled_from(columns).flatmap(comparison)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda a, b: a & b, inner, inner),
            st.builds(lambda a, b: a | b, inner, inner),
            st.builds(lambda a: ~a, inner),
        ),
        max_leaves=4,
    )


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_pushed_filter_keeps_the_rows_that_it_would_keep_of_the_whole_table(
    data: st.DataObject, unpack: Callable[[str], Path]
) -> None:
    name = data.draw(st.sampled_from(TABLES))
    if name not in _WHOLE:
        snapshot = lakescan.open(unpack(name)).snapshot()
        _WHOLE[name] = (snapshot, snapshot.scan().build().to_arrow())
    snapshot, whole = _WHOLE[name]
    predicate = bind(data.draw(predicates(whole)), snapshot.schema)
    columns = data.draw(st.lists(st.sampled_from(whole.schema.names), unique=True, min_size=1))
    wanted = whole.filter(evaluate(predicate, whole), null_selection_behavior="drop").select(columns)
    exact = snapshot.scan().filter(predicate).select(*columns).build().to_arrow()
    assert rows_of(exact) == rows_of(wanted)
    hinted = snapshot.scan().skip_unless(predicate).build().to_arrow()
    kept = hinted.filter(evaluate(predicate, hinted), null_selection_behavior="drop").select(columns)
    assert rows_of(kept) == rows_of(wanted)
    limit = data.draw(st.integers(0, 6))
    limited = snapshot.scan().filter(predicate).select(*columns).limit(limit).build().to_arrow()
    assert limited.num_rows == min(limit, wanted.num_rows)
    assert not [row for row in rows_of(limited) if row not in rows_of(wanted)]
