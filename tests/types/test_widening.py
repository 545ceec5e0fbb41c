"""One table says which types widen into which; what each question adds to it is stated here, pair by pair."""

import itertools
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakescan.formats.delta import type_widening
from lakescan.types.widening import digits, is_read_as, is_read_by_text, keeps_order, widens

_SIGNED = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
_FLOATING = [pa.float32(), pa.float64()]
_DECIMALS = [pa.decimal128(precision, scale) for precision in (3, 10, 19, 20, 38) for scale in (0, 2)]
_OTHERS = [pa.bool_(), pa.string(), pa.binary(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")]
_TYPES = [*_SIGNED, *_FLOATING, *_DECIMALS, *_OTHERS]


def _extremes(kind: pa.DataType) -> list[Any]:
    if pa.types.is_integer(kind):
        return [-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1]
    most = Decimal((0, (9,) * kind.precision, -kind.scale))
    return [most.copy_negate(), most]


@pytest.mark.parametrize("old", [*_SIGNED, *_DECIMALS], ids=str)
@pytest.mark.parametrize("new", [*_SIGNED, *_DECIMALS], ids=str)
def test_an_exact_number_widens_exactly_where_its_extreme_values_fit(old: pa.DataType, new: pa.DataType) -> None:
    def fits(value: Any) -> bool:
        try:
            return bool(pa.scalar(value, old).cast(new).cast(old).as_py() == value)
        except pa.ArrowInvalid:
            return False

    all_fit = all(fits(value) for value in _extremes(old)) and digits(new)[1] >= digits(old)[1]
    assert widens(old, new) == (all_fit and old != new)
    assert keeps_order(old, new) == (all_fit and not (pa.types.is_decimal(old) and pa.types.is_integer(new)))


def test_what_widens_can_be_read_from_an_older_file_and_keeps_its_order() -> None:
    pairs = [pair for pair in itertools.product(_TYPES, _TYPES) if widens(*pair)]
    assert pairs
    assert all(is_read_as(*pair) for pair in pairs)
    assert [pair for pair in pairs if not keeps_order(*pair)] == [(pa.date32(), pa.timestamp("us"))]


def test_no_type_widens_back() -> None:
    assert not [pair for pair in itertools.product(_TYPES, _TYPES) if widens(*pair) and widens(*reversed(pair))]


def test_delta_asks_for_ten_digits_for_any_integer_and_for_twenty_for_a_long() -> None:
    assert widens(pa.int8(), pa.decimal128(3, 0))
    assert not type_widening.widens(pa.int8(), pa.decimal128(9, 0))
    assert type_widening.widens(pa.int8(), pa.decimal128(10, 0))
    assert not type_widening.widens(pa.int64(), pa.decimal128(19, 0))
    assert type_widening.widens(pa.int64(), pa.decimal128(22, 2))


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [(pa.int64(), pa.float64()), (pa.float64(), pa.float32()), (pa.int32(), pa.string()), (pa.int8(), pa.float32())],
    ids=str,
)
def test_a_file_is_never_read_in_a_type_that_loses_digits(stored: pa.DataType, wanted: pa.DataType) -> None:
    assert not is_read_as(stored, wanted)


def test_by_text_a_number_becomes_a_wider_floating_one_or_its_text() -> None:
    pairs = {(str(old), str(new)) for old, new in itertools.product(_TYPES, _TYPES) if is_read_by_text(old, new)}
    assert pairs == {
        *itertools.product(("int8", "int16", "int32", "int64"), ("float", "string")),
        ("int64", "double"),
        ("float", "double"),
        ("float", "string"),
        ("double", "string"),
        ("date32[day]", "string"),
    }
