"""What Hudi writes as a number means here what it means to Hudi, whose lists are in `tests/data/hudi/numbers.json`."""

import json

import pytest

from lakescan.formats.hudi.index import column_statistics
from lakescan.formats.hudi.slices import log_blocks
from lakescan.formats.hudi.slices.log_blocks import LogBlock
from lakescan.formats.hudi.slices.log_records import records_in
from lakescan.formats.hudi.slices.ordering import nulls_keep_values
from lakescan.formats.hudi.timeline import timeline
from lakescan.formats.hudi.timeline.properties import check_properties
from lakescan.io.storage import Storage
from tests.sample_tables import DATA, sample_tables

NUMBERS: dict[str, dict[str, int]] = json.loads((DATA / "hudi" / "numbers.json").read_text())
KINDS, HEADERS, TYPES = NUMBERS["HoodieLogBlockType"], NUMBERS["HeaderMetadataType"], NUMBERS["ValueType"]


def test_the_kinds_of_log_blocks_are_hudis() -> None:
    assert {
        "COMMAND_BLOCK": log_blocks.COMMAND_BLOCK,
        "DELETE_BLOCK": log_blocks.DELETE_BLOCK,
        "AVRO_DATA_BLOCK": log_blocks.AVRO_BLOCK,
        "HFILE_DATA_BLOCK": log_blocks.HFILE_BLOCK,
        "PARQUET_DATA_BLOCK": log_blocks.PARQUET_BLOCK,
    }.items() <= KINDS.items()


def test_the_headers_of_log_blocks_are_hudis() -> None:
    texts = {number: name for name, number in HEADERS.items()}
    block = LogBlock(KINDS["AVRO_DATA_BLOCK"], texts, b"")
    assert (block.instant, block.schema, block.positions) == ("INSTANT_TIME", "SCHEMA", "RECORD_POSITIONS")
    assert not block.is_partial
    assert LogBlock(3, {HEADERS["IS_PARTIAL"]: "true"}, b"").is_partial


@pytest.mark.parametrize("kind", [*KINDS.values(), 7])
def test_a_block_of_a_kind_that_is_in_no_data_file_is_never_passed_over(kind: int) -> None:
    """A command has no rows. The others are refused, whole or not, unless they are read."""
    block = LogBlock(kind, {HEADERS["INSTANT_TIME"]: "20240101000000000", HEADERS["SCHEMA"]: '"string"'}, b"")
    if kind == KINDS["COMMAND_BLOCK"]:
        assert records_in(block) == 0
        return
    with pytest.raises(Exception, match=None if kind in (1, 3, 5) else f"its kind is {kind}"):
        records_in(block)


def test_sample_tables_have_every_kind_of_block_that_data_files_have() -> None:
    """Rows in Avro and in Parquet, deletes, and the command of a rollback."""
    features = {feature for table in sample_tables("hudi") for feature in table.features}
    assert {"avro log blocks", "parquet log blocks", "deletes", "rolled back"} <= features


def test_the_types_of_values_in_statistics_are_hudis() -> None:
    assert {kind: TYPES[kind.upper()] for kind in ("Boolean", "Int", "Long", "String")} == column_statistics._SAME
    assert (TYPES["DECIMAL"], TYPES["DATE"]) == (column_statistics._DECIMAL, column_statistics._DATE)
    units = {"MILLIS": 1000, "MICROS": 1}
    assert {TYPES[f"TIMESTAMP_{unit}"]: size for unit, size in units.items()} == column_statistics._TIMESTAMPS
    local = {TYPES[f"LOCAL_TIMESTAMP_{unit}"]: size for unit, size in units.items()}
    assert local == column_statistics._LOCAL_TIMESTAMPS


def test_the_operations_that_change_no_row_are_among_hudis() -> None:
    operations = {name.lower() for name in NUMBERS["WriteOperationType"]}
    assert operations >= timeline._KEEP_SCHEMA


@pytest.mark.parametrize("mode", NUMBERS["RecordMergeMode"])
def test_every_way_to_merge_is_known(mode: str) -> None:
    check_properties(Storage("/t"), {"hoodie.record.merge.mode": mode})


@pytest.mark.parametrize("mode", NUMBERS["PartialUpdateMode"])
def test_every_way_to_update_a_part_keeps_values(mode: str) -> None:
    assert nulls_keep_values({"hoodie.table.partial.update.mode": mode})
    assert not nulls_keep_values({})
