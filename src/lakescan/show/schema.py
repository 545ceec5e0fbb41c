"""A schema as Spark prints it: a tree, a line a field."""

import json
from collections.abc import Iterator
from typing import Any

from lakescan.show.text import shown


def schema_tree(schema_json: str) -> str:
    """What `printSchema` prints of the same schema, without its last blank line."""
    return "\n".join(["root", *_fields(json.loads(schema_json), " |")])


def type_text(found: Any) -> str:
    """A type as Spark's SQL writes it: `struct<a:int,b:array<string>>`."""
    if isinstance(found, str):
        return {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}.get(found, found)
    if found["type"] == "struct":
        fields = (f"{shown(field['name'])}:{type_text(field['type'])}" for field in found["fields"])
        return f"struct<{','.join(fields)}>"
    if found["type"] == "array":
        return f"array<{type_text(found['elementType'])}>"
    return f"map<{type_text(found['keyType'])},{type_text(found['valueType'])}>"


def _fields(struct: dict[str, Any], before: str) -> Iterator[str]:
    for field in struct["fields"]:
        yield f"{before}-- {shown(field['name'])}: {_name(field['type'])} (nullable = {_truth(field['nullable'])})"
        yield from _inside(field["type"], f"{before}    |")


def _inside(found: Any, before: str) -> Iterator[str]:
    if isinstance(found, str):
        return
    if found["type"] == "struct":
        yield from _fields(found, before)
    elif found["type"] == "array":
        yield f"{before}-- element: {_name(found['elementType'])} (containsNull = {_truth(found['containsNull'])})"
        yield from _inside(found["elementType"], f"{before}    |")
    elif found["type"] == "map":
        yield f"{before}-- key: {_name(found['keyType'])}"
        yield from _inside(found["keyType"], f"{before}    |")
        contains = _truth(found["valueContainsNull"])
        yield f"{before}-- value: {_name(found['valueType'])} (valueContainsNull = {contains})"
        yield from _inside(found["valueType"], f"{before}    |")


def _name(found: Any) -> str:
    return found if isinstance(found, str) else str(found["type"])


def _truth(found: bool) -> str:
    return str(found).lower()
