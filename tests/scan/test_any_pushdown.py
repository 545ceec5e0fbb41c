"""Random tables and random limits, orders and aggregates: the answer is always that of the rows themselves."""

import math
from collections import Counter
from decimal import Decimal
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakescan
from lakescan.predicate import TRUE, Column, Predicate
from lakescan.reader.aggregate import can_aggregate, can_group
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.reader.top_rows import SortColumn
from lakescan.scan.aggregates import can_read
from lakescan.scan.limit import can_skip
from lakescan.scan.settings import Settings
from lakescan.scan.snapshot import Snapshot
from tests.strategies import PARTITIONS, RandomTable, duckdb_text, filters, many, tables

if TYPE_CHECKING:  # Hypothesis keeps what an annotation names for ever, and DuckDB then complains when Python ends.
    from duckdb import DuckDBPyConnection

RANDOM = st.integers(0, 2**32).map(Random)
SWITCHES = [Settings(), Settings(aggregates=False)]


@pytest.fixture(scope="module")
def duck() -> "DuckDBPyConnection":
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def opened(table: RandomTable, root: str) -> Snapshot:
    return lakescan.open(table.write(Path(root) / "t").path).snapshot()


def random_aggregation(random: Random, schema: pa.Schema) -> Aggregation:
    keys = [field.name for field in schema if can_group(field.type)]
    chosen = random.sample(keys, min(len(keys), random.choice([0, 0, 1, 1, 2])))
    options = [Aggregate("count_rows")]
    for field in schema:
        for function in ("count", "sum", "min", "max"):
            aggregate = Aggregate(function, Column((field.name,)))
            options += [aggregate] if can_aggregate(aggregate, field.type) else []
        options += [Aggregate("count_distinct", Column((field.name,)))] if field.name in PARTITIONS else []
    functions = random.choices(options, k=random.randint(0 if chosen else 1, 4))
    return Aggregation(tuple(Column((name,)) for name in chosen), tuple(functions))


def random_order(random: Random, schema: pa.Schema) -> tuple[SortColumn, ...]:
    names = [field.name for field in schema if not pa.types.is_nested(field.type)]
    chosen = random.sample(names, min(len(names), random.randint(1, 3)))
    return tuple(SortColumn(Column((name,)), random.random() < 0.5, random.random() < 0.5) for name in chosen)


def wheres(schema: pa.Schema) -> st.SearchStrategy[list[Predicate]]:
    """A few filters, and none."""
    return filters(schema, most=4).map(lambda predicates: [TRUE, TRUE, *predicates])


@given(data=st.data(), table=tables(), random=RANDOM)
@many(120)
def test_an_aggregate_is_that_of_the_rows(
    data: st.DataObject, table: RandomTable, random: Random, duck: "DuckDBPyConnection"
) -> None:
    rows = table.rows()
    with TemporaryDirectory() as root:
        snapshot = opened(table, root)
        for where in data.draw(wheres(table.schema)):
            how = random_aggregation(random, table.schema)
            wanted = in_order(aggregated_by_duckdb(duck, rows, where, how))
            for settings in SWITCHES:
                scan = snapshot.scan().with_settings(settings).filter(where).aggregate(how).build()
                if (
                    any(aggregate.function == "count_distinct" for aggregate in how.aggregates)
                    and not scan.metadata_only
                ):
                    assert not can_read(scan)
                    continue
                actual = in_order([tuple(row.values()) for row in scan.to_arrow().to_pylist()])
                assert len(actual) == len(wanted)
                assert all(same(a, b) for a, b in zip(actual, wanted, strict=True)), (actual, wanted)


@given(data=st.data(), table=tables(), random=RANDOM)
@many(100)
def test_a_limit_gives_so_many_rows_of_the_table_and_an_offset_leaves_so_many_out(
    data: st.DataObject, table: RandomTable, random: Random, duck: "DuckDBPyConnection"
) -> None:
    rows = table.rows()
    with TemporaryDirectory() as root:
        snapshot = opened(table, root)
        for where in data.draw(wheres(table.schema)):
            count = random.randint(0, 12)
            query = f"SELECT * FROM rows WHERE {duckdb_text(where)}"
            matching = Counter(map(repr, fetched(duck, query, rows)))
            limited = texts(snapshot.scan().filter(where).limit(count).build().to_arrow())
            assert limited.total() == min(count, matching.total())
            assert limited <= matching
            builder = snapshot.scan().filter(where)
            if can_skip(builder.build()):
                skipped = texts(builder.offset(count).build().to_arrow())
                assert skipped.total() == max(0, matching.total() - count)
                assert skipped <= matching


@given(data=st.data(), table=tables(), random=RANDOM)
@many(120)
def test_the_first_rows_by_an_order_are_the_first_of_the_table(
    data: st.DataObject, table: RandomTable, random: Random, duck: "DuckDBPyConnection"
) -> None:
    rows = table.rows()
    with TemporaryDirectory() as root:
        snapshot = opened(table, root)
        for where in data.draw(wheres(table.schema)):
            by = random_order(random, table.schema)
            if not by:
                continue
            count = random.randint(0, 8)
            columns = ", ".join(f'"{sort.column.path[0]}"' for sort in by)
            order = ", ".join(
                f'"{sort.column.path[0]}" {"DESC" if sort.descending else "ASC"} '
                f"NULLS {'FIRST' if sort.nulls_first else 'LAST'}"
                for sort in by
            )
            ending = f"ORDER BY {order} LIMIT {count}"
            wanted = fetched(duck, f"SELECT {columns} FROM rows WHERE {duckdb_text(where)} {ending}", rows)
            kept = snapshot.scan().filter(where).first(count, *by).build().to_arrow()
            actual = fetched(duck, f"SELECT {columns} FROM rows {ending}", kept)
            assert len(actual) == len(wanted)
            assert all(same(a, b) for a, b in zip(actual, wanted, strict=True)), (actual, wanted)


def aggregated_by_duckdb(
    duck: "DuckDBPyConnection", rows: pa.Table, where: Predicate, how: Aggregation
) -> list[tuple[Any, ...]]:
    keys = [f'"{key.path[0]}"' for key in how.keys]
    functions = [_duckdb_function(aggregate) for aggregate in how.aggregates]
    grouped = f"GROUP BY {', '.join(keys)}" if keys else ""
    query = f"SELECT {', '.join(keys + functions)} FROM rows WHERE {duckdb_text(where)} {grouped}"
    return fetched(duck, query, rows)


def fetched(duck: "DuckDBPyConnection", query: str, rows: pa.Table) -> list[tuple[Any, ...]]:
    """What DuckDB makes of the rows, which the query calls `rows`."""
    return [tuple(row.values()) for row in pa.table(duck.sql(query)).to_pylist()]


def _duckdb_function(aggregate: Aggregate) -> str:
    if aggregate.column is None:
        return "count(*)"
    name = f'"{aggregate.column.path[0]}"'
    return f"count(DISTINCT {name})" if aggregate.function == "count_distinct" else f"{aggregate.function}({name})"


def in_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: [(value is None, str(value)) for value in row if not isinstance(value, float)])


def texts(table: pa.Table) -> Counter[str]:
    return Counter(repr(tuple(row.values())) for row in table.to_pylist())


def same(actual: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    return all(_same_value(a, b) for a, b in zip(actual, wanted, strict=True))


def _same_value(actual: Any, wanted: Any) -> bool:
    if isinstance(actual, int) and isinstance(wanted, (int, Decimal)):
        return (actual - int(wanted)) % 2**64 == 0  # a sum of longs wraps; whether that is an error is Spark's decision
    if isinstance(actual, float) and isinstance(wanted, float):
        both_nan = math.isnan(actual) and math.isnan(wanted)
        return both_nan or actual == wanted or math.isclose(actual, wanted, rel_tol=1e-6)
    return bool(actual == wanted)
