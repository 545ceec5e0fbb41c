"""Damaged, incomplete and unsupported tables: each a named error that says which file, never a partial answer."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import CorruptDataFile, MissingDataFile, TableNotFound, UnsupportedFeature, VersionNotFound

from .builder import HudiBuilder
from .tables import (
    COW,
    COW_PARTITIONED,
    MOR_PARTITIONED,
    MOR_STEPS,
    TRIPS_DELETED,
    TRIPS_INDEXED,
    TRIPS_UPDATED,
    open_hudi,
    rows_of,
)

Copy = Callable[[str], Path]


def log_files(table: Path) -> list[Path]:
    logs = [path for path in table.rglob(".*.log.*") if not path.name.endswith(".crc")]
    return sorted(path for path in logs if ".hoodie" not in path.parts)


def read(table: Path) -> int:
    rows: int = lakescan.open(table).snapshot().scan().build().to_arrow().num_rows
    return rows


def set_property(table: Path, name: str, value: str) -> None:
    file = table / ".hoodie" / "hoodie.properties"
    lines = [line for line in file.read_text().splitlines() if not line.startswith(f"{name}=")]
    file.write_text("\n".join([*lines, f"{name}={value}"]) + "\n")


@pytest.mark.parametrize("name", [TRIPS_UPDATED, TRIPS_DELETED, MOR_PARTITIONED])
@pytest.mark.parametrize("lost", [1, 8, 40, 200])
def test_a_log_block_that_is_cut_off_is_an_error_and_not_a_block_less(name: str, lost: int, copy: Copy) -> None:
    table = copy(name)
    log = log_files(table)[-1]
    log.write_bytes(log.read_bytes()[:-lost])
    with pytest.raises(CorruptDataFile, match=r"\.log\."):
        read(table)


@pytest.mark.parametrize("at", [0, 3, 8, 13])
def test_a_log_block_with_a_damaged_frame_is_an_error(at: int, copy: Copy) -> None:
    table = copy(TRIPS_DELETED)
    log = log_files(table)[-1]
    content = bytearray(log.read_bytes())
    content[at] ^= 0xFF
    log.write_bytes(bytes(content))
    with pytest.raises(CorruptDataFile, match=r"\.log\."):
        read(table)


def test_a_log_block_whose_content_cannot_be_decoded_is_an_error(copy: Copy) -> None:
    table = copy(TRIPS_UPDATED)
    log = log_files(table)[-1]
    content = bytearray(log.read_bytes())
    # Behind the frame come the block's version, type and headers, whose lengths are then nonsense.
    content[14:60] = b"\xff" * 46
    log.write_bytes(bytes(content))
    with pytest.raises((CorruptDataFile, UnsupportedFeature), match=str(table)):
        read(table)


def test_a_missing_log_file_is_an_error(copy: Copy) -> None:
    table = copy(MOR_PARTITIONED)
    log = log_files(table)[-1]
    log.unlink()
    with pytest.raises(MissingDataFile, match=r"\.log\."):
        read(table)


@pytest.mark.parametrize("name", [COW, MOR_PARTITIONED, MOR_STEPS, "cow_v9_steps"])
def test_a_missing_base_file_is_an_error_even_where_an_older_one_is_there(name: str, copy: Copy) -> None:
    table = copy(name)
    snapshot = lakescan.open(table).snapshot()
    newest = max(snapshot.files().to_pylist(), key=lambda file: file["instant"])["path"]
    (table / newest).unlink()
    with pytest.raises(MissingDataFile, match=r"\.parquet"):
        read(table)


def test_a_base_file_that_is_no_parquet_file_is_an_error(copy: Copy) -> None:
    table = copy(COW)
    path = table / lakescan.open(table).snapshot().files()["path"][0].as_py()
    path.write_bytes(b"PAR1" + b"\0" * 100)
    with pytest.raises(CorruptDataFile, match=r"\.parquet"):
        read(table)


@pytest.mark.parametrize(("name", "folder"), [(COW, ".hoodie"), (MOR_STEPS, ".hoodie/timeline")])
def test_an_action_that_hudi_does_not_have_is_refused_by_name(name: str, folder: str, copy: Copy) -> None:
    table = copy(name)
    (table / folder / "20990101000000000_20990101000000001.frobnicate").write_text("{}")
    with pytest.raises(UnsupportedFeature, match="'frobnicate'"):
        read(table)


@pytest.mark.parametrize("version", ["5", "7", "10"])
def test_an_unsupported_table_version_is_refused_by_name(version: str, copy: Copy) -> None:
    table = copy(COW)
    set_property(table, "hoodie.table.version", version)
    with pytest.raises(UnsupportedFeature, match=f"table version {version}"):
        read(table)


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        (TRIPS_UPDATED, "hoodie.compaction.payload.class", "com.example.OwnPayload"),
        (TRIPS_UPDATED, "hoodie.compaction.payload.class", "org.apache.hudi.common.model.PartialUpdateAvroPayload"),
        (TRIPS_INDEXED, "hoodie.record.merge.mode", "CUSTOM"),
    ],
)
def test_a_merger_of_the_tables_own_is_refused_by_name(name: str, setting: str, value: str, copy: Copy) -> None:
    table = copy(name)
    set_property(table, setting, value)
    with pytest.raises(UnsupportedFeature, match="a merger of the table's own"):
        read(table)
    assert open_hudi(table).read_optimized().snapshot().scan().build().to_arrow().num_rows > 0


@pytest.mark.parametrize("field", ["fare.ts", "t\\u0073"])
@pytest.mark.parametrize(
    ("name", "setting", "by_field", "by_commit"),
    [
        (
            TRIPS_UPDATED,
            "hoodie.compaction.payload.class",
            "DefaultHoodieRecordPayload",
            "OverwriteWithLatestAvroPayload",
        ),
        (TRIPS_INDEXED, "hoodie.record.merge.mode", "EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"),
    ],
)
def test_an_order_by_a_field_that_hudi_rs_does_not_find_is_refused_by_name(
    name: str, setting: str, by_field: str, by_commit: str, field: str, copy: Copy
) -> None:
    """It would take the record that was written last, whatever the field says."""
    table = copy(name)
    package = "org.apache.hudi.common.model." if "class" in setting else ""
    for spelling in ("hoodie.table.precombine.field", "hoodie.table.ordering.fields"):
        set_property(table, spelling, field)
    set_property(table, setting, package + by_field)
    with pytest.raises(UnsupportedFeature, match="in the order of"):
        read(table)
    assert open_hudi(table).read_optimized().snapshot().scan().build().to_arrow().num_rows > 0
    set_property(table, setting, package + by_commit)
    assert read(table) > 0


def test_an_order_by_several_fields_is_refused_by_name(copy: Copy) -> None:
    table = copy(TRIPS_INDEXED)
    set_property(table, "hoodie.table.ordering.fields", "ts,fare")
    with pytest.raises(UnsupportedFeature, match="ordering fields"):
        read(table)


def test_keys_that_hudi_rs_cannot_make_of_columns_are_refused_by_name(copy: Copy) -> None:
    """Without meta fields a key is made of its columns, of text and whole numbers alone."""
    table = copy("logs_v8")
    set_property(table, "hoodie.populate.meta.fields", "false")
    set_property(table, "hoodie.table.recordkey.fields", "day")
    with pytest.raises(UnsupportedFeature, match="record keys only from string and integral"):
        read(table)


def test_dropped_partition_columns_are_refused_by_name(copy: Copy) -> None:
    """Their schema has no such column, and hudi-rs no way to be told of one."""
    table = copy(COW_PARTITIONED)
    set_property(table, "hoodie.datasource.write.drop.partition.columns", "true")
    with pytest.raises(UnsupportedFeature, match=r"drop\.partition\.columns"):
        read(table)


def test_what_hudi_rs_panics_at_is_refused_by_name(copy: Copy) -> None:
    """A local timestamp is one such thing; a panic is no `Exception`, and would tell nothing."""
    table = copy(COW)
    for commit in (table / ".hoodie").glob("*.commit"):
        plain = r"\"name\":\"big\",\"type\":[\"null\",\"long\"]"
        local = r"\"name\":\"big\",\"type\":[\"null\",{\"type\":\"long\",\"logicalType\":\"local-timestamp-micros\"}]"
        assert plain in commit.read_text()
        commit.write_text(commit.read_text().replace(plain, local))
    with pytest.raises(UnsupportedFeature, match="not yet implemented"):
        read(table)


def test_lance_base_files_are_refused_by_name(copy: Copy) -> None:
    table = copy(COW)
    set_property(table, "hoodie.table.base.file.format", "LANCE")
    for path in table.glob("*.parquet"):
        path.rename(path.with_suffix(".lance"))
    for commit in (table / ".hoodie").glob("*.commit"):
        commit.write_text(commit.read_text().replace(".parquet", ".lance"))
    with pytest.raises(UnsupportedFeature, match="lance"):
        read(table)


@pytest.mark.parametrize("replaced", [False, True])
def test_an_instant_whose_files_were_cleaned_is_an_error_even_where_their_commits_are_archived(
    replaced: bool, tmp_path: Path
) -> None:
    """Nothing but a later commit says that the file group had a slice then."""
    table = HudiBuilder(tmp_path / "table")
    rows = pa.table({"id": pa.array([1], pa.int64()), "value": ["a"]})
    archived = table.upsert(0, rows)
    asked = table.upsert(1, rows)
    if replaced:
        table.replace(0, 2, rows)
    else:
        table.upsert(0, rows)
    assert lakescan.open(table.path).snapshot(version=asked).scan().build().to_arrow().num_rows == 2
    table.archive(archived)
    assert lakescan.open(table.path).snapshot(version=asked).scan().build().to_arrow().num_rows == 2
    table.clean(0, archived)
    with pytest.raises(MissingDataFile, match="group-0-0_"):
        lakescan.open(table.path).snapshot(version=asked).scan().build().to_arrow()
    assert lakescan.open(table.path).snapshot().scan().build().to_arrow().num_rows == 2


@pytest.mark.parametrize(("instant", "is_whole"), [("00000000000001", False), ("00000000000002", True)])
def test_rows_that_are_in_the_files_a_table_was_bootstrapped_from_are_refused_by_name(
    instant: str, is_whole: bool, tmp_path: Path
) -> None:
    """As Hudi names them: a bootstrap of keys alone is the first commit, one of whole records the second."""
    table = HudiBuilder(tmp_path / "table", {"hoodie.bootstrap.base.path": "/data/source"})
    rows = pa.table({"id": pa.array([1], pa.int64()), "value": ["a"]})
    table.upsert(0, rows, instant)
    table.upsert(1, rows)
    if is_whole:
        assert read(table.path) == 2
        return
    with pytest.raises(UnsupportedFeature, match=r"bootstrapped from \(group-0-0_.*_00000000000001\.parquet\)"):
        read(table.path)


def test_a_partition_field_that_hudi_rs_does_not_find_is_a_column_like_others(copy: Copy) -> None:
    """So a custom key generator writes its fields, with the colon escaped."""
    table = copy(MOR_PARTITIONED)
    rows = rows_of(lakescan.open(table).snapshot().scan().build().to_arrow())
    set_property(table, "hoodie.table.partition.fields", "tiny\\:simple")
    set_property(table, "hoodie.table.keygenerator.type", "CUSTOM")
    snapshot = lakescan.open(table).snapshot()
    assert rows_of(snapshot.scan().build().to_arrow()) == rows
    assert snapshot.partition_columns == ()


@pytest.mark.parametrize("action", ["clustering", "replacecommit"])
def test_log_files_for_the_groups_of_a_clustering_under_way_are_no_group_without_a_base_file(
    action: str, tmp_path: Path
) -> None:
    """So a consistent hashing index writes while it splits a bucket: to the old group and to those that are to come."""
    table = HudiBuilder(tmp_path / "table")
    rows = pa.table({"id": pa.array([1], pa.int64()), "value": ["a"]})
    table.upsert(0, rows)
    planned = table.plan_clustering()
    requested = table.path / ".hoodie" / f"{planned}.{action}.requested"
    (table.path / ".hoodie" / f"{planned}.clustering.requested").rename(requested)
    commit = table.path / ".hoodie" / f"{table.upsert(1, rows)}.commit"
    written = json.loads(commit.read_text())
    log = {"fileId": "group-9-0", "path": f".group-9-0_{planned}.log.1_0-0-0", "prevCommit": planned, "numWrites": 1}
    written["partitionToWriteStats"][""].append(log)
    commit.write_text(json.dumps(written))
    assert read(table.path) == 2
    requested.unlink()
    with pytest.raises(MissingDataFile, match=r"\.group-9-0_"):
        read(table.path)


def test_a_table_that_was_never_written_to_is_refused_by_name_unless_it_says_its_schema(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeature, match="neither a commit nor a schema"):
        read(HudiBuilder(tmp_path / "unknown").path)
    schema = '{"type":"record","name":"r","fields":[{"name":"id","type":"long"}]}'
    made = HudiBuilder(tmp_path / "made", {"hoodie.table.create.schema": schema})
    assert read(made.path) == 0


@pytest.mark.parametrize("is_archived", [False, True])
@pytest.mark.parametrize("stray", [False, True])
def test_a_folder_of_data_files_with_a_folder_in_it_is_refused_by_name(
    stray: bool, is_archived: bool, tmp_path: Path
) -> None:
    """hudi-rs looks for data files in the innermost folders alone."""
    plain = {"hoodie.table.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator"}
    folders = {0: "a", 1: "b" if stray else "a/b"}
    table = HudiBuilder(tmp_path / "table", {**plain, "hoodie.table.partition.fields": "part"}, folders=folders)
    rows = pa.table({"id": pa.array([1], pa.int64()), "part": ["?"]})
    first = table.upsert(0, rows)
    if stray:
        (table.path / "a" / "stage").mkdir()
    table.upsert(1, rows)
    if is_archived:
        table.archive(first)
    with pytest.raises(UnsupportedFeature, match=r"data files in a folder that has folders in it \(a\)"):
        read(table.path)


def test_a_base_file_of_another_format_is_refused_by_name_even_where_its_commit_is_archived(tmp_path: Path) -> None:
    table = HudiBuilder(tmp_path / "table", {"hoodie.table.multiple.base.file.formats.enable": "true"})
    rows = pa.table({"id": pa.array([1], pa.int64()), "value": ["a"]})
    archived = table.upsert(0, rows)
    table.upsert(1, rows)
    assert read(table.path) == 2
    table.archive(archived)
    (file,) = table.path.glob("group-0-0_*.parquet")
    file.rename(file.with_suffix(".orc"))
    with pytest.raises(UnsupportedFeature, match=r"not Parquet \(group-0-0_.*\.orc\)"):
        read(table.path)


@pytest.mark.parametrize("replaced", [False, True])
def test_files_that_are_cleaned_before_a_snapshot_is_first_read_are_an_error(replaced: bool, tmp_path: Path) -> None:
    table = HudiBuilder(tmp_path / "table")
    rows = pa.table({"id": pa.array([1], pa.int64()), "value": ["a"]})
    archived = table.upsert(0, rows)
    table.upsert(1, rows)
    table.archive(archived)
    snapshot = lakescan.open(table.path).snapshot()
    if replaced:
        table.replace(0, 2, rows)
    else:
        table.upsert(0, rows)
    table.clean(0, archived)
    with pytest.raises(MissingDataFile, match="group-0-0_"):
        snapshot.scan().build().to_arrow()


def test_a_folder_without_hoodie_properties_is_no_table(copy: Copy) -> None:
    table = copy(COW)
    shutil.rmtree(table / ".hoodie")
    with pytest.raises(TableNotFound):
        lakescan.open(table)


def test_an_instant_that_the_timeline_does_not_have_is_told_with_the_range(copy: Copy) -> None:
    table = open_hudi(copy(COW))
    first, last = table.snapshot().timeline.instants
    with pytest.raises(VersionNotFound, match=f"{first} to {last}"):
        table.snapshot(version="20200101000000000")
    with pytest.raises(VersionNotFound, match="before its first commit"):
        table.snapshot(timestamp="2001-01-01")


def test_log_files_of_a_table_with_a_name_that_hudi_rs_does_not_parse_are_refused_by_name(copy: Copy) -> None:
    table = copy("deletes_v6_boolean")
    for commit in (table / ".hoodie").glob("*.deltacommit"):
        named = commit.read_text().replace(r"\"name\":\"name\"", r"\"name\":\"gr\u00f6\u00dfe\"")
        commit.write_text(named)
    assert "gr\u00f6\u00dfe" in lakescan.open(table).snapshot().schema.names
    with pytest.raises(UnsupportedFeature, match="names in its schema that hudi-rs refuses"):
        read(table)
    assert open_hudi(table).read_optimized().snapshot().scan().build().to_arrow().num_rows == 5
