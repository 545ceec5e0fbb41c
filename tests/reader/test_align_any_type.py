from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakescan.reader.align import align, find_field
from tests.examples import examples

from .shapes import FIELD_ID, shapes


def aligned(array: pa.Array, wanted: pa.DataType, source: pa.DataType | None = None) -> pa.Array:
    column = align(array, pa.field("x", array.type), pa.field("x", source or wanted), pa.field("x", wanted))
    assert column.type.equals(wanted)
    column.validate(full=True)
    return column


def with_id(name: str, type_: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, type_, metadata={FIELD_ID: str(number).encode()})


@pytest.mark.parametrize("mode", ["none", "name", "id"])
@given(data=st.data())
@settings(max_examples=examples(80), deadline=None)
def test_any_nested_column_shows_the_tables_values_however_the_file_holds_them(mode: str, data: st.DataObject) -> None:
    shape = data.draw(shapes(mode))
    rows = data.draw(st.lists(shape.values, max_size=6))
    array = pa.array([stored for stored, _ in rows], shape.file)
    start = data.draw(st.integers(0, len(rows)))
    length = data.draw(st.integers(0, len(rows) - start))
    column = aligned(array.slice(start, length), shape.table, shape.source)
    assert column.to_pylist() == [shown for _, shown in rows][start : start + length]


@pytest.mark.parametrize(
    ("array", "wanted"),
    [
        (pa.array(["5"]), pa.int32()),
        (pa.array([5]), pa.string()),
        (pa.array([0.1]), pa.float32()),
        (pa.array([1.0]), pa.int32()),
        (pa.array([True]), pa.int32()),
        (pa.array([5]), pa.timestamp("us")),
        (pa.array([5]), pa.date32()),
        (pa.array([0], pa.timestamp("us")), pa.date32()),
        (pa.array([0], pa.timestamp("us")), pa.string()),
        (pa.array([2**40]), pa.int32()),
        (pa.array([2**53 + 1]), pa.float64()),
        (pa.array([12345], pa.decimal128(7, 2)), pa.decimal128(6, 3)),
        (pa.array([b"\xff"]), pa.string()),
        (pa.array([[1]]), pa.int64()),
        (pa.array([{"a": 1}]), pa.list_(pa.int64())),
        (pa.array([1]), pa.struct([("a", pa.int64())])),
    ],
    ids=lambda value: str(value.type if isinstance(value, pa.Array) else value),
)
def test_a_value_that_would_change_is_refused(array: pa.Array, wanted: pa.DataType) -> None:
    with pytest.raises((pa.ArrowInvalid, pa.ArrowNotImplementedError)):
        aligned(array, wanted)


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", None]).dictionary_encode(),
        pa.array(["a", None], pa.string_view()),
        pa.array([b"a", None], pa.binary(1)),
        pa.ExtensionArray.from_storage(pa.json_(), pa.array(["a", None])),
    ],
    ids=lambda array: str(array.type),
)
def test_text_is_text_in_whatever_layout_the_file_gives_it(array: pa.Array) -> None:
    assert aligned(array, pa.string()).to_pylist() == ["a", None]


def test_nanoseconds_are_cut_down_to_the_microsecond_before_and_after_1970() -> None:
    column = aligned(pa.array([-1, 1999, None], pa.timestamp("ns", "+02:00")), pa.timestamp("us", "UTC"))
    assert column.cast(pa.int64()).to_pylist() == [-1, 1, None]


def test_a_time_without_a_zone_in_the_file_is_utc() -> None:
    column = aligned(pa.array([datetime(2024, 1, 1)], pa.timestamp("ms")), pa.timestamp("us", "UTC"))
    assert column.to_pylist() == [datetime(2024, 1, 1, tzinfo=timezone.utc)]


def test_a_list_of_fixed_size_is_a_list() -> None:
    array = pa.array([[1, 2], None, [3, None]], pa.list_(pa.int32(), 2))
    assert aligned(array.slice(1), pa.list_(pa.int64())).to_pylist() == [None, [3, None]]


def test_fields_with_swapped_names_are_not_taken_for_each_other_because_the_types_are_equal() -> None:
    both = pa.struct([("a", pa.int64()), ("b", pa.int64())])
    swapped = pa.struct([("b", pa.int64()), ("a", pa.int64())])
    assert aligned(pa.array([{"a": 1, "b": 2}]), both, swapped).to_pylist() == [{"a": 2, "b": 1}]
    by_id = pa.struct([with_id("a", pa.int64(), 2), with_id("b", pa.int64(), 1)])
    file = pa.struct([with_id("a", pa.int64(), 1), with_id("b", pa.int64(), 2)])
    assert aligned(pa.array([{"a": 1, "b": 2}], file), both, by_id).to_pylist() == [{"a": 2, "b": 1}]


def test_a_struct_none_of_whose_fields_are_in_the_file_keeps_its_nulls() -> None:
    array = pa.array([{"x": 1}, None, {"x": 2}])
    assert aligned(array, pa.struct([("y", pa.int64())])).to_pylist() == [{"y": None}, None, {"y": None}]


def test_a_struct_without_fields_keeps_its_nulls_in_a_slice_too() -> None:
    array = pa.array([{"x": 1}, None, {"x": 2}, None])
    assert aligned(array.slice(1), pa.struct([])).is_null().to_pylist() == [True, False, True]


def test_a_list_of_structs_that_lack_a_field_gets_nulls_in_every_element() -> None:
    array = pa.array([[{"x": 1}, None], None, []])
    wanted = pa.list_(pa.struct([("x", pa.int64()), ("s", pa.struct([("y", pa.string())]))]))
    assert aligned(array, wanted).to_pylist() == [[{"x": 1, "s": None}, None], None, []]


def test_a_void_column_is_null_whatever_the_file_says() -> None:
    assert aligned(pa.array([1, 2]), pa.null()).to_pylist() == [None, None]


def field_names(*names: str) -> list[pa.Field]:
    return [pa.field(name, pa.int64()) for name in names]


@pytest.mark.parametrize(
    ("wanted", "names", "at"),
    [("a", ["b", "a"], 1), ("a", ["A", "a"], 1), ("a", ["b", "A"], 1), ("a", ["b"], None), (".a", ["a", ".a"], 1)],
)
def test_a_field_is_found_by_its_exact_name_or_else_in_another_case(wanted: str, names: list[str], at: Any) -> None:
    assert find_field(pa.field(wanted, pa.int64()), field_names(*names)) == at


def test_a_field_with_an_id_is_never_found_by_its_name() -> None:
    assert find_field(with_id("a", pa.int64(), 1), field_names("a")) is None
    assert find_field(with_id("a", pa.int64(), 1), [with_id("a", pa.int64(), 2), with_id("z", pa.int64(), 1)]) == 1
