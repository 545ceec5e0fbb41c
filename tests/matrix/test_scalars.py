"""Every function that works row by row gives what it gives on Parquet, shown in SELECT and compared in WHERE.

The list of functions is PySpark's own: one that a new release adds fails here until `scalars.py` or `aggregates.py`
says what it takes, or why it is not asked.
"""

from collections.abc import Callable, Sequence

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.matrix.aggregates import AGGREGATES, KINDS, filled
from tests.matrix.answers import WHOLE, Answer, answer, compare
from tests.matrix.differences import BY_NATURE
from tests.matrix.scalars import NOT_ASKED, is_of_sketches, questions
from tests.matrix.tables import COLUMNS, SHAPES
from tests.matrix.test_aggregates import readable

pytestmark = pytest.mark.spark
IN_EACH_RUN = ("deleted",)


def test_every_function_of_pyspark_has_a_question_or_a_reason() -> None:
    asked = {name for name, _ in questions()}
    unknown = set(F.__all__) - asked - set(NOT_ASKED) - set(AGGREGATES)
    unknown = {name for name in unknown if not is_of_sketches(name)}
    assert unknown == set(), "decide in tests/matrix/scalars.py or aggregates.py what these take"


def _templates() -> list[str]:
    around = {name: text for name, (text, _) in BY_NATURE.items()}
    return [around.get(name, "{}").replace("{}", template) for name, template in questions() if hasattr(F, name)]


@pytest.mark.parametrize("shape", [shape.name for shape in SHAPES if WHOLE or shape.name in IN_EACH_RUN])
def test_every_scalar_function_gives_what_it_gives_on_parquet(
    spark: SparkSession, shaped: Callable[[str], str], shape: str
) -> None:
    name = shaped(shape)

    def ask(some: Sequence[str], side: str) -> Answer:
        columns = ", ".join(f"{readable(text)} AS c{at}" for at, text in enumerate(some))
        return answer(lambda: spark.sql(f"SELECT id, {columns} FROM {side}_{name}"))

    texts = [text for template in _templates() for text in filled(template, None if WHOLE else 1)]
    compare(texts, ask, at_once=60).check(most_refused=0.4)


def _condition(template: str, column: str) -> str | None:
    """A call of a column that equals one of a literal, which Spark works out before it asks a source."""
    literals = {of.quoted: of.literals for of in COLUMNS} | {of.name: of.literals for of in COLUMNS}
    if column not in literals or not literals[column] or "id" in template:
        return None
    kind = template.partition("{")[2].partition("}")[0]
    if not kind:
        return None
    left, right = (
        template.replace(f"{{{kind}}}", text, 1).replace(f"{{{kind}}}", column)
        for text in (column, literals[column][0])
    )
    return f"{left} <=> {right}"


@pytest.mark.parametrize("shape", [shape.name for shape in SHAPES if WHOLE or shape.name in IN_EACH_RUN])
def test_every_scalar_function_keeps_what_it_keeps_on_parquet(
    spark: SparkSession, shaped: Callable[[str], str], shape: str
) -> None:
    name = shaped(shape)

    def ask(some: Sequence[str], side: str) -> Answer:
        parts = [f"SELECT {at} AS at, id FROM {side}_{name} WHERE {text}" for at, text in enumerate(some)]
        return answer(lambda: spark.sql(" UNION ALL ".join(parts)))

    texts = []
    for template in _templates():
        kind = template.partition("{")[2].partition("}")[0]
        for column in KINDS[kind] if kind else ():
            if text := _condition(template, column):
                texts.append(text)
    compare(texts if WHOLE else texts[::9], ask, at_once=25).check(most_refused=0.4)
