from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given

from lakescan.predicate import bind, parse
from lakescan.predicate.readable import readable
from lakescan.predicate.tree import And, Column, Comparison, In, Literal, Predicate
from tests.predicate.strategies import predicates

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("price", pa.decimal128(10, 2)),
        ("ratio", pa.float64()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("name", pa.string()),
        ("a b", pa.bool_()),
        ("raw", pa.binary()),
        ("s", pa.struct([("f", pa.int32())])),
    ]
)


@pytest.mark.parametrize(
    "text",
    [
        "id IS NOT NULL AND id = 10",
        "id IS NULL OR id > 5 OR name = 'it''s'",
        "(id = 1 OR id = 2) AND ratio <= 1.5 AND price <> 2.50",
        "NOT (id < 3)",
        "id NOT IN (1, 2) AND name IN ('a', 'b')",
        "day = DATE '2024-01-31'",
        "raw = X'00ff'",
        "`a b` = TRUE AND s.f = 3",
        "startswith(name, 'x')",
        "TRUE",
    ],
)
def test_a_filter_reads_as_it_was_written(text: str) -> None:
    assert readable(bind(parse(text), SCHEMA)) == text


def test_a_moment_is_readable_and_says_whether_it_has_a_zone() -> None:
    text = readable(bind(parse("at > TIMESTAMP '2024-01-31 12:00:00'"), SCHEMA))
    assert text == "at > TIMESTAMP '2024-01-31 12:00:00+00:00'"


def test_a_long_list_of_values_is_cut() -> None:
    values = tuple(Literal(number, pa.int64()) for number in range(12))
    assert readable(In(Column(("id",)), values)) == "id IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … 2 more)"


def test_a_chain_of_thousands_is_readable() -> None:
    one: Predicate = Comparison("=", Column(("id",)), Literal(1, pa.int64()))
    chain = one
    for _ in range(5000):
        chain = And(chain, one)
    assert readable(chain).count(" AND ") == 5000


def test_a_value_has_its_type_only_where_its_text_does_not_say_it() -> None:
    assert readable(Comparison("=", Column(("d",)), Literal(date(2024, 1, 1), pa.date32()))) == "d = DATE '2024-01-01'"
    assert "int64" not in readable(bind(parse("id = 10"), SCHEMA))


@given(predicates())
def test_every_predicate_is_readable(predicate: Predicate) -> None:
    assert readable(predicate)
