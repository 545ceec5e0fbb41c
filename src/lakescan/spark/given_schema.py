"""What Spark tells a data source beside its options: a schema of the user's, and what a catalog knows of a table.

A schema names some of the table's columns, each with its type. What a catalog keeps of a table is not an option.
"""

import json
from typing import Any

from pyspark.sql.types import StructType

from lakescan.errors import UnknownStreamSchema

_OF_A_CATALOG = frozenset(
    ["owner", "provider", "location", "external", "is_managed_location", "comment", "collation", "table_type"]
)


def is_of_a_catalog(name: str) -> bool:
    """Whether a catalog says this of a table that was made with CREATE TABLE."""
    # An option of the table itself comes a second time, with this before its name.
    return name.lower() in _OF_A_CATALOG or name.lower().startswith("option.")


def chosen_columns(given: StructType, spark_schema: str) -> list[str]:
    """The columns that a schema names, each one of the table's with its type."""
    known = {field["name"]: field for field in all_nullable(json.loads(spark_schema))["fields"]}
    for field in all_nullable(json.loads(given.json()))["fields"]:
        if field["name"] not in known:
            raise UnknownStreamSchema(field["name"], f"is not one of the table's columns: {', '.join(known)}")
        wanted = known[field["name"]]["type"]
        if bare(field["type"]) != bare(wanted):
            raise UnknownStreamSchema(field["name"], f"has the type {wanted} in the table, not {field['type']}")
    return list(given.names)


def bare(type_: Any) -> Any:
    """A type's JSON, parsed, without what is only said about its fields."""
    if isinstance(type_, list):
        return [bare(item) for item in type_]
    return {key: bare(value) for key, value in type_.items() if key != "metadata"} if isinstance(type_, dict) else type_


def all_nullable(type_json: Any) -> Any:
    """A schema's JSON with every field, element and value nullable: rows of an older version may lack any of them."""
    if not isinstance(type_json, dict):
        return type_json
    changed = {key: all_nullable(value) for key, value in type_json.items() if key != "fields"}
    if "fields" in type_json:
        changed["fields"] = [{**all_nullable(field), "nullable": True} for field in type_json["fields"]]
    for flag in ("containsNull", "valueContainsNull"):
        if flag in changed:
            changed[flag] = True
    return changed


def not_there(known: Any, newest: Any, name: str = "") -> str | None:
    """What a schema's JSON has that a newer one has no longer, None where it has all of it; it may have more."""
    if not isinstance(known, dict) or not isinstance(newest, dict) or known.get("type") != newest.get("type"):
        return None if known == newest else f"{name} was {_type_name(known)} and is {_type_name(newest)}"
    for field in known.get("fields", ()):
        named = f"{name}.{field['name']}" if name else field["name"]
        other = next((one for one in newest["fields"] if one["name"] == field["name"]), None)
        if other is None:
            return f"{named} is gone"
        if other["nullable"] and not field["nullable"]:
            return f"{named} may be null"
        lost = not_there(field["type"], other["type"], named)
        if lost is not None:
            return lost
    for flag in ("containsNull", "valueContainsNull"):
        if newest.get(flag) and not known.get(flag):
            return f"what is in {name} may be null"
    parts = [part for part in ("elementType", "keyType", "valueType") if part in known]
    inside = (not_there(known[part], newest[part], name) for part in parts)
    return next((lost for lost in inside if lost is not None), None)


def _type_name(type_json: Any) -> str:
    return str(type_json["type"] if isinstance(type_json, dict) else type_json)
