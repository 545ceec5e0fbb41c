"""The one place that knows both names of a column: the logical one of queries, the physical one of files.

`physical_names` gives the table's schema over again, field by field in the same order, with the names (and,
in id mode, the ids) that data files, partition values and statistics use. Everything else pairs the two
schemas by position and never looks a name up.
"""

from collections.abc import Callable, Mapping
from typing import Any

from lakescan.errors import UnsupportedFeature
from lakescan.types.schema import SPARK_FIELD_ID

MODE = "delta.columnMapping.mode"
_NAME = "delta.columnMapping.physicalName"
_ID = "delta.columnMapping.id"


def physical_names(schema: Mapping[str, Any], mode: str) -> dict[str, Any]:
    """The JSON schema in physical names; in id mode each field also says its Parquet field id.

    A ValueError where a column has none: taken under its own name, it would be null in every file.
    """
    if mode not in ("none", "name", "id"):
        raise UnsupportedFeature("The table", f"the column mapping mode {mode!r}")

    def rename(field: dict[str, Any]) -> dict[str, Any]:
        if mode == "none":
            return {**field, "metadata": {}}
        metadata = field.get("metadata") or {}
        for needed in (_NAME, _ID)[: 2 if mode == "id" else 1]:
            if metadata.get(needed) is None:
                raise ValueError(f"the column {field['name']} has no {needed} though columns are mapped by {mode}")
        return {**field, "name": metadata[_NAME], "metadata": {SPARK_FIELD_ID: metadata[_ID]} if mode == "id" else {}}

    return _each_field(schema, rename)


def without_delta_metadata(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema as a user's query sees it: comments and the like stay, Delta's own notes go."""

    def strip(field: dict[str, Any]) -> dict[str, Any]:
        metadata = field.get("metadata") or {}
        return {**field, "metadata": {key: value for key, value in metadata.items() if not key.startswith("delta.")}}

    return _each_field(schema, strip)


def _each_field(struct: Mapping[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """The JSON struct with `change` made to each of its fields, at every depth."""

    def inside(type_: Any) -> Any:
        kind = type_.get("type") if isinstance(type_, Mapping) else None
        if kind == "struct":
            return _each_field(type_, change)
        if kind == "array":
            return {**type_, "elementType": inside(type_["elementType"])}
        if kind == "map":
            return {**type_, "keyType": inside(type_["keyType"]), "valueType": inside(type_["valueType"])}
        return type_

    return {**struct, "fields": [{**change(field), "type": inside(field["type"])} for field in struct["fields"]]}
