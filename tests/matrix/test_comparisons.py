"""Every comparison, by every type of column, keeps the rows that it keeps on Parquet, and counts them."""

from collections.abc import Callable, Sequence

import pytest
from pyspark.sql import SparkSession

from tests.matrix.answers import WHOLE, Answer, answer, compare
from tests.matrix.comparisons import conditions
from tests.matrix.tables import SHAPES

pytestmark = pytest.mark.spark
CONDITIONS = list(conditions())
# In each run some, others for each shape; a prime number goes through all operators and literals.
STEP = 1 if WHOLE else 31


def _ask(spark: SparkSession, shape: str, of_each: str) -> Callable[[Sequence[str], str], Answer]:
    def ask(some: Sequence[str], side: str) -> Answer:
        parts = [f"SELECT {at} AS at, {of_each} FROM {side}_{shape} WHERE {text}" for at, text in enumerate(some)]
        return answer(lambda: spark.sql(" UNION ALL ".join(parts)))

    return ask


@pytest.mark.parametrize("of_each", ["id", "count(*) AS n, max(id) AS m, count(whole) AS c"], ids=["rows", "counts"])
@pytest.mark.parametrize("at", range(len(SHAPES)), ids=[shape.name for shape in SHAPES])
def test_every_comparison_keeps_what_it_keeps_on_parquet(
    spark: SparkSession, shaped: Callable[[str], str], at: int, of_each: str
) -> None:
    if not WHOLE and SHAPES[at].name not in ("full", "deleted", "parted"):
        at_least = CONDITIONS[at :: STEP * 8]
    else:
        at_least = CONDITIONS[at + len(of_each) % 5 :: STEP]
    compare(at_least, _ask(spark, shaped(SHAPES[at].name), of_each), at_once=25).check()
