import itertools
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakescan.predicate import TRUE, Column, bind, parse
from lakescan.reader.row_groups import LeafColumn, RowGroup, row_groups

ALL = 1 << 62


def metadata_of(table: pa.Table, rows: int, path: Path, **arguments: Any) -> pq.FileMetaData:
    pq.write_table(table, path, row_group_size=rows, **arguments)
    return pq.read_metadata(path)


def kept(metadata: pq.FileMetaData, text: str, schema: pa.Schema) -> list[int]:
    leaves = {Column((field.name,)): LeafColumn(at, field.type) for at, field in enumerate(schema)}
    return [group.index for group in row_groups(metadata, 0, ALL, bind(parse(text), schema), leaves)]


@given(rows=st.integers(1, 60), size=st.integers(1, 20), cuts=st.lists(st.integers(1, 3000), max_size=6))
@settings(max_examples=40, deadline=None)
def test_pieces_share_the_row_groups_out_without_gap_or_overlap(
    tmp_path_factory: pytest.TempPathFactory, rows: int, size: int, cuts: list[int]
) -> None:
    metadata = metadata_of(pa.table({"a": range(rows)}), size, tmp_path_factory.mktemp("f") / "f.parquet")
    edges = sorted({0, *cuts, ALL})
    pieces = [row_groups(metadata, a, b - a, TRUE, {}) for a, b in itertools.pairwise(edges)]
    groups = sorted((group for piece in pieces for group in piece), key=lambda group: group.index)
    starts = range(0, rows, size)
    assert groups == [RowGroup(at, start, min(size, rows - start)) for at, start in enumerate(starts)]


def test_row_groups_are_skipped_by_their_statistics_and_the_others_keep_their_positions(tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.int64())])
    metadata = metadata_of(pa.table({"a": range(30)}), 10, tmp_path / "f.parquet")
    leaves = {Column(("a",)): LeafColumn(0, pa.int64())}
    groups = row_groups(metadata, 0, ALL, bind(parse("a >= 20"), schema), leaves)
    assert groups == [RowGroup(2, 20, 10)]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([date(2024, 1, 1), date(2024, 1, 2)], "a = DATE '2024-01-02'"),
        ([Decimal("1.10"), Decimal("2.20")], "a = 2.2"),
        (["a", "b"], "a = 'b'"),
        ([b"a", b"b"], "a = X'62'"),
        ([False, True], "a = true"),
        ([1.0, float("nan")], "a > 5"),
        (
            [datetime(2024, 1, 1, tzinfo=timezone.utc), datetime(2024, 1, 2, tzinfo=timezone.utc)],
            "a > '2024-01-01 12:00:00'",
        ),
    ],
    ids=str,
)
def test_every_type_with_an_order_skips_row_groups_and_never_the_one_that_matches(
    tmp_path: Path, values: list[Any], text: str
) -> None:
    table = pa.table({"a": values})
    groups = kept(metadata_of(table, 1, tmp_path / "f.parquet"), text, table.schema)
    # The bounds of a column of doubles say nothing of NaN, which is greater than every number.
    assert groups == ([0, 1] if values[1] != values[1] else [1])


@pytest.mark.parametrize("arguments", [{"write_statistics": False}, {"use_deprecated_int96_timestamps": True}], ids=str)
def test_without_usable_statistics_nothing_is_skipped(tmp_path: Path, arguments: dict[str, Any]) -> None:
    table = pa.table({"a": pa.array([datetime(2024, 1, 1), datetime(2024, 1, 2)], pa.timestamp("us"))})
    metadata = metadata_of(table, 1, tmp_path / "f.parquet", **arguments)
    assert kept(metadata, "a > '2030-01-01 00:00:00'", table.schema) == [0, 1]


def test_bounds_of_another_type_than_the_tables_say_nothing(tmp_path: Path) -> None:
    metadata = metadata_of(pa.table({"a": ["x", "y"]}), 1, tmp_path / "f.parquet")
    assert kept(metadata, "a = 5", pa.schema([("a", pa.int64())])) == [0, 1]


def test_row_groups_of_nulls_are_skipped_for_values_and_kept_for_is_null(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([None, 1, 2], pa.int64())})
    metadata = metadata_of(table, 1, tmp_path / "f.parquet")
    assert kept(metadata, "a IS NOT NULL", table.schema) == [1, 2]
    assert kept(metadata, "a IS NULL", table.schema) == [0]


def test_nanoseconds_in_the_file_are_compared_as_the_microseconds_that_are_shown(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([1_000_999, 2_000_000], pa.timestamp("ns"))})
    metadata = metadata_of(table, 1, tmp_path / "f.parquet")
    schema = pa.schema([("a", pa.timestamp("us"))])
    assert 0 in kept(metadata, "a = '1970-01-01 00:00:00.001'", schema)
