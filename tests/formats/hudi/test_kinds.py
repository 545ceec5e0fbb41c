"""Every kind of Hudi table that the project carries, against hudi-rs; Hudi's own answer is in test_sample_tables."""

from collections.abc import Callable
from pathlib import Path

import pytest

import lakescan
from tests.sample_tables import sample_tables

from . import checks
from .tables import MOR_PARTITIONED, NAMES, TRIPS_UPDATED, open_hudi

Unpack = Callable[[str], Path]
# What hudi-rs does not read as Hudi on Spark: log files over base files of another schema or over none, a key twice,
# some names of partitions.
_OTHERS = ("log_only", "partition_")
ONLY_HUDI = {name for name in NAMES if name.endswith(("_avro", "_parquet")) or name.startswith(_OTHERS)}


def of(feature: str) -> list[str]:
    return [table.name for table in sample_tables("hudi") if feature in table.features]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ONLY_HUDI])
def test_a_table_reads_as_hudi_rs_reads_it(name: str, unpack: Unpack) -> None:
    path = unpack(name)
    expected = checks.by_hudi(path)
    checks.rows_are_those_of(path, expected)
    checks.filters_keep_exactly_the_rows_that_match(path, expected)


@pytest.mark.parametrize("name", sorted({*NAMES} - {*of("archived")}))
def test_tasks_are_small_and_rows_known_where_no_log_file_is_in_the_way(name: str, unpack: Unpack) -> None:
    checks.tasks_are_small_and_rows_known_where_no_log_file_is_in_the_way(unpack(name))


@pytest.mark.parametrize("name", [*of("simple keys"), *of("complex keys")])
def test_a_partition_filter_reads_only_its_partition(name: str, unpack: Unpack) -> None:
    checks.a_partition_filter_reads_only_its_partition(unpack(name), "city" if name.startswith("trips") else "tiny")


@pytest.mark.parametrize("name", of("timed"))
def test_a_timestamp_based_key_generator_leaves_its_column_as_the_data_files_have_it(name: str, unpack: Unpack) -> None:
    assert lakescan.open(unpack(name)).snapshot().partition_columns == ()


@pytest.mark.parametrize("name", of("no meta fields"))
def test_a_table_without_meta_fields_has_none_in_its_schema(name: str, unpack: Unpack) -> None:
    schema = lakescan.open(unpack(name)).snapshot().schema
    assert not [column for column in schema.names if column.startswith("_hoodie")]


def test_the_update_of_a_log_file_wins_over_the_base_file(unpack: Unpack) -> None:
    snapshot = open_hudi(unpack(TRIPS_UPDATED)).snapshot()
    rows = {row["rider"]: row for row in snapshot.scan().build().to_arrow().to_pylist()}
    assert rows["rider-B"]["fare"] == 25.0
    first = snapshot.timeline.instants[0]
    before = lakescan.open(unpack(TRIPS_UPDATED)).snapshot(version=first).scan().build().to_arrow().to_pylist()
    assert {row["rider"]: row["fare"] for row in before}["rider-B"] == 17.5


def test_a_filter_never_brings_back_the_row_that_an_update_replaced(unpack: Unpack) -> None:
    snapshot = lakescan.open(unpack(TRIPS_UPDATED)).snapshot()
    assert snapshot.scan().filter("fare = 17.5").build().to_arrow().num_rows == 0
    assert snapshot.scan().skip_unless("fare = 17.5").filter("rider = 'rider-B'").build().to_arrow().num_rows == 1


def test_slices_with_and_without_log_files_are_read_in_one_scan(unpack: Unpack) -> None:
    files = lakescan.open(unpack(MOR_PARTITIONED)).snapshot().files()
    assert files["merged_with"].null_count == 2
    assert len([logs for logs in files["merged_with"].to_pylist() if logs]) == 1
