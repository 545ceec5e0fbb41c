import json
import time
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakescan.errors import UnsupportedType
from lakescan.reader.align import find_fields
from lakescan.types.schema import (
    FIELD_ID,
    VARIANT,
    arrow_schema,
    as_nullable,
    field_at,
    has_padding,
    padded_length,
    physical_part,
    primitive_type,
    prune,
)
from tests.tables import spark_schema


def struct(*fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def field(name: str, type_: Any, nullable: bool = True, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": nullable, "metadata": metadata or {}}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("boolean", pa.bool_()),
        ("byte", pa.int8()),
        ("short", pa.int16()),
        ("integer", pa.int32()),
        ("long", pa.int64()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("string", pa.string()),
        ("binary", pa.binary()),
        ("date", pa.date32()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp_ntz", pa.timestamp("us")),
        ("void", pa.null()),
        ("decimal(10,2)", pa.decimal128(10, 2)),
        ("decimal( 38 , 18 )", pa.decimal128(38, 18)),
        ("decimal", pa.decimal128(10, 0)),
        ("varchar(5)", pa.string()),
        ("char(5)", pa.string()),
        ("geometry", None),
        ("", None),
    ],
)
def test_every_primitive_type_has_one_arrow_type_or_none(name: str, expected: pa.DataType | None) -> None:
    assert primitive_type(name) == expected


TYPES = st.recursive(
    st.sampled_from([pa.int32(), pa.string(), pa.decimal128(5, 1), pa.timestamp("us", "UTC"), pa.null(), pa.date32()]),
    lambda inner: st.one_of(
        st.lists(st.tuples(st.text(max_size=3), inner), max_size=3, unique_by=lambda pair: pair[0]).map(pa.struct),
        inner.map(lambda kind: pa.list_(pa.field("element", kind))),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
    ),
    max_leaves=6,
)
SCHEMAS = st.lists(st.tuples(st.text(max_size=3), TYPES), max_size=4, unique_by=lambda pair: pair[0]).map(pa.schema)


@given(SCHEMAS)
@settings(max_examples=60, deadline=None)
def test_a_schema_written_as_json_is_read_as_the_same_schema(schema: pa.Schema) -> None:
    assert arrow_schema(json.loads(json.dumps(spark_schema(schema)))).equals(schema)


def test_nullability_is_kept_at_every_depth() -> None:
    inner = struct(field("x", "long", nullable=False))
    array = {"type": "array", "elementType": inner, "containsNull": False}
    map_ = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": False}
    schema = arrow_schema(struct(field("a", array, nullable=False), field("m", map_)))
    assert not schema.field("a").nullable
    assert not schema.field("a").type.value_field.nullable
    assert not schema.field("a").type.value_type.field("x").nullable
    assert schema.field("m").nullable
    assert not schema.field("m").type.item_field.nullable


def test_a_parquet_field_id_is_kept_where_arrow_keeps_it() -> None:
    schema = arrow_schema(struct(field("a", struct(field("b", "long", metadata={"parquet.field.id": 7})))))
    assert schema.field("a").metadata is None
    assert schema.field("a").type.field("b").metadata == {FIELD_ID: b"7"}


@pytest.mark.parametrize(
    ("type_", "path"),
    [
        ("geometry", "a"),
        (struct(field("b", "interval")), "a.b"),
        ({"type": "array", "elementType": "cube", "containsNull": True}, "a.element"),
        ({"type": "map", "keyType": "cube", "valueType": "long", "valueContainsNull": True}, "a.key"),
        ({"type": "udt", "class": "x"}, "a"),
    ],
)
def test_a_type_without_an_arrow_type_is_refused_with_its_columns_path(type_: Any, path: str) -> None:
    with pytest.raises(UnsupportedType, match=rf"Column {path} has the type"):
        arrow_schema(struct(field("a", type_)))


TABLE = pa.schema(
    [
        ("id", pa.int64()),
        ("s", pa.struct([("x", pa.int64()), ("y", pa.struct([("z", pa.string()), ("w", pa.string())]))])),
        ("l", pa.list_(pa.struct([("e", pa.int64()), ("f", pa.int64())]))),
        ("a.b", pa.int64()),
    ]
)
PHYSICAL = pa.schema(
    [
        ("c1", pa.int64()),
        ("c2", pa.struct([("c3", pa.int64()), ("c4", pa.struct([("c5", pa.string()), ("c6", pa.string())]))])),
        ("c7", pa.list_(pa.struct([("c8", pa.int64()), ("c9", pa.int64())]))),
        ("c10", pa.int64()),
    ]
)


def test_pruning_keeps_the_named_fields_in_both_schemas() -> None:
    kept, physical = prune(TABLE, PHYSICAL, [("s", "y", "w"), ("a.b",)])
    assert kept == pa.schema([("s", pa.struct([("y", pa.struct([("w", pa.string())]))])), ("a.b", pa.int64())])
    assert physical == pa.schema([("c2", pa.struct([("c4", pa.struct([("c6", pa.string())]))])), ("c10", pa.int64())])


def test_pruning_to_a_whole_struct_wins_over_one_of_its_fields() -> None:
    kept, _ = prune(TABLE, PHYSICAL, [("s", "x"), ("s",)])
    assert kept == pa.schema([TABLE.field("s")])


def test_pruning_to_nothing_or_to_unknown_names_leaves_nothing() -> None:
    assert prune(TABLE, PHYSICAL, []) == (pa.schema([]), pa.schema([]))
    assert prune(TABLE, PHYSICAL, [("a", "b"), ("s", "q")]) == (pa.schema([]), pa.schema([]))


def test_a_field_is_found_by_its_path_through_structs_only() -> None:
    inside, dotted = field_at(TABLE, ("s", "y", "z")), field_at(TABLE, ("a.b",))
    assert inside is not None
    assert inside.type == pa.string()
    assert dotted is not None
    assert dotted.type == pa.int64()
    for path in (("a", "b"), ("l", "e"), ("id", "x"), ("S",), ("s", "q")):
        assert field_at(TABLE, path) is None


def test_the_physical_part_has_the_same_shape_in_the_wanted_parts_order() -> None:
    part = pa.schema(
        [("a.b", pa.int64()), ("s", pa.struct([("y", pa.struct([("w", pa.string())]))])), ("l", TABLE.field("l").type)]
    )
    assert physical_part(part, TABLE, PHYSICAL) == pa.schema(
        [("c10", pa.int64()), ("c2", pa.struct([("c4", pa.struct([("c6", pa.string())]))])), PHYSICAL.field("c7")]
    )
    pruned_element = pa.schema([("l", pa.list_(pa.struct([("f", pa.int64())])))])
    assert physical_part(pruned_element, TABLE, PHYSICAL) == pa.schema(
        [("c7", pa.list_(pa.struct([("c9", pa.int64())])))]
    )


def test_a_schema_as_nullable_has_no_required_field_at_any_depth_and_its_rows_are_the_same() -> None:
    inner = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    listed = pa.list_(pa.field("element", inner, nullable=False))
    mapped = pa.map_(pa.string(), pa.field("value", inner, nullable=False))
    outer = pa.struct([pa.field("l", listed, nullable=False), pa.field("m", mapped, nullable=False)])
    schema = pa.schema([pa.field("s", outer, nullable=False), pa.field("v", VARIANT, nullable=False)])
    rows = [{"s": {"l": [{"x": 1}], "m": [("a", {"x": 2})]}, "v": {"value": b"1", "metadata": b"2"}}]
    nullable = as_nullable(schema)
    assert "not null" not in str(nullable.field("s").type).replace("string not null", "string")
    assert nullable.field("v").type == VARIANT
    batch = pa.RecordBatch.from_pylist(rows, schema).cast(nullable)
    assert batch.to_pylist() == rows


def test_a_schema_of_many_columns_is_pruned_and_found_in_one_pass() -> None:
    names = [f"c{at}" for at in range(30_000)]
    schema = pa.schema([(name, pa.int64()) for name in names])
    began = time.perf_counter()
    kept, _ = prune(schema, schema, {(name,) for name in names})
    places = find_fields(schema, schema)
    # Column by column it took minutes.
    assert time.perf_counter() - began < 20
    assert kept.names == names
    assert places == list(range(30_000))


_NOTE = "__CHAR_VARCHAR_TYPE_STRING"


def _noted(type_: Any, raw: str) -> dict[str, Any]:
    return {"fields": [{"name": "c", "type": type_, "nullable": True, "metadata": {_NOTE: raw}}]}


def _structs(*fields: tuple[str, Any]) -> dict[str, Any]:
    named = [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in fields]
    return {"type": "struct", "fields": named}


_ARRAY = {"type": "array", "elementType": "string", "containsNull": True}
_MAP = {"type": "map", "keyType": "string", "valueType": _structs(("q", "string")), "valueContainsNull": True}


def _lengths(field: pa.Field) -> list[int]:
    kind = field.type
    children = list(kind) if pa.types.is_struct(kind) else []
    children = [kind.key_field, kind.item_field] if pa.types.is_map(kind) else children
    children = [kind.value_field] if pa.types.is_list(kind) else children
    own = padded_length(field)
    return ([] if own is None else [own]) + [length for child in children for length in _lengths(child)]


@pytest.mark.parametrize(
    ("type_", "raw", "lengths"),
    [
        ("string", "char(5)", [5]),
        ("string", "varchar(5)", []),
        ("char(5)", "char(5)", [5]),
        (_ARRAY, "array<char(3)>", [3]),
        (_ARRAY, "array<varchar(3)>", []),
        (_MAP, "map<char(2),struct<q:char(4)>>", [2, 4]),
        (
            _structs(("a", "string"), ("b:,<", "decimal(3,1)"), ("d", _ARRAY)),
            "struct<a:char(5),b:,<:decimal(3,1),d:array<char(1)>>",
            [5, 1],
        ),
        # A query reads only some fields of a struct, and the note is still that of the whole column.
        (
            _structs(("m", _MAP)),
            "struct<a:char(5),n:decimal(3,1),m:map<char(2),struct<p:int,q:char(4)>>,z:int>",
            [2, 4],
        ),
        (_structs(("z", "integer")), "struct<a:char(5),n:array<char(1)>,z:int>", []),
    ],
)
def test_a_char_is_known_by_its_length_at_any_depth(type_: Any, raw: str, lengths: list[int]) -> None:
    (field,) = arrow_schema(_noted(type_, raw))
    assert _lengths(field) == lengths
    assert has_padding(field.type) == (pa.types.is_nested(field.type) and bool(lengths))


@pytest.mark.parametrize("raw", ["array<char(3)", "map<char(2),int>", "struct<b:char(1)>", "char(3) char(4)"])
def test_lengths_that_are_not_those_of_the_column_are_refused(raw: str) -> None:
    with pytest.raises(UnsupportedType, match="c has the type"):
        arrow_schema(_noted(_structs(("a", _ARRAY)), raw))


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("interval year to month", pa.int32()),
        ("interval year", pa.int32()),
        ("interval month", pa.int32()),
        ("interval day to second", pa.duration("us")),
        ("interval day", pa.duration("us")),
        ("interval hour to minute", pa.duration("us")),
        ("interval", None),
        ("geometry(OGC:CRS84)", None),
        ("geography(OGC:CRS84, SPHERICAL)", None),
    ],
)
def test_intervals_are_what_files_store_and_shapes_on_the_earth_are_not_known(name: str, type_: Any) -> None:
    assert primitive_type(name) == type_
