"""What a commit changed: change files, added and removed files, and deletion vectors that grow and shrink."""

from pathlib import Path

import pyarrow as pa
import pytest

from lakescan.errors import MissingDataFile, UnsupportedFeature
from tests.formats.delta.feeds import ON, SCHEMA, changes, feed, rows
from tests.tables import DeltaBuilder, open_delta


def test_a_new_deletion_vector_deletes_only_the_rows_that_the_old_one_did_not(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    first = table.append(rows(*range(6)))
    second = table.delete(first, {1})
    table.delete(second, {1, 4, 5}, storage="i")
    assert changes(table, 2, 2) == [("delete", 1, 2)]
    assert changes(table, 3, 3) == [("delete", 4, 3), ("delete", 5, 3)]


def test_rows_that_a_deletion_vector_no_longer_drops_are_inserted(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    first = table.append(rows(*range(6)))
    second = table.delete(first, {1, 2})
    third = table.delete(second, {2, 3})
    table.commit(table.remove(third), first)
    assert changes(table, 3, 3) == [("delete", 3, 3), ("insert", 1, 3)]
    assert changes(table, 4, 4) == [("insert", 2, 4), ("insert", 3, 4)]


def test_a_file_that_comes_or_goes_with_a_deletion_vector_is_its_live_rows(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    added = table.append(rows(0, 1, 2), vector=table.vector({1}))
    table.commit(table.remove(added))
    assert changes(table, 1, 1) == [("insert", 0, 1), ("insert", 2, 1)]
    assert changes(table, 2, 2) == [("delete", 0, 2), ("delete", 2, 2)]


def test_a_path_spelled_with_and_without_its_scheme_is_one_file(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    plain = table.add(rows(0, 1, 2))
    first = {"add": {**plain["add"], "path": f"{table.path}/{plain['add']['path']}"}}
    table.commit(first)
    again = {"add": {**first["add"], "path": f"file://{first['add']['path']}", "deletionVector": table.vector({2})}}
    table.commit(table.remove(first), again)
    assert changes(table, 2) == [("delete", 2, 2)]


def test_files_that_only_moved_rows_changed_nothing(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    first = table.append(rows(0, 1))
    moved, gone = table.add(rows(0, 1)), table.remove(first)
    moved["add"]["dataChange"] = gone["remove"]["dataChange"] = False
    table.commit(moved, gone)
    assert changes(table, 2) == []


def test_a_commit_with_change_files_is_read_from_these_alone(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    first = table.append(rows(0, 1))
    change = rows(1, 1).append_column("_change_type", pa.array(["update_preimage", "update_postimage"]))
    written = table.add(change, name="_change_data/cdc 1.parquet", stats=False)["add"]
    table.commit(table.remove(first), table.add(rows(0, 1)), {"cdc": {**written, "dataChange": False}})
    assert changes(table, 2) == [("update_postimage", 1, 2), ("update_preimage", 1, 2)]


def test_a_merge_that_counts_no_changed_row_changed_none(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    first = table.append(rows(0, 1))
    counts = {"numTargetRowsInserted": "0", "numTargetRowsUpdated": "0", "numTargetRowsDeleted": "0"}
    info = {"commitInfo": {"operation": "MERGE", "operationMetrics": counts}}
    table.commit(info, table.remove(first), table.add(rows(0, 1)))
    assert changes(table, 2) == []


def test_a_filter_on_the_commit_reads_no_other_commits_files(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    for at in range(5):
        table.append(rows(at))
    scan = open_delta(table.path).changes(0).scan().filter("_commit_version >= 4").select("id").build()
    assert sorted(scan.to_arrow()["id"].to_pylist()) == [3, 4]
    assert scan.report().files_planned == 2


def test_a_filter_on_the_kind_of_change_skips_files_of_another_kind(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    first = table.append(rows(0, 1))
    change = rows(0).append_column("_change_type", pa.array(["delete"]))
    written = table.add(change, name="_change_data/cdc.parquet", stats=False)["add"]
    table.commit(table.remove(first), table.add(rows(1)), {"cdc": written})
    scan = open_delta(table.path).changes(0).scan().filter("_change_type = 'delete'").select("id").build()
    assert scan.to_arrow()["id"].to_pylist() == [0]
    # Of a change file only its rows say what they are.
    assert scan.report().files_planned == 1


def test_statistics_skip_files_and_never_a_changed_row(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    first = table.append(rows(*range(10)))
    table.append(rows(*range(100, 110)))
    table.delete(first, {3})
    scan = open_delta(table.path).changes(0).scan().filter("id < 50").select("id", "_change_type").build()
    actual = sorted((row["_change_type"], row["id"]) for row in scan.to_arrow().to_pylist())
    assert actual == [("delete", 3), *[("insert", at) for at in range(10)]]
    assert scan.report().files_planned == 2


def test_a_limit_counts_no_row_that_did_not_change(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    first = table.append(rows(*range(10)))
    table.delete(first, {3})
    table.append(rows(50, 51))
    scan = open_delta(table.path).changes(2).scan().limit(3).build()
    assert scan.to_arrow().num_rows == 3


def test_the_time_of_a_change_is_the_commits_own_or_its_files(tmp_path: Path) -> None:
    own = {**ON, "delta.enableInCommitTimestamps": "true"}
    table = DeltaBuilder(tmp_path / "t", SCHEMA, properties=own)
    table.commit({"commitInfo": {"inCommitTimestamp": 1_600_000_000_123}}, table.add(rows(0)))
    moments = open_delta(table.path).changes(1).to_arrow()["_commit_timestamp"].to_pylist()
    assert [moment.isoformat() for moment in moments] == ["2020-09-13T12:26:40.123000+00:00"]


def test_a_removed_file_whose_partition_is_not_in_the_log_is_refused(tmp_path: Path) -> None:
    table = feed(tmp_path / "t", partition_by=["v"])
    added = table.append(rows(0).drop(["v"]), partition={"v": "x"})
    table.commit(table.remove(added))
    with pytest.raises(UnsupportedFeature, match="partition values of a changed file"):
        open_delta(table.path).changes(0).to_arrow()


def test_a_change_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    written = table.add(rows(1).append_column("_change_type", pa.array(["insert"])), name="_change_data/c.parquet")
    table.commit({"cdc": written["add"]})
    (table.root / "_change_data/c.parquet").unlink()
    with pytest.raises(MissingDataFile, match=r"_change_data/c\.parquet"):
        open_delta(table.path).changes(0).to_arrow()
