"""A bound predicate applied to rows.

`evaluate` gives one TRUE, FALSE or NULL a row, by SQL's three-valued logic and Spark's order of values: NaN
equals NaN and is greater than every other number, -0.0 equals 0.0, text and binary compare by their bytes.
The predicate must be bound to the table's schema; then no row makes it fail.
"""

from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate.coercion import cast_to_compare, comparison_type
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


def evaluate(predicate: Predicate, table: pa.Table | pa.RecordBatch) -> pa.BooleanArray:
    """One TRUE, FALSE or NULL for each row of the table."""
    answer = _evaluate(predicate, table)
    return answer.combine_chunks() if isinstance(answer, pa.ChunkedArray) else answer


def _evaluate(predicate: Predicate, table: pa.Table | pa.RecordBatch) -> Any:
    coded = _coded(predicate, table)
    if coded is not None:
        return _by_dictionary(predicate, *coded)
    match predicate:
        case Constant(value):
            return pa.repeat(pa.scalar(value, pa.bool_()), table.num_rows)
        case And(left, right):
            return pc.and_kleene(_evaluate(left, table), _evaluate(right, table))
        case Or(left, right):
            return pc.or_kleene(_evaluate(left, table), _evaluate(right, table))
        case Not(child):
            return pc.invert(_evaluate(child, table))
        case IsNull(column):
            return pc.is_null(_values(column, table))
        case StartsWith(column, prefix):
            values = _values(column, table)
            return pc.starts_with(cast_to_compare(values, pa.string()) if _is_untyped(values) else values, prefix)
        case In(column, literals):
            return _is_in(_values(column, table), literals)
        case Comparison(op, column, right):
            other = _values(right, table) if isinstance(right, Column) else right.scalar
            return _compare(op, _values(column, table), other)


def _coded(predicate: Predicate, table: pa.Table | pa.RecordBatch) -> tuple[str, pa.DictionaryArray] | None:
    """The one column that the predicate compares with constants, where that is a dictionary much shorter than rows."""
    match predicate:
        case IsNull(Column((name,))) | StartsWith(Column((name,)), _) | In(Column((name,)), _):
            values = table.column(name)
        case Comparison(_, Column((name,)), Literal()):
            values = table.column(name)
        case _:
            return None
    short = isinstance(values, pa.DictionaryArray) and 2 * len(values.dictionary) < len(values)
    return (name, values) if short else None


def _by_dictionary(predicate: Predicate, name: str, values: pa.DictionaryArray) -> Any:
    """The predicate asked once of each value; null, which no dictionary has, is one of them."""
    null = len(values.dictionary)
    distinct = pa.concat_arrays([values.dictionary, pa.nulls(1, values.dictionary.type)])
    answers = _evaluate(predicate, pa.record_batch({name: distinct}))
    return answers.take(pc.fill_null(values.indices, null))


def _values(column: Column, table: pa.Table | pa.RecordBatch) -> Any:
    values = table.column(column.path[0])
    if isinstance(values, pa.DictionaryArray):
        values = values.dictionary_decode()
    for name in column.path[1:]:
        # This kernel, unlike StructArray.field, gives NULL where the struct itself is NULL.
        values = pc.struct_field(values, [name])
    return values


def _compare(op: str, left: Any, right: Any) -> Any:
    common = comparison_type(left.type, right.type)
    if common is None:
        raise TypeError(f"{left.type} and {right.type} cannot be compared: bind the predicate to the schema first.")
    if pa.types.is_null(common):
        # Arrow has no comparison of two untyped NULLs; any type will do for them.
        common = pa.bool_()
    left, right = cast_to_compare(left, common), cast_to_compare(right, common)
    match op:
        case "=":
            return _equal(left, right)
        case "<>":
            return pc.invert(_equal(left, right))
        case "<":
            return _less(left, right)
        case ">":
            return _less(right, left)
        case "<=":
            return pc.invert(_less(right, left))
        case ">=":
            return pc.invert(_less(left, right))
        case _:
            both_null = pc.and_(pc.is_null(left), pc.is_null(right))
            return pc.or_(pc.fill_null(_equal(left, right), False), both_null)


def _equal(left: Any, right: Any) -> Any:
    same = pc.equal(left, right)
    if not pa.types.is_floating(left.type):
        return same
    return pc.or_kleene(same, pc.and_kleene(pc.is_nan(left), pc.is_nan(right)))


def _less(left: Any, right: Any) -> Any:
    less = pc.less(left, right)
    if not pa.types.is_floating(left.type):
        return less
    return pc.or_kleene(less, pc.and_kleene(pc.invert(pc.is_nan(left)), pc.is_nan(right)))


def _is_in(values: Any, literals: tuple[Literal, ...]) -> Any:
    nothing = pa.scalar(None, pa.bool_())
    wanted = [literal for literal in literals if literal.value is not None]
    common = reduce(comparison_type, (literal.type for literal in wanted), values.type)
    scalars = [cast_to_compare(literal.scalar, common) for literal in wanted]
    matched = pc.is_in(
        _one_of_each(cast_to_compare(values, common)),
        value_set=_one_of_each(pa.array([scalar.as_py() for scalar in scalars], common)),
    )
    if not literals:
        return matched
    unmatched = nothing if len(wanted) < len(literals) else False
    return pc.if_else(pc.is_null(values), nothing, pc.if_else(matched, True, unmatched))


def _one_of_each(values: Any) -> Any:
    """Floats with one NaN and one zero, because `is_in` tells numbers apart by their bits."""
    if not pa.types.is_floating(values.type):
        return values
    nan = pa.scalar(float("nan"), values.type)
    return pc.if_else(pc.is_nan(values), nan, pc.add(values, pa.scalar(0.0, values.type)))


def _is_untyped(values: Any) -> bool:
    return bool(pa.types.is_null(values.type))
