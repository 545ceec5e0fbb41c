"""A schema as Spark prints it: a tree, a line a field."""

import json
from collections.abc import Iterator
from typing import Any

from lakescan.show.text import shown


def schema_tree(schema_json: str) -> str:
    """What `printSchema` prints of the same schema, without its last blank line."""
    return "\n".join(["root", *_fields(json.loads(schema_json), " |")])


def type_text(type_: Any) -> str:
    """A type as Spark's SQL writes it: `struct<a:int,b:array<string>>`."""
    if isinstance(type_, str):
        return {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}.get(type_, type_)
    if type_["type"] == "struct":
        fields = (f"{shown(field['name'])}:{type_text(field['type'])}" for field in type_["fields"])
        return f"struct<{','.join(fields)}>"
    if type_["type"] == "array":
        return f"array<{type_text(type_['elementType'])}>"
    return f"map<{type_text(type_['keyType'])},{type_text(type_['valueType'])}>"


def _fields(struct: dict[str, Any], before: str) -> Iterator[str]:
    for field in struct["fields"]:
        yield f"{before}-- {shown(field['name'])}: {_name(field['type'])} (nullable = {_truth(field['nullable'])})"
        yield from _inside(field["type"], f"{before}    |")


def _inside(type_: Any, before: str) -> Iterator[str]:
    if isinstance(type_, str):
        return
    if type_["type"] == "struct":
        yield from _fields(type_, before)
    elif type_["type"] == "array":
        yield f"{before}-- element: {_name(type_['elementType'])} (containsNull = {_truth(type_['containsNull'])})"
        yield from _inside(type_["elementType"], f"{before}    |")
    elif type_["type"] == "map":
        yield f"{before}-- key: {_name(type_['keyType'])}"
        yield from _inside(type_["keyType"], f"{before}    |")
        contains = _truth(type_["valueContainsNull"])
        yield f"{before}-- value: {_name(type_['valueType'])} (valueContainsNull = {contains})"
        yield from _inside(type_["valueType"], f"{before}    |")


def _name(type_: Any) -> str:
    return type_ if isinstance(type_, str) else str(type_["type"])


def _truth(flag: bool) -> str:
    return str(flag).lower()
