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
