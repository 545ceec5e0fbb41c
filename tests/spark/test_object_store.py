"""Tables in an object store through Spark: workers are told of it as on a cluster, by `spark.executorEnv.*`."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import IllegalArgumentException, PythonException
from pyspark.sql import Row, SparkSession

import lakescan
from lakescan.errors import StorageFailure
from tests.formats.hudi.builder import HudiBuilder
from tests.object_store import BUCKET, ObjectStore
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark
SCHEMA = pa.schema([("id", pa.int64()), ("place", pa.string())])
IDS = [*range(9), *range(10, 20)]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> DeltaBuilder:
    root = tmp_path_factory.mktemp("delta") / "table"
    table = DeltaBuilder(root, SCHEMA, ["place"], features=["deletionVectors"])
    first = table.append(pa.table({"id": range(10)}), partition={"place": "a b"}, name="place=a b/part.parquet")
    table.append(pa.table({"id": range(10, 20)}), partition={"place": "100%"}, name="place=100%25/part.parquet")
    table.delete(first, [9])
    return table


@pytest.fixture
def cluster(spark: SparkSession, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """A session whose workers have the variables that `spark.executorEnv.*` would have given them."""
    for name, value in store.environment.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    session = lakescan.install(spark.newSession())
    session.conf.set("spark.sql.session.timeZone", "UTC")
    return session


@pytest.fixture(scope="module")
def location(local: DeltaBuilder, object_store: ObjectStore) -> str:
    return object_store.put(local.root, "spark")


def _ids(rows: list[Row]) -> list[Any]:
    return sorted(row[0] for row in rows)


def test_a_table_is_read_by_the_driver_and_by_workers(cluster: SparkSession, location: str) -> None:
    assert _ids(lakescan.read(cluster, location).select("id").collect()) == IDS
    assert _ids(cluster.sql(f"SELECT id FROM delta.`{location}`").collect()) == IDS
    hadoop = location.replace("s3:", "s3a:")
    assert _ids(cluster.sql(f"SELECT id FROM delta.`{hadoop}` WHERE place = '100%' AND id > 14").collect()) == [
        *range(15, 20)
    ]
    assert _ids(cluster.sql(f"SELECT id FROM delta.`{location}` VERSION AS OF 1").collect()) == [*range(10)]
    lakescan.attach(cluster, "stored", location)
    assert cluster.sql("SELECT count(*), min(id), max(id) FROM lake.stored").collect() == [(19, 0, 19)]
    paths = cluster.sql(f"SELECT DISTINCT _metadata.file_path FROM delta.`{location}`").collect()
    assert _ids(paths) == [f"{location}/place=100%2525/part.parquet", f"{location}/place=a%20b/part.parquet"]


def test_a_query_of_a_known_table_asks_for_its_log_and_its_files_only(
    cluster: SparkSession, location: str, store: ObjectStore
) -> None:
    query = f"SELECT id FROM delta.`{location}` WHERE place = '100%'"
    cluster.sql(query).collect()
    store.asked()
    assert len(cluster.sql(query).collect()) == 10
    asked = store.asked()
    assert [what for what in asked if ".json" in what or "deletion_vector" in what or "a b" in what] == []
    assert len([what for what in asked if ".parquet" in what]) <= 3
    # Spark loads a table when it analyses a query and once more when it runs it.
    assert len([what for what in asked if "_delta_log" in what]) <= 2


def test_errors_of_the_store_are_named_in_spark(cluster: SparkSession, location: str, store: ObjectStore) -> None:
    with pytest.raises(IllegalArgumentException, match=f"LAKESCAN_TABLE_NOT_FOUND.*s3://{BUCKET}/nowhere"):
        cluster.sql(f"SELECT * FROM delta.`s3://{BUCKET}/nowhere`")
    store.refused.add("place=100")
    with pytest.raises(
        PythonException, match=rf"StorageFailure: {location}/place=100%25/part.parquet could not be read"
    ):
        lakescan.read(cluster, location).collect()
    store.refused.add("_delta_log")
    with pytest.raises(StorageFailure, match=f"{location}/_delta_log"):
        lakescan.read(cluster, location)
    with pytest.raises(IllegalArgumentException, match=rf"LAKESCAN_STORAGE_FAILURE.*{location}/_delta_log"):
        cluster.sql(f"SELECT * FROM delta.`{location}`")


def test_a_hudi_table_is_read_by_the_driver_and_by_workers(
    cluster: SparkSession, store: ObjectStore, tmp_path: Path
) -> None:
    table = HudiBuilder(tmp_path / "hudi")
    table.upsert(0, pa.table({"id": pa.array(range(10), pa.int64())}))
    table.upsert(1, pa.table({"id": pa.array(range(10, 20), pa.int64())}))
    location = store.put(table.path, "spark-hudi")
    assert _ids(cluster.sql(f"SELECT id FROM hudi.`{location}` WHERE id > 4").collect()) == [*range(5, 20)]
    assert _ids(lakescan.read(cluster, location).select("id").collect()) == [*range(20)]


def test_a_stream_follows_a_table(cluster: SparkSession, store: ObjectStore, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", SCHEMA)
    table.append(pa.table({"id": range(3), "place": ["x"] * 3}))
    location = store.put(table.root, "stream")
    writer = cluster.readStream.format("lakescan").load(location).writeStream
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).format("memory").queryName("followed")
    query.trigger(availableNow=True).start().awaitTermination()
    assert _ids(cluster.sql("SELECT id FROM followed").collect()) == [0, 1, 2]
