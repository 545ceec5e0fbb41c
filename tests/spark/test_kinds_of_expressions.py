"""Kinds of expressions that no query of ours makes Spark push: they are left to Spark, by their class."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from lakescan.predicate import Call, Column
from lakescan.spark.bridge import Bridge
from lakescan.spark.bridge.jvm import EXPRESSIONS
from lakescan.spark.dsv2.predicates import UNKNOWN, read_expression

pytestmark = pytest.mark.spark


def _function(bridge: Bridge, kind: str, *arguments: Any) -> Any:
    column = bridge.java_class(EXPRESSIONS + "FieldReference").column("s")
    return bridge.java_class(EXPRESSIONS + kind)(*arguments, bridge.array(EXPRESSIONS + "Expression", [column]))


def test_a_users_function_is_not_taken_for_the_one_of_spark_that_has_its_name(spark: SparkSession) -> None:
    bridge = Bridge(spark)
    ours = _function(bridge, "GeneralScalarExpression", "IS_NULL")
    assert read_expression(bridge, ours) == Call("IS_NULL", (Column(("s",)),))
    theirs = _function(bridge, "UserDefinedScalarFunc", "IS_NULL", "their.is_null")
    assert read_expression(bridge, theirs) == UNKNOWN


def test_an_expression_of_a_kind_that_nobody_knows_is_left_to_spark(spark: SparkSession) -> None:
    bridge = Bridge(spark)
    transform = bridge.java_class(EXPRESSIONS + "Expressions").years("t")
    assert read_expression(bridge, transform) == UNKNOWN


def test_a_chain_of_thousands_of_conditions_is_read_whole(spark: SparkSession) -> None:
    bridge = Bridge(spark)
    either = bridge.java_class(EXPRESSIONS + "filter.Or")
    leaf = bridge.java_class(EXPRESSIONS + "filter.AlwaysFalse")()
    chain = leaf
    for _ in range(2000):
        chain = either(chain, leaf)
    expression = read_expression(bridge, chain)
    assert isinstance(expression, Call)
    assert (expression.name, len(expression.arguments)) == ("OR", 2001)


def test_what_nests_deeper_than_pythons_stack_is_left_to_spark(spark: SparkSession) -> None:
    bridge = Bridge(spark)
    negation = bridge.java_class(EXPRESSIONS + "filter.Not")
    nested = bridge.java_class(EXPRESSIONS + "filter.AlwaysFalse")()
    for _ in range(2000):
        nested = negation(nested)
    expression, depth = read_expression(bridge, nested), 0
    while isinstance(expression, Call) and expression.arguments:
        expression, depth = expression.arguments[0], depth + 1
    assert expression == UNKNOWN
    assert depth < 100
