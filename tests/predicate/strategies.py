"""Random rows and predicates over every type that a table can have, and a plain interpreter to judge by.

The interpreter knows nothing of Arrow's kernels: it looks at one row at a time and orders Python values by
Spark's rules. Values come from small pools, so that predicates do match and edge cases do meet.
"""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from lakescan.predicate import (
    FALSE,
    TRUE,
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
from lakescan.predicate.literals import literal

UTC = timezone.utc
NAN = float("nan")
INF = float("inf")

_INT8 = [-128, -1, 0, 1, 2, 127]
_INT64 = [-(2**63), -1, 0, 1, 2, 2**53, 2**53 + 1, 2**63 - 1]
_FLOAT32 = [NAN, -0.0, 0.0, 0.5, -1.0, 1.0, INF, -INF]
_FLOAT64 = [*_FLOAT32, 0.1, 2.0**53, 1e-3]
_MONEY = [Decimal(text) for text in ("-1.00", "0.00", "0.50", "1.00", "2.25", "9999999.99")]
_BIG = [Decimal(text) for text in ("-1", "0", "0.5", "0.1", "1", "9007199254740993", f"{10**27}.0000000001")]
_TEXT = ["", "a", "ab", "abc", "ab\u00e9", "b", "\uffff", "\U0001f600", "it's"]
_BYTES = [b"", b"\x00", b"a", b"a\x00", b"ab", b"\xff"]
_DATES = [date(1969, 12, 31), date(1970, 1, 1), date(2020, 2, 29), date(2020, 3, 1)]
_MOMENTS = [datetime(1969, 12, 31, 23), datetime(1970, 1, 1), datetime(2020, 2, 29), datetime(2020, 2, 29, 0, 0, 0, 1)]
_ZONED = [moment.replace(tzinfo=UTC) for moment in _MOMENTS]

STRUCT = pa.struct([("x", pa.int64()), ("f", pa.float64()), ("deep", pa.struct([("s", pa.string())]))])
SCHEMA = pa.schema(
    [
        ("flag", pa.bool_()),
        ("i8", pa.int8()),
        ("i16", pa.int16()),
        ("i32", pa.int32()),
        ("i64", pa.int64()),
        ("f32", pa.float32()),
        ("f64", pa.float64()),
        ("money", pa.decimal128(9, 2)),
        ("big", pa.decimal128(38, 10)),
        ("s", pa.string()),
        ("y", pa.binary()),
        ("day", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("tn", pa.timestamp("us")),
        ("nothing", pa.null()),
        ("box", STRUCT),
    ]
)
COLUMNS: dict[Column, pa.DataType] = {
    **{Column((field.name,)): field.type for field in SCHEMA if field.name != "box"},
    Column(("box", "x")): pa.int64(),
    Column(("box", "f")): pa.float64(),
    Column(("box", "deep", "s")): pa.string(),
}


def pool(kind: pa.DataType) -> list[Any]:
    """The values that a column of this type takes in the tests."""
    if pa.types.is_null(kind):
        return [None]
    by_kind: dict[pa.DataType, list[Any]] = {
        pa.bool_(): [True, False],
        pa.int8(): _INT8,
        pa.int16(): _INT8,
        pa.int32(): _INT8,
        pa.int64(): _INT64,
        pa.float32(): _FLOAT32,
        pa.float64(): _FLOAT64,
        pa.decimal128(9, 2): _MONEY,
        pa.decimal128(38, 10): _BIG,
        pa.string(): _TEXT,
        pa.binary(): _BYTES,
        pa.date32(): _DATES,
        pa.timestamp("us", "UTC"): _ZONED,
        pa.timestamp("us"): _MOMENTS,
    }
    return by_kind[kind]


_FAMILIES: dict[str, list[Any]] = {
    "number": [*_INT8, *_INT64, *_FLOAT64, *_MONEY, *_BIG, 300, 10**20, Decimal("0.005"), Decimal(10) ** 37],
    "bool": [True, False],
    "text": _TEXT,
    "bytes": _BYTES,
    "time": [*_DATES, *_MOMENTS, *_ZONED, datetime(2020, 2, 29, 2, tzinfo=timezone(timedelta(hours=2)))],
    "null": [None],
}


def family(kind: pa.DataType) -> str:
    if pa.types.is_null(kind):
        return "null"
    if pa.types.is_boolean(kind):
        return "bool"
    if pa.types.is_string(kind):
        return "text"
    if pa.types.is_binary(kind):
        return "bytes"
    return "time" if pa.types.is_temporal(kind) else "number"


def _nullable(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, values, values, st.none())


def _value(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_struct(kind):
        return _nullable(st.fixed_dictionaries({field.name: _value(field.type) for field in kind}))
    return _nullable(st.sampled_from(pool(kind)))


def rows(most: int = 6) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(st.fixed_dictionaries({field.name: _value(field.type) for field in SCHEMA}), max_size=most)


def table_of(given: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(given, schema=SCHEMA)


def literals(kind: pa.DataType) -> st.SearchStrategy[Literal]:
    return _nullable(st.sampled_from(_FAMILIES[family(kind)])).map(literal)


@st.composite
def leaves(draw: st.DrawFn) -> Predicate:
    column = draw(st.sampled_from(sorted(COLUMNS, key=str)))
    kind = COLUMNS[column]
    shape = draw(st.sampled_from(["literal", "literal", "column", "in", "null", "prefix", "constant"]))
    if shape == "in":
        return In(column, tuple(draw(st.lists(literals(kind), max_size=4))))
    if shape == "null":
        return IsNull(column)
    if shape == "constant":
        return draw(st.sampled_from([TRUE, FALSE, Constant(None)]))
    if shape == "prefix":
        texts = sorted((name for name, of in COLUMNS.items() if of == pa.string()), key=str)
        return StartsWith(draw(st.sampled_from(texts)), draw(st.sampled_from([*_TEXT, "\u00e9"])))
    op = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"]))
    if shape == "column":
        alike = sorted((other for other, of in COLUMNS.items() if family(of) in (family(kind), "null")), key=str)
        return Comparison(op, column, draw(st.sampled_from(alike)))
    return Comparison(op, column, draw(literals(kind)))


def predicates() -> st.SearchStrategy[Predicate]:
    return st.recursive(
        leaves(),
        lambda inner: st.one_of(
            st.builds(And, inner, inner),
            st.builds(Or, inner, inner),
            st.builds(Not, inner),
        ),
        max_leaves=6,
    )


def value_at(column: Column, row: dict[str, Any]) -> Any:
    value: Any = row
    for name in column.path:
        value = None if value is None else value[name]
    return value


def sort_key(value: Any, as_float: bool) -> Any:
    """A key that orders values as Spark does."""
    if isinstance(value, bool):
        return value
    if as_float:
        number = float(value)
        return (1, 0.0) if number != number else (0, number)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return value


def _or(left: bool | None, right: bool | None) -> bool | None:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _not(child: bool | None) -> bool | None:
    return None if child is None else not child


def _compare(op: str, left: Any, right: Any, as_float: bool) -> bool | None:
    if left is None or right is None:
        return (left is None and right is None) if op == "<=>" else None
    a, b = sort_key(left, as_float), sort_key(right, as_float)
    answers = {"=": a == b, "<=>": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
    return bool(answers[op])


def truth(predicate: Predicate, row: dict[str, Any]) -> bool | None:
    """What SQL says of one row: the judge of `evaluate`."""
    match predicate:
        case Constant(constant):
            return constant
        case Not(child):
            return _not(truth(child, row))
        case Or(left, right):
            return _or(truth(left, row), truth(right, row))
        case And(left, right):
            return _not(_or(_not(truth(left, row)), _not(truth(right, row))))
        case IsNull(column):
            return value_at(column, row) is None
        case StartsWith(column, prefix):
            text = value_at(column, row)
            return None if text is None else text.startswith(prefix)
        case In(column, values):
            floats = any(pa.types.is_floating(kind) for kind in (COLUMNS[column], *(value.type for value in values)))
            answer: bool | None = False
            for value in values:
                answer = _or(answer, _compare("=", value_at(column, row), value.value, floats))
            return answer
        case Comparison(op, column, right):
            other = COLUMNS[right] if isinstance(right, Column) else right.type
            floats = pa.types.is_floating(COLUMNS[column]) or pa.types.is_floating(other)
            against = value_at(right, row) if isinstance(right, Column) else right.value
            return _compare(op, value_at(column, row), against, floats)
