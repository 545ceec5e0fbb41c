"""Joins with filters give the rows of Parquet, by every type, where Spark's cost-based optimizer uses statistics."""

from collections.abc import Callable, Sequence

import pytest
from pyspark.sql import SparkSession

from tests.matrix.answers import WHOLE, Answer, answer, compare, confs
from tests.matrix.tables import COLUMNS, SHAPES

pytestmark = pytest.mark.spark
COST_BASED = {
    "spark.sql.cbo.enabled": "true",
    "spark.sql.cbo.joinReorder.enabled": "true",
    "spark.sql.cbo.planStats.enabled": "true",
    "spark.sql.cbo.starSchemaDetection": "true",
    "spark.sql.statistics.histogram.enabled": "true",
}
FORMS = (
    "SELECT a.id, b.id FROM {t} a JOIN {t} b ON a.id = b.id WHERE a.{c} {op} {l}",
    "SELECT a.id, b.part, c.id FROM {t} a JOIN {t} b ON a.whole = b.whole JOIN {t} c ON b.id = c.id "
    "WHERE c.{c} {op} {l}",
    "SELECT a.id, b.id FROM {t} a JOIN {t} b ON a.{c} = b.{c} WHERE a.{c} {op} {l} AND b.id > 0",
    "SELECT b.part, count(*) FROM {t} a LEFT JOIN {t} b ON a.id = b.id AND b.{c} {op} {l} GROUP BY b.part",
)
OPERATORS = ("=", "<", ">=", "<=>", "<>")


def _questions() -> list[str]:
    texts = [
        form.replace("{c}", of.quoted).replace("{op}", operator).replace("{l}", literal)
        for of in COLUMNS
        for form in FORMS
        for operator in OPERATORS
        for literal in of.literals
    ]
    nulls = [FORMS[0].replace("{c} {op} {l}", f"{of.quoted} IS NOT NULL") for of in COLUMNS]
    return [*nulls, *texts] if WHOLE else [*nulls[::2], *texts[::71]]


@pytest.mark.parametrize("shape", [shape.name for shape in SHAPES if WHOLE or shape.name in ("full", "parted")])
def test_joins_with_filters_by_every_type_give_the_same_with_the_cost_based_optimizer(
    spark: SparkSession, shaped: Callable[[str], str], shape: str
) -> None:
    name = shaped(shape)

    def ask(some: Sequence[str], side: str) -> Answer:
        parts = [
            f"SELECT {at} AS at, to_json(struct(*)) AS row FROM ({text.replace('{t}', f'{side}_{name}')})"
            for at, text in enumerate(some)
        ]
        return answer(lambda: spark.sql(" UNION ALL ".join(parts)))

    with confs(spark, COST_BASED):
        compare(_questions() if shape != "parted" or WHOLE else _questions()[::3], ask, at_once=8).check()
