"""Files for the first rows by an order, on tables small enough to say which."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.predicate import Column
from lakescan.reader.top_rows import SortColumn
from tests.tables import DeltaBuilder

NAN = float("nan")
ASC = SortColumn(Column(("v",)))
DESC = SortColumn(Column(("v",)), descending=True, nulls_first=False)


def kept(
    root: Path, files: Sequence[Sequence[Any]], count: int, *by: SortColumn, type_: Any = None, where: str = "TRUE"
) -> list[int]:
    """The numbers of the files that are kept for the first rows; each file is given by its values of `v`."""
    kind = type_ or pa.int64()
    table = DeltaBuilder(root, pa.schema([("v", kind), ("w", pa.int64())]))
    for number, values in enumerate(files):
        columns = {"v": pa.array(values, kind), "w": pa.array([number] * len(values), pa.int64())}
        table.append(pa.table(columns), name=str(number))
    scan = lakescan.open(root).snapshot().scan().filter(where).first(count, *by).build()
    return [int(Path(path).name) for path in scan.files()["path"].to_pylist()]


def test_ascending_keeps_the_files_with_the_least_values(tmp_path: Path) -> None:
    assert kept(tmp_path, [[7, 9], [1, 3], [4, 6], [2, 5]], 2, ASC) == [1, 3]


def test_descending_keeps_the_files_with_the_greatest_values(tmp_path: Path) -> None:
    assert kept(tmp_path, [[7, 9], [1, 3], [4, 6], [2, 5]], 2, DESC) == [0]


def test_more_rows_need_more_files(tmp_path: Path) -> None:
    assert kept(tmp_path, [[1, 2], [3, 4], [5, 6], [7, 8]], 3, ASC) == [0, 1]
    assert kept(tmp_path / "all", [[1, 2], [3, 4], [5, 6], [7, 8]], 8, ASC) == [0, 1, 2, 3]


def test_equal_files_are_kept_only_until_they_fill_the_count(tmp_path: Path) -> None:
    assert len(kept(tmp_path, [[5, 5], [5, 5], [5, 5]], 2, ASC)) == 1


def test_where_a_further_sort_column_decides_equal_files_are_kept(tmp_path: Path) -> None:
    by_both = (ASC, SortColumn(Column(("w",)), descending=True))
    assert kept(tmp_path, [[5, 5], [5, 5], [6, 6]], 2, *by_both) == [1]


def test_where_nothing_is_known_of_a_further_sort_column_equal_files_are_kept(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("v", pa.int64()), ("x", pa.binary())]))
    for v, x in [(5, b"b"), (5, b"a"), (6, b"a")]:
        table.append(pa.table({"v": [v, v], "x": [x, x]}))
    scan = lakescan.open(tmp_path).snapshot().scan().first(2, ASC, SortColumn(Column(("x",)))).build()
    assert len(scan.files()) == 2
    assert b"a" in scan.to_arrow()["x"].to_pylist()


def test_nulls_first_keeps_files_that_may_have_nulls(tmp_path: Path) -> None:
    assert kept(tmp_path, [[1, 2], [8, None], [5, 6]], 1, ASC) == [0, 1]


def test_nulls_last_are_not_counted_among_the_first(tmp_path: Path) -> None:
    last = SortColumn(Column(("v",)), nulls_first=False)
    assert kept(tmp_path, [[1, None], [2, 3], [7, 8]], 2, last) == [0, 1]
    assert kept(tmp_path / "all", [[None, None], [2, 3], [7, 8]], 2, last) == [1]


def test_only_rows_that_surely_pass_the_filter_count(tmp_path: Path) -> None:
    assert kept(tmp_path, [[1, 2], [3, 4], [5, 6]], 2, ASC, where="v <> 3") == [0]
    assert kept(tmp_path / "some", [[1, 4], [3, 4], [5, 6]], 2, ASC, where="v <> 3") == [0, 1, 2]


def test_a_nan_may_hide_above_a_floats_maximum(tmp_path: Path) -> None:
    values = [[1.0, 1.5, 2.0], [3.0, 3.5, 4.0], [5.0, 5.5, 6.0]]
    assert kept(tmp_path, values, 1, DESC, type_=pa.float64()) == [0, 1, 2]
    assert kept(tmp_path / "asc", values, 1, ASC, type_=pa.float64()) == [0]
    assert kept(tmp_path / "two", values, 2, ASC, type_=pa.float64()) == [0, 1]


def test_a_file_whose_values_are_both_its_bounds_hides_no_nan(tmp_path: Path) -> None:
    assert kept(tmp_path, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], 1, DESC, type_=pa.float64()) == [2]


def test_a_filter_that_no_row_surely_passes_leaves_no_float_to_count_on(tmp_path: Path) -> None:
    # Found by the property test: a file of no sure rows was taken to have one.
    values = [[0.0, NAN, 0.0], [-1.5, -1.5, -1.5]]
    assert 0 in kept(tmp_path, values, 1, ASC, type_=pa.float64(), where="v = DOUBLE('NaN')")


def test_a_cut_string_is_only_a_bound(tmp_path: Path) -> None:
    long = "a" * 40
    assert kept(tmp_path, [[long + "b"], [long + "a"], ["b"]], 1, ASC, type_=pa.string()) == [0, 1]


@pytest.mark.parametrize("deleted", [[0], [0, 1]])
def test_deleted_rows_are_not_counted_on(tmp_path: Path, deleted: list[int]) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("v", pa.int64())]), features=["deletionVectors"])
    first = table.append(pa.table({"v": [1, 2]}), name="0")
    table.append(pa.table({"v": [3, 4]}), name="1")
    table.append(pa.table({"v": [5, 6]}), name="2")
    table.delete(first, deleted)
    scan = lakescan.open(tmp_path).snapshot().scan().first(2, ASC).build()
    wanted = ["0", "1"] if len(deleted) == 1 else ["1"]
    assert sorted(Path(path).name for path in scan.files()["path"].to_pylist()) == wanted
