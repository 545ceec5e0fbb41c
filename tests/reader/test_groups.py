"""Groups are numbered in the order in which they first appear, however the numbers are found."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lakescan.reader.groups import group_codes, numbered


@given(values=st.lists(st.integers(0, 9), min_size=1, max_size=40), above=st.sampled_from([10, 10**6]))
def test_values_are_numbered_in_the_order_in_which_they_appear(values: list[int], above: int) -> None:
    numbers, count = numbered(np.array(values, np.int64), above)
    order = list(dict.fromkeys(values))
    assert numbers.tolist() == [order.index(value) for value in values]
    assert count == len(order)


@given(rows=st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 3), st.none() | st.booleans())))
def test_rows_with_equal_keys_are_one_group(rows: list[tuple[str | None, int, bool | None]]) -> None:
    types = [pa.string(), pa.int64(), pa.bool_()]
    keys = [pa.chunked_array([pa.array([row[at] for row in rows], kind)]) for at, kind in enumerate(types)]
    codes, firsts = group_codes(keys, len(rows))
    order = list(dict.fromkeys(rows))
    assert codes.tolist() == [order.index(row) for row in rows]
    assert firsts.tolist() == [rows.index(row) for row in order]
