import pyarrow as pa
import pytest

from lakescan.types.columns import empty_structs, member, nested


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
    structs = empty_structs(count)
    assert (len(structs), structs.null_count) == (count, 0)
    assert pa.RecordBatch.from_struct_array(structs).num_rows == count


def test_structs_are_made_of_the_leaves_that_are_given_and_nulls_for_the_others() -> None:
    kind = pa.struct(
        [("a", pa.int64()), ("s", pa.struct([("x", pa.string()), ("y", pa.int32())])), ("e", pa.struct([]))]
    )
    made = nested(kind, {("a",): pa.array([1, 2]), ("s", "x"): pa.array(["p", None])}, 2)
    assert made.type == kind
    assert made.to_pylist() == [
        {"a": 1, "s": {"x": "p", "y": None}, "e": {}},
        {"a": 2, "s": {"x": None, "y": None}, "e": {}},
    ]
    assert nested(pa.int64(), {}, 2).to_pylist() == [None, None]
