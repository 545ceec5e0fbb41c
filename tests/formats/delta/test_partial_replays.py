"""A limit reads no more of a long log than names files enough: which files and row groups of the log are read is shown.

What counts as long is made small here, so that a table of a few files has a long log.
"""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakescan
from lakescan.errors import CheckpointIgnored
from lakescan.formats.delta.log import checkpoint
from lakescan.formats.delta.log import replay as delta_replay
from lakescan.io.storage import Storage
from lakescan.scan.plan import Plan
from lakescan.scan.snapshot import Snapshot
from lakescan.spark.dsv2.metrics import metrics
from lakescan.types.columns import member
from tests.strategies import many
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.int32())])
FIRST_ROWS = 4


@pytest.fixture(autouse=True, scope="module")
def _short_is_long() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delta_replay, "_NEWEST_COMMITS", 2)
        patch.setattr(delta_replay, "_FIRST_ROWS", FIRST_ROWS)
        patch.setattr(delta_replay, "_MANY_ROWS", 3 * FIRST_ROWS)
        patch.setattr(checkpoint, "_BATCH_ROWS", 2)
        yield


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    return DeltaBuilder(tmp_path, SCHEMA, partition_by=["p"], features=["deletionVectors"])


def rows(first: int, count: int = 10) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64())})


def append(table: DeltaBuilder, first: int, count: int = 10, p: int = 0, **how: Any) -> dict[str, Any]:
    return table.append(rows(first, count), partition={"p": str(p)}, **how)


def long_table(table: DeltaBuilder, **how: Any) -> list[dict[str, Any]]:
    """Twenty files in a checkpoint of row groups of two actions; gives their adds in the checkpoint's order."""
    adds = [table.add(rows(10 * at), partition={"p": str(at % 3)}) for at in range(20)]
    table.commit(*adds)
    table.checkpoint(row_group_size=2, **how)
    return adds


class Opened:
    """Which files of the log were opened, and which bytes of them were read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes: dict[str, set[int]] = {}
        opened = self

        class Spy:
            closed = False

            def __init__(self, file: pa.NativeFile, name: str) -> None:
                self._file, self._read = file, opened.bytes.setdefault(name, set())
                # Threads read side by side, and Arrow looks for the size of a file of Python's by going to its end.
                self._of_thread = threading.local()

            def read(self, count: int = -1) -> bytes:
                start = self.tell()
                content: bytes = self._file.read_at(count if count >= 0 else self._file.size() - start, start)
                self.seek(start + len(content))
                # A Parquet file's footer is read with all that stands before it in the last 64 KiB.
                if start + len(content) < self._file.size():
                    self._read.update(range(start, start + len(content)))
                return content

            def seek(self, to: int, whence: int = os.SEEK_SET) -> int:
                begin = {os.SEEK_SET: 0, os.SEEK_CUR: self.tell(), os.SEEK_END: self._file.size()}[whence]
                self._of_thread.place = begin + to
                return self.tell()

            def tell(self) -> int:
                return int(getattr(self._of_thread, "place", 0))

            def close(self) -> None:
                self._file.close()

            def readable(self) -> bool:
                return True

        plain = Storage.open
        monkeypatch.setattr(
            Storage, "open", lambda storage, path: pa.PythonFile(Spy(plain(storage, path), Path(path).name), mode="r")
        )

    @property
    def names(self) -> set[str]:
        return set(self.bytes)

    def row_groups(self, file: Path, leaf: str) -> list[int]:
        """The row groups of which that leaf was read."""
        metadata = pq.ParquetFile(file).metadata
        groups = []
        for at in range(metadata.num_row_groups):
            columns = [metadata.row_group(at).column(leaf_at) for leaf_at in range(metadata.num_columns)]
            (column,) = [column for column in columns if column.path_in_schema == leaf]
            if column.data_page_offset in self.bytes[file.name]:
                groups.append(at)
        return groups


def limited(table: DeltaBuilder, count: int, predicate: str | None = None) -> Plan:
    wanted = lakescan.open(table.path).snapshot().scan()
    return (wanted.filter(predicate) if predicate else wanted).limit(count).build()


def names(scan: Plan) -> list[str]:
    return [Path(path).name for path in scan.files()["path"].to_pylist()]


def commit_names(*versions: int) -> set[str]:
    return {f"{version:020d}.json" for version in versions}


def test_where_the_newest_commits_have_rows_enough_older_ones_are_not_read(
    table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(6):
        append(table, 10 * at, name=f"{at}.parquet")
    # The metadata is the log's own, so the commits back to it are read; here it is among the newest.
    table.commit(table.protocol(), table.metadata())
    append(table, 60, name="6.parquet")
    checksum = table.checksum()
    opened = Opened(monkeypatch)
    scan = limited(table, 7)
    assert names(scan) == ["6.parquet"]
    assert scan.estimates().rows == 10
    assert opened.names == {checksum.name, *commit_names(7, 8)}
    assert scan.to_arrow().num_rows == 7


def test_where_a_commit_after_it_has_rows_enough_nothing_of_a_checkpoint_is_read_but_its_schema(
    table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_table(table)
    (file,) = table.log.glob("*.parquet")
    append(table, 1000, name="newest.parquet")
    table.checksum()
    opened = Opened(monkeypatch)
    assert names(limited(table, 10)) == ["newest.parquet"]
    assert opened.row_groups(file, "add.path") == []


@pytest.mark.parametrize("stats", ["json", "parsed"])
def test_of_a_checkpoint_only_the_first_row_groups_are_read(
    table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch, stats: str
) -> None:
    adds = long_table(table, stats=stats, parsed=pa.schema([("id", pa.int64())]))
    (file,) = table.log.glob("*.parquet")
    opened = Opened(monkeypatch)
    scan = limited(table, 10)
    # Two of the first four actions are the protocol and the metadata.
    assert names(scan)[0] in {add["add"]["path"] for add in adds[:2]}
    assert scan.estimates().rows == 10
    leaf = "add.stats" if stats == "json" else "add.stats_parsed.numRecords"
    assert opened.row_groups(file, "add.path") == opened.row_groups(file, leaf) == [0, 1]
    assert scan.to_arrow().num_rows == 10


def test_protocol_and_metadata_are_looked_for_in_row_groups_that_can_have_them(
    table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_table(table)
    (file,) = table.log.glob("*.parquet")
    opened = Opened(monkeypatch)
    assert lakescan.open(table.path).snapshot().schema.names == ["id", "p"]
    assert opened.row_groups(file, "protocol.minReaderVersion") == [0]
    assert opened.row_groups(file, "metaData.schemaString") == [0]


@pytest.mark.parametrize(("how", "files"), [({"parts": 4}, 2), ({"top": "json", "sidecars": 4}, 2)])
def test_of_a_checkpoint_in_several_files_only_the_first_ones_are_read(
    table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], files: int
) -> None:
    monkeypatch.setattr(delta_replay, "_MANY_ROWS", FIRST_ROWS)
    # The metadata is in the second of the parts.
    long_table(table, **how)
    table.checksum()
    opened = Opened(monkeypatch)
    assert limited(table, 10).planned.files.num_rows == 1
    assert len({name for name in opened.names if "checkpoint" in name}) == files


def test_a_partition_filter_looks_among_the_same_files(table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    adds = long_table(table)
    (file,) = table.log.glob("*.parquet")
    opened = Opened(monkeypatch)
    assert names(limited(table, 3, "p = 1")) == [adds[1]["add"]["path"]]
    assert opened.row_groups(file, "add.path") == [0, 1]
    # None of the files in the partial replay is of this partition.
    assert names(limited(table, 3, "p = 2"))[0] in {add["add"]["path"] for add in adds[2::3]}
    assert limited(table, 3, "p = 2").to_arrow()["p"].to_pylist() == [2, 2, 2]


def test_a_file_that_a_later_commit_removed_fills_nothing(table: DeltaBuilder) -> None:
    adds = long_table(table)
    table.commit(table.remove(adds[0]))
    table.delete(adds[1], range(9))
    scan = limited(table, 5)
    assert names(scan)[0] not in {adds[0]["add"]["path"], adds[1]["add"]["path"]}
    assert scan.to_arrow().num_rows == 5


def test_where_one_of_the_newest_files_does_not_fill_the_limit_the_fewest_of_all_do(table: DeltaBuilder) -> None:
    append(table, 0, 100, name="large.parquet")
    for at in range(8):
        append(table, 1000 + 10 * at, name=f"{at}.parquet")
    assert names(limited(table, 20)) == ["large.parquet"]
    assert limited(table, 20).planned.steps[0].name == "table"
    assert limited(table, 10).planned.steps[0].name == "newest files"


def test_a_report_counts_the_whole_table_and_metrics_only_say_what_was_listed(table: DeltaBuilder) -> None:
    adds = long_table(table)
    scan = limited(table, 10)
    size = sum(add["add"]["size"] for add in adds)
    planned = metrics(scan.planned)
    assert "lakescanFilesTotal" not in planned
    assert planned["lakescanFilesRead"] == 1
    report = scan.report()
    assert (report.files_total, report.bytes_total, report.files_planned) == (20, size, 1)
    assert [step.name for step in report.steps] == ["table", "newest files", "limit"]
    assert metrics(limited(table, 200).planned)["lakescanFilesTotal"] == 20


def test_a_checkpoint_that_breaks_after_its_first_rows_is_passed_over_by_whoever_reads_on(table: DeltaBuilder) -> None:
    append(table, 0, name="a.parquet")
    long_table(table)
    (file,) = table.log.glob("*.parquet")
    content, last = bytearray(file.read_bytes()), pq.ParquetFile(file).metadata.row_group(9)
    for column in map(last.column, range(last.num_columns)):
        start = column.dictionary_page_offset or column.data_page_offset
        content[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    file.write_bytes(content)
    early = limited(table, 10)
    assert early.to_arrow().num_rows == 10
    with pytest.warns(CheckpointIgnored):
        assert limited(table, 300).to_arrow().num_rows == 210
    with pytest.warns(CheckpointIgnored):
        assert early.report().files_total == 21
    assert early.estimates().rows == 10


@dataclass(frozen=True)
class Written:
    """A live file: which ids it was written with, and how many of the first ones are deleted."""

    add: dict[str, Any]
    ids: range
    p: int
    deleted: int = 0

    @property
    def rows(self) -> list[tuple[int, int]]:
        return [(id_, self.p) for id_ in self.ids[self.deleted :]]


CHANGES = st.tuples(st.sampled_from(["add", "add", "add", "remove", "delete"]), st.integers(0, 9), st.integers(0, 4))
FILTERS: dict[str | None, Callable[[int, int], bool]] = {
    None: lambda id_, p: True,
    "p = 1": lambda id_, p: p == 1,
    "p >= 1": lambda id_, p: p >= 1,
    "id < 50": lambda id_, p: id_ < 50,
}


def change(table: DeltaBuilder, live: list[Written], changes: list[tuple[str, int, int]]) -> list[Written]:
    """Commit some changes; gives the files that are live then. A file is changed once a commit at the most."""
    actions: list[dict[str, Any]] = []
    kept = list(live)
    new: list[Written] = []
    for kind, which, count in changes:
        if kind == "add":
            first = 10 * (table.version * 10 + len(new))
            add = table.add(rows(first, count), partition={"p": str(which % 3)}, stats=which != 7)
            new.append(Written(add, range(first, first + count), which % 3))
            actions.append(add)
        elif kept:
            old = kept.pop(which % len(kept))
            actions.append(table.remove(old.add))
            if kind == "delete" and old.deleted < count <= len(old.ids):
                add = {"add": {**old.add["add"], "deletionVector": table.vector(range(count), "i")}}
                new.append(replace(old, add=add, deleted=count))
                actions.append(add)
    table.commit(*actions, {"commitInfo": {}})
    return kept + new


@many(150)
@given(
    commits=st.lists(st.lists(CHANGES, min_size=1, max_size=5), min_size=1, max_size=7),
    checkpoint_at=st.none() | st.integers(0, 6),
    shape=st.sampled_from([{}, {"parts": 3}, {"top": "parquet"}, {"top": "json"}, {"top": "json", "sidecars": 0}]),
    checksum=st.booleans(),
    limits=st.lists(st.integers(0, 30), min_size=1, max_size=3),
    predicate=st.sampled_from(list(FILTERS)),
)
def test_a_limit_gives_rows_of_the_table_and_as_many_as_there_are(
    commits: list[list[tuple[str, int, int]]],
    checkpoint_at: int | None,
    shape: dict[str, Any],
    checksum: bool,
    limits: list[int],
    predicate: str | None,
) -> None:
    with TemporaryDirectory() as folder:
        table = DeltaBuilder(Path(folder), SCHEMA, partition_by=["p"], features=["deletionVectors"])
        live: list[Written] = []
        for version, changes in enumerate(commits):
            live = change(table, live, changes)
            if version == checkpoint_at:
                table.checkpoint(row_group_size=2, **shape)
        if checksum:
            table.checksum()
        snapshot = lakescan.open(table.path).snapshot()
        every = described_files(snapshot)
        assert len(every) == len(live)
        for partial in snapshot.partial_replays():
            assert described_files(partial) <= every
        wanted = [row for file in live for row in file.rows if FILTERS[predicate](*row)]
        for limit in limits:
            actual = limited(table, limit, predicate).to_arrow().to_pylist()
            got = {(row["id"], row["p"]) for row in actual}
            assert len(actual) == len(got) == min(limit, len(wanted))
            assert got <= set(wanted)


def described_files(snapshot: Snapshot) -> set[str]:
    """What a snapshot, or a partial replay of it, says of its files."""
    files = snapshot.files()
    counts = member(snapshot.statistics(files, ()), "row_count")
    return set(map(str, files.drop_columns(["source", "row"]).append_column("rows", counts).to_pylist()))
