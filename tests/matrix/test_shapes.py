"""Questions of every form give what they give on Parquet, once and again, with each pushdown on and off."""

from collections.abc import Callable, Mapping

import pytest
from pyspark.sql import SparkSession

from lakescan.scan.settings import setting_names
from tests.matrix.answers import WHOLE, Answer, answer, confs
from tests.matrix.shapes import OF_RECURSION, SHAPES_OF_QUERIES
from tests.matrix.tables import SHAPES

pytestmark = pytest.mark.spark
SWITCHES = [name for name in setting_names() if ".pushdown." in name]
AGGREGATION = ("lakescan.pushdown.aggregates", "lakescan.pushdown.partial_aggregates")
SETTINGS: Mapping[str, dict[str, str]] = {
    "all on": {},
    **{f"no {name.rpartition('.')[2]}": {name: "false"} for name in SWITCHES},
    "no aggregation": dict.fromkeys(AGGREGATION, "false"),
    "all off": dict.fromkeys(SWITCHES, "false"),
    "by partition": {"lakescan.planning.by_partition": "true"},
    "not adaptive": {"spark.sql.adaptive.enabled": "false"},
    "not ansi": {"spark.sql.ansi.enabled": "false"},
}
# In each run every question of one table, and a part of them of others and of each setting.
IN_EACH_RUN = {"deleted": 1, "empty": 4, "parted": 6}


def _queries(spark: SparkSession) -> list[str]:
    recursive = OF_RECURSION if tuple(map(int, spark.version.split(".")[:2])) >= (4, 1) else ()
    return [*SHAPES_OF_QUERIES, *recursive]


def _asked(spark: SparkSession, query: str, side: str) -> Answer:
    return answer(lambda: spark.sql(query.replace("{t}", side)))


@pytest.mark.parametrize("shape", [shape.name for shape in SHAPES if WHOLE or shape.name in IN_EACH_RUN])
def test_a_query_gives_what_it_gives_on_parquet_twice(
    spark: SparkSession, shaped: Callable[[str], str], shape: str
) -> None:
    name, different = shaped(shape), []
    for query in _queries(spark)[:: 1 if WHOLE else IN_EACH_RUN[shape]]:
        expected = _asked(spark, query, f"theirs_{name}")
        for time in ("first", "second") if WHOLE else ("first",):
            actual = _asked(spark, query, f"ours_{name}")
            if not actual.same(expected, rounded=True):
                different.append(f"{query}, the {time} time\n  ours   {actual}\n  theirs {expected}")
    assert not different, f"{len(different)} differ:\n" + "\n".join(different)


@pytest.mark.parametrize("setting", list(SETTINGS))
def test_a_query_gives_what_it_gives_on_parquet_whatever_is_switched_off(
    spark: SparkSession, shaped: Callable[[str], str], setting: str
) -> None:
    different = []
    at = list(SETTINGS).index(setting)
    for shape in [shape.name for shape in SHAPES] if WHOLE else [("full", "deleted", "one")[at % 3]]:
        name = shaped(shape)
        with confs(spark, SETTINGS[setting]):
            for query in _queries(spark) if WHOLE else _queries(spark)[at % 24 :: 24]:
                expected = _asked(spark, query, f"theirs_{name}")
                actual = _asked(spark, query, f"ours_{name}")
                if not actual.same(expected, rounded=True):
                    different.append(f"{query} of {shape}\n  ours   {actual}\n  theirs {expected}")
    assert not different, f"{len(different)} differ, {setting}:\n" + "\n".join(different)
