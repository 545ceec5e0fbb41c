"""Integers that are cut out of texts of one shape are those that a JSON parser reads."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakescan.formats.delta.statistics.one_shape import integers
from lakescan.formats.delta.statistics.parsed import _document, _value

WANTED = pa.struct(
    [
        ("numRecords", pa.int64()),
        ("tightBounds", pa.bool_()),
        ("minValues", pa.struct([("id", pa.int64()), ("deep", pa.struct([("n", pa.int32())]))])),
        ("nullCount", pa.struct([("id", pa.int64())])),
    ]
)


def by_parser(texts: list[str]) -> list[Any]:
    return [leaves(_value(_document(text), WANTED), WANTED) for text in texts]


def leaves(value: Any, wanted: pa.DataType) -> Any:
    """A struct that is not there is one whose members are not."""
    if not pa.types.is_struct(wanted):
        return value
    return {field.name: leaves((value or {}).get(field.name), field.type) for field in wanted}


def cut_out(texts: list[str], wanted: pa.StructType = WANTED) -> list[Any] | None:
    # A slice, as batches of a file may be.
    found = integers(pa.array(['{"numRecords":7}', *texts, ""]).slice(1, len(texts)), wanted)
    return None if found is None else found.to_pylist()


def text(rows: int, id_: int, city: str = "Rome", n: int = 5, amount: Any = 1.5, **others: Any) -> str:
    values = {"city": city, "id": id_, "amount": amount, "deep": {"n": n}}
    said = {"numRecords": rows, "minValues": values, "maxValues": {"city": city}, "nullCount": {"id": 0}, **others}
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False)


numbers = st.integers(-(10**18) + 1, 10**18 - 1)
names = st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters='"\\'), max_size=12)


@given(st.lists(st.tuples(numbers, numbers, names, st.integers(-(2**31), 2**31 - 1), st.floats(-9, 9)), min_size=2))
def test_texts_of_one_shape_give_what_a_parser_reads(rows: list[tuple[int, int, str, int, float]]) -> None:
    texts = [text(*row, tightBounds=True) for row in rows]
    assert cut_out(texts) == by_parser(texts)


values = st.sampled_from([0, -1, 12, 10**17, None, 1.5, "x", "", "1", True, {}, {"n": 3}, {"n": None}, [1], "\\", "\n"])
documents = st.recursive(
    values, lambda below: st.dictionaries(st.sampled_from(["id", "deep", "n", "numRecords", "minValues"]), below)
)


@given(st.lists(documents, min_size=2, max_size=4), st.sampled_from([(",", ":"), (", ", ": ")]))
def test_whatever_is_cut_out_is_what_a_parser_reads(said: list[Any], marks: tuple[str, str]) -> None:
    texts = [json.dumps(one, separators=marks) for one in said]
    found = cut_out(texts)
    assert found is None or found == by_parser(texts)


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=3), st.integers(2, 4))
def test_a_text_that_was_changed_somewhere_is_not_taken_for_another(changes: list[tuple[int, int]], count: int) -> None:
    """Only where what was changed is no JSON any more, or a value that nobody wants, may it be overlooked."""
    texts = [text(1000 + at, at * 10**9) for at in range(count)]
    changed = bytearray(texts[-1].encode())
    for place, byte in changes:
        changed[place % len(changed)] = byte
    try:
        texts[-1] = changed.decode()
        said = json.loads(texts[-1])
    except ValueError:
        return
    found = cut_out(texts)
    assert found is None or (isinstance(said, dict) and found == by_parser(texts))


@pytest.mark.parametrize(
    "odd",
    [
        text(1000, 1).replace("1000", "01000"),
        text(1000, 1).replace("1000", "1e3"),
        text(1000, 1).replace("1000", "1000000000000000000000"),
        text(1000, 1).replace("1000", "null"),
        text(1000, 1).replace("1000", '"10"'),
        text(1000, 1, n=2**31),
        text(1000, 1)[:-1],
        text(1000, 1) + " ",
        text(1000, 1, more=1),
        text(1000, 1).replace('"id"', '"ID"'),
        text(1000, 1, city='a"b'),
        "",
        "{}",
    ],
)
def test_one_text_of_another_shape_leaves_all_to_the_parser(odd: str) -> None:
    assert cut_out([text(5, 5), text(6, 6)]) is not None
    for texts in ([text(5, 5), odd, text(6, 6)], [odd, text(5, 5), text(6, 6)]):
        assert cut_out(texts) is None


def test_what_no_text_has_is_unknown() -> None:
    assert cut_out(['{"numRecords":1}', '{"numRecords":23}']) == [
        {"numRecords": rows, "tightBounds": None, "minValues": no_bounds, "nullCount": {"id": None}}
        for rows, no_bounds in ((1, {"id": None, "deep": {"n": None}}), (23, {"id": None, "deep": {"n": None}}))
    ]


def test_other_types_are_a_parsers() -> None:
    texts = [text(5, 5), text(6, 6)]
    assert integers(pa.array(texts, pa.large_string()), WANTED) is None
    assert cut_out(texts, pa.struct([("numRecords", pa.float64())])) is None
    assert cut_out(texts, pa.struct([("numRecords", pa.string())])) is None
