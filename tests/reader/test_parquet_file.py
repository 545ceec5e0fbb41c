from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakescan.errors import CorruptDataFile, MissingDataFile, SchemaMismatch
from lakescan.io.storage import Storage
from lakescan.predicate import TRUE, Column, Comparison, Literal
from lakescan.reader.parquet_file import ParquetRows
from tests.examples import examples

from .shapes import FIELD_ID, shapes

ALL = 1 << 62


def opened(file: Path, schema: pa.Schema, source: pa.Schema | None = None) -> ParquetRows:
    return ParquetRows.open(Storage.at(file.parent), file.name, schema, source or schema)


def batches(file: Path, schema: pa.Schema, source: pa.Schema | None = None) -> list[pa.RecordBatch]:
    rows = opened(file, schema, source)
    return [batch for group in rows.groups(0, ALL, TRUE) for batch in rows.batches(group)]


def read(file: Path, schema: pa.Schema, source: pa.Schema | None = None) -> pa.Table:
    return pa.Table.from_batches(batches(file, schema, source), schema)


@pytest.mark.parametrize("mode", ["none", "name", "id"])
@given(data=st.data())
@settings(max_examples=examples(40), deadline=None)
def test_any_nested_column_comes_out_of_parquet_with_the_tables_values(
    mode: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shape = data.draw(shapes(mode))
    rows = data.draw(st.lists(shape.values, min_size=1, max_size=6))
    metadata = {FIELD_ID: b"5"} if mode == "id" else None
    stored = pa.array([value for value, _ in rows], shape.file)
    file = tmp_path_factory.mktemp("f") / "f.parquet"
    other = pa.array(range(len(rows)))
    size = data.draw(st.integers(1, 4))
    schema = pa.schema([("other", pa.int64()), pa.field("phys", shape.file, metadata=metadata)])
    pq.write_table(pa.table([other, stored], schema=schema), file, row_group_size=size)
    table = pa.schema([pa.field("x", shape.table)])
    source = pa.schema([pa.field("phys", shape.source, metadata=metadata)])
    assert read(file, table, source)["x"].to_pylist() == [shown for _, shown in rows]


def test_a_missing_file_and_a_file_that_is_no_parquet_are_errors_that_name_it(tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.int64())])
    with pytest.raises(MissingDataFile, match=str(tmp_path / "gone.parquet")):
        opened(tmp_path / "gone.parquet", schema)
    for name, content in (("text.parquet", b"hello, this is not Parquet"), ("empty.parquet", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CorruptDataFile, match=str(tmp_path / name)):
            opened(tmp_path / name, schema)


def test_damage_behind_the_footer_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"a": [f"{n}" * 50 for n in range(1000)]}), file, compression="zstd")
    content = bytearray(file.read_bytes())
    content[10:2000] = b"\0" * 1990
    file.write_bytes(content)
    with pytest.raises(CorruptDataFile, match=str(file)):
        read(file, pa.schema([("a", pa.string())]))


def test_a_column_of_another_type_is_an_error_that_names_file_column_and_types(tmp_path: Path) -> None:
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"a": ["5"]}), file)
    with pytest.raises(SchemaMismatch) as caught:
        read(file, pa.schema([("a", pa.int64())]))
    assert all(part in str(caught.value) for part in (str(file), "column a", "string", "int64"))


def test_a_file_with_two_columns_of_one_name_is_refused_not_read_as_nulls(tmp_path: Path) -> None:
    file = tmp_path / "f.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), file)
    with pytest.raises(CorruptDataFile, match="more than one column with the name a"):
        read(file, pa.schema([("a", pa.int64())]))


def test_a_file_without_ids_is_refused_where_columns_are_found_by_id(tmp_path: Path) -> None:
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"a": [1]}), file)
    source = pa.schema([pa.field("a", pa.int64(), metadata={FIELD_ID: b"1"})])
    with pytest.raises(CorruptDataFile, match="none of its columns has one"):
        opened(file, pa.schema([("a", pa.int64())]), source)


def test_a_column_that_the_file_lacks_is_null(tmp_path: Path) -> None:
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), file)
    rows = read(file, pa.schema([("b", pa.list_(pa.string())), ("a", pa.int64())]))
    assert rows.to_pydict() == {"b": [None, None], "a": [1, 2]}


def test_where_no_column_is_wanted_only_the_footer_is_read(tmp_path: Path) -> None:
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"a": range(100_000)}), file, row_group_size=70_000)
    content = bytearray(file.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little") + 8
    content[4:-footer] = b"\xff" * (len(content) - footer - 4)
    file.write_bytes(content)
    with pytest.raises(CorruptDataFile):
        read(file, pa.schema([("a", pa.int64())]))
    counted = batches(file, pa.schema([]))
    assert sum(batch.num_rows for batch in counted) == 100_000
    assert max(batch.num_rows for batch in counted) <= 1 << 16
    # The same for a column that is in no file yet.
    assert sum(batch.num_rows for batch in batches(file, pa.schema([("new", pa.int64())]))) == 100_000


def test_only_the_wanted_leaves_of_a_struct_are_read(tmp_path: Path) -> None:
    file = tmp_path / "f.parquet"
    inner = pa.struct([("x", pa.int64()), ("big", pa.string())])
    pq.write_table(pa.table({"s": pa.array([{"x": 1, "big": "b"}], inner), "t": ["t"]}), file)
    rows = opened(file, pa.schema([("s", pa.struct([("x", pa.int64())]))]))
    assert rows._columns == ["s.x"]
    (group,) = rows.groups(0, ALL, TRUE)
    assert next(rows.batches(group)).to_pylist() == [{"s": {"x": 1}}]


def test_batches_are_bounded_in_rows_and_wide_rows_come_in_smaller_ones(tmp_path: Path) -> None:
    narrow, wide = tmp_path / "narrow.parquet", tmp_path / "wide.parquet"
    pq.write_table(pa.table({"a": range(200_000)}), narrow)
    blobs = [bytes([n % 251]) * 20_000 + n.to_bytes(4, "big") for n in range(2_000)]
    pq.write_table(pa.table({"a": blobs}), wide, compression="zstd")
    assert max(batch.num_rows for batch in batches(narrow, pa.schema([("a", pa.int64())]))) <= 1 << 16
    read_batches = batches(wide, pa.schema([("a", pa.binary())]))
    assert sum(batch.num_rows for batch in read_batches) == 2_000
    assert max(batch.nbytes for batch in read_batches) < 12 << 20


def test_the_width_of_a_column_that_is_not_read_does_not_make_batches_smaller(tmp_path: Path) -> None:
    file = tmp_path / "f.parquet"
    blobs = [bytes([n % 251]) * 20_000 + n.to_bytes(4, "big") for n in range(1_000)]
    pq.write_table(pa.table({"a": range(1_000), "blob": blobs}), file)
    assert [batch.num_rows for batch in batches(file, pa.schema([("a", pa.int64())]))] == [1_000]


NAMES = ["a.b", ".a", "[0]", "a[0]", "`x`", "é", "日本", "a b", "..", "\\", "'", "a.list.element", "*", ""]


@pytest.mark.parametrize("name", NAMES)
def test_a_column_of_any_name_is_read_and_skips_row_groups_by_its_own_statistics(tmp_path: Path, name: str) -> None:
    file = tmp_path / "f.parquet"
    schema = pa.schema([("other", pa.int64()), (name, pa.struct([(name, pa.int64())])), ("last", pa.int64())])
    values: dict[str, Any] = {"other": [7, 8], name: [{name: 1}, {name: 2}], "last": [9, 9]}
    pq.write_table(pa.Table.from_pydict(values, schema), file, row_group_size=1)
    wanted = pa.schema([schema.field(1)])
    assert read(file, wanted)[name].to_pylist() == values[name]
    is_two = Comparison("=", Column((name, name)), Literal(2, pa.int64()))
    assert [group.index for group in opened(file, wanted).groups(0, ALL, is_two)] == [1]


@pytest.mark.parametrize("top_first", [False, True])
def test_a_column_named_like_the_path_of_a_field_is_not_that_field(tmp_path: Path, top_first: bool) -> None:
    file = tmp_path / "f.parquet"
    fields = [("a", pa.struct([("b", pa.int64())])), ("a.b", pa.int64())]
    schema = pa.schema(fields[::-1] if top_first else fields)
    table = pa.table({"a": [{"b": 1}, {"b": 2}], "a.b": [200, 100]}).select(schema.names)
    pq.write_table(table, file, row_group_size=1)
    rows = opened(file, schema)
    assert read(file, schema).to_pylist() == table.to_pylist()
    for path, number, index in ((("a", "b"), 1, 0), (("a.b",), 100, 1)):
        wanted = Comparison("=", Column(path), Literal(number, pa.int64()))
        assert [group.index for group in rows.groups(0, ALL, wanted)] == [index]
    only = read(file, pa.schema([("a.b", pa.int64())]))
    assert only.to_pydict() == {"a.b": [200, 100]}


def test_the_elements_of_a_list_never_skip_a_row_group(tmp_path: Path) -> None:
    file = tmp_path / "f.parquet"
    schema = pa.schema([("l", pa.list_(pa.int64())), ("a", pa.int64())])
    pq.write_table(pa.table({"l": [[1], [2]], "a": [5, 6]}, schema=schema), file, row_group_size=1)
    wanted = Comparison("=", Column(("l",)), Literal(99, pa.int64()))
    assert len(opened(file, schema).groups(0, ALL, wanted)) == 2
    behind_it = Comparison("=", Column(("a",)), Literal(6, pa.int64()))
    assert [group.index for group in opened(file, schema).groups(0, ALL, behind_it)] == [1]


def test_int96_timestamps_are_read_to_the_microsecond_nested_ones_too(tmp_path: Path) -> None:
    file = tmp_path / "f.parquet"
    near = pa.array([1, -1, None], pa.timestamp("us"))
    table = pa.table({"t": near, "s": pa.StructArray.from_arrays([near], ["t"])})
    pq.write_table(table, file, use_deprecated_int96_timestamps=True)
    kind = pa.timestamp("us", "UTC")
    rows = read(file, pa.schema([("t", kind), ("s", pa.struct([("t", kind)]))]))
    assert rows["t"].cast(pa.int64()).to_pylist() == [1, -1, None]
    assert rows["s"].combine_chunks().field("t").cast(pa.int64()).to_pylist() == [1, -1, None]


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_text_columns_of_any_layout_are_read_as_text(tmp_path: Path, kind: pa.DataType) -> None:
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"a": pa.array(["x", None, "é"]).cast(kind)}), file)
    assert read(file, pa.schema([("a", pa.string())])).to_pydict() == {"a": ["x", None, "é"]}


# What Spark makes of an unsigned long, in its own tables and in those that are converted to Delta.
def test_unsigned_longs_are_decimals_and_skip_row_groups_by_all_of_their_bounds(tmp_path: Path) -> None:
    file, kind = tmp_path / "f.parquet", pa.decimal128(20, 0)
    values = [0, None, 5, 2**63 - 1, 2**63, 2**64 - 1]
    numbers = pa.array(values, pa.uint64())
    nested = pa.StructArray.from_arrays([numbers], ["x"])
    pq.write_table(pa.table({"a": numbers, "s": nested}), file, row_group_size=2)
    schema = pa.schema([("a", kind), ("s", pa.struct([("x", kind)]))])
    rows = read(file, schema)
    assert rows["a"].to_pylist() == [None if value is None else Decimal(value) for value in values]
    assert rows["s"].combine_chunks().field("x").to_pylist() == rows["a"].to_pylist()
    beyond = Comparison(">=", Column(("a",)), Literal(Decimal(2**63), kind))
    assert [group.index for group in opened(file, schema).groups(0, ALL, beyond)] == [2]
    with pytest.raises(SchemaMismatch, match="uint64"):
        read(file, pa.schema([("a", pa.int64())]))
