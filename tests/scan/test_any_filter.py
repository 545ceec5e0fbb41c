"""Whatever the table and the filter, skipping loses no row: Lakescan's rows are DuckDB's."""

import tempfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import RandomTable, duckdb_text, filters, many, tables

import lakescan
from lakescan.predicate import Predicate


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    found.execute("SET TimeZone = 'UTC'")
    return found


def as_duckdb_has_it(database: duckdb.DuckDBPyConnection, table: RandomTable, predicate: Predicate) -> pa.Table:
    rows = table.rows()  # noqa: F841, DuckDB finds it by its name
    return pa.table(database.sql(f"SELECT * FROM rows WHERE {duckdb_text(predicate)}"))


def same(left: pa.Table, right: pa.Table) -> bool:
    return sorted(map(repr, left.to_pylist())) == sorted(map(repr, right.to_pylist()))


@given(data=st.data())
@many(250)
def test_a_filtered_scan_gives_the_rows_that_duckdb_gives(
    data: st.DataObject, database: duckdb.DuckDBPyConnection
) -> None:
    table = data.draw(tables())
    predicates = data.draw(filters(table.schema))
    with tempfile.TemporaryDirectory() as root:
        snapshot = lakescan.open(table.write(Path(root)).path).snapshot()
        for predicate in predicates:
            expected = as_duckdb_has_it(database, table, predicate)
            assert same(snapshot.scan().filter(predicate).build().to_arrow(), expected), str(predicate)
            hinted = snapshot.scan().skip_unless(predicate).build().to_arrow()
            unique = set(map(repr, hinted.to_pylist()))
            assert all(repr(row) in unique for row in expected.to_pylist()), str(predicate)
