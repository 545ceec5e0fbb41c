"""The change data feed, compared with Delta Spark's for tables that it wrote, and with deltalake's where it can."""

import json
import os
import random
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import (
    ChangesNotRecorded,
    IncompatibleChanges,
    InvalidVersion,
    MissingDataFile,
    UnsupportedFeature,
    VersionNotFound,
)
from tests.expected import copied, in_order, tables
from tests.tables import DeltaBuilder, spark_schema

ON = {"delta.enableChangeDataFeed": "true"}
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string())])
# Delta refuses every range with a rename inside; rows from before it have an undoubted place in the newer schema.
_RENAMED = {(2, 6), (3, 7)}


@pytest.mark.parametrize("name", tables())
def test_every_range_gives_the_changes_that_delta_spark_gives(name: str, tmp_path: Path) -> None:
    root, expected = copied(name, tmp_path)
    table = lakescan.open(root)
    for wanted in expected["changes"]:
        start, end = wanted["start"], wanted["end"]
        if wanted.get("error") == "DELTA_MISSING_CHANGE_DATA":
            with pytest.raises(ChangesNotRecorded, match="delta.enableChangeDataFeed"):
                table.changes(start, end)
            continue
        if "error" in wanted:
            assert wanted["error"] == "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE"
            if (start, end) not in _RENAMED:
                with pytest.raises((IncompatibleChanges, ChangesNotRecorded)):
                    table.changes(start, end)
            continue
        found = table.changes(start, end)
        assert found.schema.names == wanted["columns"]
        assert in_order(found.to_arrow().to_pylist()) == in_order(wanted["rows"]), (start, end)


def test_a_rename_inside_the_range_gives_every_row_under_the_newer_name(tmp_path: Path) -> None:
    root, expected = copied("changes_evolved", tmp_path)
    single = [found["rows"] for found in expected["changes"] if found["start"] == found["end"] in range(3, 8)]
    renamed = [{("word" if key == "v" else key): row[key] for key in row} for rows in single for row in rows]
    assert len(renamed) == 8
    assert in_order(lakescan.open(root).changes(3, 7).to_arrow().to_pylist()) == in_order(renamed)


def test_a_drop_inside_the_range_is_refused_by_the_columns_name(tmp_path: Path) -> None:
    root, _ = copied("changes_evolved", tmp_path)
    with pytest.raises(IncompatibleChanges, match="the column extra was dropped"):
        lakescan.open(root).changes(5, 9)


def test_deltalake_gives_the_same_changes(tmp_path: Path) -> None:
    """For a table without deletion vectors: deltalake 1.6 does not tell which rows a vector newly drops."""
    root, _ = copied("changes_copied", tmp_path)
    theirs = pa.table(deltalake.DeltaTable(root).load_cdf(starting_version=0))
    ours = lakescan.open(root).changes(0).to_arrow()
    shared = [field.name for field in ours.schema if field.name != "_commit_timestamp"]
    assert in_order(ours.select(shared).to_pylist()) == in_order(theirs.select(shared).to_pylist())


def _applied(before: pa.Table | None, changes: pa.Table) -> list[str]:
    """The rows after the changes, worked out from those before them."""
    columns = [name for name in changes.column_names if not name.startswith(("_change", "_commit"))]
    rows = [] if before is None else in_order(before.select(columns).to_pylist())
    for change in sorted(changes.to_pylist(), key=_order):
        (row,) = in_order([{name: change[name] for name in columns}])
        if change["_change_type"] in ("delete", "update_preimage"):
            rows.remove(row)
        else:
            rows.append(row)
    return sorted(rows)


def _order(change: dict[str, Any]) -> tuple[int, bool]:
    return change["_commit_version"], change["_change_type"] not in ("delete", "update_preimage")


def _check_that_changes_lead_from_version_to_version(table: Any, newest: int) -> None:
    states = [table.snapshot(version).scan().build().to_arrow() for version in range(newest + 1)]
    for start in range(newest + 1):
        for end in {start, newest}:
            before = states[start - 1] if start else None
            assert _applied(before, table.changes(start, end).to_arrow()) == in_order(states[end].to_pylist())


@pytest.mark.parametrize("name", ["changes_copied", "changes_vectors"])
def test_changes_applied_to_a_version_give_the_later_version(name: str, tmp_path: Path) -> None:
    root, expected = copied(name, tmp_path)
    _check_that_changes_lead_from_version_to_version(lakescan.open(root), len(expected["versions"]) - 1)


@pytest.mark.parametrize("partition_by", [None, ["p"]])
@pytest.mark.parametrize("seed", range(4))
def test_tables_that_deltalake_wrote_give_the_changes_that_deltalake_reads(
    seed: int, partition_by: list[str] | None, tmp_path: Path
) -> None:
    root = str(tmp_path / "t")
    _random_walk(root, random.Random(seed), partition_by)
    table, newest = lakescan.open(root), deltalake.DeltaTable(root).version()
    _check_that_changes_lead_from_version_to_version(table, newest)
    for start in range(newest + 1):
        theirs = pa.table(deltalake.DeltaTable(root).load_cdf(starting_version=start))
        ours = table.changes(start).to_arrow()
        shared = [name for name in ours.column_names if name != "_commit_timestamp"]
        assert in_order(ours.select(shared).to_pylist()) == in_order(theirs.select(shared).to_pylist())


def _random_walk(root: str, chance: random.Random, partition_by: list[str] | None) -> None:
    def rows(first: int) -> pa.Table:
        ids = list(range(first, first + 8))
        # No space in a partition value: deltalake 1.6 does not find its own change files then.
        return pa.table({"id": ids, "v": [f"v{at}" for at in ids], "p": [f"p{at % 3}" for at in ids]})

    deltalake.write_deltalake(root, rows(0), partition_by=partition_by, configuration=ON)
    for step in range(1, 8):
        table = deltalake.DeltaTable(root)
        some = f"id % {chance.choice([2, 3, 5])} = {chance.choice([0, 1])}"
        match chance.choice(["append", "append", "update", "delete", "merge", "overwrite", "compact"]):
            case "append":
                deltalake.write_deltalake(root, rows(step * 8), mode="append")
            case "update":
                table.update(predicate=some, updates={"v": f"'u{step}'"})
            case "delete":
                table.delete(some)
            case "merge":
                merge = table.merge(rows(step * 8 - 4), "t.id = s.id", source_alias="s", target_alias="t")
                merge.when_matched_update({"v": "'m'"}).when_not_matched_insert_all().execute()
            case "overwrite":
                deltalake.write_deltalake(root, rows(step * 100), mode="overwrite")
            case "compact":
                table.optimize.compact()


# Commits written by hand


def _feed(root: Path, **arguments: Any) -> DeltaBuilder:
    return DeltaBuilder(root, SCHEMA, properties=ON, features=["deletionVectors"], **arguments)


def _rows(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "v": [f"v{at}" for at in ids]}, schema=SCHEMA)


def _changes(table: DeltaBuilder, start: int, end: int | None = None) -> list[tuple[str, int, int]]:
    found = lakescan.open(table.path).changes(start, end).to_arrow().to_pylist()
    return sorted((row["_change_type"], row["id"], row["_commit_version"]) for row in found)


def test_a_new_deletion_vector_deletes_only_the_rows_that_the_old_one_did_not(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    first = table.append(_rows(*range(6)))
    second = table.delete(first, {1})
    table.delete(second, {1, 4, 5}, storage="i")
    assert _changes(table, 2, 2) == [("delete", 1, 2)]
    assert _changes(table, 3, 3) == [("delete", 4, 3), ("delete", 5, 3)]


def test_rows_that_a_deletion_vector_no_longer_drops_are_inserted(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    first = table.append(_rows(*range(6)))
    second = table.delete(first, {1, 2})
    third = table.delete(second, {2, 3})
    table.commit(table.remove(third), first)
    assert _changes(table, 3, 3) == [("delete", 3, 3), ("insert", 1, 3)]
    assert _changes(table, 4, 4) == [("insert", 2, 4), ("insert", 3, 4)]


def test_a_file_that_comes_or_goes_with_a_deletion_vector_is_its_live_rows(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    added = table.append(_rows(0, 1, 2), vector=table.vector({1}))
    table.commit(table.remove(added))
    assert _changes(table, 1, 1) == [("insert", 0, 1), ("insert", 2, 1)]
    assert _changes(table, 2, 2) == [("delete", 0, 2), ("delete", 2, 2)]


def test_a_path_spelled_with_and_without_its_scheme_is_one_file(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    plain = table.add(_rows(0, 1, 2))
    first = {"add": {**plain["add"], "path": f"{table.path}/{plain['add']['path']}"}}
    table.commit(first)
    again = {"add": {**first["add"], "path": f"file://{first['add']['path']}", "deletionVector": table.vector({2})}}
    table.commit(table.remove(first), again)
    assert _changes(table, 2) == [("delete", 2, 2)]


def test_files_that_only_moved_rows_changed_nothing(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    first = table.append(_rows(0, 1))
    moved, gone = table.add(_rows(0, 1)), table.remove(first)
    moved["add"]["dataChange"] = gone["remove"]["dataChange"] = False
    table.commit(moved, gone)
    assert _changes(table, 2) == []


def test_a_commit_with_change_files_is_read_from_these_alone(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    first = table.append(_rows(0, 1))
    change = _rows(1, 1).append_column("_change_type", pa.array(["update_preimage", "update_postimage"]))
    written = table.add(change, name="_change_data/cdc 1.parquet", stats=False)["add"]
    table.commit(table.remove(first), table.add(_rows(0, 1)), {"cdc": {**written, "dataChange": False}})
    assert _changes(table, 2) == [("update_postimage", 1, 2), ("update_preimage", 1, 2)]


def test_a_merge_that_counts_no_changed_row_changed_none(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    first = table.append(_rows(0, 1))
    counts = {"numTargetRowsInserted": "0", "numTargetRowsUpdated": "0", "numTargetRowsDeleted": "0"}
    info = {"commitInfo": {"operation": "MERGE", "operationMetrics": counts}}
    table.commit(info, table.remove(first), table.add(_rows(0, 1)))
    assert _changes(table, 2) == []


def test_a_filter_on_the_commit_reads_no_other_commits_files(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    for at in range(5):
        table.append(_rows(at))
    scan = lakescan.open(table.path).changes(0).scan().filter("_commit_version >= 4").select("id").build()
    assert sorted(scan.to_arrow()["id"].to_pylist()) == [3, 4]
    assert scan.report().files_planned == 2


def test_a_filter_on_the_kind_of_change_skips_files_of_another_kind(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    first = table.append(_rows(0, 1))
    change = _rows(0).append_column("_change_type", pa.array(["delete"]))
    written = table.add(change, name="_change_data/cdc.parquet", stats=False)["add"]
    table.commit(table.remove(first), table.add(_rows(1)), {"cdc": written})
    scan = lakescan.open(table.path).changes(0).scan().filter("_change_type = 'delete'").select("id").build()
    assert scan.to_arrow()["id"].to_pylist() == [0]
    # Of a change file only its rows say what they are.
    assert scan.report().files_planned == 1


def test_statistics_skip_files_and_never_a_changed_row(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    first = table.append(_rows(*range(0, 10)))
    table.append(_rows(*range(100, 110)))
    table.delete(first, {3})
    scan = lakescan.open(table.path).changes(0).scan().filter("id < 50").select("id", "_change_type").build()
    found = sorted((row["_change_type"], row["id"]) for row in scan.to_arrow().to_pylist())
    assert found == [("delete", 3), *[("insert", at) for at in range(10)]]
    assert scan.report().files_planned == 2


def test_a_limit_counts_no_row_that_did_not_change(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    first = table.append(_rows(*range(10)))
    table.delete(first, {3})
    table.append(_rows(50, 51))
    scan = lakescan.open(table.path).changes(2).scan().limit(3).build()
    assert scan.to_arrow().num_rows == 3


def test_the_time_of_a_change_is_the_commits_own_or_its_files(tmp_path: Path) -> None:
    own = {**ON, "delta.enableInCommitTimestamps": "true"}
    table = DeltaBuilder(tmp_path / "t", SCHEMA, properties=own)
    table.commit({"commitInfo": {"inCommitTimestamp": 1_600_000_000_123}}, table.add(_rows(0)))
    found = lakescan.open(table.path).changes(1).to_arrow()["_commit_timestamp"].to_pylist()
    assert [moment.isoformat() for moment in found] == ["2020-09-13T12:26:40.123000+00:00"]


# Ranges


def _timed(tmp_path: Path) -> tuple[DeltaBuilder, list[datetime]]:
    table = _feed(tmp_path / "t")
    for at in range(3):
        table.append(_rows(at))
    times = [datetime(2024, 1, 1 + at, tzinfo=timezone.utc) for at in range(4)]
    for version, time in enumerate(times):
        file = table.log / f"{version:020d}.json"
        os.utime(file, (time.timestamp(), time.timestamp()))
    return table, times


def test_a_range_of_times_has_the_commits_from_the_first_not_before_to_the_last_not_after(tmp_path: Path) -> None:
    table, times = _timed(tmp_path)
    hour = timedelta(hours=1)
    open_ = lakescan.open(table.path)

    def versions(start: Any, end: Any = None) -> tuple[int, int]:
        found = open_.changes(start, end)
        return found.start, found.end

    assert versions(times[1], times[2]) == (1, 2)
    assert versions(times[1] - hour, times[2] + hour) == (1, 2)
    assert versions(times[1] + hour) == (2, 3)
    assert versions("2023-01-01", "2024-01-02T12:00:00") == (0, 1)
    assert versions("1", times[3]) == (1, 3)
    with pytest.raises(VersionNotFound, match="after its newest"):
        versions(times[3] + hour)
    with pytest.raises(VersionNotFound, match="after its newest"):
        versions(0, times[3] + hour)
    with pytest.raises(VersionNotFound, match="before its first"):
        versions(0, times[0] - hour)


@pytest.mark.parametrize(("start", "end"), [(4, None), (0, 9), (-1, 2), (2, 1)])
def test_a_range_outside_the_log_is_an_error_that_names_the_log(tmp_path: Path, start: int, end: int | None) -> None:
    table, _ = _timed(tmp_path)
    with pytest.raises(VersionNotFound, match="0 to 3"):
        lakescan.open(table.path).changes(start, end)


@pytest.mark.parametrize("start", ["yesterday", 1.5, True, None])
def test_a_start_that_is_neither_version_nor_time_is_refused(tmp_path: Path, start: Any) -> None:
    table, _ = _timed(tmp_path)
    with pytest.raises(InvalidVersion):
        lakescan.open(table.path).changes(start)


def test_a_range_with_the_feed_off_in_any_version_is_refused(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    table.append(_rows(0))
    table.properties = {**ON, "delta.enableChangeDataFeed": "false"}
    table.commit(table.metadata())
    table.properties = dict(ON)
    table.commit(table.metadata())
    table.append(_rows(1))
    open_ = lakescan.open(table.path)
    assert _changes(table, 0, 1) == [("insert", 0, 1)]
    assert _changes(table, 3) == [("insert", 1, 4)]
    for start, end in [(0, 2), (2, 4), (1, 3), (2, 2)]:
        with pytest.raises(ChangesNotRecorded, match="at version 2 "):
            open_.changes(start, end)


# Schemas


def _evolved(table: DeltaBuilder, schema: pa.Schema) -> None:
    table.schema = spark_schema(schema)
    table.commit(table.metadata())


def test_rows_from_before_a_column_was_added_have_null_in_it(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    table.append(_rows(0))
    _evolved(table, SCHEMA.append(pa.field("w", pa.int32())))
    table.append(_rows(1).append_column("w", pa.array([5], pa.int32())))
    found = lakescan.open(table.path).changes(0).to_arrow().to_pylist()
    assert sorted((row["id"], row["w"]) for row in found) == [(0, None), (1, 5)]
    # A range that ends before the change has the schema of its own end.
    assert "w" not in lakescan.open(table.path).changes(0, 1).schema.names


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (pa.schema([("id", pa.int64())]), "the column v was dropped"),
        (pa.schema([("id", pa.int32()), ("v", pa.string())]), "the column id was int64 and is int32"),
        (pa.schema([("id", pa.string()), ("v", pa.string())]), "the column id was int64 and is string"),
        (pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())]), "the column id could be null"),
    ],
)
def test_a_change_of_schema_that_loses_values_is_refused_by_name(tmp_path: Path, schema: pa.Schema, why: str) -> None:
    table = _feed(tmp_path / "t")
    table.append(_rows(0))
    _evolved(table, schema)
    open_ = lakescan.open(table.path)
    with pytest.raises(IncompatibleChanges, match=f"since version 0 {why}"):
        open_.changes(0)
    assert open_.changes(0, 1).to_arrow().num_rows == 1
    assert open_.changes(2).to_arrow().num_rows == 0


def test_a_new_partitioning_inside_the_range_is_refused(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    table.append(_rows(0))
    table.partition_by = ["v"]
    table.commit(table.metadata())
    with pytest.raises(IncompatibleChanges, match="the partition columns were none and are v"):
        lakescan.open(table.path).changes(0)


def test_a_removed_file_whose_partition_is_not_in_the_log_is_refused(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t", partition_by=["v"])
    added = table.append(_rows(0).drop(["v"]), partition={"v": "x"})
    table.commit(table.remove(added))
    with pytest.raises(UnsupportedFeature, match="partition values of a removed file"):
        lakescan.open(table.path).changes(0).to_arrow()


def test_a_column_with_a_name_of_the_feed_is_refused(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("_Change_Type", pa.string())]), properties=ON)
    with pytest.raises(UnsupportedFeature, match="_change_type"):
        lakescan.open(table.path).changes(0)


def test_a_feature_that_came_and_went_inside_the_range_is_refused_by_name(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    plain = table.protocol()
    odd = json.loads(json.dumps(plain).replace("deletionVectors", "someFutureFeature"))
    table.commit(odd)
    table.commit(plain)
    with pytest.raises(UnsupportedFeature, match="someFutureFeature"):
        lakescan.open(table.path).changes(0)


def test_a_change_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    table = _feed(tmp_path / "t")
    written = table.add(_rows(1).append_column("_change_type", pa.array(["insert"])), name="_change_data/c.parquet")
    table.commit({"cdc": written["add"]})
    (table.root / "_change_data/c.parquet").unlink()
    with pytest.raises(MissingDataFile, match="_change_data/c.parquet"):
        lakescan.open(table.path).changes(0).to_arrow()
