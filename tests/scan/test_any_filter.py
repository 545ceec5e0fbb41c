"""Whatever the table and the filter, skipping loses no row: the rows are DuckDB's, with every switch on or off."""

import tempfile
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakescan
from lakescan.predicate import Predicate
from lakescan.scan.planning import at_run_time
from lakescan.scan.settings import Settings
from tests.strategies import RandomTable, duckdb_text, filters, many, tables

if TYPE_CHECKING:  # Hypothesis keeps what an annotation names for ever, and DuckDB then complains when Python ends.
    from duckdb import DuckDBPyConnection

ON = Settings()
SWITCHES = [field.name for field in fields(Settings) if isinstance(getattr(ON, field.name), bool)]
OFF = replace(ON, **dict.fromkeys(SWITCHES, False))


@pytest.fixture(scope="module")
def database() -> "DuckDBPyConnection":
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def as_duckdb_has_it(database: "DuckDBPyConnection", table: RandomTable, predicate: Predicate) -> pa.Table:
    rows = table.rows()  # noqa: F841, DuckDB finds it by its name
    return pa.table(database.sql(f"SELECT * FROM rows WHERE {duckdb_text(predicate)}"))


def in_order(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


@given(data=st.data())
@many(250)
def test_a_filtered_scan_gives_the_rows_that_duckdb_gives(data: st.DataObject, database: "DuckDBPyConnection") -> None:
    table = data.draw(tables())
    predicates = data.draw(filters(table.schema))
    random = Random(data.draw(st.integers(0, 2**32)))
    some = replace(ON, **{name: random.random() < 0.5 for name in SWITCHES})
    with tempfile.TemporaryDirectory() as root:
        snapshot = lakescan.open(table.write(Path(root)).path).snapshot()
        for predicate in predicates:
            expected = in_order(as_duckdb_has_it(database, table, predicate))
            for settings in (ON, OFF, some):
                scan = snapshot.scan().with_settings(settings)
                assert in_order(scan.filter(predicate).build().to_arrow()) == expected, str(predicate)
            output = random.sample(table.schema.names, random.randint(1, len(table.schema)))
            few = snapshot.scan().select(*output).filter(predicate).build().to_arrow()
            assert few.num_rows == len(expected), str(predicate)


@given(data=st.data())
@many(120)
def test_what_only_skips_and_what_is_found_at_run_time_keep_every_row_that_matches(
    data: st.DataObject, database: "DuckDBPyConnection"
) -> None:
    table = data.draw(tables())
    with tempfile.TemporaryDirectory() as root:
        snapshot = lakescan.open(table.write(Path(root)).path).snapshot()
        everything = in_order(table.rows())
        for predicate in data.draw(filters(table.schema)):
            expected = set(in_order(as_duckdb_has_it(database, table, predicate)))
            for scan in (
                snapshot.scan().skip_unless(predicate).build(),
                at_run_time(snapshot.scan().build(), predicate),
            ):
                rows = in_order(scan.to_arrow())
                assert expected <= set(rows) <= set(everything), str(predicate)
