"""Hudi's schema, which is Avro's JSON, as Spark's JSON.

Written by hand because hudi-rs gives only the newest schema, only as Arrow, and time travel needs the schema of the
moment. The types are those that Spark shows for a Hudi table; a union that is not "this type or null" or a number in
two widths has no such type and is refused by name. Every column is nullable, as Spark reads Hudi.
"""

import json
from typing import Any

from lakescan.errors import CorruptLog, UnsupportedType
from lakescan.formats.hudi.names import META_COLUMNS

_PLAIN = {
    "null": "void",
    "boolean": "boolean",
    "int": "integer",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "bytes": "binary",
    "enum": "string",
    "fixed": "binary",
}
_LOGICAL = {
    "date": "date",
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "local-timestamp-millis": "timestamp_ntz",
    "local-timestamp-micros": "timestamp_ntz",
}
# Of no type of Spark's, and those of Hudi's own that are stored in the form of another type.
_REFUSED = ("time-millis", "time-micros", "duration", "vector", "variant")
_WIDER = {frozenset({"int", "long"}): "long", frozenset({"float", "double"}): "double"}


def spark_schema(avro: str, meta_columns: bool, file: str) -> dict[str, Any]:
    """The JSON struct of an Avro record, with Hudi's own columns first where the table has them."""
    try:
        record = json.loads(avro)
        known: dict[str, Any] = {}
        struct = _struct(record, "", known)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptLog(file, f"its schema is no Avro record ({type(error).__name__}: {error})") from error
    own = [field("string", name) for name in META_COLUMNS] if meta_columns else []
    given = [column for column in struct["fields"] if column["name"] not in META_COLUMNS]
    return {"type": "struct", "fields": own + given}


def field(type_: Any, name: str) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": True, "metadata": {}}


def _struct(record: dict[str, Any], path: str, known: dict[str, Any]) -> dict[str, Any]:
    fields = []
    for avro_field in record["fields"]:
        if not isinstance(avro_field["name"], str) or not avro_field["name"].isprintable():
            raise ValueError(f"a field has the name {avro_field['name']!r}")
        made = field(_type(avro_field["type"], f"{path}{avro_field['name']}", known), avro_field["name"])
        if avro_field.get("doc"):
            made["metadata"] = {"comment": avro_field["doc"]}
        fields.append(made)
    return {"type": "struct", "fields": fields}


def _type(avro: Any, path: str, known: dict[str, Any]) -> Any:
    if isinstance(avro, list):
        return _union(avro, path, known)
    if isinstance(avro, str):
        return known[avro] if avro in known else _PLAIN[avro]
    made = _complex(avro, path, known)
    if "name" in avro:
        # A type with a name may be used again by that name, alone or with its namespace.
        known[avro["name"]] = made
        if "namespace" in avro:
            known[f"{avro['namespace']}.{avro['name']}"] = made
    return made


def _complex(avro: dict[str, Any], path: str, known: dict[str, Any]) -> Any:
    logical, kind = avro.get("logicalType"), avro["type"]
    if logical == "decimal":
        return f"decimal({avro['precision']},{avro.get('scale', 0)})"
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if logical in _REFUSED:
        raise UnsupportedType(path, logical)
    if kind == "record":
        return _struct(avro, f"{path}.", known)
    if kind == "array":
        return {"type": "array", "elementType": _type(avro["items"], f"{path}.element", known), "containsNull": True}
    if kind == "map":
        value = _type(avro["values"], f"{path}.value", known)
        return {"type": "map", "keyType": "string", "valueType": value, "valueContainsNull": True}
    return _type(kind, path, known)


def _union(options: list[Any], path: str, known: dict[str, Any]) -> Any:
    given = [option for option in options if option != "null"]
    if not given:
        return "void"
    if len(given) == 1:
        return _type(given[0], path, known)
    names = frozenset(option for option in given if isinstance(option, str))
    if len(names) == len(given) and names in _WIDER:
        return _PLAIN[_WIDER[names]]
    raise UnsupportedType(path, f"union of {json.dumps(given)}")
