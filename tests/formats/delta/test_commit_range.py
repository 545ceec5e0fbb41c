"""`table.commits`: each commit with the protocol and metadata of its own version."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import MissingCommit, UnsupportedFeature, VersionNotFound
from lakescan.formats.delta.table import DeltaTable
from lakescan.io.storage import Storage
from lakescan.predicate import Column
from tests.tables import DeltaBuilder


def delta(path: str) -> DeltaTable:
    return DeltaTable(Storage.at(path))


def ids(first: int, last: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, last + 1), pa.int64())})


def mapped_at_two(root: Path) -> DeltaBuilder:
    """0: a plain table; 1: a file; 2: column mapping is switched on and a file added under it."""
    built = DeltaBuilder(root, pa.schema([("id", pa.int64())]))
    built.append(ids(0, 9))
    built.map_columns("name")
    added = built.add(ids(10, 19))
    built.commit(built.protocol(), built.metadata(), added)
    return built


def test_each_commit_has_the_metadata_of_its_own_version(tmp_path: Path) -> None:
    built = mapped_at_two(tmp_path)
    built.append(ids(20, 29))
    commits = list(delta(built.path).commits(0))
    assert [commit.version for commit in commits] == [0, 1, 2, 3]
    assert [commit.metadata.mapping_mode for commit in commits] == ["none", "none", "name", "name"]
    assert [commit.protocol.reader_version for commit in commits] == [1, 1, 3, 3]
    assert [commit.changes_state for commit in commits] == [True, False, True, False]
    assert commits[1].metadata.physical_schema.names == ["id"]
    assert commits[3].metadata.physical_schema.names != ["id"]


def test_statistics_are_read_with_the_names_of_their_own_version(tmp_path: Path) -> None:
    built = mapped_at_two(tmp_path)
    bounds = []
    for commit in delta(built.path).commits(1, 2):
        statistics = commit.statistics(commit.adds, [Column(("id",))]).to_pylist()[0]
        bounds.append((statistics["minimum"]["id"], statistics["maximum"]["id"]))
    assert bounds == [(0, 9), (10, 19)]


def test_a_range_that_starts_in_the_middle_begins_with_the_snapshot_there(tmp_path: Path) -> None:
    built = mapped_at_two(tmp_path)
    built.append(ids(20, 29))
    commits = list(delta(built.path).commits(3))
    assert [commit.version for commit in commits] == [3]
    assert commits[0].metadata.mapping_mode == "name"
    assert not commits[0].changes_state


def test_file_actions_come_in_the_commits_order_with_their_flags(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64()), ("day", pa.date32())]), partition_by=["day"])
    first = built.append(ids(0, 9), partition={"day": "2024-01-01"})
    second = built.add(ids(0, 9), partition={"day": "2024-01-01"})
    second["add"]["dataChange"] = False
    removed = built.remove(first)
    removed["remove"]["dataChange"] = False
    cdc = {"cdc": {"path": "_change_data/c.parquet", "partitionValues": {"day": "2024-01-01"}, "size": 7}}
    built.commit({"commitInfo": {"operation": "OPTIMIZE"}}, removed, second, cdc)
    append, optimize = delta(built.path).commits(1)
    assert append.adds["data_change"].to_pylist() == [True]
    assert append.removes.num_rows == append.cdc.num_rows == 0
    assert optimize.info["operation"] == "OPTIMIZE"
    assert optimize.adds["data_change"].to_pylist() == [False]
    assert optimize.removes["data_change"].to_pylist() == [False]
    assert optimize.removes["partition"].to_pylist() == [None]
    assert optimize.cdc["path"].to_pylist() == ["_change_data/c.parquet"]
    assert str(optimize.cdc["partition"].to_pylist()[0]["day"]) == "2024-01-01"


def test_times_never_fall_and_in_commit_times_win_where_they_are_on(tmp_path: Path) -> None:
    import os

    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    built.append(ids(0, 1))
    built.properties["delta.enableInCommitTimestamps"] = "true"
    built.commit({"commitInfo": {"inCommitTimestamp": 77_000}}, built.metadata())
    for version, seconds in ((0, 50), (1, 40), (2, 90)):
        os.utime(built.log / f"{version:020d}.json", (seconds, seconds))
    assert [commit.timestamp_ms for commit in delta(built.path).commits(0)] == [50_000, 50_001, 77_000]


def test_a_range_outside_the_log_names_the_commits_there_are(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    built.append(ids(0, 1))
    with pytest.raises(VersionNotFound, match="commits 0 to 1"):
        delta(built.path).commits(1, 2)
    with pytest.raises(VersionNotFound, match="commits 0 to 1"):
        delta(built.path).commits(2)


def test_a_commit_missing_in_the_middle_is_named(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    for at in range(4):
        built.append(ids(at, at))
    (built.log / f"{2:020d}.json").unlink()
    with pytest.raises((MissingCommit, VersionNotFound), match="2"):
        delta(built.path).commits(1, 4)


def test_a_feature_that_comes_into_force_on_the_way_is_refused_by_name(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    built.append(ids(0, 1))
    features = ["futureThing"]
    named = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    built.commit({"protocol": named})
    walked = iter(delta(built.path).commits(0))
    assert [next(walked).version, next(walked).version] == [0, 1]
    with pytest.raises(UnsupportedFeature, match="futureThing"):
        next(walked)


def test_actions_are_not_parsed_until_they_are_asked_for(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    built.commit(built.add(ids(0, 1)))
    file = built.log / f"{1:020d}.json"
    file.write_text(json.dumps({"add": {"path": 5}}))
    commit = list(delta(built.path).commits(0))[1]
    with pytest.raises(lakescan.errors.CorruptLog):
        _ = commit.adds
