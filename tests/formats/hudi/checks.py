"""What must hold of any Hudi table, whoever wrote it: against hudi-rs, which reads it whole and knows no planner."""

import pickle
from pathlib import Path

import hudi
import pyarrow as pa
import pyarrow.parquet

import lakescan

from .tables import comparable, rows_of


def by_hudi(path: Path) -> pa.Table:
    batches = hudi.HudiTable(str(path)).read()
    return pa.Table.from_batches(batches) if batches else pa.table({})


def rows_are_those_of(path: Path, expected: pa.Table) -> None:
    """All columns at once, then each alone, then none."""
    snapshot = lakescan.open(path).snapshot()
    rows = snapshot.scan().build().to_arrow()
    if expected.num_rows:
        assert rows.schema.names == expected.schema.names
        assert rows.schema.types == expected.schema.types
    assert rows_of(rows) == rows_of(expected)
    for column in expected.schema.names:
        alone = snapshot.scan().select(column).build().to_arrow()
        assert alone.schema.names == [column]
        assert rows_of(alone) == rows_of(expected.select([column])), column
    counted = snapshot.scan().select().build()
    assert sum(batch.num_rows for batch in counted.to_batches()) == expected.num_rows
    assert counted.estimates().rows in (None, expected.num_rows)


def filters_keep_exactly_the_rows_that_match(path: Path, expected: pa.Table, values: int = 12) -> None:
    """Partition columns and data columns alike; each value that a column has is asked for once, up to a number."""
    snapshot = lakescan.open(path).snapshot()
    simple = [field for field in snapshot.schema if not pa.types.is_nested(field.type)]
    for field in simple if expected.num_rows else []:
        for value in expected[field.name].unique().to_pylist()[:values]:
            column = lakescan.col(field.name)
            rows = snapshot.scan().filter(column.is_null() if value is None else column == value).build().to_arrow()
            wanted = [row for row in expected.to_pylist() if comparable(row[field.name]) == comparable(value)]
            assert sorted(map(str, map(comparable, rows.to_pylist()))) == sorted(map(str, map(comparable, wanted)))


def a_partition_filter_reads_only_its_partition(path: Path, column: str) -> None:
    snapshot = lakescan.open(path).snapshot()
    assert column in snapshot.partition_columns
    for value in {row[column] for row in snapshot.files()["partition"].to_pylist()}:
        scan = snapshot.scan().filter(lakescan.col(column) == value).build()
        assert {row[column] for row in scan.files()["partition"].to_pylist()} == {value}


def tasks_are_small_and_rows_known_where_no_log_file_is_in_the_way(path: Path) -> None:
    """hudi-rs only estimates rows: it says 448 for a file of one."""
    scan = lakescan.open(path).snapshot().scan().build()
    for task in scan.tasks(4):
        assert len(pickle.dumps(task)) < 8_000
    assert len(pickle.dumps(scan.read_plan)) < 8_000
    files = scan.files()
    for file, rows in zip(files["path"].to_pylist(), files["rows"].to_pylist(), strict=True):
        assert rows is None or rows == pa.parquet.read_metadata(file).num_rows
    logs = scan.planned.files["merged_with"].to_pylist()
    assert [rows is None for rows in files["rows"].to_pylist()] == [bool(names) for names in logs]
