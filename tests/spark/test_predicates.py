"""Java's text of an IN list, read back: every value as it was, or not at all."""

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakescan.spark.dsv2.predicates import _values_of_text


@pytest.mark.parametrize(
    ("text", "type_", "values"),
    [
        ("k, 1, -2, null", pa.int64(), [1, -2, None]),
        ("`a, b`, 1, 2", pa.int32(), [1, 2]),
        ("d, 1.0, NaN, -Infinity, 1.0E10", pa.float64(), [1.0, float("nan"), float("-inf"), 1e10]),
        ("t, 0, 19723", pa.date32(), [date(1970, 1, 1), date(2024, 1, 1)]),
        ("t, 1000000", pa.timestamp("us", "UTC"), [datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)]),
        ("m, 1.50, -0.01", pa.decimal128(9, 2), [Decimal("1.50"), Decimal("-0.01")]),
        ("s, 'a', 'b, c', ''", pa.string(), ["a", "b, c", ""]),
    ],
)
def test_values_are_read_as_they_are(text: str, type_: pa.DataType, values: list[Any]) -> None:
    assert repr(_values_of_text(text, len(values), type_)) == repr(values)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("s, 'it''s', 'a'", 2),
        ("s, 'it's', 'a'", 2),
        ("s, 'a', 'b', 'c'", 2),
        ("s, 'a', null", 2),
        ("`x, 'y`, 'a', 'b'", 2),
    ],
)
def test_a_text_that_could_mean_several_things_is_not_read(text: str, count: int) -> None:
    assert _values_of_text(text, count, pa.string()) is None


def test_a_type_without_a_plain_text_is_not_read() -> None:
    assert _values_of_text("b, 0x61, 0x62", 2, pa.binary()) is None
