"""A data file that is not what the log, or the file itself, says it is gives an error by name, never other rows."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakescan
from lakescan.errors import CorruptDataFile, NotAFile, NotEnoughMemory
from lakescan.reader.file_checks import named_damage
from tests.parquet_bytes import Footer, thrift_file
from tests.tables import DeltaBuilder, open_delta

ROWS = pa.table({"a": range(30), "s": [f"text {n}" for n in range(30)]})


def rows_of(table: DeltaBuilder) -> pa.Table:
    return lakescan.open(table.path).snapshot().scan().build().to_arrow()


def one_file(root: Path, rows: pa.Table = ROWS, **arguments: Any) -> tuple[DeltaBuilder, Path]:
    table = DeltaBuilder(root, rows.schema)
    table.append(rows, name="f.parquet", **arguments)
    return table, root / "f.parquet"


def test_a_file_replaced_by_one_of_another_size_is_an_error_that_names_both_sizes(tmp_path: Path) -> None:
    table, file = one_file(tmp_path, stats=False)
    before = file.stat().st_size
    pq.write_table(ROWS.slice(0, 20), file)
    with pytest.raises(CorruptDataFile, match=f"{file}.*{file.stat().st_size} bytes and the log says {before}"):
        rows_of(table)


def test_a_file_with_other_rows_than_the_log_says_is_an_error_however_it_is_asked(tmp_path: Path) -> None:
    table, file = one_file(tmp_path, stats={"numRecords": 31})
    scan = lakescan.open(table.path).snapshot().scan()
    for asked in (scan, scan.select("s"), scan.filter("a >= 10"), scan.limit(3)):
        with pytest.raises(CorruptDataFile, match=f"{file}.*30 rows and the log says 31"):
            asked.build().to_arrow()


@pytest.mark.parametrize("stats", [False, {}, {"numRecords": None}, "no JSON", {"minValues": {"numRecords": 7}}])
def test_where_the_log_does_not_say_how_many_rows_a_file_has_it_is_read(tmp_path: Path, stats: Any) -> None:
    table, _ = one_file(tmp_path, stats=stats)
    assert rows_of(table).equals(ROWS)


def test_every_piece_of_a_file_is_held_against_the_whole_files_rows(tmp_path: Path) -> None:
    rows = pa.table({"a": range(200_000)})
    for said in (200_000, 200_001):
        table, _ = one_file(tmp_path / str(said), rows, stats={"numRecords": said}, row_group_size=1000)
        scan = lakescan.open(table.path).snapshot().scan().build()
        scan.pack(scan.planned.files, 4, 1 << 18)
        if said == rows.num_rows:
            assert rows_of(table)["a"].to_pylist() == list(range(200_000))
            continue
        with pytest.raises(CorruptDataFile, match="200000 rows and the log says 200001"):
            rows_of(table)


def test_skipped_row_groups_and_a_limit_are_no_lost_rows(tmp_path: Path) -> None:
    table, _ = one_file(tmp_path, row_group_size=10)
    scan = lakescan.open(table.path).snapshot().scan()
    assert scan.filter("a >= 20").build().to_arrow()["a"].to_pylist() == list(range(20, 30))
    assert scan.limit(4).build().to_arrow().num_rows == 4


# Footers that contradict themselves: what the file says, the group says, the column says.
@pytest.mark.parametrize(
    ("footer", "why"),
    [
        (Footer(file_rows=30, group_rows=20, column_values=20), "30 rows and its row groups have 20"),
        (Footer(file_rows=20, group_rows=30, column_values=30), "20 rows and its row groups have 30"),
        (Footer(file_rows=-1, group_rows=-1, column_values=-1), "-1 rows"),
        (Footer(file_rows=30, group_rows=30, column_values=20), "20 values for 30 rows"),
        (Footer(file_rows=20, group_rows=20, column_values=30), "30 values for 20 rows"),
        (Footer(file_rows=1 << 60, group_rows=1 << 60, column_values=1 << 60), "cannot have"),
    ],
)
@pytest.mark.parametrize("columns", [["a"], []])
def test_a_footer_whose_counts_do_not_add_up_is_an_error(
    tmp_path: Path, footer: Footer, why: str, columns: list[str]
) -> None:
    table, file = one_file(tmp_path, pa.table({"a": range(30)}), stats=False)
    file.write_bytes(thrift_file(footer, page_values=30))
    _resize(table, file)
    with pytest.raises(CorruptDataFile, match=f"{file}.*{why}"):
        lakescan.open(table.path).snapshot().scan().select(*columns).build().to_arrow()


def test_a_column_of_another_type_than_the_files_schema_has_is_an_error(tmp_path: Path) -> None:
    table, file = one_file(tmp_path, pa.table({"a": range(30)}), stats=False)
    # The first fields of a column's metadata: a structure, in it the type, and a list of encodings.
    begins = b"\x1c\x15\x04\x19"
    assert file.read_bytes().count(begins) == 1
    file.write_bytes(file.read_bytes().replace(begins, b"\x1c\x15\x00\x19"))
    scan = lakescan.open(table.path).snapshot().scan()
    for asked in (scan, scan.filter("a > 3")):
        with pytest.raises(CorruptDataFile, match=f"{file}.*does not match"):
            asked.build().to_arrow()


# Arrow ends the process where it is asked for some of a damaged footer's columns, so this is a process of its own.
SWEEP = """
import sys
from pathlib import Path
import lakescan
from lakescan.errors import LakescanError
path, file = sys.argv[1], Path(sys.argv[2])
good = file.read_bytes()
begins = len(good) - 8 - int.from_bytes(good[-8:-4], "little")
rows = {}
for at in range(begins, len(good) - 8, 5):
    for value in (0, good[at] ^ 16):
        file.write_bytes(good[:at] + bytes([value]) + good[at + 1:])
        scan = lakescan.open(path).snapshot().scan()
        for name, asked in (("filter", scan.filter("a >= 3")), ("rows", scan), ("struct", scan.select("s"))):
            try:
                outcome = asked.build().to_arrow().num_rows
            except LakescanError as error:
                outcome = type(error).__name__
            rows.setdefault(name, set()).add(outcome)
print(rows)
"""


def test_no_byte_of_a_footer_ends_the_process_or_loses_rows(tmp_path: Path) -> None:
    rows = pa.table({"a": range(9), "s": pa.array([{"x": "text", "y": [n]} for n in range(9)])})
    table, file = one_file(tmp_path, rows, row_group_size=5, store_schema=False)
    ran = subprocess.run(
        [sys.executable, "-c", SWEEP, table.path, str(file)], capture_output=True, text=True, timeout=400, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    outcomes = eval(ran.stdout)
    # What a footer's statistics say of a filter nothing else can tell.
    for name in ("rows", "struct"):
        assert {count for count in outcomes[name] if isinstance(count, int)} == {9}, outcomes
    assert "CorruptDataFile" in outcomes["filter"]


def test_pages_with_other_rows_than_the_footer_says_are_an_error(tmp_path: Path) -> None:
    table, file = one_file(tmp_path, pa.table({"a": range(30)}), stats=False)
    file.write_bytes(thrift_file(Footer(31, 31, 31), page_values=30))
    _resize(table, file)
    with pytest.raises(CorruptDataFile, match=str(file)):
        rows_of(table)


def _resize(table: DeltaBuilder, file: Path) -> None:
    """The log says the file's present size."""
    commit = table.log / f"{table.version:020d}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["size"] = file.stat().st_size
    commit.write_text("\n".join(map(json.dumps, lines)) + "\n")


def test_the_files_that_these_tests_write_by_hand_are_right_where_their_counts_are(tmp_path: Path) -> None:
    table, file = one_file(tmp_path, pa.table({"a": range(30)}), stats=False)
    file.write_bytes(thrift_file(Footer(30, 30, 30), page_values=30))
    _resize(table, file)
    assert rows_of(table)["a"].to_pylist() == [7] * 30


@pytest.mark.parametrize("encoding", [True, False])
def test_a_page_that_is_not_what_its_checksum_says_is_an_error(tmp_path: Path, encoding: bool) -> None:
    rows = pa.table({"a": [n % 100 for n in range(10_000)]})
    options = {"compression": "none", "use_dictionary": encoding, "write_page_checksum": True}
    table, file = one_file(tmp_path, rows, **options)
    content = bytearray(file.read_bytes())
    assert rows_of(table).equals(rows)
    chunk = pq.ParquetFile(file).metadata.row_group(0).column(0)
    # Pages' headers, between them, have no checksum.
    end = (chunk.dictionary_page_offset or chunk.data_page_offset) + chunk.total_compressed_size
    for at in [*range(end - 8000, end, 997), *([300] if encoding else [])]:
        damaged = bytearray(content)
        damaged[at] ^= 1
        file.write_bytes(damaged)
        with pytest.raises(CorruptDataFile, match=str(file)):
            rows_of(table)


def test_a_checkpoint_page_that_is_not_what_its_checksum_says_is_not_used(tmp_path: Path) -> None:
    table, _ = one_file(tmp_path)
    (checkpoint,) = table.checkpoint()
    pq.write_table(pq.read_table(checkpoint), checkpoint, compression="none", write_page_checksum=True)
    content = checkpoint.read_bytes()
    assert b"f.parquet" in content
    checkpoint.write_bytes(content.replace(b"f.parquet", b"g.parquet"))
    with pytest.warns(lakescan.errors.CheckpointIgnored, match="(?i)crc"):
        assert rows_of(table).equals(ROWS)


@pytest.mark.parametrize("make", ["pipe", "folder", "socket"])
def test_only_regular_files_are_opened(tmp_path: Path, make: str) -> None:
    table, file = one_file(tmp_path)
    file.unlink()
    makers: dict[str, Callable[[], object]] = {"pipe": lambda: os.mkfifo(file), "folder": file.mkdir}
    if make == "socket":
        with socket.socket(socket.AF_UNIX) as listening, _inside(tmp_path):
            listening.bind("f.parquet")
    else:
        makers[make]()
    with pytest.raises(NotAFile, match=f"{file} is no regular file"):
        rows_of(table)


class _inside:
    """In this folder: a socket's path must be short."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.before = folder, os.getcwd()

    def __enter__(self) -> None:
        os.chdir(self.folder)

    def __exit__(self, *_: object) -> None:
        os.chdir(self.before)


@pytest.mark.parametrize("storage", ["u", "i"])
def test_a_deletion_vector_that_names_rows_beyond_the_file_is_an_error(tmp_path: Path, storage: str) -> None:
    table = DeltaBuilder(tmp_path, ROWS.schema, features=["deletionVectors"])
    added = table.append(ROWS, name="f.parquet")
    table.delete(added, [1, 30], storage)
    with pytest.raises(CorruptDataFile, match="30 rows and its deletion vector names row 31"):
        rows_of(table)
    with pytest.raises(CorruptDataFile, match="row 31"):
        lakescan.open(table.path).snapshot().scan().filter("a > 5").build().to_arrow()


def test_changes_of_rows_beyond_the_file_are_an_error(tmp_path: Path) -> None:
    properties = {"delta.enableChangeDataFeed": "true"}
    table = DeltaBuilder(tmp_path, ROWS.schema, features=["deletionVectors"], properties=properties)
    added = table.append(ROWS, name="f.parquet")
    table.delete(added, [1, 30])
    with pytest.raises(CorruptDataFile, match="row 31"):
        open_delta(table.path).changes(2, 2).to_arrow()


def test_names_that_are_no_utf8_are_damage(tmp_path: Path) -> None:
    rows = pa.table({"column": range(30)})
    table, file = one_file(tmp_path, rows, store_schema=False)
    file.write_bytes(file.read_bytes().replace(b"column", b"col\xffmn"))
    with pytest.raises(CorruptDataFile, match=str(file)):
        rows_of(table)


@pytest.mark.parametrize(
    "error",
    [
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        OverflowError("too large"),
        pa.ArrowNotImplementedError("encoding"),
        OSError("Unexpected end of stream"),
        pa.ArrowIndexError("index"),
    ],
)
def test_what_readers_raise_on_damage_is_an_error_that_names_the_file(error: Exception) -> None:
    with pytest.raises(CorruptDataFile, match=r"data/f\.parquet"), named_damage("data/f.parquet"):
        raise error


def test_a_failure_of_the_store_and_errors_of_ours_are_not_called_damage() -> None:
    with pytest.raises(lakescan.errors.StorageFailure), named_damage("s3://bucket/f.parquet"):
        raise OSError("When reading information: AWS Error NETWORK_CONNECTION during GetObject operation")
    with pytest.raises(NotAFile), named_damage("f.parquet"):
        raise NotAFile("f.parquet")


def test_memory_that_runs_out_is_not_called_damage() -> None:
    with pytest.raises(NotEnoughMemory, match=r"f\.parquet.*to_batches"), named_damage("f.parquet"):
        raise pa.ArrowMemoryError("malloc of size 64 failed")


CONSTANTS = """
import resource, sys
import lakescan
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
rows = 0
for batch in lakescan.open(sys.argv[1]).snapshot().scan().build().to_batches():
    rows += batch.num_rows
print(rows)
"""


def test_a_small_file_of_very_many_rows_is_read_in_bounded_memory(tmp_path: Path) -> None:
    count = 600_000_000
    table = DeltaBuilder(tmp_path, pa.schema([("a", pa.int64())]))
    adds = []
    for name in ("f.parquet", "g.parquet"):
        add = table.add(pa.table({"a": [7]}), name=name, stats={"numRecords": count})
        (tmp_path / name).write_bytes(thrift_file(Footer(count, count, count), page_values=count))
        add["add"]["size"] = (tmp_path / name).stat().st_size
        adds.append(add)
    table.commit(*adds)
    assert (tmp_path / "f.parquet").stat().st_size < 400
    ran = subprocess.run(
        [sys.executable, "-c", CONSTANTS, table.path], capture_output=True, text=True, timeout=300, check=False
    )
    assert (ran.stdout.strip(), ran.returncode) == (str(2 * count), 0), ran.stderr[-2000:]
