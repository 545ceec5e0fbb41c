"""Variants that were shredded come back whole. PySpark's own decoder, which shares no code with ours, reads them."""

import string
import struct
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import VariantVal

from lakescan.reader.variant import whole_variants
from lakescan.types.schema import VARIANT

_NAMES = st.text(string.ascii_letters + "é漢", min_size=1, max_size=3)
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=80)
)
VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=4), max_leaves=12
)
# How a column is shredded: a type, a list of one, or an object of some fields.
SHREDDINGS = st.recursive(
    st.sampled_from(["int", "text", "double", "bool", None]),
    lambda inner: st.tuples(inner) | st.dictionaries(_NAMES, inner, min_size=1, max_size=3),
    max_leaves=6,
)
_TYPES = {"int": pa.int64(), "text": pa.string(), "double": pa.float64(), "bool": pa.bool_()}
_PYTHON = {"int": int, "text": str, "double": float, "bool": bool}


class Dictionary:
    """Names in the order they were met; every number in four bytes, unlike what Lakescan writes."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def id_of(self, name: str) -> int:
        return self.ids.setdefault(name, len(self.ids))

    def encode(self) -> bytes:
        names = [name.encode() for name in self.ids]
        ends = [sum(map(len, names[:at])) for at in range(len(names) + 1)]
        numbers = [len(names), *ends]
        return bytes([3 << 6 | 1]) + b"".join(n.to_bytes(4, "little") for n in numbers) + b"".join(names)


def encode(value: Any, names: Dictionary) -> bytes:
    """A plain encoder of JSON-like values, by the letter of the variant specification."""
    if value is None:
        return b"\x00"
    if isinstance(value, bool):
        return bytes([(1 if value else 2) << 2])
    if isinstance(value, int):
        return bytes([6 << 2]) + value.to_bytes(8, "little", signed=True)
    if isinstance(value, float):
        return bytes([7 << 2]) + struct.pack("<d", value)
    if isinstance(value, str):
        data = value.encode()
        return bytes([16 << 2]) + len(data).to_bytes(4, "little") + data
    if isinstance(value, list):
        items = [encode(item, names) for item in value]
        return bytes([(3 | 1 << 2) << 2 | 3]) + _sized(items, b"")
    pairs = sorted((name.encode(), names.id_of(name), encode(inside, names)) for name, inside in value.items())
    ids = b"".join(number.to_bytes(4, "little") for _, number, _ in pairs)
    return bytes([(3 | 3 << 2 | 1 << 4) << 2 | 2]) + _sized([data for _, _, data in pairs], ids)


def _sized(items: list[bytes], ids: bytes) -> bytes:
    ends = [sum(map(len, items[:at])) for at in range(len(items) + 1)]
    offsets = b"".join(end.to_bytes(4, "little") for end in ends)
    return len(items).to_bytes(4, "little") + ids + offsets + b"".join(items)


def shredded_type(how: Any, top: bool = True) -> pa.DataType:
    fields = [("metadata", pa.binary())] if top else []
    fields.append(("value", pa.binary()))
    if isinstance(how, str):
        fields.append(("typed_value", _TYPES[how]))
    elif isinstance(how, tuple):
        fields.append(("typed_value", pa.list_(shredded_type(how[0], False))))
    elif isinstance(how, dict):
        inside = [(name, shredded_type(inner, False)) for name, inner in how.items()]
        fields.append(("typed_value", pa.struct(inside)))
    return pa.struct(fields)


def shred(value: Any, how: Any, names: Dictionary) -> dict[str, Any]:
    if isinstance(how, str) and type(value) is _PYTHON[how]:
        return {"typed_value": value}
    if isinstance(how, tuple) and isinstance(value, list):
        return {"typed_value": [shred(item, how[0], names) for item in value]}
    if isinstance(how, dict) and isinstance(value, dict):
        typed = {name: shred(value[name], inner, names) if name in value else {} for name, inner in how.items()}
        rest = {name: inside for name, inside in value.items() if name not in how}
        return {"typed_value": typed, "value": encode(rest, names) if rest else None}
    return {"value": encode(value, names)}


def _decoded(array: pa.Array) -> list[Any]:
    rows = array.to_pylist()
    return [None if row is None else VariantVal(row["value"], row["metadata"]).toPython() for row in rows]


@given(st.lists(VALUES, max_size=5), SHREDDINGS)
def test_whatever_was_shredded_comes_back_as_it_was(values: list[Any], how: Any) -> None:
    rows = []
    for value in values:
        names = Dictionary()
        row = shred(value, how, names)
        # Names of shredded fields are not in the dictionary here, which then has to be extended.
        rows.append({**row, "metadata": names.encode()})
    array = pa.array(rows, shredded_type(how))
    whole = whole_variants(array)
    assert whole.type == VARIANT
    assert _decoded(whole) == values


@given(st.lists(VALUES | st.just(...), min_size=1, max_size=6), st.integers(0, 5))
def test_nulls_and_slices_of_a_column_stay_where_they_are(values: list[Any], start: int) -> None:
    rows = []
    for value in values:
        names = Dictionary()
        row = None if value is ... else shred(value, {"a": "int", "b": ("text",)}, names)
        rows.append(None if row is None else {**row, "metadata": names.encode()})
    array = pa.array(rows, shredded_type({"a": "int", "b": ("text",)})).slice(start)
    expected = [None if value is ... else value for value in values[start:]]
    assert whole_variants(array).is_null().to_pylist() == [value is ... for value in values[start:]]
    assert _decoded(whole_variants(array)) == expected


def test_a_variant_that_was_not_shredded_keeps_its_bytes() -> None:
    names = Dictionary()
    value = encode({"a": [1, {"b": None}]}, names)
    for fields in (["value", "metadata"], ["metadata", "value"]):
        columns = {"value": pa.array([value, None], pa.binary()), "metadata": pa.array([names.encode(), None])}
        array = pa.StructArray.from_arrays(
            [columns[name].cast(pa.binary()) for name in fields], names=fields, mask=pa.array([False, True])
        )
        whole = whole_variants(array)
        assert whole.to_pylist() == [{"value": value, "metadata": names.encode()}, None]
        assert whole.type == VARIANT


def test_every_type_that_can_be_shredded_comes_back() -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9, 123456)
    cases: list[tuple[Any, pa.DataType]] = [
        (True, pa.bool_()),
        (-7, pa.int8()),
        (-700, pa.int16()),
        (-70_000, pa.int32()),
        (-(2**60), pa.int64()),
        (1.5, pa.float32()),
        (2.25, pa.float64()),
        (Decimal("-12.34"), pa.decimal128(9, 2)),
        (Decimal("-1234567890.12"), pa.decimal128(18, 2)),
        (Decimal("-12345678901234567890.12"), pa.decimal128(38, 2)),
        (date(1500, 2, 3), pa.date32()),
        (moment.replace(tzinfo=timezone.utc), pa.timestamp("us", "UTC")),
        (moment, pa.timestamp("us")),
        (b"\x00\xff", pa.binary()),
        ("é" * 40, pa.string()),
        ("short", pa.string()),
    ]
    for value, kind in cases:
        type_ = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", kind)])
        array = pa.array([{"metadata": b"\x01\x00\x00", "typed_value": value}], type_)
        assert _decoded(whole_variants(array)) == [value], kind


def test_large_objects_and_arrays_come_back() -> None:
    value = {f"f{n}": n for n in range(400)}
    names = Dictionary()
    row = {**shred(value, {"f7": "int", "g": "int"}, names), "metadata": names.encode()}
    assert _decoded(whole_variants(pa.array([row], shredded_type({"f7": "int", "g": "int"})))) == [value]
    names = Dictionary()
    row = {**shred(list(range(70_000)), ("int",), names), "metadata": names.encode()}
    assert _decoded(whole_variants(pa.array([row], shredded_type(("int",))))) == [list(range(70_000))]


def test_what_is_no_variant_is_refused() -> None:
    with pytest.raises(pa.ArrowInvalid, match="not a variant"):
        whole_variants(pa.array([{"value": b"x"}], pa.struct([("value", pa.binary())])))
    type_ = pa.struct([("metadata", pa.binary()), ("typed_value", pa.uint8())])
    array = pa.array([{"metadata": b"\x01\x00\x00", "typed_value": 1}], type_)
    with pytest.raises(pa.ArrowInvalid, match="cannot be shredded as uint8"):
        whole_variants(array)
