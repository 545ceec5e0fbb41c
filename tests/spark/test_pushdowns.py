"""Limits, orders and aggregates through SQL: the same rows as without pushdown, and only the files that are needed."""

import math
import struct
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructField, StructType

import lakescan
from lakescan.errors import UnknownSetting
from lakescan.scan.settings import setting_names
from lakescan.spark.bridge import Bridge
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark

OFF = {name: False for name in setting_names() if ".pushdown." in name}
NAN = float("nan")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> DeltaBuilder:
    """Six files of ten rows: ids in tens, two days, floats with NaN and both zeros, two rows of the third deleted."""
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("small", pa.int32()),
            ("name", pa.string()),
            ("score", pa.float64()),
            ("price", pa.decimal128(10, 2)),
            ("big", pa.int64()),
            ("tiny", pa.decimal128(3, 2)),
            ("day", pa.string()),
        ]
    )
    built = DeltaBuilder(tmp_path_factory.mktemp("t"), schema, partition_by=["day"], features=["deletionVectors"])
    for number in range(6):
        ids = list(range(number * 10, number * 10 + 10))
        scores = [None if i % 7 == 3 else math.sin(i) * 1e3 for i in ids]
        scores[0:3] = [0.0, -0.0, NAN if number == 4 else 0.1]
        rows = pa.table(
            {
                "id": ids,
                "small": pa.array([None if i % 5 == 0 else i * 1000 for i in ids], pa.int32()),
                "name": [f"name-{i:02d}" + "x" * (40 * (i % 2)) for i in ids],
                "score": scores,
                "price": pa.array([Decimal(i) / 4 for i in ids], pa.decimal128(10, 2)),
                "big": [2**62 + i for i in ids],
                # A task's sum has more digits than the column.
                "tiny": pa.array(
                    [None if i % 6 == 1 else Decimal(999 - i).scaleb(-2) for i in ids], pa.decimal128(3, 2)
                ),
            }
        )
        added = built.append(rows, partition={"day": f"2024-01-0{number % 2 + 1}"})
        if number == 2:
            built.delete(added, [0, 1])
    return built


QUERIES = [
    "SELECT count(*), min(id), max(id), count(small), min(price), max(price) FROM TABLE",
    "SELECT day, count(*), max(id), min(score), max(score) FROM TABLE GROUP BY day",
    "SELECT DISTINCT day FROM TABLE WHERE day > '2024-01-01'",
    "SELECT count(*), min(id), max(day) FROM TABLE WHERE day = 'never'",
    "SELECT day, count(*) FROM TABLE WHERE day = 'never' GROUP BY day",
    "SELECT sum(id), sum(small), sum(score), avg(id), avg(small), avg(score), count(score) FROM TABLE",
    "SELECT day, sum(small), avg(score), min(name), max(name) FROM TABLE GROUP BY day",
    "SELECT small % 3, count(*) FROM TABLE GROUP BY small % 3",
    "SELECT name, day, sum(score), count(*) FROM TABLE GROUP BY name, day",
    "SELECT sum(price), avg(price), avg(big) FROM TABLE",
    "SELECT day, sum(price), avg(price), sum(tiny), avg(tiny), count(*) FROM TABLE GROUP BY day",
    "SELECT sum(price * (1 - tiny)), sum(price * (1 - tiny) * (1 + tiny)), avg(price * tiny) FROM TABLE",
    "SELECT day, sum(small * price), sum(price + 0.5), count(price * tiny) FROM TABLE WHERE id > 7 GROUP BY day",
    "SELECT sum(price / 3), sum(-price), sum(DISTINCT price), sum(id * price) FROM TABLE",
    "SELECT sum(CAST(tiny AS DECIMAL(20, 5)) - price), try_sum(price * price) FROM TABLE",
    "SELECT count(*), sum(id) FROM TABLE WHERE id BETWEEN 5 AND 44",
    "SELECT count(DISTINCT day), max(id) - min(id) FROM TABLE HAVING count(*) > 1",
    "SELECT count(DISTINCT day), count(DISTINCT name) FROM TABLE",
    "SELECT count(DISTINCT day) FROM TABLE WHERE id > 12",
    "SELECT score, count(*) FROM TABLE GROUP BY score",
    "SELECT id FROM TABLE ORDER BY id DESC LIMIT 13",
    "SELECT id, score FROM TABLE ORDER BY score, id LIMIT 17",
    "SELECT id, score FROM TABLE ORDER BY score DESC NULLS FIRST, id LIMIT 17",
    "SELECT id FROM TABLE ORDER BY day DESC, name LIMIT 5 OFFSET 3",
    "SELECT id FROM TABLE WHERE id > 15 ORDER BY small DESC, id LIMIT 4",
    "SELECT count(*) FROM (SELECT * FROM TABLE LIMIT 25)",
    "SELECT count(*) FROM (SELECT * FROM TABLE OFFSET 25)",
]


def asked(spark: SparkSession, table: DeltaBuilder, sql: str, options: dict[str, Any] | None = None) -> DataFrame:
    lakescan.read(spark, table.path, options=options).createOrReplaceTempView("asked")
    return spark.sql(sql.replace("TABLE", "asked"))


def bits(frame: DataFrame) -> list[str]:
    """Rows as text that tells apart every two values that are not the same bits."""
    rows = [[struct.pack(">d", v).hex() if isinstance(v, float) else repr(v) for v in row] for row in frame.collect()]
    return sorted(map(repr, rows))


@pytest.mark.parametrize("sql", QUERIES)
def test_pushdown_changes_no_bit_of_the_answer(spark: SparkSession, table: DeltaBuilder, sql: str) -> None:
    assert bits(asked(spark, table, sql)) == bits(asked(spark, table, sql, OFF))


@pytest.mark.parametrize(
    ("sql", "files", "metadata_only"),
    [
        ("SELECT count(*), min(id), max(id), max(price) FROM TABLE", 0, True),
        ("SELECT day, max(id), count(*) FROM TABLE WHERE day >= '2024-01-02' GROUP BY day", 0, True),
        ("SELECT DISTINCT day FROM TABLE", 0, True),
        ("SELECT count(DISTINCT day), count(*) FROM TABLE", 0, True),
        ("SELECT max(name) FROM TABLE", 1, False),
        ("SELECT id FROM TABLE LIMIT 15", 2, False),
        ("SELECT id FROM TABLE LIMIT 3 OFFSET 15", 2, False),
        ("SELECT id FROM TABLE ORDER BY id DESC LIMIT 3", 1, False),
        ("SELECT id FROM TABLE OFFSET 45", 2, False),
    ],
)
def test_only_the_files_that_are_needed_are_read(
    spark: SparkSession, table: DeltaBuilder, sql: str, files: int, metadata_only: bool
) -> None:
    (scan,) = lakescan.report(asked(spark, table, sql)).scans
    assert (scan.files_total, scan.files_planned, scan.metadata_only) == (6, files, metadata_only)
    (scan,) = lakescan.report(asked(spark, table, sql, OFF)).scans
    assert (scan.files_planned, scan.metadata_only) == (6 if "WHERE" not in sql else 3, False)


def test_what_the_log_answers_opens_no_data_file(spark: SparkSession, tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64()), ("day", pa.date32())]), partition_by=["day"])
    for number in range(3):
        built.append(pa.table({"id": [number, number + 5]}), partition={"day": f"2024-01-0{number + 1}"})
    for file in tmp_path.glob("*.parquet"):
        file.unlink()
    frame = asked(spark, built, "SELECT day, count(*) AS n, max(id) AS most FROM TABLE GROUP BY day")
    assert sorted((str(row.day), row.n, row.most) for row in frame.collect()) == [
        ("2024-01-01", 2, 5),
        ("2024-01-02", 2, 6),
        ("2024-01-03", 2, 7),
    ]


def test_rows_that_the_driver_has_need_no_job(spark: SparkSession) -> None:
    spark.sparkContext.setJobGroup("rows of metadata", "")
    rows = Bridge(spark).internal_rows(pa.table({"key_0": [1, None]}), StructType([StructField("a", LongType())]))
    assert len(rows) == 2
    assert list(spark.sparkContext.statusTracker().getJobIdsForGroup("rows of metadata")) == []


def test_a_sum_of_longs_that_overflows_is_sparks_own_error(spark: SparkSession, table: DeltaBuilder) -> None:
    with pytest.raises(PySparkException, match="ARITHMETIC_OVERFLOW"):
        asked(spark, table, "SELECT sum(big) FROM TABLE").collect()
    frame = asked(spark, table, "SELECT try_sum(big) AS total FROM TABLE")
    assert frame.collect()[0].total is None


def test_sums_of_decimals_are_computed_in_the_workers(spark: SparkSession, table: DeltaBuilder) -> None:
    sql = "SELECT day, sum(price * (1 - tiny) * (1 + tiny)), avg(tiny) FROM TABLE GROUP BY day"
    (scan,) = lakescan.report(asked(spark, table, sql)).scans
    functions, day = scan.aggregation.split(" BY ")
    wanted = {"SUM(((`price` * (1 - `tiny`)) * (1 + `tiny`)))", "SUM(`tiny`)", "COUNT(`tiny`)"}
    assert (set(functions.split(", ")), day) == (wanted, "`day`")


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ("price * (1 - tiny)", "decimal(15,4)"),
        ("price * (1 - tiny) * (1 + tiny)", "decimal(20,6)"),
        ("small * price", "decimal(21,2)"),
    ],
)
def test_a_sum_of_an_expression_has_sparks_type(
    spark: SparkSession, table: DeltaBuilder, value: str, type_: str
) -> None:
    (with_pushdown,) = asked(spark, table, f"SELECT sum({value}) FROM TABLE").schema
    (row,) = asked(spark, table, f"SELECT typeof({value}) AS type, sum({value}) FROM TABLE GROUP BY 1", OFF).collect()
    assert row.type == type_
    (without,) = asked(spark, table, f"SELECT sum({value}) FROM TABLE", OFF).schema
    assert with_pushdown.dataType == without.dataType


def test_a_product_with_too_many_digits_is_sparks_own_error(spark: SparkSession, tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("v", pa.decimal128(20, 2))]))
    built.append(pa.table({"v": pa.array([Decimal(10**18 - 1), Decimal(3)], pa.decimal128(20, 2))}))
    for options in ({}, OFF):
        with pytest.raises(PySparkException, match="NUMERIC_VALUE_OUT_OF_RANGE"):
            asked(spark, built, "SELECT sum(v * v * v) FROM TABLE", options).collect()
    fits = "SELECT sum(v * v * v) FROM TABLE WHERE v < 10"
    assert bits(asked(spark, built, fits)) == bits(asked(spark, built, fits, OFF))


def test_groups_that_the_bounds_say_are_many_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("few", pa.int64()), ("many", pa.int64()), ("v", pa.decimal128(9, 2))]))
    values = pa.array([Decimal(7), Decimal(8)], pa.decimal128(9, 2))
    built.append(pa.table({"few": [1, 900], "many": [1, 10**6], "v": values}))
    (few,) = lakescan.report(asked(spark, built, "SELECT few, sum(v) FROM TABLE GROUP BY few")).scans
    (many,) = lakescan.report(asked(spark, built, "SELECT many, sum(v) FROM TABLE GROUP BY many")).scans
    assert (few.aggregation, many.aggregation) == ("SUM(`v`) BY `few`", "")


# Spark before 4.3 fails at the text of a NULL of bytes, and makes one of what was pushed.
@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ("bytes IN (X'61', NULL)", [1]),
        ("bytes IN (X'61', X'62', NULL) OR id = 3", [1, 2, 3]),
        ("NOT (bytes IN (X'61', NULL))", []),
        ("id > 1 AND bytes IN (X'61', X'62', NULL)", [2]),
    ],
)
@pytest.mark.parametrize("filters", ["true", "false"])
def test_a_null_in_a_list_of_bytes_fails_no_query(
    spark: SparkSession, tmp_path: Path, condition: str, wanted: list[int], filters: str
) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64()), ("bytes", pa.binary())]))
    table.append(pa.table({"id": [1, 2, 3], "bytes": pa.array([b"a", b"b", None], pa.binary())}))
    rows = lakescan.read(spark, table.path, options={"lakescan.pushdown.filters": filters}).where(condition)
    assert sorted(row.id for row in rows.collect()) == wanted


def test_explain_says_what_was_pushed(spark: SparkSession, table: DeltaBuilder) -> None:
    def plan(sql: str) -> str:
        return str(asked(spark, table, sql)._jdf.queryExecution().toString())

    assert "aggregates=[SUM(`score`), COUNT(`score`) BY `day`]" in plan(
        "SELECT day, avg(score) FROM TABLE GROUP BY day"
    )
    assert "top=[first 3 by `id` DESC NULLS LAST]" in plan("SELECT id FROM TABLE ORDER BY id DESC LIMIT 3")
    assert "limit=[7]" in plan("SELECT id FROM TABLE LIMIT 4 OFFSET 3")
    assert "LocalTableScan" in plan("SELECT max(id) FROM TABLE")


@pytest.mark.parametrize("prefix", ["", "spark."])
def test_a_conf_switches_a_pushdown_off(spark: SparkSession, table: DeltaBuilder, prefix: str) -> None:
    name = f"{prefix}lakescan.pushdown.aggregates"
    spark.conf.set(name, "false")
    try:
        (scan,) = lakescan.report(asked(spark, table, "SELECT count(*) FROM TABLE")).scans
    finally:
        spark.conf.unset(name)
    assert (scan.files_planned, scan.metadata_only) == (6, False)


def test_a_sql_option_switches_a_pushdown_off(spark: SparkSession, table: DeltaBuilder) -> None:
    lakescan.attach(spark, "switched", table.path)
    frame = spark.sql("SELECT id FROM lake.switched WITH ('lakescan.pushdown.limit' = 'false') LIMIT 3")
    assert lakescan.report(frame).scans[0].files_planned == 6


def test_a_mistyped_switch_is_refused_with_the_known_ones(spark: SparkSession, table: DeltaBuilder) -> None:
    with pytest.raises(UnknownSetting, match="top_n"):
        lakescan.read(spark, table.path, options={"lakescan.pushdown.topn": False})
    spark.conf.set("lakescan.pushdown.topn", "false")
    try:
        with pytest.raises(PySparkException, match=r"LAKESCAN_UNKNOWN_SETTING.*lakescan\.pushdown\.top_n"):
            asked(spark, table, "SELECT id FROM TABLE").collect()
    finally:
        spark.conf.unset("lakescan.pushdown.topn")


def test_a_small_table_is_broadcast(spark: SparkSession, table: DeltaBuilder) -> None:
    frame = asked(spark, table, "SELECT count(*) FROM TABLE a JOIN TABLE b ON a.id = b.small")
    assert "BroadcastHashJoin" in frame._jdf.queryExecution().executedPlan().toString()


def test_the_optimizer_knows_rows_columns_and_the_bytes_of_the_columns_read(
    spark: SparkSession, table: DeltaBuilder
) -> None:
    def statistics(sql: str) -> Any:
        return asked(spark, table, sql)._jdf.queryExecution().optimizedPlan().stats()

    spark.conf.set("spark.sql.cbo.enabled", "true")
    try:
        assert statistics("SELECT * FROM TABLE").rowCount().get() == 58
        columns = statistics("SELECT id, day, price FROM TABLE").attributeStats().toString()
        below = statistics("SELECT id FROM TABLE WHERE id < 30 AND name > 'a'").rowCount().get()
    finally:
        spark.conf.unset("spark.sql.cbo.enabled")
    assert "Some(0),Some(59)" in columns
    assert "Some(2)" in columns
    assert 0 < below <= 29
    all_bytes, one = (int(str(statistics(f"SELECT {c} FROM TABLE").sizeInBytes())) for c in ("*", "small"))
    assert one < all_bytes / 3


@pytest.mark.own_jvm
def test_a_limit_makes_no_noise_in_the_workers(table: DeltaBuilder) -> None:
    script = (
        "import sys, lakescan\n"
        "spark = lakescan.session(master='local[2]')\n"
        "for _ in range(3): assert lakescan.read(spark, sys.argv[1]).limit(12).count() == 12\n"
        "assert len(lakescan.read(spark, sys.argv[1]).limit(12).collect()) == 12\n"
    )
    done = subprocess.run([sys.executable, "-c", script, table.path], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert "BrokenPipe" not in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout


def _items(sequence: Any) -> list[Any]:
    at: Callable[[int], Any] = sequence.apply
    return [at(index) for index in range(sequence.size())]
