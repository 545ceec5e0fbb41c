"""Every aggregate function by every type that it takes: with and without groups, a filter, DISTINCT and FILTER.

The list of functions is PySpark's own: one that a new release adds fails here until `aggregates.py` or `scalars.py`
says what it takes, or why it is not asked.
"""

from collections.abc import Callable, Sequence

import pytest
from pyspark.sql import SparkSession

from tests.matrix.aggregates import AGGREGATES, PUSHED, filled
from tests.matrix.answers import INTERPRETED, WHOLE, Answer, answer, compare, confs
from tests.matrix.differences import BY_NATURE
from tests.matrix.tables import SHAPES

pytestmark = pytest.mark.spark
EACH = [shape.name for shape in SHAPES if WHOLE or shape.name in ("deleted", "empty")]
# What follows FROM: with `{k}` a group's key that stands before the aggregates.
TAILS = {
    "all": "",
    "where": " WHERE id > 2 AND id < 11",
    "no row": " WHERE id < 0",
    "by partition": " GROUP BY part",
    "by flag": " WHERE id <> 4 GROUP BY flag",
    "by float": " GROUP BY real",
    "by text": " GROUP BY folded",
}
TAILS_IN_EACH_RUN = ("all", "by flag")


def _known(spark: SparkSession, name: str) -> bool:
    """Whether this release's SQL has the function."""
    return bool(spark.catalog.functionExists(name))


def _questions(spark: SparkSession) -> list[str]:
    """An aggregate a question, of the functions that this release has; in each run of a few columns alone."""
    texts = []
    for name, templates in AGGREGATES.items():
        alone = {"count_distinct": "count", "sum_distinct": "sum", "listagg_distinct": "listagg"}.get(name, name)
        alone = "string_agg" if name == "string_agg_distinct" else alone
        if isinstance(templates, str) or not _known(spark, alone):
            continue
        for template in templates:
            around = BY_NATURE[name][0] if name in BY_NATURE else "{}"
            texts += [around.format(text) for text in filled(template, None if WHOLE else 2)]
    return [text for text in texts if WHOLE or "folded" not in text]


def _key(tail: str) -> str:
    return tail.partition(" GROUP BY ")[2]


def _ask_at_once(spark: SparkSession, shape: str, tail: str) -> Callable[[Sequence[str], str], Answer]:
    """Many aggregates in one SELECT."""

    def ask(aggregates: Sequence[str], side: str) -> Answer:
        columns = [*([_key(tail)] if _key(tail) else []), *map(readable, aggregates)]
        named = ", ".join(f"{text} AS c{at}" for at, text in enumerate(columns))
        return answer(lambda: spark.sql(f"SELECT {named} FROM {side}_{shape}{tail}"))

    return ask


def readable(text: str) -> str:
    """What collects to Python: intervals of months, Variants and what only sketches have are shown as text."""
    return f"CAST({text} AS STRING)" if any(word in text for word in ("months", "doc", "span")) else text


@pytest.mark.parametrize("tail", [name for name in TAILS if WHOLE or name in TAILS_IN_EACH_RUN])
@pytest.mark.parametrize("shape", EACH)
def test_every_aggregate_function_gives_what_it_gives_on_parquet(
    spark: SparkSession, shaped: Callable[[str], str], shape: str, tail: str
) -> None:
    ask = _ask_at_once(spark, shaped(shape), TAILS[tail])
    compare(_questions(spark), ask, at_once=64, rounded=True).check(most_refused=0.35)


def _pushed() -> list[str]:
    """Those that Spark offers to a source, each with every column: plain, of distinct values and of some rows."""
    plain = [text for name in PUSHED for template in AGGREGATES[name] for text in filled(template)]
    distinct = [text.replace("(", "(DISTINCT ", 1) for text in plain if "*" not in text and "1" not in text]
    some = [f"{text} FILTER (WHERE whole > 1)" for text in plain]
    texts = [*plain, *distinct[:: 1 if WHOLE else 4], *some[:: 1 if WHOLE else 4]]
    return [text for text in texts if WHOLE or "folded" not in text]


def _ask_one_by_one(spark: SparkSession, shape: str, tail: str) -> Callable[[Sequence[str], str], Answer]:
    """Each aggregate by a scan of its own, so that each is offered to the source alone."""

    def ask(aggregates: Sequence[str], side: str) -> Answer:
        key = f"CAST({_key(tail)} AS STRING)" if _key(tail) else "''"
        parts = [
            f"SELECT {at} AS at, {key} AS k, CAST({text} AS STRING) AS v FROM {side}_{shape}{tail}"
            for at, text in enumerate(aggregates)
        ]
        return answer(lambda: spark.sql(" UNION ALL ".join(parts)))

    return ask


@pytest.mark.parametrize("tail", [name for name in TAILS if WHOLE or name in ("all", "by partition")])
@pytest.mark.parametrize("shape", EACH)
def test_an_aggregate_that_is_offered_alone_gives_what_it_gives_on_parquet(
    spark: SparkSession, shaped: Callable[[str], str], shape: str, tail: str
) -> None:
    questions = [text for text in _pushed() if "nothing" not in text]
    some = questions if WHOLE else questions[len(shape + tail) % 5 :: 5]
    compare(some, _ask_one_by_one(spark, shaped(shape), TAILS[tail]), at_once=24, rounded=True).check()


@pytest.mark.parametrize("shape", EACH)
def test_aggregates_of_text_with_a_collation_give_what_they_give_on_parquet(
    spark: SparkSession, shaped: Callable[[str], str], shape: str
) -> None:
    """With generated code, for the reason that `differences.OF_SPARK` has."""
    name = shaped(shape)
    # Of two texts that the collation takes for one, either may be the greatest.
    text = "upper(max(folded)), upper(min(folded)), count(folded), count(DISTINCT folded), upper(max_by(folded, id))"
    with confs(spark, dict.fromkeys(INTERPRETED, "true") | {"spark.sql.codegen.factoryMode": "FALLBACK"}):
        for tail in ("", " GROUP BY part", " WHERE folded > 'A'"):
            expected, actual = (
                answer(lambda side=side, tail=tail: spark.sql(f"SELECT {text} FROM {side}_{name}{tail}"))  # type: ignore[misc]
                for side in ("theirs", "ours")
            )
            assert not expected.error
            assert actual.same(expected), f"{tail}\n  ours   {actual}\n  theirs {expected}"
