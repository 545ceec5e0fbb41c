"""Every golden Hudi table against hudi-rs, which reads it whole and knows nothing of the planner."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.formats.hudi.engine import SchemasDiffer
from tests.formats.hudi import checks
from tests.formats.hudi.tables import rows_of

Unpack = Callable[[str], Path]
# Each with the number of rows that its name promises, or that the statements which made it leave.
ROWS = {
    "quickstart_trips_table__mor__avro__v6_trips_8i1u": 8,
    "quickstart_trips_table__mor__avro__v6_trips_8i3d": 5,
    "quickstart_trips_table__mor__avro__v8_trips_8i3u1d": 6,
    "sample_table__cow__v6_complexkeygen_hivestyle": 4,
    "sample_table__cow__v6_empty": 0,
    "sample_table__cow__v6_nonpartitioned": 4,
    "sample_table__cow__v6_simplekeygen_hivestyle_no_metafields": 4,
    "sample_table__cow__v6_simplekeygen_nonhivestyle": 4,
    "sample_table__cow__v6_simplekeygen_nonhivestyle_overwritetable": 1,
    "sample_table__cow__v6_timebasedkeygen_nonhivestyle": 4,
    "sample_table__cow__v8_complexkeygen_hivestyle": 4,
    "sample_table__cow__v8_empty": 0,
    "sample_table__cow__v8_nonpartitioned": 4,
    "sample_table__cow__v8_simplekeygen_hivestyle_no_metafields": 4,
    "sample_table__cow__v8_simplekeygen_nonhivestyle": 4,
    "sample_table__cow__v9_timebasedkeygen_epochmillis": 6,
    "sample_table__cow__v9_timebasedkeygen_nonhivestyle": 5,
    "sample_table__cow__v9_timebasedkeygen_unixtimestamp": 6,
    "sample_table__cow__v9_txns_nonpart_meta": 14,
    "sample_table__cow__v9_txns_nonpart_nometa": 14,
    "sample_table__mor__avro__v9_nonpartitioned_rollback": 4,
    "sample_table__mor__avro__v9_txns_nonpart_meta": 14,
    "sample_table__mor__avro__v9_txns_nonpart_nometa": 14,
    "sample_table__mor__parquet__v6_complexkeygen_hivestyle": 4,
    "sample_table__mor__parquet__v6_empty": 0,
    "sample_table__mor__parquet__v6_nonpartitioned": 4,
    "sample_table__mor__parquet__v6_nonpartitioned_rollback": 3,
    "sample_table__mor__parquet__v6_simplekeygen_hivestyle_no_metafields": 4,
    "sample_table__mor__parquet__v6_simplekeygen_nonhivestyle": 4,
    "sample_table__mor__parquet__v6_simplekeygen_nonhivestyle_overwritetable": 1,
}
NAMES = tuple(ROWS)


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_table_reads_as_hudi_rs_reads_it(name: str, unpack: Unpack) -> None:
    path = unpack(name)
    expected = checks.by_hudi(path)
    assert expected.num_rows == ROWS[name]
    checks.rows_are_those_of(path, expected)
    checks.filters_keep_exactly_the_rows_that_match(path, expected)
    checks.tasks_are_small_and_rows_known_where_no_log_file_is_in_the_way(path)


@pytest.mark.parametrize("name", [name for name in NAMES if "hivestyle" in name and "timebased" not in name])
def test_a_partition_filter_reads_only_its_partition(name: str, unpack: Unpack) -> None:
    checks.a_partition_filter_reads_only_its_partition(unpack(name), "byteField")


@pytest.mark.parametrize("name", [name for name in NAMES if "timebased" in name])
def test_a_timestamp_based_key_generator_leaves_its_column_as_the_data_files_have_it(name: str, unpack: Unpack) -> None:
    assert lakescan.open(unpack(name)).snapshot().partition_columns == ()


@pytest.mark.parametrize("name", [name for name in NAMES if "no_metafields" in name])
def test_a_table_without_meta_fields_has_none_in_its_schema(name: str, unpack: Unpack) -> None:
    schema = lakescan.open(unpack(name)).snapshot().schema
    assert not [column for column in schema.names if column.startswith("_hoodie")]


@pytest.mark.parametrize("name", [name for name in NAMES if "__mor__" in name])
def test_rewritten_in_one_schema_every_golden_table_merges_to_the_same_rows(
    name: str, unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every type that the golden tables have, in Avro and in Parquet blocks, with deletes and rollbacks."""
    expected = lakescan.open(unpack(name)).snapshot().scan().build().to_arrow()

    def refused(*_: object) -> Iterator[pa.RecordBatch]:
        yield from ()
        raise SchemasDiffer

    monkeypatch.setattr("lakescan.formats.hudi.slices.data_files.merged", refused)
    rows = lakescan.open(unpack(name)).snapshot().scan().build().to_arrow()
    assert rows_of(rows) == rows_of(expected)
