import pyarrow as pa
import pytest

from lakescan.columns import empty_structs, member


@pytest.mark.parametrize("name", ["a", ".a", "[0]", "a.b", "", "é", "`a`"])
def test_a_member_is_found_by_its_exact_name(name: str) -> None:
    structs = pa.StructArray.from_arrays([pa.array([9, 9]), pa.array([1, 2])], ["other", name])
    assert member(structs, name).to_pylist() == [1, 2]
    assert member(pa.chunked_array([structs, structs]), name).to_pylist() == [1, 2, 1, 2]


def test_a_member_is_null_where_any_parent_is_null_and_none_where_it_is_not_there() -> None:
    structs = pa.array([{"a": {"b": 1}}, {"a": None}, None], pa.struct([("a", pa.struct([("b", pa.int64())]))]))
    assert member(structs, "a", "b").to_pylist() == [1, None, None]
    assert member(structs.slice(1), "a", "b").to_pylist() == [None, None]
    assert member(structs, "x") is None
    assert member(structs, "a", "x") is None
    assert member(structs, "a", "b", "c") is None
    assert member(pa.array([1]), "a") is None


def test_a_hidden_value_below_a_null_parent_stays_hidden() -> None:
    inner = pa.array([1, 2])
    structs = pa.StructArray.from_arrays([inner], ["a"], mask=pa.array([False, True]))
    assert member(structs, "a").to_pylist() == [1, None]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_rows_without_fields_keep_their_number(count: int) -> None:
    found = empty_structs(count)
    assert (len(found), found.null_count) == (count, 0)
    assert pa.RecordBatch.from_struct_array(found).num_rows == count
