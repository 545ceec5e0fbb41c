"""The table's columns as its data files hold them.

Fields are found by name. Hudi widens some types by their text: a file that was written when a column was a float gives
the double of the same digits, and a whole number or a date becomes the text that it is written as. A long becomes the
nearest double, which Delta would not allow.
"""

import pyarrow as pa

from lakescan.types.schema import WIDEN_BY_TEXT


def physical_schema(schema: pa.Schema) -> pa.Schema:
    """The same fields, marked with what the reader must know of them."""
    return pa.schema([_field(field) for field in schema])


def _field(field: pa.Field) -> pa.Field:
    if pa.types.is_floating(field.type) or pa.types.is_string(field.type):
        return field.with_metadata({WIDEN_BY_TEXT: b""})
    return field.with_type(_type(field.type))


def _type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_field(child) for child in kind])
    if pa.types.is_list(kind):
        return pa.list_(_field(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(_field(kind.key_field), _field(kind.item_field))
    return kind
