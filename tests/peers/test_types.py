"""Every value of every type reads the same through Delta Spark and through Lakescan, as data and as partition."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import lakescan
from tests.peers.compare import same_rows
from tests.peers.session import settings
from tests.peers.values import PRIMITIVES, pool

pytestmark = [pytest.mark.peers, pytest.mark.timeout(1200)]
TYPES = sorted(set(PRIMITIVES))


def _rows(spark: SparkSession) -> str:
    """A query whose n-th row has the n-th value of every type, and at the end nulls."""
    pools = [pool(spark.sql(f"SELECT CAST(NULL AS {type_}) AS x").schema[0].dataType) for type_ in TYPES]
    count = max(map(len, pools))
    rows = [[values[at % len(values)] for values in pools] for at in range(count)] + [["NULL"] * len(pools)]
    texts = [f"({at}, {', '.join(row)})" for at, row in enumerate(rows)]
    names = ", ".join(f"p{at}" for at in range(len(pools)))
    return f"SELECT * FROM VALUES {', '.join(texts)} AS v(id, {names})"


def _compare(spark: SparkSession, path: Path, zone: str) -> None:
    expected = spark.read.format("delta").load(str(path)).toArrow()
    assert expected.num_rows > 10
    same_rows(lakescan.open(path, zone).snapshot().scan().build().to_arrow(), expected, "without Spark")
    same_rows(lakescan.read(spark, path).toArrow(), expected, "through Spark")


@pytest.mark.parametrize("utc", ["true", "false"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_every_value_is_read_as_a_partition(delta_spark: SparkSession, tmp_path: Path, zone: str, utc: str) -> None:
    columns = ", ".join(f"p{at} {type_}" for at, type_ in enumerate(TYPES))
    names = ", ".join(f"p{at}" for at in range(len(TYPES)))
    written = {
        "spark.sql.session.timeZone": zone,
        "spark.databricks.delta.write.utcTimestampPartitionValues": utc,
    }
    with settings(delta_spark, written):
        delta_spark.sql(
            f"CREATE TABLE delta.`{tmp_path}/t` (id INT, {columns}) USING delta PARTITIONED BY ({names}) "
            "TBLPROPERTIES ('delta.randomizeFilePrefixes' = 'true')"
        )
        delta_spark.sql(f"INSERT INTO delta.`{tmp_path}/t` {_rows(delta_spark)}")
        _compare(delta_spark, tmp_path / "t", zone)


@pytest.mark.parametrize("legacy", ["true", "false"])
@pytest.mark.parametrize("moments", ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"])
def test_every_value_is_read_from_a_file(delta_spark: SparkSession, tmp_path: Path, moments: str, legacy: str) -> None:
    nested = ", ".join(f"'x{at}', p{at}" for at in range(len(TYPES)))
    written = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": moments,
        "spark.sql.parquet.writeLegacyFormat": legacy,
    }
    with settings(delta_spark, written):
        delta_spark.sql(
            f"CREATE TABLE delta.`{tmp_path}/t` USING delta AS "
            f"SELECT r.*, named_struct({nested}) AS s, array(struct(r.*), NULL) AS a, map(id, struct(r.*)) AS m "
            f"FROM ({_rows(delta_spark)}) r"
        )
        _compare(delta_spark, tmp_path / "t", "UTC")
