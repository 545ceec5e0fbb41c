"""Spark's JSON form of a schema, which table formats use too, as an Arrow schema.

The translation loses nothing that values need: every type has exactly one Arrow type, and a type without one
is refused by name. A field whose metadata holds `parquet.field.id` keeps that id where Arrow keeps it, so
that files can be matched by id; a string with a collation says so in its field's metadata, and a CHAR, at any depth,
the length that its values are padded to. A year-month interval is a number of months, as files store it.
"""

import re
from collections.abc import Collection, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import UnsupportedType

FIELD_ID = b"PARQUET:field_id"
SPARK_FIELD_ID = "parquet.field.id"
# On a field of a source schema: a value of a narrower type becomes the one that is written with the same characters. A
# float is then the double of the same digits, which is not the same number.
WIDEN_BY_TEXT = b"lakescan.widen_by_text"
COLLATION = b"collation"
_SPARK_COLLATIONS = "__COLLATIONS"
_BYTEWISE = "spark.UTF8_BINARY"
# As Spark sends a variant over Arrow: the mark on `metadata` tells it from a struct of two binaries.
VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
    ]
)
CHAR_LENGTH = b"char_length"
_SPARK_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"

_PRIMITIVES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
    "variant": VARIANT,
}
_MONTHS = re.compile(r"^interval (?:year|month)(?: to month)?$")
_DURATION = re.compile(r"^interval (?:day|hour|minute|second)(?: to (?:hour|minute|second))?$")
_DECIMAL = re.compile(r"^decimal\(\s*(\d+)\s*,\s*(-?\d+)\s*\)$")
_LIMITED = re.compile(r"^(?:var)?char\(\d+\)$")
_PADDED = re.compile(r"\bchar\(\s*(\d+)\s*\)")
_LEAF = re.compile(r"[a-z_][a-z0-9_ ]*(?:\([^()]*\))?", re.IGNORECASE)


def arrow_schema(struct: dict[str, Any]) -> pa.Schema:
    """The Arrow schema of a JSON struct."""
    return pa.schema([_field(field, "") for field in struct["fields"]])


def _field(field: dict[str, Any], parent: str) -> pa.Field:
    path = f"{parent}{field['name']}"
    notes = field.get("metadata") or {}
    metadata = {}
    if SPARK_FIELD_ID in notes:
        metadata[FIELD_ID] = str(notes[SPARK_FIELD_ID]).encode()
    if field["type"] == "string" and notes.get(_SPARK_COLLATIONS):
        # A string has one entry. Its key is the field's name, but a rename may have left the old one.
        metadata[COLLATION] = str(next(iter(notes[_SPARK_COLLATIONS].values()))).encode()
    made = pa.field(field["name"], _type(field["type"], path), field.get("nullable", True), metadata or None)
    raw = str(notes.get(_SPARK_LENGTH, field["type"] if isinstance(field["type"], str) else ""))
    if not _PADDED.search(raw):
        return made
    # Spark tells the lengths in a note beside a column's type, also of those inside a nested one.
    noted, rest = _with_lengths(made, raw)
    if rest:
        raise UnsupportedType(path, raw)
    return noted


def _with_lengths(field: pa.Field, raw: str) -> tuple[pa.Field, str]:
    """The field with the lengths of the CHARs that Spark's text of its type begins with, and the rest of the text.

    Names stand in the text as they are, so it can be read only beside the type itself, of which a query may have left
    out fields. What is not the text of the type stays.
    """
    kind = field.type
    if pa.types.is_map(kind) and raw.startswith("map<"):
        key, rest = _with_lengths(kind.key_field, raw.removeprefix("map<"))
        item, rest = _with_lengths(kind.item_field, rest.removeprefix(","))
        return field.with_type(pa.map_(key, item)), _after(rest, ">")
    if pa.types.is_list(kind) and raw.startswith("array<"):
        element, rest = _with_lengths(kind.value_field, raw.removeprefix("array<"))
        return field.with_type(pa.list_(element)), _after(rest, ">")
    if pa.types.is_struct(kind) and raw.startswith("struct<"):
        rest, children = raw.removeprefix("struct<"), []
        for child in kind:
            while not rest.startswith(f"{child.name}:"):
                if rest[:1] in ("", ">"):
                    return field, raw
                rest = _behind_a_field(rest)
            noted, rest = _with_lengths(child, rest.removeprefix(f"{child.name}:"))
            children.append(noted)
            rest = rest.removeprefix(",")
        while rest[:1] not in ("", ">"):
            rest = _behind_a_field(rest)
        return field.with_type(pa.struct(children)), _after(rest, ">")
    leaf = _LEAF.match(raw)
    if leaf is None or pa.types.is_nested(kind):
        return field, raw
    length = _PADDED.match(leaf[0])
    noted = {**(field.metadata or {}), CHAR_LENGTH: length[1].encode()} if length else field.metadata
    return field.with_metadata(noted), raw[leaf.end() :]


def _behind_a_field(text: str) -> str:
    """The text behind the field of a struct that it begins with; where that is the last one, from the bracket on."""
    depth = 0
    for at, character in enumerate(text):
        if depth == 0 and character in ",>":
            return text[at:].removeprefix(",")
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(character, 0)
    return ""


def _after(text: str, expected: str) -> str:
    """The text behind what it must begin with; where it does not, a text that nothing begins with."""
    return text.removeprefix(expected) if text.startswith(expected) else f"\0{text}"


def padded_length(field: pa.Field) -> int | None:
    """How long a CHAR column's values are, with the spaces behind them; None for any other column."""
    length = (field.metadata or {}).get(CHAR_LENGTH)
    return None if length is None else int(length)


def has_padding(type_: pa.DataType) -> bool:
    """Whether there is a CHAR somewhere inside."""
    if pa.types.is_struct(type_):
        children = list(type_)
    elif pa.types.is_map(type_):
        children = [type_.key_field, type_.item_field]
    else:
        children = [type_.value_field] if pa.types.is_list(type_) else []
    return any(padded_length(child) is not None or has_padding(child.type) for child in children)


def padded(values: pa.Array, field: pa.Field) -> pa.Array:
    """The values of a CHAR column at their full length, as Spark shows them whatever was stored."""
    length = padded_length(field)
    return values if length is None else pc.utf8_rpad(values, length)


def _type(type_json: Any, path: str) -> pa.DataType:
    if isinstance(type_json, str):
        primitive = primitive_type(type_json)
        if primitive is None:
            raise UnsupportedType(path, type_json)
        return primitive
    kind = type_json.get("type")
    if kind == "struct":
        return pa.struct([_field(field, f"{path}.") for field in type_json["fields"]])
    if kind == "array":
        return pa.list_(
            pa.field("element", _type(type_json["elementType"], f"{path}.element"), type_json["containsNull"])
        )
    if kind == "map":
        key = pa.field("key", _type(type_json["keyType"], f"{path}.key"), nullable=False)
        value = pa.field("value", _type(type_json["valueType"], f"{path}.value"), type_json["valueContainsNull"])
        return pa.map_(key, value)
    raise UnsupportedType(path, str(kind))


def primitive_type(name: str) -> pa.DataType | None:
    """The Arrow type of a type that is only a name, None where there is none."""
    if name in _PRIMITIVES:
        return _PRIMITIVES[name]
    if decimal := _DECIMAL.match(name):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    if name == "decimal":
        return pa.decimal128(10, 0)
    if _MONTHS.match(name):
        return pa.int32()
    if _DURATION.match(name):
        return pa.duration("us")
    return pa.string() if _LIMITED.match(name) else None


def is_variant(type_: pa.DataType) -> bool:
    if not (pa.types.is_struct(type_) and type_.num_fields == VARIANT.num_fields):
        return False
    return bool((type_.field(1).metadata or {}).get(b"variant") == b"true")


def collation_of(field: pa.Field) -> str | None:
    """The collation that decides what equal and less mean for a string; None where its bytes do."""
    name = (field.metadata or {}).get(COLLATION, _BYTEWISE.encode()).decode()
    return None if name.split(".")[-1] == _BYTEWISE.split(".")[-1] else name


def prune(schema: pa.Schema, physical: pa.Schema, paths: Collection[tuple[str, ...]]) -> tuple[pa.Schema, pa.Schema]:
    """Both schemas with only the fields at `paths` (names of `schema`); `physical` has the same shape, other names."""
    kept = _prune_fields(list(schema), list(physical), set(paths))
    return pa.schema([first for first, _ in kept]), pa.schema([second for _, second in kept])


def _prune_fields(
    fields: list[pa.Field], physical_fields: list[pa.Field], paths: set[tuple[str, ...]]
) -> list[tuple[pa.Field, pa.Field]]:
    kept = []
    by_name: dict[str, set[tuple[str, ...]]] = {}
    for path in paths:
        by_name.setdefault(path[0], set()).add(path[1:])
    for field, physical in zip(fields, physical_fields, strict=True):
        below = by_name.get(field.name)
        if not below:
            continue
        if () in below or not pa.types.is_struct(field.type):
            kept.append((field, physical))
            continue
        children = _prune_fields(list(field.type), list(physical.type), below)
        if children:
            first, second = zip(*children, strict=True)
            kept.append((field.with_type(pa.struct(first)), physical.with_type(pa.struct(second))))
    return kept


def leaf_paths(fields: Iterable[pa.Field], above: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """The paths of all fields that are no structs, and of structs without fields."""
    paths: set[tuple[str, ...]] = set()
    for field in fields:
        path = (*above, field.name)
        inside = leaf_paths(field.type, path) if pa.types.is_struct(field.type) else set()
        paths |= inside or {path}
    return paths


def field_at(schema: pa.Schema | pa.StructType, path: tuple[str, ...]) -> pa.Field | None:
    """The field at a path of names, through structs only."""
    fields: pa.Schema | pa.DataType = schema
    reached = None
    for name in path:
        # Arrow has an index of a struct's names: a wide one is not walked.
        places = fields.get_all_field_indices(name) if isinstance(fields, pa.Schema | pa.StructType) else []
        if not places:
            return None
        reached = fields.field(min(places))
        fields = reached.type
    return reached


def physical_part(wanted: pa.Schema, schema: pa.Schema, physical: pa.Schema) -> pa.Schema:
    """The part of `physical` that `wanted` is of `schema`: the same fields, nested ones too, in `wanted`'s order."""
    return pa.schema(_physical_fields(list(wanted), list(schema), list(physical)))


def _physical_fields(wanted: list[pa.Field], fields: list[pa.Field], physical_fields: list[pa.Field]) -> list[pa.Field]:
    pairs = {field.name: (field, physical) for field, physical in zip(fields, physical_fields, strict=True)}
    return [_physical_field(field, *pairs[field.name]) for field in wanted]


def _physical_field(wanted: pa.Field, field: pa.Field, physical: pa.Field) -> pa.Field:
    return physical.with_type(_physical_type(wanted.type, field.type, physical.type))


def _physical_type(wanted: pa.DataType, type_: pa.DataType, physical: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(wanted):
        return pa.struct(_physical_fields(list(wanted), list(type_), list(physical)))
    if pa.types.is_list(wanted):
        return pa.list_(_physical_field(wanted.value_field, type_.value_field, physical.value_field))
    if pa.types.is_map(wanted):
        key = _physical_field(wanted.key_field, type_.key_field, physical.key_field)
        return pa.map_(key, _physical_field(wanted.item_field, type_.item_field, physical.item_field))
    return physical


def as_nullable(schema: pa.Schema) -> pa.Schema:
    """The schema with every field, element and value nullable; a variant stays what it is."""
    return pa.schema([_nullable_field(field) for field in schema])


def _nullable_field(field: pa.Field) -> pa.Field:
    return field.with_type(_nullable_type(field.type)).with_nullable(True)


def _nullable_type(type_: pa.DataType) -> pa.DataType:
    if type_.equals(VARIANT):
        return type_
    if pa.types.is_struct(type_):
        return pa.struct([_nullable_field(field) for field in type_])
    if pa.types.is_map(type_):
        key = type_.key_field.with_type(_nullable_type(type_.key_type))
        return pa.map_(key, _nullable_field(type_.item_field))
    return pa.list_(_nullable_field(type_.value_field)) if pa.types.is_list(type_) else type_
