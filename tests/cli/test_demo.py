import pytest
from pyspark.sql import SparkSession

from tests.cli.conftest import Command


@pytest.mark.spark
def test_the_demo_gives_the_answers_of_the_engine_that_wrote_its_table(command: Command, spark: SparkSession) -> None:
    answer = command("demo")
    assert answer.code == 0
    assert answer.out.count("The same rows as Delta Spark") == 3
    as_json = command("demo", "--json")
    assert as_json.code == 0
    assert [query["same"] for query in as_json.json["queries"]] == [True] * 3
