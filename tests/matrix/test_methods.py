"""Every public method of PySpark's DataFrame that reads gives what it gives on the same rows in Parquet.

The list of methods is PySpark's own: one that a new release adds fails here until `methods.py` has a call or a reason.
"""

from collections.abc import Callable, Mapping, Sequence

import pytest
from pyspark.sql import DataFrame, DataFrameNaFunctions, DataFrameStatFunctions, GroupedData, SparkSession

from tests.matrix.answers import WHOLE, answer
from tests.matrix.methods import METHODS, OF_GROUPS, OF_NA, OF_STAT, Call
from tests.matrix.tables import SHAPES

pytestmark = pytest.mark.spark
LISTS: Sequence[tuple[type, Mapping[str, Sequence[Call] | str]]] = [
    (DataFrame, METHODS),
    (DataFrameNaFunctions, OF_NA),
    (DataFrameStatFunctions, OF_STAT),
    (GroupedData, OF_GROUPS),
]
# A column of each kind: what has no order or no Python object, such as Variants, would have most calls refused.
FRAME = (
    *("id", "flag", "tiny", "whole", "big", "real", "price", "text", "fixed", "bytes", "day", "moment"),
    *("local", "ints", "pairs", "st", "`a.b`", "two words", "ü", "part", "kind"),
)


def _public(of: type) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


@pytest.mark.parametrize("at", range(len(LISTS)), ids=[of.__name__ for of, _ in LISTS])
def test_every_public_method_has_a_call_or_a_reason(at: int) -> None:
    of, known = LISTS[at]
    assert _public(of) - set(known) == set(), "decide in tests/matrix/methods.py what these are to give"
    assert all(known.values())


CALLS = [
    (f"{of.__name__}.{name}", number, call)
    for of, known in LISTS
    for name, calls in known.items()
    if not isinstance(calls, str) and name in _public(of)
    for number, call in enumerate(calls)
]


# In each run the first call of each method and every other one after it, of one table; and some of an empty table.
CELLS = [
    (name, number, call, shape.name)
    for at, (name, number, call) in enumerate(CALLS)
    for shape in SHAPES
    if WHOLE or (shape.name == "deleted" and number % 2 == 0) or (shape.name == "empty" and at % 8 == 3)
]


@pytest.mark.parametrize(
    ("name", "number", "call", "shape"), CELLS, ids=[f"{name}-{number}-{shape}" for name, number, _, shape in CELLS]
)
def test_a_method_gives_what_it_gives_on_parquet(
    spark: SparkSession, shaped: Callable[[str], str], name: str, number: int, call: Call, shape: str
) -> None:
    made = shaped(shape)
    ours, theirs = (spark.table(f"{side}_{made}").select(*FRAME) for side in ("ours", "theirs"))
    expected = answer(lambda: call(theirs))
    actual = answer(lambda: call(ours))
    assert actual.same(expected, rounded=True), f"{name} {number}\n  ours   {actual}\n  theirs {expected}"
