"""What may fail for some row is known as such; what always has an answer is not suspected."""

import pyarrow as pa
import pytest

from lakescan.predicate import Call, Column, Expression, Literal
from lakescan.predicate.failing import may_fail

SCHEMA = pa.schema(
    [("i", pa.int32()), ("l", pa.int64()), ("s", pa.string()), ("t", pa.timestamp("us", "UTC")), ("d", pa.date32())]
)
INT, LONG, TEXT, TIME, DAY = (Column((name,)) for name in ("i", "l", "s", "t", "d"))
ONE = Literal(1, pa.int32())


@pytest.mark.parametrize(
    "expression",
    [
        INT,
        ONE,
        Call("=", (INT, ONE)),
        Call("AND", (Call("<", (INT, ONE)), Call("NOT", (Call("IS_NULL", (TEXT,)),)))),
        Call("=", (Call("YEAR", (DAY,)), ONE)),
        Call("CAST", (INT,), pa.int64()),
        Call("CAST", (INT,), pa.float64()),
        Call("CAST", (TIME,), pa.date32()),
        Call("CAST", (Call("UPPER", (TEXT,)),), pa.string()),
        Call("CASE_WHEN", (Call("=", (INT, ONE)), TEXT, TEXT)),
    ],
    ids=str,
)
def test_an_expression_that_always_has_an_answer(expression: Expression) -> None:
    assert not may_fail(expression, SCHEMA)


@pytest.mark.parametrize(
    "expression",
    [
        Call("UNKNOWN", ()),
        Call(">", (Call("/", (ONE, INT)), ONE)),
        Call("+", (LONG, ONE)),
        Call("-", (LONG,)),
        Call("ABS", (LONG,)),
        Call("CAST", (LONG,), pa.int32()),
        Call("CAST", (TEXT,), pa.int32()),
        Call("CAST", (TEXT,), None),
        Call("CAST", (Column(("nothing",)),), pa.int64()),
        Call("OR", (Call("=", (INT, ONE)), Call(">", (Call("%", (ONE, INT)), ONE)))),
        Call("CASE_WHEN", (Call("=", (INT, ONE)), Call("/", (ONE, INT)))),
    ],
    ids=str,
)
def test_an_expression_that_may_fail(expression: Expression) -> None:
    assert may_fail(expression, SCHEMA)
