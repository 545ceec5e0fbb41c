"""Bounds of decimals as real writers round them."""

from decimal import Decimal, localcontext
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

import lakescan
from lakescan.formats.delta.statistics.exact import is_kept_by_a_double
from tests.examples import examples


@pytest.mark.parametrize("where", ["v > 1", "v >= 1.00000000000000000001", "v = 1.00000000000000000001", "v < 1.1"])
def test_a_row_whose_statistics_were_rounded_is_found(tmp_path: Path, where: str) -> None:
    exact = Decimal("1.00000000000000000001")
    write_deltalake(tmp_path, pa.table({"v": pa.array([exact], pa.decimal128(38, 20))}))
    rows = lakescan.open(tmp_path).snapshot().scan().filter(where).build().to_arrow()
    assert rows["v"].to_pylist() == [exact]


@given(
    unscaled=st.integers(-(10**38) + 1, 10**38 - 1),
    precision_and_scale=st.integers(1, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p))),
)
@settings(deadline=None, max_examples=examples(500))
def test_a_bound_that_is_said_to_be_kept_is_the_value(unscaled: int, precision_and_scale: tuple[int, int]) -> None:
    precision, scale = precision_and_scale
    kind = pa.decimal128(precision, scale)
    with localcontext() as context:
        context.prec = 100
        value = Decimal(unscaled % 10**precision * (1 if unscaled >= 0 else -1)).scaleb(-scale)
        rounded = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-scale))
    if len(rounded.as_tuple().digits) > precision:
        return
    written = pa.array([rounded], kind)
    if is_kept_by_a_double(written)[0].as_py():
        assert rounded == value
