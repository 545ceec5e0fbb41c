"""A session with Delta's JARs where Lakescan reads by the name `delta`: what it does not serve stays Delta's."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import lakescan

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]


@pytest.fixture
def claimed(delta_spark: SparkSession) -> SparkSession:
    return lakescan.install(delta_spark.newSession(), claim_delta=True)


@pytest.fixture
def path(delta_spark: SparkSession, tmp_path: Path) -> str:
    """Three rows, in a commit each, by Delta."""
    table = f"{tmp_path}/t"
    feed = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    delta_spark.sql(f"CREATE TABLE delta.`{table}` (id BIGINT) USING delta {feed}")
    for number in range(3):
        delta_spark.range(number, number + 1).write.format("delta").mode("append").save(table)
    return table


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.collect())


def test_the_name_is_deltas_unless_it_is_claimed(delta_spark: SparkSession, claimed: SparkSession, path: str) -> None:
    theirs = lakescan.install(delta_spark.newSession()).read.format("delta").load(path)
    ours = claimed.read.format("delta").load(path)
    assert ids(theirs) == ids(ours) == [0, 1, 2]
    assert lakescan.report(ours).scans
    assert not lakescan.report(theirs).scans


def test_a_claimed_data_source_reads_versions_and_changes(claimed: SparkSession, path: str) -> None:
    old = claimed.read.format("DELTA").option("versionAsOf", 2).load(path)
    assert ids(old) == ids(claimed.read.load(f"{path}@v2", format="delta")) == [0, 1]
    assert lakescan.report(old).scans
    changes = claimed.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 2).load(path)
    assert sorted((row.id, row._change_type) for row in changes.collect()) == [(1, "insert"), (2, "insert")]
    assert lakescan.report(changes).scans


def test_a_claimed_data_source_streams(claimed: SparkSession, path: str, tmp_path: Path) -> None:
    rows: list[Any] = []
    writer = claimed.readStream.format("delta").load(path).writeStream.option("checkpointLocation", f"{tmp_path}/c")
    query = writer.foreachBatch(lambda batch, _: rows.extend(batch.collect())).trigger(availableNow=True).start()
    query.awaitTermination()
    assert sorted(row.id for row in rows) == [0, 1, 2]
    assert "DeltaSource" not in str([progress["sources"] for progress in query.recentProgress])


def test_a_write_by_the_claimed_name_is_deltas(claimed: SparkSession, path: str, tmp_path: Path) -> None:
    claimed.range(3, 5).write.format("delta").mode("append").save(path)
    assert ids(claimed.read.format("delta").load(path)) == [0, 1, 2, 3, 4]
    claimed.read.format("delta").load(path).where("id > 2").write.format("delta").mode("overwrite").save(path)
    assert ids(claimed.read.format("delta").load(path)) == [3, 4]
    claimed.read.format("delta").load(path).write.format("delta").saveAsTable("claimed_rows")
    assert ids(claimed.table("claimed_rows")) == [3, 4]
    claimed.sql("DROP TABLE claimed_rows")
    writer = claimed.readStream.format("delta").load(path).writeStream.option("checkpointLocation", f"{tmp_path}/c")
    writer.format("delta").trigger(availableNow=True).start(f"{tmp_path}/copy").awaitTermination()
    assert ids(claimed.read.format("delta").load(f"{tmp_path}/copy")) == [3, 4]


def test_deltas_own_api_works_on_a_path(claimed: SparkSession, path: str) -> None:
    """`delta.tables.DeltaTable` reads by `format("delta")` itself, and changes what that gives."""
    jvm: Any = claimed._jvm
    table = jvm.io.delta.tables.DeltaTable.forPath(claimed._jsparkSession, path)
    table.delete("id = 0")
    table.updateExpr("id = 1", {"id": "id + 10"})
    assert ids(claimed.read.format("delta").load(path)) == [2, 11]
    history = claimed.sql(f"DESCRIBE HISTORY delta.`{path}`").collect()
    assert [row.operation for row in history[:2]] == ["UPDATE", "DELETE"]


def test_a_claimed_name_leaves_to_delta_what_it_does_not_serve(claimed: SparkSession, tmp_path: Path) -> None:
    name = f"delta.`{tmp_path}/t`"
    claimed.sql(f"CREATE TABLE {name} (id BIGINT, v STRING) USING delta")
    claimed.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    claimed.sql(f"DELETE FROM {name} WHERE id = 1")
    claimed.sql(f"UPDATE {name} SET v = 'z' WHERE id = 2")
    merge = "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"
    claimed.sql(f"MERGE INTO {name} t USING (SELECT 3 AS id, 'x' AS v UNION SELECT 4, 'y') s ON t.id = s.id {merge}")
    frame = claimed.sql(f"SELECT id, v FROM {name} ORDER BY id")
    assert [tuple(row) for row in frame.collect()] == [(2, "z"), (4, "y")]
    assert lakescan.report(frame).scans, "Lakescan reads it"
    history = claimed.sql(f"DESCRIBE HISTORY {name}").collect()
    assert [row.operation for row in history] == ["MERGE", "UPDATE", "DELETE", "WRITE", "CREATE TABLE"]
    assert claimed.sql(f"DESCRIBE DETAIL {name}").collect()[0].format == "delta"
    assert "id" in [row.col_name for row in claimed.sql(f"DESCRIBE TABLE {name}").collect()]
    claimed.sql(f"OPTIMIZE {name}")
    claimed.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    assert claimed.sql(f"SELECT count(*) AS n FROM {name}").collect()[0].n == 2
