"""Expressions of decimals: types by Spark's rules, values by exact arithmetic, and no digit lost in silence."""

from decimal import Context, Decimal, localcontext
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakescan.predicate import Call, Column, Expression, Literal
from lakescan.reader.decimal_arithmetic import computed, decimal_type, decimals, largest, unscaled
from tests.examples import examples

ONE = Literal(Decimal(1), pa.decimal128(1, 0))
PRICE, PART, NUMBER = Column(("price",)), Column(("part",)), Column(("number",))
SCHEMA = pa.schema([("price", pa.decimal128(15, 2)), ("part", pa.decimal128(15, 2)), ("number", pa.int32())])
DISCOUNTED = Call("*", (PRICE, Call("-", (ONE, PART))))
CHARGED = Call("*", (DISCOUNTED, Call("+", (ONE, PART))))


def kinds() -> st.SearchStrategy[pa.Decimal128Type]:
    return st.integers(1, 38).flatmap(lambda digits: st.integers(0, digits).map(lambda s: pa.decimal128(digits, s)))


def values_of(kind: pa.Decimal128Type) -> st.SearchStrategy[Decimal]:
    most = 10**kind.precision - 1
    small = st.integers(max(-most, -1000), min(most, 1000))
    return st.one_of(small, st.integers(-most, most)).map(lambda digits: exactly(digits, kind.scale))


def exactly(digits: int, scale: int) -> Decimal:
    with localcontext(Context(prec=100)):
        return Decimal(digits).scaleb(-scale)


@st.composite
def expressions(draw: st.DrawFn) -> tuple[Expression, dict[str, tuple[pa.Decimal128Type, list[Decimal | None]]]]:
    """An expression of at most three operators, and the columns that it is of."""
    rows = draw(st.integers(1, 5))
    columns: dict[str, tuple[pa.Decimal128Type, list[Decimal | None]]] = {}

    def operand(depth: int) -> Expression:
        if depth and draw(st.booleans()):
            return Call(draw(st.sampled_from("+-*")), (operand(depth - 1), operand(depth - 1)))
        kind = draw(kinds())
        if draw(st.booleans()):
            return Literal(draw(values_of(kind)), kind)
        name = f"c{len(columns)}"
        columns[name] = kind, draw(st.lists(st.none() | values_of(kind), min_size=rows, max_size=rows))
        return Column((name,))

    made = Call(draw(st.sampled_from("+-*")), (operand(1), operand(1)))
    columns["always"] = pa.decimal128(3, 1), [Decimal("0.5")] * rows
    return Call("+", (made, Column(("always",)))), columns


def by_python(value: Expression, row: dict[str, Any]) -> Any:
    match value:
        case Column(path):
            return row[path[0]]
        case Literal(number, _):
            return number
        case Call("CAST", (child,)):
            return by_python(child, row)
        case Call(name, (left, right)):
            one, other = by_python(left, row), by_python(right, row)
            if one is None or other is None:
                return None
            with localcontext(Context(prec=200)):
                return {"+": one + other, "-": one - other, "*": one * other}[name]
    raise AssertionError(value)


@given(made=expressions())
@settings(deadline=None, max_examples=examples(300))
def test_values_are_those_of_exact_arithmetic_or_an_error(
    made: tuple[Expression, dict[str, tuple[pa.Decimal128Type, list[Decimal | None]]]],
) -> None:
    value, columns = made
    batch = pa.record_batch({name: pa.array(values, kind) for name, (kind, values) in columns.items()})
    type_ = decimal_type(value, batch.schema)
    if type_ is None:
        return
    wanted = [by_python(value, row) for row in batch.to_pylist()]
    sizes = {
        name: max([abs(float(v)) for v in values if v is not None], default=0.0)
        for name, (_, values) in columns.items()
    }
    surely_fits = largest(value, batch.schema, lambda column: sizes[column.path[0]]) != float("inf")
    try:
        got = computed(value, batch)
    except pa.ArrowInvalid:
        assert not surely_fits
        return
    assert got.type == type_
    assert got.to_pylist() == wanted


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (DISCOUNTED, pa.decimal128(32, 4)),
        (CHARGED, pa.decimal128(38, 6)),
        (Call("+", (PRICE, PART)), pa.decimal128(16, 2)),
        (Call("*", (Call("CAST", (NUMBER,), pa.decimal128(10, 0)), PRICE)), pa.decimal128(26, 2)),
        (Call("CAST", (PRICE,), pa.decimal128(20, 4)), pa.decimal128(20, 4)),
    ],
)
def test_a_type_is_the_one_that_spark_gives(value: Expression, type_: pa.DataType) -> None:
    """As `spark.sql("SELECT …").schema` has it; `tests/spark/test_pushdowns.py` asks Spark itself."""
    assert decimal_type(value, SCHEMA) == type_


@pytest.mark.parametrize(
    "value",
    [
        NUMBER,
        Call("*", (NUMBER, PRICE)),
        Call("-", (PRICE,)),
        Call("/", (PRICE, PART)),
        Call("CAST", (PRICE,), pa.decimal128(14, 2)),
        Call("CAST", (PRICE,), pa.decimal128(16, 1)),
        Call("CAST", (PRICE,), pa.float64()),
        Call("CAST", (NUMBER,), pa.decimal128(9, 0)),
        Call("*", (CHARGED, DISCOUNTED)),
        Literal(None, pa.decimal128(3, 0)),
        Column(("absent",)),
    ],
)
def test_what_may_be_rounded_or_is_not_known_has_no_type(value: Expression) -> None:
    assert decimal_type(value, SCHEMA) is None


def test_whether_a_result_fits_is_known_from_its_columns() -> None:
    assert largest(CHARGED, SCHEMA, lambda _: 100.0) == 100.0 * 101.0 * 101.0
    assert largest(CHARGED, SCHEMA, lambda _: 1e13) == float("inf")
    assert largest(DISCOUNTED, SCHEMA, lambda _: 1e13) < float("inf")


def test_integers_are_widened_and_nulls_stay() -> None:
    batch = pa.record_batch(
        {
            "price": pa.array([Decimal("0.10"), None, Decimal("-3.00")], SCHEMA.field("price").type),
            "number": pa.array([2**31 - 1, 1, None], pa.int32()),
        }
    )
    value = Call("*", (Call("CAST", (NUMBER,), pa.decimal128(10, 0)), PRICE))
    assert computed(value, batch).to_pylist() == [Decimal("214748364.70"), None, None]


def test_more_digits_than_a_decimal_has_are_an_error() -> None:
    most = Decimal(10**15 - 1).scaleb(-2)
    batch = pa.record_batch({name: pa.array([most], pa.decimal128(15, 2)) for name in ("price", "part")})
    with pytest.raises(pa.ArrowInvalid):
        computed(CHARGED, batch)


@given(digits=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=20), start=st.integers(0, 5))
@settings(deadline=None)
def test_decimals_without_their_point_and_back(digits: list[int | None], start: int) -> None:
    values = pa.array([None if one is None else exactly(one, 3) for one in digits], pa.decimal128(25, 3)).slice(start)
    longs = unscaled(values)
    assert longs is not None
    assert longs.tolist() == [one or 0 for one in digits[start:]]
    assert decimals(longs, values.type, values.is_valid()).equals(values)


def test_what_is_no_64_bit_integer_is_not_taken_for_one() -> None:
    for digits in (2**63, -(2**63) - 1, 2**64, 10**37):
        assert unscaled(pa.array([Decimal(1), Decimal(digits)], pa.decimal128(38, 0))) is None
