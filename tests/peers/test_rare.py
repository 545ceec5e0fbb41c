"""Rare columns and failing filters: the same answers, or an error on both sides, as Delta Spark in the same session."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import lakescan
from tests.peers.queries import READERS, different, outcome
from tests.peers.session import settings

pytestmark = [pytest.mark.peers, pytest.mark.timeout(900)]


def together(selects: list[str]) -> str:
    """One query for the ids of many filters, each with its number."""
    return " UNION ALL ".join(f"SELECT {at} AS asked, id FROM {{0}} WHERE {what}" for at, what in enumerate(selects))


def test_interval_columns(delta_spark: SparkSession, tmp_path: Path) -> None:
    path = f"{tmp_path}/t"
    delta_spark.conf.set("spark.databricks.delta.schema.typeCheck.enabled", "false")
    delta_spark.sql(
        f"CREATE TABLE delta.`{path}` (id INT, d INTERVAL DAY TO SECOND, h INTERVAL HOUR, y INTERVAL YEAR TO MONTH, "
        "m INTERVAL MONTH, s STRUCT<d: INTERVAL DAY TO SECOND, y: INTERVAL YEAR>, l ARRAY<INTERVAL DAY>) USING delta"
    )
    delta_spark.sql(
        f"INSERT INTO delta.`{path}` VALUES (1, INTERVAL '1 02:03:04.567891' DAY TO SECOND, INTERVAL '5' HOUR, "
        "INTERVAL '2-3' YEAR TO MONTH, INTERVAL '7' MONTH, named_struct('d', INTERVAL '-1 00:00:00' DAY TO SECOND, "
        "'y', INTERVAL '-9' YEAR), array(INTERVAL '3' DAY, NULL)), "
        "(2, INTERVAL '-1 02:03:04.567891' DAY TO SECOND, INTERVAL '-5' HOUR, INTERVAL '-2-3' YEAR TO MONTH, "
        "INTERVAL '0' MONTH, NULL, array()), (3, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    delta_spark.conf.unset("spark.databricks.delta.schema.typeCheck.enabled")
    columns = ("d", "h", "y", "m", "s.d", "s.y", "l[0]")
    queries = [f"SELECT id, {', '.join(f'CAST({name} AS STRING)' for name in columns)} FROM {{}}", "DESCRIBE {}"]
    for what in ("min", "max", "count"):
        queries.append(f"SELECT {', '.join(f'CAST({what}({name}) AS STRING)' for name in columns)} FROM {{}}")
    queries += [
        together(
            [f"{name} IS NULL" for name in columns]
            + ["d > INTERVAL '0' DAY", "y = INTERVAL '2-3' YEAR TO MONTH", "s.y < INTERVAL '1' YEAR"]
        ),
        "SELECT CAST(sum(h) AS STRING), CAST(sum(m) AS STRING) FROM {}",
        "SELECT id FROM {} ORDER BY y LIMIT 1",
    ]
    assert different(delta_spark, path, queries) == []


def test_an_empty_text_that_delta_spark_writes_as_a_partition_value_is_null(
    delta_spark: SparkSession, tmp_path: Path
) -> None:
    path = f"{tmp_path}/t"
    delta_spark.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, p STRING) USING delta PARTITIONED BY (p)")
    delta_spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, ''), (2, NULL), (3, 'x')")
    filters = ["p = ''", "p IS NULL", "p IS NOT NULL", "p <=> ''", "p < 'y'", "length(p) = 0"]
    queries = ["SELECT id, p, length(p) FROM {}", "SELECT p, count(*) FROM {} GROUP BY p", together(filters)]
    queries += ["SELECT count(p), count(*), min(p), max(p) FROM {}"]
    assert different(delta_spark, path, queries) == []


def test_an_empty_text_in_the_log_is_null_as_the_protocol_says_though_not_to_delta_spark(
    delta_spark: SparkSession, tmp_path: Path
) -> None:
    path = f"{tmp_path}/t"
    delta_spark.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, p STRING) USING delta PARTITIONED BY (p)")
    pq.write_table(pa.table({"id": [1]}), f"{path}/1.parquet")
    size = Path(f"{path}/1.parquet").stat().st_size
    add = {"path": "1.parquet", "partitionValues": {"p": ""}, "size": size, "modificationTime": 0, "dataChange": True}
    Path(f"{path}/_delta_log/{1:020d}.json").write_text(json.dumps({"add": add}) + "\n")
    assert [row.p for row in delta_spark.read.format("delta").load(path).collect()] == [""]
    assert [row.p for row in lakescan.read(delta_spark, path).collect()] == [None]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_filters_that_fail_on_some_rows(delta_spark: SparkSession, tmp_path: Path, ansi: str) -> None:
    path = f"{tmp_path}/t"
    delta_spark.sql(
        f"CREATE TABLE delta.`{path}` (id INT, x INT, t STRING, l ARRAY<INT>, p INT) USING delta PARTITIONED BY (p)"
    )
    delta_spark.sql(
        f"INSERT INTO delta.`{path}` VALUES (1, 1, '1', array(1), 0), (2, 0, 'bad', array(), 0), "
        "(3, NULL, NULL, NULL, 1), (4, 2147483647, '2147483648', array(1, 2), 1), (5, -2, '2020-01-01', array(0), 1)"
    )
    # Each fails on some row, or gives null for it where ANSI is off.
    failing = ["1 / x > 0", "CAST(t AS INT) = 1", "x * 2 > 0", "l[1] = 2", "1 / p > 0"]
    beside = ["id = 1", "id > 100", "x <> 0", "p = 1"]
    filters = failing + [f"{first} AND {what}" for first in beside for what in failing]
    filters += [f"{what} AND {after}" for after in beside for what in failing]
    # Delta Spark computes filters on partitions for files that statistics leave out, and fails where no row is asked.
    filters = [what for what in filters if not ("id > 100" in what and "1 / p" in what)]
    queries = [f"SELECT id FROM {{}} WHERE {what}" for what in filters] if ansi == "true" else [together(filters)]
    queries += ["SELECT sum(1 / x) FROM {}", "SELECT sum(CAST(t AS INT)) FROM {}", "SELECT sum(x * 2), sum(x) FROM {}"]
    with settings(delta_spark, {"spark.sql.ansi.enabled": ansi}):
        assert different(delta_spark, path, queries) == []
        alone = "SELECT id FROM {} WHERE id > 100 AND 1 / p > 0"
        assert [outcome(delta_spark, alone.format(name)) for name in READERS] == [[], []]
