"""A table's schema as its metadata writes it: JSON text in, a JSON struct out whose shape may be taken on trust.

Every type says what it is, every field has a name that no other of its struct has, and what Delta notes on a field is
of the kind that its readers expect. Anything else is a ValueError that names the column; so is a schema that is
nested so deep that whoever walks it would run out of stack.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from lakescan.formats.delta.log.json_lines import parse_json

DEEPEST = 100
_NO_COLUMNS: dict[str, Any] = {"type": "struct", "fields": []}
_NOTES: dict[str, tuple[type, ...]] = {
    "delta.columnMapping.physicalName": (str,),
    "delta.columnMapping.id": (int,),
    "delta.typeChanges": (list,),
    "__COLLATIONS": (dict,),
}


def read_schema(text: str | None) -> dict[str, Any]:
    """The schema; Delta reads a metadata action without one as a table without columns."""
    if not text:
        return _NO_COLUMNS
    schema = parse_json(text)
    if not isinstance(schema, dict) or schema.get("type", "struct") != "struct":
        raise ValueError("its schema is not a struct")
    to_do = [(schema, "", 0)]
    while to_do:
        type_, path, depth = to_do.pop()
        if depth > DEEPEST:
            raise ValueError(f"the column {path.split('.')[0]} is nested more than {DEEPEST} types deep")
        to_do.extend((below, name, depth + 1) for below, name in _inside(type_, path))
    return schema


def _inside(type_: Any, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The nested types right inside a nested type, each with where it is."""
    kind = type_.get("type", "struct" if not path else None)
    if kind == "struct":
        yield from _fields(type_.get("fields"), path)
    elif kind == "array":
        yield from _element(type_, "elementType", f"{path}.element")
        _need(isinstance(type_.get("containsNull"), bool), path, "does not say whether it contains nulls")
    elif kind == "map":
        yield from _element(type_, "keyType", f"{path}.key")
        yield from _element(type_, "valueType", f"{path}.value")
        _need(isinstance(type_.get("valueContainsNull"), bool), path, "does not say whether it contains nulls")
    else:
        _need(isinstance(kind, str), path, "has no type")


def _fields(fields: Any, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    _need(isinstance(fields, list), path, "is a struct without a list of fields")
    names = set[str]()
    for field in fields:
        _need(isinstance(field, dict) and isinstance(field.get("name"), str), path, "has a field without a name")
        name = f"{path}.{field['name']}" if path else field["name"]
        _need(field["name"] not in names, name, "is there twice")
        names.add(field["name"])
        _need(isinstance(field.get("nullable", True), bool), name, "does not say whether it may be null")
        _check_notes(field.get("metadata"), name)
        yield from _element(field, "type", name)


def _element(holder: Mapping[str, Any], key: str, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    type_ = holder.get(key)
    _need(isinstance(type_, str | dict), path, "has no type")
    if isinstance(type_, dict):
        yield type_, path


def _check_notes(notes: Any, name: str) -> None:
    if notes is None:
        return
    _need(isinstance(notes, dict), name, "has metadata that is no map")
    for key, types in _NOTES.items():
        _need(notes.get(key) is None or isinstance(notes[key], types), name, f"has a malformed {key}")
    changes = notes.get("delta.typeChanges") or []
    _need(all(isinstance(change, dict) for change in changes), name, "has a malformed delta.typeChanges")


def _need(holds: bool, path: str, what: str) -> None:
    if not holds:
        raise ValueError(f"the column {path} {what}" if path else f"its schema {what}")
