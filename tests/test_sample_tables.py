"""The tables that the project carries read as the engines that wrote them read them, version by version.

They stand in for the golden tables of other projects: the list below is what those cover.
"""

import json
from pathlib import Path

import pytest

import lakescan
from lakescan import errors
from tests.expected import in_order, plain_rows
from tests.sample_tables import SampleTable, sample_tables

COVERED = {
    "delta": """classic checkpoint; multi-part checkpoint; V2 checkpoint in JSON; V2 checkpoint in Parquet; sidecars;
        compacted log; commits cleaned up; parsed statistics; deletion vectors; partitions; column mapping by name;
        column mapping by id; Iceberg compatibility; type widening; Variant; shredded Variant; every primitive type;
        nested types; decimals; dictionaries; data pages of version 2; Parquet in the legacy format;
        timestamps in INT96; timestamps in milliseconds; timestamps in microseconds; timestamps without zone; zones;
        checkpoint in the old calendar;
        timestamp partitions; partition values of every type; special characters in paths; letter case; insert; update;
        delete; merge; overwrite; restore; optimize; vacuum; vacuum protocol check; time travel; schema evolution;
        partition change; protocol upgrade; in-commit timestamps; statistics; statistics of some columns; empty table;
        files without rows; row tracking; change data feed; delta-rs""",
    "hudi": """version 6; version 8; version 9; copy on write; merge on read; avro log blocks; parquet log blocks;
        none keys; simple keys; complex keys; DATE_STRING keys; EPOCHMILLISECONDS keys; UNIX_TIMESTAMP keys; hive style;
        no meta fields; metadata table; column statistics; rolled back; overwritten; nothing; steps""",
}


@pytest.mark.parametrize("format", COVERED)
def test_every_feature_has_a_table(format: str) -> None:
    wanted = {" ".join(feature.split()) for feature in COVERED[format].split(";")}
    assert wanted <= {feature for table in sample_tables(format) for feature in table.features}


# Hudi on Spark shows the column of a timestamp-based key generator as text; here it has the type of the table's schema.
AS_TEXT = {"EPOCHMILLISECONDS keys": "millis", "UNIX_TIMESTAMP keys": "seconds"}


@pytest.mark.parametrize("table", sample_tables(), ids=lambda table: table.name)
def test_a_sample_table_has_the_rows_that_its_engine_read(table: SampleTable, tmp_path: Path) -> None:
    rows = plain_rows(lakescan.open(table.unpack(tmp_path)).snapshot().scan().build().to_arrow())
    for feature in table.features & AS_TEXT.keys():
        rows = [{**row, AS_TEXT[feature]: str(row[AS_TEXT[feature]])} for row in rows]
    assert in_order(rows) == in_order(table.rows)


@pytest.mark.parametrize("table", [table for table in sample_tables() if table.versions], ids=lambda table: table.name)
def test_every_version_has_the_rows_that_the_engine_read_of_it(table: SampleTable, tmp_path: Path) -> None:
    """Where the engine could not read one, because files or commits of it are gone, Lakescan says that they are."""
    opened = lakescan.open(table.unpack(tmp_path))
    for version, rows in enumerate(table.versions):
        if rows is None:
            with pytest.raises((errors.MissingDataFile, errors.VersionNotFound)):
                opened.snapshot(version).scan().build().to_arrow()
            continue
        actual = opened.snapshot(version).scan().build().to_arrow()
        assert in_order(plain_rows(actual)) == in_order(rows), version


def test_the_tables_are_small() -> None:
    """A few megabytes in all, and no table that slows the tests down."""
    sizes = {
        table.name: sum(file.stat().st_size for file in [table.source, *table.source.rglob("*")] if file.is_file())
        for table in sample_tables()
    }
    assert sum(sizes.values()) < 4_000_000
    assert max(sizes.values()) < 500_000, json.dumps(sizes, indent=1)
