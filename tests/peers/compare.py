"""Two Arrow tables, value by value: the same columns in the same order, and the same rows in any order."""

from collections import Counter
from typing import Any

import pyarrow as pa


class Different(AssertionError):
    """Two readers disagree."""


def same_rows(actual: pa.Table, expected: pa.Table, what: str) -> None:
    """Raise `Different` unless both hold the same rows."""
    if shape(actual.schema) != shape(expected.schema):
        raise Different(f"{what}: the schema is\n  {shape(actual.schema)}\nand should be\n  {shape(expected.schema)}")
    ours, theirs = Counter(_rows(actual)), Counter(_rows(expected))
    if ours == theirs:
        return
    extra, missing = list((ours - theirs).elements()), list((theirs - ours).elements())
    raise Different(
        f"{what}: {actual.num_rows} rows, of {expected.num_rows} expected\n"
        f"  columns {expected.column_names}\n"
        + "".join(f"  only Lakescan has {row}\n" for row in extra[:5])
        + "".join(f"  only Delta has    {row}\n" for row in missing[:5])
    )


def shape(schema: pa.Schema) -> list[tuple[str, str]]:
    """Names and types; nullability, metadata and the name of a time zone say nothing about values."""
    return [(field.name, _type(field.type)) for field in schema]


def _type(type_: pa.DataType) -> str:
    if pa.types.is_struct(type_):
        return f"struct<{', '.join(f'{field.name}: {_type(field.type)}' for field in type_)}>"
    if pa.types.is_map(type_):
        return f"map<{_type(type_.key_type)}, {_type(type_.item_type)}>"
    if pa.types.is_list(type_):
        return f"list<{_type(type_.value_type)}>"
    if pa.types.is_timestamp(type_):
        return f"timestamp[{type_.unit}{', zoned' if type_.tz else ''}]"
    return str(type_)


def _rows(table: pa.Table) -> list[str]:
    if not table.num_columns:
        return ["()"] * table.num_rows
    columns = [column.cast(_comparable(column.type)).to_pylist() for column in table.columns]
    return [repr(row) for row in zip(*columns, strict=True)]


def _comparable(type_: pa.DataType) -> Any:
    """The same type with days and moments as numbers: Python's own dates end at the year 9999."""
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(field.name, _comparable(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_comparable(type_.key_type), _comparable(type_.item_type))
    if pa.types.is_list(type_):
        return pa.list_(_comparable(type_.value_type))
    if pa.types.is_timestamp(type_):
        return pa.int64()
    return pa.int32() if pa.types.is_date(type_) else type_
