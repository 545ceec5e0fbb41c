"""Every golden Hudi table against hudi-rs, which reads it whole and knows nothing of the planner."""

import pickle
from collections.abc import Callable
from pathlib import Path

import hudi
import pyarrow as pa
import pyarrow.parquet
import pytest

import lakescan
from tests.hudi_format.tables import MOR_PARTITIONED, NAMES, ROWS, TRIPS_UPDATED, comparable, rows_of

Unpack = Callable[[str], Path]


def by_hudi(path: Path) -> pa.Table:
    batches = hudi.HudiTable(str(path)).read()
    return pa.Table.from_batches(batches) if batches else pa.table({})


@pytest.mark.parametrize("name", NAMES)
def test_a_table_has_the_rows_that_hudi_rs_reads_and_that_its_name_promises(name: str, unpack: Unpack) -> None:
    path = unpack(name)
    expected = by_hudi(path)
    found = lakescan.open(path).snapshot().scan().build().to_arrow()
    assert found.num_rows == ROWS[name]
    if expected.num_rows:
        assert found.schema.names == expected.schema.names
        assert found.schema.types == expected.schema.types
    assert rows_of(found) == rows_of(expected)


@pytest.mark.parametrize("name", NAMES)
def test_each_column_alone_has_the_same_values(name: str, unpack: Unpack) -> None:
    path = unpack(name)
    expected = by_hudi(path)
    snapshot = lakescan.open(path).snapshot()
    for column in expected.schema.names:
        found = snapshot.scan().select(column).build().to_arrow()
        assert found.schema.names == [column]
        assert rows_of(found) == rows_of(expected.select([column])), column


@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_counted_without_any_column(name: str, unpack: Unpack) -> None:
    scan = lakescan.open(unpack(name)).snapshot().scan().select().build()
    assert sum(batch.num_rows for batch in scan.to_batches()) == ROWS[name]
    assert scan.estimates().rows in (None, ROWS[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_filter_on_any_column_keeps_exactly_the_rows_that_match(name: str, unpack: Unpack) -> None:
    """Partition columns and data columns alike; each value that a column has is asked for once."""
    path = unpack(name)
    expected = by_hudi(path)
    snapshot = lakescan.open(path).snapshot()
    simple = [field for field in snapshot.schema if not pa.types.is_nested(field.type)]
    for field in simple if expected.num_rows else []:
        for value in expected[field.name].unique().to_pylist():
            column = lakescan.col(field.name)
            found = snapshot.scan().filter(column.is_null() if value is None else column == value).build().to_arrow()
            wanted = [row for row in expected.to_pylist() if comparable(row[field.name]) == comparable(value)]
            assert sorted(map(str, map(comparable, found.to_pylist()))) == sorted(map(str, map(comparable, wanted)))


@pytest.mark.parametrize("name", [name for name in NAMES if "hivestyle" in name and "timebased" not in name])
def test_a_partition_filter_reads_only_its_partition(name: str, unpack: Unpack) -> None:
    snapshot = lakescan.open(unpack(name)).snapshot()
    assert "byteField" in snapshot.partition_columns
    for value in {row["byteField"] for row in snapshot.files()["partition"].to_pylist()}:
        scan = snapshot.scan().filter(lakescan.col("byteField") == value).build()
        assert {row["byteField"] for row in scan.files()["partition"].to_pylist()} == {value}


@pytest.mark.parametrize("name", [name for name in NAMES if "timebased" in name])
def test_a_timestamp_based_key_generator_leaves_its_column_as_the_data_files_have_it(name: str, unpack: Unpack) -> None:
    assert lakescan.open(unpack(name)).snapshot().partition_columns == ()


@pytest.mark.parametrize("name", [name for name in NAMES if "no_metafields" in name])
def test_a_table_without_meta_fields_has_none_in_its_schema(name: str, unpack: Unpack) -> None:
    schema = lakescan.open(unpack(name)).snapshot().schema
    assert not [column for column in schema.names if column.startswith("_hoodie")]


def test_the_update_of_a_log_file_wins_over_the_base_file(unpack: Unpack) -> None:
    snapshot = lakescan.open(unpack(TRIPS_UPDATED)).snapshot()
    rows = {row["rider"]: row for row in snapshot.scan().build().to_arrow().to_pylist()}
    assert rows["rider-D"]["fare"] == 25.0
    first = snapshot.timeline.instants[0]
    before = lakescan.open(unpack(TRIPS_UPDATED)).snapshot(version=first).scan().build().to_arrow().to_pylist()
    assert {row["rider"]: row["fare"] for row in before}["rider-D"] == 33.9


def test_a_filter_never_brings_back_the_row_that_an_update_replaced(unpack: Unpack) -> None:
    snapshot = lakescan.open(unpack(TRIPS_UPDATED)).snapshot()
    assert snapshot.scan().filter("fare = 33.9").build().to_arrow().num_rows == 0
    assert snapshot.scan().skip_unless("fare = 33.9").filter("rider = 'rider-D'").build().to_arrow().num_rows == 1


def test_slices_with_and_without_log_files_are_read_in_one_scan(unpack: Unpack) -> None:
    files = lakescan.open(unpack(MOR_PARTITIONED)).snapshot().files()
    assert files["log_files"].null_count == 2
    assert len([logs for logs in files["log_files"].to_pylist() if logs]) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_task_is_a_small_description(name: str, unpack: Unpack) -> None:
    scan = lakescan.open(unpack(name)).snapshot().scan().build()
    for task in scan.tasks(4):
        assert len(pickle.dumps(task)) < 8_000
    assert len(pickle.dumps(scan.read_plan)) < 8_000


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_known_exactly_where_no_log_file_is_in_the_way(name: str, unpack: Unpack) -> None:
    """hudi-rs only estimates them: it says 448 for a file of one row."""
    scan = lakescan.open(unpack(name)).snapshot().scan().build()
    files = scan.files()
    for path, rows in zip(files["path"].to_pylist(), files["rows"].to_pylist(), strict=True):
        assert rows is None or rows == pa.parquet.read_metadata(path).num_rows
    logs = scan.planned.files["log_files"].to_pylist()
    assert [rows is None for rows in files["rows"].to_pylist()] == [bool(found) for found in logs]
