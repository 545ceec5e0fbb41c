"""What Spark pushes, told by Java in one trip and read back: every value as it was, or not at all."""

from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from lakescan.predicate import Call, Column, Expression, Literal
from lakescan.spark.bridge import Bridge
from lakescan.spark.dsv2.predicates import UNKNOWN, read_expression, read_expressions

pytestmark = pytest.mark.spark

EXPRESSIONS = "org.apache.spark.sql.connector.expressions."


class Java:
    """Makes expressions as Spark does."""

    def __init__(self, spark: SparkSession) -> None:
        self.bridge = Bridge(spark)

    def column(self, name: str) -> Any:
        return self.bridge.java_class(EXPRESSIONS + "FieldReference").column(name)

    def literal(self, value: Any, type_: str) -> Any:
        return self.bridge.java_class(EXPRESSIONS + "LiteralValue")(value, self.bridge.data_type(type_))

    def predicate(self, name: str, children: Sequence[Any]) -> Any:
        parts = self.bridge.array(EXPRESSIONS + "Expression", children)
        return self.bridge.java_class(EXPRESSIONS + "filter.Predicate")(name, parts)

    def text(self, value: str | bytes) -> Any:
        texts = self.bridge.java_class("org.apache.spark.unsafe.types.UTF8String")
        return texts.fromString(value) if isinstance(value, str) else texts.fromBytes(bytearray(value))

    def decimal(self, value: str) -> Any:
        return self.bridge.java_class("org.apache.spark.sql.types.Decimal").apply(value)

    def double(self, value: str) -> Any:
        return self.bridge.java_class("java.lang.Double").valueOf(value)

    def both(self, kind: str, left: Any, right: Any) -> Any:
        return self.bridge.java_class(EXPRESSIONS + f"filter.{kind}")(left, right)


@pytest.fixture
def java(spark: SparkSession) -> Java:
    return Java(spark)


def values_of(java: Java, values: Sequence[Any], type_: str) -> Expression:
    """An IN of these values, read back."""
    literals = [java.literal(value, type_) for value in values]
    return read_expression(java.bridge, java.predicate("IN", [java.column("a"), *literals]))


def as_read(values: Sequence[Any], type_: pa.DataType) -> str:
    return repr(Call("IN", (Column(("a",)), *(Literal(value, type_) for value in values))))


def test_integers_dates_and_times_are_read_as_they_are(java: Java) -> None:
    assert repr(values_of(java, [1, -2, None], '"integer"')) == as_read([1, -2, None], pa.int32())
    assert repr(values_of(java, [2**62, -(2**63)], '"long"')) == as_read([2**62, -(2**63)], pa.int64())
    days = [date(1970, 1, 1), date(2024, 1, 1)]
    assert repr(values_of(java, [0, 19723], '"date"')) == as_read(days, pa.date32())
    second = datetime(1970, 1, 1, 0, 0, 1)
    assert repr(values_of(java, [1_000_000], '"timestamp_ntz"')) == as_read([second], pa.timestamp("us"))
    known = as_read([second.replace(tzinfo=timezone.utc)], pa.timestamp("us", "UTC"))
    assert repr(values_of(java, [1_000_000], '"timestamp"')) == known


def test_doubles_and_decimals_are_read_as_they_are(java: Java) -> None:
    doubles = [java.double(word) for word in ("1.0", "NaN", "-Infinity", "1.0E10", "-0.0", "5.0E-324")]
    known = [1.0, float("nan"), float("-inf"), 1e10, -0.0, 5e-324]
    assert repr(values_of(java, doubles, '"double"')) == as_read(known, pa.float64())
    decimals = [java.decimal(word) for word in ("1.50", "-0.01", "9" * 16 + ".99")]
    assert repr(values_of(java, decimals, '"decimal(18,2)"')) == as_read(
        [Decimal("1.50"), Decimal("-0.01"), Decimal("9" * 16 + ".99")], pa.decimal128(18, 2)
    )


def test_texts_are_read_whatever_they_hold(java: Java) -> None:
    texts = ["", "it's", "a, b", "'", '"\\', "\0", "null", "𝄞", "\ufffd"]
    assert repr(values_of(java, list(map(java.text, texts)), '"string"')) == as_read(texts, pa.string())


def test_a_list_with_bytes_that_are_no_text_is_told_value_by_value_and_the_bytes_are_unknown(java: Java) -> None:
    known = values_of(java, [java.text("a"), java.text(b"\xff"), None], '"string"')
    assert known == Call("IN", (Column(("a",)), Literal("a", pa.string()), UNKNOWN, Literal(None, pa.string())))


def test_binaries_and_booleans_are_read_as_they_are(java: Java) -> None:
    assert repr(values_of(java, [bytearray(b"\xff\0"), bytearray()], '"binary"')) == as_read(
        [b"\xff\0", b""], pa.binary()
    )
    assert repr(values_of(java, [True, False, None], '"boolean"')) == as_read([True, False, None], pa.bool_())


def test_values_of_two_types_are_each_read_in_its_own(java: Java) -> None:
    literals = [java.literal(1, '"integer"'), java.literal(19723, '"date"')]
    read = read_expression(java.bridge, java.predicate("IN", [java.column("a"), *literals]))
    assert read == Call("IN", (Column(("a",)), Literal(1, pa.int32()), Literal(date(2024, 1, 1), pa.date32())))


def test_a_date_that_python_does_not_know_and_an_interval_are_left_to_spark(java: Java) -> None:
    assert values_of(java, [10**8], '"date"') == Call("IN", (Column(("a",)), UNKNOWN))
    assert values_of(java, [7], '"interval day"') == Call("IN", (Column(("a",)), UNKNOWN))


def test_an_in_of_more_values_than_are_wanted_is_not_read(java: Java) -> None:
    lists = [
        java.predicate("IN", [java.column("a"), *(java.literal(at, '"integer"') for at in range(many))])
        for many in (2, 3)
    ]
    array = java.bridge.array(EXPRESSIONS + "filter.Predicate", lists)
    few, many = read_expressions(java.bridge, array, most_values=2)
    assert few == Call("IN", (Column(("a",)), Literal(0, pa.int32()), Literal(1, pa.int32())))
    assert many == UNKNOWN


def test_a_chain_of_ands_is_one_call_in_its_order_however_long_it_is(java: Java) -> None:
    parts = [java.predicate("=", [java.column(f"c{at}"), java.literal(at, '"integer"')]) for at in range(200)]
    chain = parts[0]
    for part in parts[1:]:
        chain = java.both("And", chain, part)
    read = read_expression(java.bridge, chain)
    assert read == Call("AND", tuple(Call("=", (Column((f"c{at}",)), Literal(at, pa.int32()))) for at in range(200)))


def test_what_is_nested_too_deep_is_unknown_there_and_known_around_it(java: Java) -> None:
    nested = java.predicate("IS_NULL", [java.column("a")])
    for _ in range(100):
        nested = java.predicate("NOT", [nested])
    read, depth = read_expression(java.bridge, nested), 0
    while isinstance(read, Call) and read.arguments:
        read, depth = read.arguments[0], depth + 1
    assert read == UNKNOWN
    assert depth > 50
