"""A column of a table as a file may hold it, drawn at random, with the values that the table must show.

A `Shape` knows three types (the table's, the physical one in the files' names and ids, the file's own) and gives pairs
of values: what the file holds, what the table must show. The second comes from plain Python, never from Arrow.
"""

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

FIELD_ID = b"PARQUET:field_id"
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Shape:
    """One type three times over, and a strategy for (value in the file, value in the table)."""

    table: pa.DataType
    source: pa.DataType
    file: pa.DataType
    values: st.SearchStrategy[tuple[Any, Any]] = field(repr=False)


def _leaf(table: pa.DataType, file: pa.DataType, values: st.SearchStrategy[Any], show: Any = None) -> Shape:
    pairs = values.map(lambda value: (value, show(value) if show else value))
    return Shape(table, table, file, st.one_of(st.just((None, None)), pairs))


def _integers(bits: int, table: pa.DataType, file: pa.DataType) -> Shape:
    return _leaf(table, file, st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))


_TEXT = st.text(max_size=4)
_LEAVES = st.sampled_from(
    [
        _integers(8, pa.int64(), pa.int8()),
        _integers(16, pa.int32(), pa.int16()),
        _integers(32, pa.int64(), pa.int32()),
        _integers(64, pa.int64(), pa.int64()),
        _integers(32, pa.int32(), pa.int64()),
        _integers(32, pa.float64(), pa.int32()),
        _leaf(pa.int64(), pa.uint32(), st.integers(0, 2**32 - 1)),
        _leaf(pa.float64(), pa.float32(), st.floats(width=32, allow_nan=False)),
        _leaf(pa.string(), pa.string(), _TEXT),
        _leaf(pa.string(), pa.large_string(), _TEXT),
        _leaf(pa.string(), pa.binary(), _TEXT.map(str.encode), bytes.decode),
        _leaf(pa.binary(), pa.large_binary(), st.binary(max_size=4)),
        _leaf(pa.bool_(), pa.bool_(), st.booleans()),
        _leaf(pa.date32(), pa.date32(), st.dates(date(1900, 1, 1), date(2100, 1, 1))),
        _leaf(
            pa.decimal128(14, 4),
            pa.decimal128(10, 2),
            st.decimals(-(10**8) + 1, 10**8 - 1, places=2, allow_nan=False),
            lambda value: value.quantize(Decimal("0.0001")),
        ),
        _leaf(
            pa.timestamp("us"), pa.timestamp("ms"), st.integers(-(6 * 10**13), 10**14).map(lambda ms: _at(ms * 1000))
        ),
        _leaf(pa.timestamp("us"), pa.timestamp("us"), st.integers(-(10**16), 10**16).map(lambda us: _at(us))),
    ]
)


def _at(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


@dataclass(frozen=True)
class _Member:
    name: str
    physical: str
    number: int
    shape: Shape
    in_file: bool


def shapes(mode: str) -> st.SearchStrategy[Shape]:
    """Shapes under a column mapping mode: none, name or id."""

    def around(inner: st.SearchStrategy[Shape]) -> st.SearchStrategy[Shape]:
        return st.one_of(_structs(inner, mode), _lists(inner), _maps(inner))

    return st.recursive(_LEAVES, around, max_leaves=6)


@st.composite
def _structs(draw: st.DrawFn, inner: st.SearchStrategy[Shape], mode: str) -> Shape:
    # Few names, so that a physical name is often another field's logical one.
    names = draw(st.lists(st.sampled_from(["a", "b", "c", "a.b", ".a"]), min_size=1, max_size=4, unique=True))
    physicals = draw(st.permutations(names)) if mode == "name" else names
    members = [
        _Member(name, physical, number, draw(inner), draw(st.integers(0, 3)) > 0)
        for number, (name, physical) in enumerate(zip(names, physicals, strict=True), 1)
    ]
    held = draw(st.permutations([member for member in members if member.in_file]))
    # A field that the table does not know; without it a struct of the file might be empty, which Parquet forbids.
    extra = pa.field("unknown", pa.int32(), metadata={FIELD_ID: b"99"})
    shuffled = draw(st.permutations(names)) if mode == "id" else names
    inside = {member.number: (shuffled[member.number - 1] if mode == "id" else member.physical) for member in members}

    def named(name: str, type_: pa.DataType, number: int) -> pa.Field:
        return pa.field(name, type_, metadata={FIELD_ID: str(number).encode()} if mode == "id" else None)

    table = pa.struct([pa.field(member.name, member.shape.table) for member in members])
    source = pa.struct([named(member.physical, member.shape.source, member.number) for member in members])
    file = pa.struct([named(inside[m.number], m.shape.file, m.number) for m in held] + [extra])

    def pair(pairs: dict[int, tuple[Any, Any]]) -> tuple[Any, Any]:
        stored = {inside[member.number]: pairs[member.number][0] for member in held}
        shown = {m.name: pairs[m.number][1] if m.in_file else None for m in members}
        return {**stored, "unknown": 7}, shown

    values = st.fixed_dictionaries({member.number: member.shape.values for member in members}).map(pair)
    return Shape(table, source, file, st.one_of(st.just((None, None)), values))


@st.composite
def _lists(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    shape = draw(inner)
    make = draw(st.sampled_from([pa.list_, pa.large_list]))
    values = st.lists(shape.values, max_size=3).map(lambda pairs: ([p[0] for p in pairs], [p[1] for p in pairs]))
    return Shape(
        pa.list_(pa.field("element", shape.table)),
        pa.list_(pa.field("element", shape.source)),
        make(pa.field("element", shape.file)),
        st.one_of(st.just((None, None)), values),
    )


@st.composite
def _maps(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    shape = draw(inner)
    pairs = st.lists(st.tuples(st.integers(0, 100), shape.values), max_size=3, unique_by=lambda pair: pair[0])
    values = pairs.map(lambda entries: ([(k, v[0]) for k, v in entries], [(k, v[1]) for k, v in entries]))
    return Shape(
        pa.map_(pa.int64(), pa.field("value", shape.table)),
        pa.map_(pa.int64(), pa.field("value", shape.source)),
        pa.map_(pa.int32(), pa.field("value", shape.file)),
        st.one_of(st.just((None, None)), values),
    )
