from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakescan.predicate import FALSE, TRUE, Constant, Predicate, bind, col, evaluate, parse
from tests.examples import examples

from .strategies import NAN, SCHEMA, predicates, rows, table_of, truth


def answers(predicate: Predicate, table: pa.Table) -> list[bool | None]:
    answer = evaluate(bind(predicate, table.schema), table)
    assert isinstance(answer, pa.BooleanArray)
    return list(answer.to_pylist())


def on(values: list[Any], kind: pa.DataType, predicate: Predicate) -> list[bool | None]:
    return answers(predicate, pa.table({"a": pa.array(values, kind)}))


@settings(max_examples=examples(600), deadline=None)
@given(predicates(), rows())
def test_every_row_gets_the_answer_of_a_row_by_row_interpreter(predicate: Predicate, given_rows: list[Any]) -> None:
    table = table_of(given_rows)
    assert answers(predicate, table) == [truth(predicate, row) for row in table.to_pylist()]


@settings(max_examples=examples(100), deadline=None)
@given(predicates(), rows(), st.integers(0, 6))
def test_chunks_and_batches_get_the_answer_of_the_whole(predicate: Predicate, given_rows: list[Any], cut: int) -> None:
    table = table_of(given_rows)
    bound = bind(predicate, SCHEMA)
    whole = evaluate(bound, table)
    assert evaluate(bound, pa.concat_tables([table.slice(0, cut), table.slice(cut)])) == whole
    for batch in table.to_batches():
        assert evaluate(bound, batch) == whole


@given(predicate=predicates(), given_rows=rows(), times=st.sampled_from([1, 3]))
@settings(max_examples=examples(300), deadline=None)
def test_text_in_dictionaries_gets_the_answer_of_text(predicate: Predicate, given_rows: list[Any], times: int) -> None:
    (batch,) = table_of(given_rows * times).combine_chunks().to_batches() or [None]
    if batch is None:
        return
    text = [at for at, field in enumerate(batch.schema) if field.type == pa.string()]
    coded = batch
    for at in text:
        values = batch.column(at).dictionary_encode()
        coded = coded.set_column(at, pa.field(batch.schema.names[at], values.type), values)
    bound = bind(predicate, SCHEMA)
    assert text
    assert evaluate(bound, coded).equals(evaluate(bound, batch))


def test_constants_need_no_columns() -> None:
    table = pa.table({"a": [1, 2]}).select([])
    assert table.num_rows == 2
    assert evaluate(TRUE, table).to_pylist() == [True, True]
    assert evaluate(FALSE & TRUE, table).to_pylist() == [False, False]
    assert evaluate(Constant(None), table).to_pylist() == [None, None]


def test_no_rows_give_no_answers() -> None:
    table = SCHEMA.empty_table()
    assert len(evaluate(bind(parse("i64 = 1 OR box.x IN (1, NULL)"), SCHEMA), table)) == 0


def test_not_of_a_null_is_null() -> None:
    assert on([1, None], pa.int64(), ~(col("a") == 1)) == [False, None]


def test_and_or_are_kleenes() -> None:
    null = Constant(None)
    assert on([1], pa.int64(), null & FALSE) == [False]
    assert on([1], pa.int64(), null | TRUE) == [True]
    assert on([1], pa.int64(), null & TRUE) == [None]
    assert on([1], pa.int64(), null | FALSE) == [None]


def test_nan_equals_nan_and_is_greater_than_every_number() -> None:
    values = [NAN, float("inf"), None]
    for kind in (pa.float32(), pa.float64()):
        assert on(values, kind, col("a") == NAN) == [True, False, None]
        assert on(values, kind, col("a") < NAN) == [False, True, None]
        assert on(values, kind, col("a") > 5.0) == [True, True, None]
        assert on(values, kind, col("a").isin([NAN])) == [True, False, None]


def test_minus_zero_equals_zero() -> None:
    assert on([-0.0, 0.0], pa.float64(), col("a") == 0) == [True, True]
    assert on([-0.0, 0.0], pa.float64(), col("a").isin([0])) == [True, True]
    assert on([-0.0], pa.float64(), col("a") < 0.0) == [False]


def test_in_with_a_null_is_null_where_nothing_matches() -> None:
    assert on([1, 2, None], pa.int64(), col("a").isin([1, None])) == [True, None, None]
    assert on([1, 2, None], pa.int64(), ~col("a").isin([1, None])) == [False, None, None]
    assert on([1, None], pa.int64(), col("a").isin([None])) == [None, None]


def test_in_of_nothing_is_false_even_for_null() -> None:
    assert on([1, None], pa.int64(), col("a").isin([])) == [False, False]


def test_comparing_with_null_is_null_except_null_safely() -> None:
    assert on([1, None], pa.int64(), col("a") == None) == [None, None]  # noqa: E711
    assert on([1, None], pa.int64(), col("a").eq_null_safe(None)) == [False, True]
    assert on([1, None], pa.int64(), col("a").eq_null_safe(1)) == [True, False]


def test_a_null_struct_makes_its_fields_null() -> None:
    hidden = pa.StructArray.from_arrays([pa.array([1, 2, None])], ["x.y"], mask=pa.array([False, True, False]))
    table = pa.table({"s": hidden})
    assert answers(col("s", "x.y") >= 1, table) == [True, None, None]
    assert answers(col("s", "x.y").is_null(), table) == [False, True, True]


def test_text_and_binary_compare_by_bytes() -> None:
    assert on(["\U0001f600"], pa.string(), col("a") > "\uffff") == [True]
    assert on([b"\xff", b"a\x00"], pa.binary(), col("a") > b"a") == [True, True]
    assert on(["a"], pa.string(), col("a") == b"a") == [True]


def test_large_text_is_text() -> None:
    assert on(["a", None], pa.large_string(), col("a").startswith("a")) == [True, None]
    assert on(["a", "b"], pa.large_string(), col("a").isin(["a"])) == [True, False]


def test_integers_and_decimals_compare_exactly() -> None:
    assert on([2**53 + 1], pa.int64(), col("a") == Decimal(2**53 + 1)) == [True]
    assert on([2**53 + 1], pa.int64(), col("a") > Decimal("9007199254740992.9")) == [True]
    assert on([Decimal(10) ** 36], pa.decimal128(38, 0), col("a") < Decimal(f"{10**36}.5")) == [True]
    assert on([Decimal(0), Decimal(1)], pa.decimal128(38, 0), col("a") == Decimal("0.5")) == [False, False]


def test_a_decimal_becomes_the_nearest_double() -> None:
    # Arrow's own cast gives 0.012889293000000001 here.
    assert on([Decimal("0.012889293")], pa.decimal128(10, 9), col("a") == 0.012889293) == [True]


def test_a_long_becomes_the_nearest_double_as_in_spark() -> None:
    assert on([2**53 + 1, 2**63 - 1], pa.int64(), col("a").isin([2.0**53, 2.0**63])) == [True, True]


def test_an_unbound_comparison_of_foreign_types_is_an_error() -> None:
    with pytest.raises(TypeError, match="bind"):
        evaluate(col("a") == "x", pa.table({"a": [1]}))
