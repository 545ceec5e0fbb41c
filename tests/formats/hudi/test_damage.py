"""Bytes and fields that lie: each an error that names the file. hudi-rs would end the process, or rows would be lost.

The smallest case of each kind that the fuzzer found (`make fuzz`).
"""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import ColumnStatisticsIgnored, CorruptDataFile, CorruptLog, LakescanError
from lakescan.reader.aggregation import Aggregate, Aggregation
from tests.sample_tables import sample_table

from .builder import HudiBuilder
from .test_errors import set_property

Copy = Callable[[str], Path]


@pytest.fixture
def sample(tmp_path: Path) -> Copy:
    """A sample table that the test may damage."""
    return lambda name: sample_table(name).unpack(tmp_path)


def read(table: Path) -> int:
    rows: int = lakescan.open(table).snapshot().scan().build().to_arrow().num_rows
    return rows


def data_logs(table: Path) -> list[Path]:
    logs = [path for path in table.rglob(".*.log.*") if ".hoodie" not in path.parts]
    return sorted(path for path in logs if not path.name.endswith(".crc"))


def commits(table: Path) -> list[Path]:
    folder = table / ".hoodie" / "timeline" if (table / ".hoodie" / "timeline").exists() else table / ".hoodie"
    return sorted(path for path in folder.iterdir() if path.name.endswith("commit"))


def put(file: Path, at: int, given: bytes) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:at] + given + content[at + len(given) :])


@pytest.mark.parametrize("at", [18, 22, 26, 30])
@pytest.mark.parametrize("value", [b"\x40", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"])
@pytest.mark.parametrize("name", ["logs_v6", "logs_v8"])
def test_a_log_block_that_claims_to_be_huge_does_not_end_the_process(
    name: str, value: bytes, at: int, sample: Copy
) -> None:
    """The format's version, the block's kind, how many headers there are, the first one's number and length."""
    table = sample(name)
    put(data_logs(table)[0], at, value)
    with pytest.raises(LakescanError, match=r"\.log\."):
        read(table)


def test_no_number_of_a_log_block_is_believed(sample: Copy) -> None:
    """Wherever it stands: counts, lengths, what values are made of."""
    table = sample("logs_v8")
    for log in data_logs(table):
        content = log.read_bytes()
        for at in range(0, len(content) - 4, 67):
            put(log, at, b"\x7f\xff\xff\xff")
            with suppress(LakescanError):
                read(table)
            log.write_bytes(content)


@pytest.mark.parametrize("name", ["logs_v8", "log_only_v9", "key_twice_avro", "key_twice_parquet"])
def test_a_log_file_without_the_records_that_a_commit_wrote_is_an_error(name: str, sample: Copy) -> None:
    table = sample(name)
    for log in data_logs(table):
        content = log.read_bytes()
        log.write_bytes(b"")
        with pytest.raises(CorruptDataFile, match=r"it has 0 records of \d+, whose commit wrote \d"):
            read(table)
        log.write_bytes(content)
    assert read(table)


def test_records_of_another_instant_are_not_those_of_the_commit(sample: Copy) -> None:
    table = sample("logs_v6")
    log = data_logs(table)[0]
    instant = commits(table)[-1].name.split(".")[0].encode()
    log.write_bytes(log.read_bytes().replace(instant, b"2" + b"9" * 16))
    with pytest.raises(CorruptDataFile, match="it has 0 records"):
        read(table)


def test_a_base_file_with_fewer_rows_than_its_commit_wrote_is_an_error_where_it_is_merged(sample: Copy) -> None:
    table = sample("logs_v8")
    slice_ = next(file for file in lakescan.open(table).snapshot().files().to_pylist() if file["merged_with"])
    other = next(path for path in sorted(table.rglob("*.parquet")) if path.name not in slice_["path"])
    shutil.copy(other, table / slice_["path"])
    with pytest.raises(CorruptDataFile, match=r"its commit wrote|bytes"):
        read(table)


@pytest.mark.parametrize("name", ["logs_v6", "logs_v8"])
def test_a_base_file_in_place_of_another_is_an_error(name: str, sample: Copy) -> None:
    table = sample(name)
    alone = next(
        file["path"] for file in lakescan.open(table).snapshot().files().to_pylist() if not file["merged_with"]
    )
    other = next(path for path in sorted(table.rglob("*.parquet")) if path.name not in alone)
    shutil.copy(other, table / alone)
    with pytest.raises(CorruptDataFile, match=r"has \d+ bytes"):
        read(table)


def test_a_page_of_a_merged_base_file_is_checked(sample: Copy) -> None:
    table = sample("logs_v8")
    slice_ = next(file for file in lakescan.open(table).snapshot().files().to_pylist() if file["merged_with"])
    content = (table / slice_["path"]).read_bytes()
    wrong = 0
    for at in range(200, len(content) // 2, 97):
        put(table / slice_["path"], at, bytes([content[at] ^ 1]))
        try:
            read(table)
        except CorruptDataFile:
            wrong += 1
        (table / slice_["path"]).write_bytes(content)
    assert wrong > 10


def test_a_commit_that_claims_a_huge_avro_block_does_not_end_the_process(sample: Copy) -> None:
    table = sample("types_v9")
    newest = commits(table)[-1]
    content = newest.read_bytes()
    mark = content[-16:]
    block = content.index(mark) + len(mark)
    for huge in (b"\xfe\xff\xff\xff\xff\xff\x01", b"\xff\xff\xff\xff\x0f", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"):
        for at in (4, block, block + 1, block + 4):
            newest.write_bytes(content[:at] + huge + content[at + 1 :])
            with pytest.raises(CorruptLog, match=newest.name):
                read(table)


@pytest.mark.parametrize("name", ["logs_v6", "logs_v8"])
def test_no_byte_of_a_commit_is_believed(name: str, sample: Copy) -> None:
    table = sample(name)
    newest = commits(table)[-1]
    content = newest.read_bytes()
    for at in range(0, len(content), 151):
        for value in (b"\xff", b"\x40", b"\x00", b"\xfe\xff\xff\xff\x0f"):
            newest.write_bytes(content[:at] + value + content[at + len(value) :])
            with suppress(LakescanError):
                read(table)


@pytest.mark.parametrize("text", [b"", b"{", b"null", b"[]", b"1", b"\xff\xfe", b"[" * 100_000, b'{"a": "\xff"}'])
def test_a_commit_that_is_no_json_is_an_error(text: bytes, tmp_path: Path) -> None:
    table = HudiBuilder(tmp_path / "table")
    instant = table.upsert(1, _rows())
    (table.path / ".hoodie" / f"{instant}.commit").write_bytes(text)
    with pytest.raises(CorruptLog, match=f"{instant}.commit"):
        read(table.path)


@pytest.mark.parametrize(
    "change",
    [
        {"partitionToWriteStats": "x"},
        {"partitionToWriteStats": {"": 1}},
        {"partitionToWriteStats": {"": [None]}},
        {"partitionToWriteStats": {"": [{}]}},
        {"partitionToWriteStats": {"": [{"fileId": 1, "path": "x"}]}},
        {"partitionToWriteStats": {"": [{"fileId": "x", "path": 1}]}},
        {"partitionToWriteStats": {"": [{"fileId": "x", "path": "x", "numWrites": "1"}]}},
        {"partitionToWriteStats": {"": [{"fileId": "x", "path": "x", "numWrites": -1}]}},
        {"partitionToWriteStats": {"": [{"fileId": "x", "path": "x", "fileSizeInBytes": 2**70}]}},
        {"partitionToReplaceFileIds": {"": 1}},
        {"partitionToReplaceFileIds": {"": [1]}},
        {"extraMetadata": 1},
        {"extraMetadata": {"schema": 1}},
        {"extraMetadata": {"schema": "{"}},
        {"extraMetadata": {"schema": "[]"}},
        {"extraMetadata": {"schema": '{"type": "record", "fields": 1}'}},
        {"extraMetadata": {"schema": '{"type": "record", "fields": [{"name": "a", "type": {"type": {}}}]}'}},
        {"extraMetadata": {"schema": "[" * 100_000}},
        {"extraMetadata": {"schema": '{"type": "record", "fields": [{"name": 1, "type": "int"}]}'}},
        {"extraMetadata": {"schema": '{"type": "record", "fields": [{"name": "\\ud800", "type": "int"}]}'}},
        {"operationType": 1},
    ],
    ids=lambda change: json.dumps(change)[:60],
)
def test_a_field_of_a_commit_that_is_of_another_type_is_an_error(change: dict[str, Any], tmp_path: Path) -> None:
    table = HudiBuilder(tmp_path / "table")
    instant = table.upsert(1, _rows())
    commit = table.path / ".hoodie" / f"{instant}.commit"
    commit.write_text(json.dumps({**json.loads(commit.read_text()), **change}))
    with pytest.raises(CorruptLog, match=instant):
        read(table.path)


def test_a_commit_that_does_not_count_the_rows_of_a_file_leaves_them_to_be_counted(tmp_path: Path) -> None:
    table = HudiBuilder(tmp_path / "table")
    instant = table.upsert(1, _rows())
    commit = table.path / ".hoodie" / f"{instant}.commit"
    commit.write_text(commit.read_text().replace("numWrites", "NUMWRITES"))
    scan = lakescan.open(table.path).snapshot().scan()
    assert scan.build().to_arrow().num_rows == _rows().num_rows
    counted = scan.aggregate(Aggregation((), (Aggregate("count_rows"),))).build().to_arrow()
    assert counted.column(0).to_pylist() == [_rows().num_rows]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hoodie.table.version", "x"),
        ("hoodie.timeline.layout.version", "1.5"),
        ("hoodie.timeline.layout.version", "-1"),
        ("hoodie.timeline.path", "elsewhere"),
        ("hoodie.table.type", "MERGE_ON_REAX"),
        ("hoodie.record.merge.mode", "x"),
        ("hoodie.populate.meta.fields", "x"),
        ("hoodie.datasource.write.hive_style_partitioning", "1"),
    ],
)
def test_a_setting_that_means_nothing_is_an_error(name: str, value: str, sample: Copy) -> None:
    table = sample("logs_v8")
    set_property(table, name, value)
    with pytest.raises(LakescanError, match=r"hoodie\.properties|table version"):
        read(table)


@pytest.mark.parametrize(
    "wrong", ["x", 1, None, [], {"schemas": 1}, {"schemas": [1]}, {"schemas": [{"version_id": 0}]}]
)
def test_a_history_of_schemas_that_is_none_is_an_error(wrong: Any, sample: Copy) -> None:
    table = sample("renamed_parquet")
    file = max((table / ".hoodie" / ".schema").glob("*.schemacommit"))
    file.write_text(json.dumps(wrong))
    with pytest.raises(CorruptLog, match="no history of schemas"):
        read(table)


def test_no_byte_of_the_list_of_files_is_believed(sample: Copy) -> None:
    """hudi-rs reads it before anything else, and believes each length in it."""
    table = sample("logs_v8")
    expected = read(table)
    folder = table / ".hoodie" / "metadata" / "files"
    newest = max(folder.glob("*.hfile"), key=lambda path: path.name.rsplit("_", 1)[-1])
    for file in (newest, *sorted(folder.glob(".*.log.*"))[-2:]):
        content = file.read_bytes()
        for at in range(0, len(content), 1 + len(content) // 30):
            put(file, at, b"\x7f\xff\xff\xff"[: len(content) - at])
            with suppress(LakescanError):
                assert read(table) == expected, (file, at)
            file.write_bytes(content)


def test_an_entry_of_the_column_statistics_in_another_form_is_passed_over_with_a_warning(
    sample: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = sample("logs_v8")
    entry: dict[str, bool] = {}
    monkeypatch.setattr("lakescan.formats.hudi.index.slice_statistics.read_ranges", lambda *_: entry["isDeleted"])
    with pytest.warns(ColumnStatisticsIgnored, match="another form"):
        assert lakescan.open(table).snapshot().scan().filter("id > 0").build().to_arrow().num_rows


def _rows() -> pa.Table:
    return pa.table({"id": pa.array([1, 2], pa.int64()), "v": pa.array([1, 2], pa.int64())})
