"""A version's checksum file proves or refutes what its log says, and never replaces it."""

import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import CheckpointIgnored, ChecksumIgnored, ChecksumMismatch, UnsupportedFeature
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])


def build(root: Path) -> DeltaBuilder:
    table = DeltaBuilder(root, SCHEMA, partition_by=["p"], features=["deletionVectors"])
    for at in range(3):
        added = table.append(pa.table({"id": [10 * at, 10 * at + 1]}), partition={"p": str(at)})
    table.delete(added, [0])
    return table


def ids(table: DeltaBuilder) -> list[int]:
    return sorted(lakescan.open(table.path).snapshot().scan().build().to_arrow()["id"].to_pylist())


def changed(file: Path, **fields: Any) -> None:
    content = {**json.loads(file.read_text()), **fields}
    file.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


def test_a_checksum_that_agrees_changes_nothing(tmp_path: Path) -> None:
    table = build(tmp_path)
    table.checksum()
    assert ids(table) == [0, 1, 10, 11, 21]


def test_partition_columns_misspelt_in_a_checksum_are_refused_and_never_null(tmp_path: Path) -> None:
    table = build(tmp_path)
    file = table.checksum()
    changed(file, metadata={**table.metadata()["metaData"], "partitionColumns": ["q"]})
    with pytest.raises(ChecksumMismatch, match=f"{file} refutes the log {table.log} at version 4: it has the"):
        lakescan.open(table.path).snapshot()


def test_a_feature_that_only_the_log_names_is_refused_whatever_the_checksum_says(tmp_path: Path) -> None:
    table = build(tmp_path)
    older = table.protocol()["protocol"]
    table.features = ["deletionVectors", "somethingNew"]
    table.commit(table.protocol())
    changed(table.checksum(), protocol=older)
    with pytest.raises(UnsupportedFeature, match="somethingNew"):
        lakescan.open(table.path).snapshot()


def test_an_older_protocol_in_a_checksum_refutes_the_log(tmp_path: Path) -> None:
    table = build(tmp_path)
    changed(table.checksum(), protocol={"minReaderVersion": 1, "minWriterVersion": 2})
    with pytest.raises(ChecksumMismatch, match="it has the protocol 1, 2 and the log 3, 7 with deletionVectors"):
        lakescan.open(table.path).snapshot()


@pytest.mark.parametrize("listed", [True, False])
def test_an_add_that_is_gone_from_the_log_is_missed(listed: bool, tmp_path: Path) -> None:
    table = build(tmp_path)
    file = table.checksum()
    if not listed:
        changed(file, allFiles=None)
    commit = table.log / f"{2:020d}.json"
    commit.write_text('{"commitInfo": {}}\n')
    why = "it lists part-00002.parquet and the log does not" if listed else "it counts 3 files and the log 2"
    with pytest.raises(ChecksumMismatch, match=why):
        lakescan.open(table.path).snapshot().files()


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"tableSizeBytes": 1}, "it counts 1 bytes in its files and the log"),
        ({"numDeletedRecordsOpt": 2}, "it counts 2 deleted rows and the log 1"),
        ({"numDeletionVectorsOpt": 0}, "it counts 0 deletion vectors and the log 1"),
        ({"fileSizeHistogram": {"sortedBinBoundaries": [0, 9], "fileCounts": [3, 0], "totalBytes": [9, 0]}}, "sizes"),
    ],
)
def test_every_count_is_compared(fields: dict[str, Any], why: str, tmp_path: Path) -> None:
    table = build(tmp_path)
    changed(table.checksum(), **fields)
    with pytest.raises(ChecksumMismatch, match=why):
        lakescan.open(table.path).snapshot().files()


def test_a_file_with_another_partition_value_than_the_checksum_lists_is_refused(tmp_path: Path) -> None:
    table = build(tmp_path)
    table.checksum()
    commit = table.log / f"{2:020d}.json"
    commit.write_text(commit.read_text().replace('"p": "1"', '"p": "7"'))
    with pytest.raises(ChecksumMismatch, match=r"the partition column p of part-00002\.parquet"):
        lakescan.open(table.path).snapshot().files()


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', '{"numFiles": "many"}', '{"metadata": [1]}', "[" * 100_000])
def test_a_damaged_checksum_proves_nothing_and_stops_nobody(text: str, tmp_path: Path) -> None:
    table = build(tmp_path)
    table.checksum().write_text(text)
    with pytest.warns(ChecksumIgnored, match=r"\.crc is not used"):
        assert ids(table) == [0, 1, 10, 11, 21]


@pytest.mark.parametrize("text", ["{}", '{"protocol": {}, "metadata": {}}', '{"numFiles": 3, "somethingNew": []}'])
def test_what_a_checksum_does_not_say_is_not_compared(text: str, tmp_path: Path) -> None:
    table = build(tmp_path)
    table.checksum().write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ids(table) == [0, 1, 10, 11, 21]


def test_a_checkpoint_that_the_checksum_refutes_is_passed_over_where_the_commits_are_right(tmp_path: Path) -> None:
    table = build(tmp_path)
    lost = table.log / f"{2:020d}.json"
    kept = lost.read_text()
    lost.write_text('{"commitInfo": {}}\n')
    table.checkpoint()
    lost.write_text(kept)
    table.checksum()
    with pytest.warns(CheckpointIgnored, match="it lists part-00002.parquet and the log does not"):
        assert ids(table) == [0, 1, 10, 11, 21]
    table.clean_log(4)
    table.version -= 1
    with pytest.raises(ChecksumMismatch):
        ids(table)
