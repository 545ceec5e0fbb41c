"""What a query takes out of Variants, taken out by the scan: `variant_get(v, '$.a', 'int')` and casts of a Variant.

A column then is a struct of these values, and no longer a Variant. Either all that a query takes out is taken over, or
nothing: Spark rewrites the whole query where a scan takes over any of it. The values are those of Spark's own code, in
the executor's reader and for Variants that workers send (`VariantFields.java`).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import DataType, StructField, StructType, VariantType

SINCE = (4, 3)
"""The release from which on Spark's offer can be taken: before, it asks for a column twice, and reads all columns."""
# Where Spark keeps what is taken out, in the metadata of a struct's field, and in it whose failed casts a field has.
_TOLD = "__VARIANT_METADATA_KEY"
_PATH = "path"
_CAST_ERROR = "castErrorFor"


@dataclass(frozen=True)
class Extraction:
    """One value that is taken out of a Variant, as Spark says it."""

    column: tuple[str, ...]
    type: DataType
    metadata: Mapping[str, Any]


def extracted_types(extractions: Sequence[Extraction], variants: Collection[str]) -> dict[str, StructType] | None:
    """The types of the columns that a scan gives in place of these Variants; None where it cannot give all of them."""
    wanted: dict[str, list[Extraction]] = {}
    for extraction in extractions:
        wanted.setdefault(extraction.column[0], []).append(extraction)
    if not set(wanted) <= set(variants) or any(len(extraction.column) > 1 for extraction in extractions):
        return None
    # Spark makes no column of values with a collation.
    if any("collate" in each.type.simpleString().lower() for each in extractions):
        return None
    # Of a Variant that is wanted as it is, or only asked whether it is null, there is nothing to take out.
    if any(all(isinstance(each.type, VariantType) for each in of_one) for of_one in wanted.values()):
        return None
    return {
        name: StructType([StructField(str(at), each.type, True, dict(each.metadata)) for at, each in enumerate(of_one)])
        for name, of_one in wanted.items()
    }


def with_extracted(schema: StructType, types: Mapping[str, StructType]) -> StructType:
    """The schema that a scan gives."""
    fields = schema.fields
    return StructType([StructField(f.name, types.get(f.name, f.dataType), f.nullable, f.metadata) for f in fields])


def is_extracted(type_: DataType) -> bool:
    """Whether it is a struct of what is taken out of a Variant."""
    return isinstance(type_, StructType) and any(_TOLD in field.metadata for field in type_.fields)


def shown_extractions(schema: StructType) -> list[str]:
    """What is taken out of the Variants of a scan, for people."""
    return [
        f"{column.name}{told[_PATH].removeprefix('$')} AS {field.dataType.simpleString()}"
        for column in schema.fields
        if isinstance(column.dataType, StructType)
        for field in column.dataType.fields
        if (told := field.metadata.get(_TOLD)) is not None and _CAST_ERROR not in told
    ]
