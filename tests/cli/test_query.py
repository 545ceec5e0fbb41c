import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from lakescan.cli.exit_codes import NO_TABLE, NOT_SUPPORTED, STORAGE, USAGE
from lakescan.cli.questions import recognised
from tests.cli.conftest import ORDERS, Command, started
from tests.sample_tables import sample_table

T = ("--table", f"orders={ORDERS}")
# Answered without Spark, each with how many rows it has where that is known.
SMALL = [
    "SELECT count(*) FROM orders",
    "select COUNT(1) as n from orders where day = '2024-01-03'",
    "SELECT count(*) FROM orders WHERE amount > 100.5 AND city IN ('Cork', 'Athens') OR customer IS NULL",
    "SELECT * FROM orders WHERE order_id < 10",
    "SELECT Order_ID, city AS town, ordered_at FROM orders WHERE order_id BETWEEN 40 AND 60",
    "SELECT `order_id` FROM lake.orders WHERE NOT (order_id >= 3)",
    f"SELECT day, amount FROM delta.`{ORDERS}` WHERE order_id = 7",
    "SELECT order_id FROM orders WHERE customer LIKE 'customer-00%'",
    "SELECT order_id FROM orders WHERE order_id = 10 LIMIT 5",
    "SELECT order_id FROM orders LIMIT 0",
]
FOR_SPARK = [
    "SELECT count(*) FROM orders LIMIT 1",
    "SELECT count(city) FROM orders",
    "SELECT count(DISTINCT city) FROM orders",
    "SELECT count(*) OVER () FROM orders",
    "SELECT DISTINCT city FROM orders",
    "SELECT city FROM orders ORDER BY city LIMIT 3",
    "SELECT city FROM orders o",
    "SELECT o.city FROM orders o",
    "SELECT city, city FROM orders",
    "SELECT order_id + 1 FROM orders",
    "SELECT city FROM orders LIMIT 3 OFFSET 1",
    "SELECT city FROM orders TABLESAMPLE (10 ROWS)",
    "SELECT city FROM orders VERSION AS OF 3",
    "SELECT city FROM orders, orders",
    "SELECT city FROM orders GROUP BY city",
    "SELECT city FROM (SELECT * FROM orders)",
    "SELECT * EXCEPT (city) FROM orders",
    "SELECT city FROM orders UNION ALL SELECT city FROM orders",
    "WITH x AS (SELECT 1) SELECT city FROM orders",
    "SELECT /*+ REPARTITION(3) */ city FROM orders",
    "SELECT 1",
    "SELEC city",
]


@pytest.mark.parametrize("sql", SMALL, ids=lambda sql: sql.replace(str(ORDERS), "orders"))
def test_a_small_question_is_recognised(sql: str) -> None:
    assert recognised(sql) is not None


@pytest.mark.parametrize("sql", FOR_SPARK)
def test_whatever_else_a_statement_says_it_is_sparks(sql: str) -> None:
    assert recognised(sql) is None


def test_a_small_question_starts_no_java() -> None:
    words = [sys.executable, "-m", "lakescan", "query", SMALL[0], *T]
    environment = {**os.environ, "JAVA_HOME": "/nowhere", "PATH": "/nowhere"}
    process = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout.split()[-1]) == (0, "4856")
    assert "0 of 22 files read" in process.stderr
    assert "no JVM" in process.stderr
    assert process.stderr.count("\n") == 1


@pytest.mark.spark
@pytest.mark.parametrize("sql", SMALL, ids=lambda sql: sql.replace(str(ORDERS), "orders"))
def test_spark_gives_the_same_answer_to_a_small_question(sql: str, command: Command, spark: SparkSession) -> None:
    alone, by_spark = command("query", sql, *T, "--json"), command("query", sql, *T, "--json", "--spark")
    assert (alone.code, by_spark.code, alone.err, by_spark.err) == (0, 0, "", "")
    assert alone.json["columns"] == by_spark.json["columns"]
    assert sorted(alone.json["rows"], key=str) == sorted(by_spark.json["rows"], key=str)


@pytest.mark.spark
def test_what_only_spark_evaluates_is_left_to_it(command: Command, spark: SparkSession) -> None:
    answer = command("query", "SELECT count(*) FROM orders WHERE order_id % 2 = 0 AND day = '2024-01-01'", *T)
    assert answer.code == 0
    expected = spark.read.parquet(*[str(file) for file in ORDERS.glob("day=2024-01-01/*.parquet")]).count()
    assert 0 < int(answer.out.split()[-1]) < expected
    assert "by Spark" in answer.err
    assert "skipped" in answer.err


@pytest.mark.spark
def test_a_join_of_two_tables_by_their_names(command: Command, spark: SparkSession) -> None:
    sql = "SELECT a.city, count(*) n FROM orders a JOIN other b USING (order_id) GROUP BY a.city ORDER BY 1 LIMIT 2"
    answer = command("query", sql, *T, "--table", f"other={ORDERS}", "--format", "json")
    assert answer.code == 0
    assert [line.split('"city": ')[1][:8] for line in answer.out.splitlines()] == ['"Athens"', '"Bergen"']


@pytest.mark.spark
def test_explain_shows_the_plan_and_reads_no_row(command: Command, spark: SparkSession) -> None:
    answer = command("query", "SELECT upper(city) FROM orders WHERE order_id < 10", *T, "--explain")
    assert answer.code == 0
    assert "BatchScan" in answer.out
    assert "2 read" in answer.out


def test_explain_of_a_small_question(command: Command) -> None:
    answer = command("query", "SELECT city FROM orders WHERE order_id < 10", *T, "--explain")
    assert answer.code == 0
    assert "after statistics: 2 files" in answer.out


@pytest.mark.spark
@pytest.mark.parametrize("name", ["row_tracking_mapped", "changes_evolved"])
def test_rows_of_a_sample_table_come_through_spark_as_through_arrow(
    name: str, command: Command, spark: SparkSession, tmp_path: Path
) -> None:
    path = sample_table(name).unpack(tmp_path)
    words = ("query", "SELECT * FROM t", "--table", f"t={path}", "--json")
    alone, by_spark = command(*words), command(*words, "--spark")
    assert sorted(alone.json["rows"], key=str) == sorted(by_spark.json["rows"], key=str)
    assert len(alone.json["rows"]) == len(sample_table(name).rows)


@pytest.mark.spark
def test_spark_writes_parquet_with_the_same_rows(command: Command, spark: SparkSession, tmp_path: Path) -> None:
    words = ("query", "SELECT * FROM orders WHERE order_id < 500", *T, "--format", "parquet", "-o")
    assert command(*words, tmp_path / "alone").code == 0
    assert command(*words, tmp_path / "spark", "--spark").code == 0
    alone, by_spark = (pq.read_table(tmp_path / name).sort_by("order_id") for name in ("alone", "spark"))
    assert alone.num_rows > 400
    assert alone.equals(by_spark)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("sql", "said"),
    [("SELEC 1", "Syntax error"), ("SELECT nope + 1 FROM orders", "nope"), ("SELECT * FROM nowhere JOIN x", "nowhere")],
)
def test_what_spark_refuses_is_one_sentence(sql: str, said: str, command: Command, spark: SparkSession) -> None:
    answer = command("query", sql, *T)
    assert (answer.code, answer.out) == (USAGE, "")
    assert said in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.spark
def test_an_error_of_lakescans_keeps_its_code_through_spark(
    command: Command, spark: SparkSession, newer: Path, tmp_path: Path
) -> None:
    for path, code in ((tmp_path / "nowhere", NO_TABLE), (newer, NOT_SUPPORTED)):
        for words in (("--table", f"t={path}"), ()):
            name = "t" if words else f"delta.`{path}`"
            answer = command("query", f"SELECT id + 1 FROM {name}", *words)
            assert answer.code == code, answer.err
            assert answer.err.count("\n") == 1


def test_a_path_without_a_table_is_told_without_spark(command: Command, tmp_path: Path, newer: Path) -> None:
    for path, code in ((tmp_path, NO_TABLE), (newer, NOT_SUPPORTED)):
        answer = command("query", "SELECT * FROM t", "--table", f"t={path}")
        assert (answer.code, answer.out, answer.err.count("\n")) == (code, "", 1)


def test_a_column_that_there_is_not_is_named(command: Command) -> None:
    answer = command("query", "SELECT city FROM orders WHERE nope = 1", *T)
    assert answer.code == USAGE
    assert "'nope'" in answer.err


def test_parquet_into_a_terminal_is_refused(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    answer = command("query", SMALL[0], *T, "--format", "parquet")
    assert answer.code == USAGE


def test_a_store_that_cannot_be_reached_is_told_without_spark(command: Command) -> None:
    settings = {"endpoint": "http://127.0.0.1:9", "endpoint.region": "us-east-1", "access.key": "a", "secret.key": "b"}
    words = [word for name, value in settings.items() for word in ("--storage", f"fs.s3a.{name}={value}")]
    answer = command("query", "SELECT count(*) FROM t", "--table", "t=s3a://bucket/table", *words)
    assert (answer.code, answer.out, answer.err.count("\n")) == (STORAGE, "", 1)


@pytest.mark.own_jvm
def test_a_query_on_spark_says_nothing_but_its_answer(tmp_path: Path) -> None:
    process = started("query", "SELECT max(upper(city)) AS city FROM orders", *T, "--format", "csv")
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (0, "city\nÉVORA\n")
    assert err.count("\n") == 1
    assert "by Spark" in err
