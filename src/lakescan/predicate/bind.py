"""Binding: a predicate's names and literals fitted to a schema.

In a bound predicate every column is spelled as the schema spells it, and every literal has the type in which
Spark (ANSI mode, session time zone UTC) compares it; no literal is ever rounded to fit. A predicate that Spark
would refuse, or that would need a cast of a text column, raises InvalidFilter, UnknownColumn or AmbiguousColumn;
so does one that would compare a string by a collation or a CHAR column, which Spark pads: statistics and Arrow know
only the bytes that were stored.
"""

from collections.abc import Sequence
from datetime import datetime, time, timezone
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa

from lakescan.errors import AmbiguousColumn, InvalidFilter, UnknownColumn
from lakescan.predicate.coercion import comparison_type, is_bytes, is_number, is_text
from lakescan.predicate.literals import NULL
from lakescan.predicate.text import value_of_text
from lakescan.predicate.tree import (
    And,
    Column,
    Comparison,
    Constant,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Predicate,
    StartsWith,
)
from lakescan.types.schema import collation_of, field_at, is_variant, padded_length


def bind(predicate: Predicate, schema: pa.Schema) -> Predicate:
    """The same predicate with the schema's names and with literals in the types they are compared in."""
    match predicate:
        case Constant():
            return predicate
        case And(left, right):
            return And(bind(left, schema), bind(right, schema))
        case Or(left, right):
            return Or(bind(left, schema), bind(right, schema))
        case Not(child):
            return Not(bind(child, schema))
        case IsNull(column):
            return IsNull(resolve(column, schema)[0])
        case _:
            try:
                return _bind_leaf(predicate, schema)
            except _Incomparable as incomparable:
                raise InvalidFilter(str(predicate), f"{incomparable}.") from None


class _Incomparable(Exception):
    """Two types that cannot be compared, or a literal that is no value of the column's type."""


def _bind_leaf(leaf: Comparison | In | StartsWith, schema: pa.Schema) -> Predicate:
    column, kind = resolve(leaf.left if isinstance(leaf, Comparison) else leaf.column, schema)
    if pa.types.is_nested(kind):
        name = "variant" if is_variant(kind) else str(kind)
        raise _Incomparable(f"{column} is a {name}, which can only be asked for IS NULL")
    _refuse_special_text(column, schema)
    match leaf:
        case StartsWith(_, prefix):
            if not is_text(kind) and not pa.types.is_null(kind):
                raise _Incomparable(f"{column} is {kind} and only text has a prefix")
            return StartsWith(column, prefix)
        case In(_, values):
            return In(column, _as_compared_together(values, kind))
        case Comparison(op, _, right):
            if isinstance(right, Literal):
                return Comparison(op, column, _as_compared(right, kind))
            other, other_kind = resolve(right, schema)
            _refuse_special_text(other, schema)
            if comparison_type(kind, other_kind) is None:
                raise _Incomparable(f"{column} is {kind} and {other} is {other_kind}, which cannot be compared")
            return Comparison(op, column, other)


def _refuse_special_text(column: Column, schema: pa.Schema) -> None:
    field = field_at(schema, column.path)
    collation = None if field is None else collation_of(field)
    if collation is not None:
        raise _Incomparable(f"{column} is compared by the collation {collation}, and Lakescan compares only bytes")
    length = None if field is None else padded_length(field)
    if length is not None:
        raise _Incomparable(f"{column} is a CHAR({length}), which can only be asked for IS NULL")


def resolve(column: Column, schema: pa.Schema) -> tuple[Column, pa.DataType]:
    path: tuple[str, ...] = ()
    fields: pa.Schema | pa.StructType = schema
    for name in column.path:
        candidates = _candidates(name, fields)
        prefix = "".join(f"{part}." for part in path)
        if not candidates:
            raise UnknownColumn(".".join(column.path), [prefix + field.name for field in fields] or [prefix[:-1]])
        if len(candidates) > 1:
            raise AmbiguousColumn(".".join(column.path), [prefix + field.name for field in candidates])
        kind = candidates[0].type
        path = (*path, candidates[0].name)
        fields = kind if pa.types.is_struct(kind) and not is_variant(kind) else pa.struct([])
    return Column(path), kind


def _candidates(name: str, fields: pa.Schema | pa.StructType) -> list[pa.Field]:
    """The fields of this name, spelled exactly or else in another case."""
    # Arrow has an index of the names as they are spelled: a wide schema is not walked for each column that is named.
    same = fields.get_all_field_indices(name)
    if same:
        return [fields.field(at) for at in same]
    folded = name.lower()
    return [field for field in fields if field.name.lower() == folded]


def _as_compared_together(literals: Sequence[Literal], kind: pa.DataType) -> tuple[Literal, ...]:
    """The values of an IN list: Spark compares the column with all of them in one common type."""
    if not pa.types.is_floating(kind) and all(value.type == kind for value in literals):
        return tuple(value if value.value is not None else NULL for value in literals)
    kinds = [value.type for value in literals if value.value is not None]
    if pa.types.is_integer(kind) and any(map(is_text, kinds)) and any(map(pa.types.is_decimal, kinds)):
        # Spark's type for such a list depends on its digits, and may cut '0.1' down to 0.
        raise _Incomparable("text and decimals in one list have no exact common type with an integer column")
    plain = {value: _as_compared(value, kind) for value in literals if not is_text(value.type)}
    common = reduce(_wider, (value.type for value in plain.values()), kind)
    typed = [plain[value] if value in plain else _as_compared(value, common) for value in literals]
    if any(pa.types.is_floating(value.type) for value in typed):
        return tuple(value if value.value is None else _as_double(value) for value in typed)
    return tuple(typed)


def _wider(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    common = comparison_type(left, right)
    if common is None:
        raise _Incomparable(f"{left} and {right} cannot be compared")
    return common


def _as_compared(literal: Literal, kind: pa.DataType) -> Literal:
    """The literal in the type in which Spark compares it with a column of the type `kind`."""
    if literal.value is None:
        return NULL
    if is_text(literal.type) and not (is_text(kind) or is_bytes(kind) or pa.types.is_null(kind)):
        literal = _read_as(literal.value, kind)
    common = comparison_type(kind, literal.type)
    if common is None:
        raise _Incomparable(f"the column is {kind} and {literal} is {literal.type}, which cannot be compared")
    if pa.types.is_floating(common):
        return Literal(float(literal.value), common)
    if is_number(common):
        return _exact(literal, kind)
    if pa.types.is_timestamp(common):
        moment = kind if pa.types.is_timestamp(kind) else common
        return Literal(_moment(literal.value, moment.tz is not None), moment)
    if is_text(common) or is_bytes(common):
        return _text_or_bytes(literal, kind)
    return literal


def _read_as(text: str, kind: pa.DataType) -> Literal:
    # Spark reads text beside any integer column as a 64-bit integer, beside a decimal column as a double.
    wanted = pa.int64() if pa.types.is_integer(kind) else pa.float64() if is_number(kind) else kind
    try:
        return Literal(value_of_text(text, wanted), wanted)
    except ValueError as refused:
        raise _Incomparable(str(refused)) from None


def _as_double(literal: Literal) -> Literal:
    return Literal(float(literal.value), pa.float64())


def _exact(literal: Literal, kind: pa.DataType) -> Literal:
    """The number in the column's own type when it fits there exactly, else in the type it was written in."""
    number = Decimal(literal.value)
    if pa.types.is_integer(kind):
        half = 2 ** (kind.bit_width - 1)
        fits = -half <= number < half and number == int(number)
        return Literal(int(number), kind) if fits else literal
    try:
        return Literal(number, kind)
    except pa.ArrowInvalid:
        return literal


def _moment(value: Any, with_zone: bool) -> datetime:
    moment: datetime = value if isinstance(value, datetime) else datetime.combine(value, time())
    utc = moment.astimezone(timezone.utc) if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return utc if with_zone else utc.replace(tzinfo=None)


def _text_or_bytes(literal: Literal, kind: pa.DataType) -> Literal:
    if is_bytes(kind) and is_text(literal.type):
        return Literal(literal.value.encode(), kind)
    return Literal(literal.value, kind) if is_text(kind) and is_text(literal.type) else literal
