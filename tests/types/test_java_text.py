"""Floating-point numbers as Java writes them; that Hudi reads them so is in `tests/data/hudi/text_*.json`."""

import pyarrow as pa
import pytest

from lakescan.types.java_text import java_text

# From the documentation of Double.toString: plain from 10^-3 to 10^7, else with an exponent, and two digits at least.
DOUBLES = [
    (0.0, "0.0"),
    (-0.0, "-0.0"),
    (5.0, "5.0"),
    (-1234.5, "-1234.5"),
    (0.1, "0.1"),
    (0.001, "0.001"),
    (9.99e-4, "9.99E-4"),
    (-1.5e-7, "-1.5E-7"),
    (9999999.0, "9999999.0"),
    (1e7, "1.0E7"),
    (12345678.9, "1.23456789E7"),
    (1e20, "1.0E20"),
    (1.7976931348623157e308, "1.7976931348623157E308"),
    (5e-324, "4.9E-324"),
    (float("inf"), "Infinity"),
    (float("-inf"), "-Infinity"),
]
FLOATS = [
    (0.1, "0.1"),
    (1e20, "1.0E20"),
    (16777216.0, "1.6777216E7"),
    (3.4028235e38, "3.4028235E38"),
    (1e-45, "1.4E-45"),
]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
def test_a_number_is_written_as_java_writes_it(kind: pa.DataType) -> None:
    known = DOUBLES if kind == pa.float64() else FLOATS
    numbers = pa.array([*(number for number, _ in known), None, float("nan"), 2.5], kind)
    texts = [*(text for _, text in known), None, "NaN", "2.5"]
    assert java_text(numbers).to_pylist() == texts
    for at, text in enumerate(texts):
        assert java_text(numbers.slice(at, 1)).to_pylist() == [text]


def test_no_number_is_no_text() -> None:
    assert java_text(pa.array([], pa.float64())).to_pylist() == []
    assert java_text(pa.nulls(2, pa.float32())).to_pylist() == [None, None]
