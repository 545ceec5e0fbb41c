"""Only the bytes of the leaves that a scan needs are read from a file."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakescan
from lakescan.io.storage import Storage
from lakescan.predicate import col
from lakescan.scan.settings import Settings
from lakescan.types.schema import prune
from tests.tables import DeltaBuilder

ROWS = 20_000


class Spy:
    """A file that remembers which bytes were asked for."""

    def __init__(self, path: str, reads: list[tuple[int, int]]) -> None:
        self._file, self._reads, self.closed = io.BytesIO(Path(path).read_bytes()), reads, False

    def read(self, count: int = -1) -> bytes:
        at, content = self._file.tell(), self._file.read(count)
        self._reads.append((at, at + len(content)))
        return content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    random = np.random.default_rng(1)
    numbers = [pa.array(random.integers(0, 2**60, ROWS)) for _ in range(6)]
    inner = pa.StructArray.from_arrays(numbers[:2], ["c", "d"])
    outer = pa.StructArray.from_arrays([inner, numbers[2]], ["b", "e"])
    rows = pa.table({"a": outer, "x": numbers[3], "y": numbers[4], "z": numbers[5]})
    builder = DeltaBuilder(tmp_path, pa.schema([*rows.schema, ("p", pa.int32())]), ["p"])
    builder.append(rows, partition={"p": "1"}, use_dictionary=False, compression="none")
    return builder


def leaves_read(table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch, scan: Any) -> set[str]:
    (path,) = table.root.glob("*.parquet")
    reads: list[tuple[int, int]] = []
    scan.planned  # noqa: B018, the log is not what is watched
    monkeypatch.setattr(Storage, "open", lambda self, name: pa.PythonFile(Spy(str(path), reads), mode="r"))
    list(scan.to_batches())
    group = pq.read_metadata(path).row_group(0)
    leaves = set()
    for at in range(group.num_columns):
        column = group.column(at)
        begin, end = column.data_page_offset, column.data_page_offset + column.total_compressed_size
        inside = sum(max(0, min(end, stop) - max(begin, start)) for start, stop in reads)
        # The tail of the file is read for its footer and may reach into the last column.
        if inside > (end - begin) // 2:
            leaves.add(column.path_in_schema)
    return leaves


def project(snapshot: Any, *paths: tuple[str, ...]) -> Any:
    return snapshot.scan().project(prune(snapshot.schema, snapshot.schema, set(paths))[0])


def test_a_nested_field_is_one_leaf(table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = lakescan.open(table.path).snapshot()
    assert leaves_read(table, monkeypatch, project(snapshot, ("a", "b", "c")).build()) == {"a.b.c"}


def test_counting_rows_reads_no_leaf(table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = lakescan.open(table.path).snapshot()
    assert leaves_read(table, monkeypatch, project(snapshot).build()) == set()
    assert leaves_read(table, monkeypatch, project(snapshot, ("p",)).build()) == set()


def test_a_filter_adds_its_own_leaf_and_no_other_of_its_struct(
    table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = lakescan.open(table.path).snapshot()
    scan = project(snapshot, ("a", "e")).filter(col("a.b.d") > 5).build()
    assert leaves_read(table, monkeypatch, scan) == {"a.e", "a.b.d"}
    assert scan.to_arrow().schema == scan.schema
    assert leaves_read(table, monkeypatch, project(snapshot).filter(col("x") > 5).build()) == {"x"}
    assert leaves_read(table, monkeypatch, project(snapshot).skip_unless(col("x") > 5).build()) == set()


@pytest.mark.parametrize("row_groups", [True, False])
def test_a_row_group_that_cannot_match_is_not_read_unless_that_is_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row_groups: bool
) -> None:
    builder = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    builder.append(pa.table({"id": range(100)}), stats=False, row_group_size=10)
    read: list[int] = []
    iter_batches = pq.ParquetFile.iter_batches

    def spying(self: Any, *arguments: Any, **options: Any) -> Any:
        # What looks at the footer alone, from a file without bytes, names no columns.
        read.extend(options["row_groups"] if "columns" in options else [])
        return iter_batches(self, *arguments, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", spying)
    scan = lakescan.open(builder.path).snapshot().scan().with_settings(Settings(row_groups=row_groups))
    assert scan.filter("id BETWEEN 25 AND 31").build().to_arrow()["id"].to_pylist() == list(range(25, 32))
    assert read == ([2, 3] if row_groups else list(range(10)))
