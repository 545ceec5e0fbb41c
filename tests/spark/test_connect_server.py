"""Clients of `lakescan connect` that have no Lakescan: names, paths, pushdown, versions, changes and streams."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.sample_tables import sample_table
from tests.spark.connect import ask, server
from tests.tables import DeltaBuilder

# A server and its first client start within the first test: on a busy machine that takes minutes.
pytestmark = pytest.mark.timeout(600)
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
IDS = [range(10), range(10, 20), range(20, 30)]

READS = """
path, folder, checkpoint = sys.argv[2:5]
ids = lambda frame: sorted(row.id for row in frame.collect())
answer["importable"] = sys.modules["lakescan"] is not None
answer["name"] = ids(spark.sql("SELECT id FROM lake.orders"))
answer["inner name"] = ids(spark.table("lake.sales.Orders"))
answer["of a folder"] = spark.table("lake.inner.plain").count()
answer["tables"] = [row.tableName for row in spark.sql("SHOW TABLES IN lake").collect()]
answer["tables of sales"] = [row.tableName for row in spark.sql("SHOW TABLES IN lake.sales").collect()]
answer["namespaces"] = [row[0] for row in spark.sql("SHOW NAMESPACES IN lake").collect()]
answer["listed"] = [table.name for table in spark.catalog.listTables("lake")]
answer["format"] = ids(spark.read.format("delta").load(path))
answer["path"] = ids(spark.sql(f"SELECT id FROM delta.`{path}` WHERE id < 3"))
point = spark.read.format("delta").load(path).where("id = 15").select("name")
answer["point"] = [row.name for row in point.collect()]
answer["plan"] = point._explain_string()
answer["version"] = ids(spark.read.format("delta").option("versionAsOf", 1).load(path))
answer["version of a name"] = ids(spark.sql("SELECT id FROM lake.orders VERSION AS OF 2"))
feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 3).load(path)
answer["feed"] = sorted([row.id, row._change_type, row._commit_version] for row in feed.collect())
answer["table_changes"] = ids(spark.sql("SELECT id FROM table_changes('lake.orders', 2, 2)"))
answer["history"] = [row.version for row in spark.sql(f"DESCRIBE HISTORY delta.`{path}`").collect()]
spark.sql(f"CREATE TABLE kept USING delta LOCATION '{path}'")
answer["kept"] = ids(spark.sql("SELECT id FROM kept VERSION AS OF 1"))
spark.sql("DROP TABLE kept")
spark.sql(f"SELECT * FROM lake_attach('attached', '{path}')").collect()
answer["attached"] = spark.table("lake.attached").count()

query = spark.readStream.format("delta").load(path).writeStream.format("memory").queryName("streamed")
query = query.trigger(availableNow=True).option("checkpointLocation", checkpoint + "/memory").start()
query.awaitTermination(120)
answer["stream"] = ids(spark.table("streamed"))

def keep(batch, number):
    joined = batch.join(batch.sparkSession.table("lake.orders").select("id"), "id")
    joined.write.mode("append").parquet(folder)

def started(stream):
    # Spark gives the process of such a function ten seconds to start, which on a busy machine it may not do.
    for _ in range(5):
        try:
            return stream.start()
        except Exception as error:
            if "failed to connect back" not in str(error):
                raise
    return stream.start()

query = spark.readStream.table("lake.orders").writeStream.foreachBatch(keep)
query = started(query.trigger(availableNow=True).option("checkpointLocation", checkpoint + "/each"))
query.awaitTermination(120)
answer["foreachBatch"] = ids(spark.read.parquet(folder))
"""

FIRST_STATEMENTS = """
path = sys.argv[2]
firsts = {
    "name": lambda session: session.table("lake.orders").count(),
    "function": lambda session: session.sql(f"SELECT * FROM lake_history('{path}')").count(),
    "statement": lambda session: session.sql("DESCRIBE DETAIL lake.orders").count(),
    "format": lambda session: session.read.format("lakescan").load(path).count(),
    "list": lambda session: len(session.catalog.listTables("lake")),
    "expression": lambda session: session.read.format("delta").load(path).selectExpr("max(id) AS m").collect()[0].m,
}
# PySpark 4.0 waits for itself for ever where Python collects a session while another sends something.
kept = []
for name, first in firsts.items():
    session = SparkSession.builder.remote(sys.argv[1]).create()
    kept.append(session)
    answer[name] = first(session)
    session.stop()
spark.sql(f"SELECT * FROM lake_attach('mine', '{path}')").collect()
answer["mine"] = spark.catalog.tableExists("lake.mine")
other = SparkSession.builder.remote(sys.argv[1]).create()
answer["mine elsewhere"] = other.catalog.tableExists("lake.mine")
other.stop()
try:
    spark.sql("SELECT * FROM delta.`/no/such/table`").collect()
except Exception as error:
    answer["error"] = str(error)
try:
    spark.sql("DELETE FROM lake.orders WHERE id = 1")
except Exception as error:
    answer["write"] = str(error)
"""


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> DeltaBuilder:
    table = DeltaBuilder(
        tmp_path_factory.mktemp("connect") / "orders", SCHEMA, properties={"delta.enableChangeDataFeed": "true"}
    )
    for ids in IDS:
        table.append(pa.table({"id": ids, "name": [f"name {number}" for number in ids]}))
    # Commits of one millisecond would count as later than their files are.
    for version in range(table.version + 1):
        table.set_time(version, 1_719_800_000 + version)
    return table


@pytest.fixture(scope="module")
def address(orders: DeltaBuilder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("folder")
    sample_table("vectors_mapped").unpack(folder)
    inner = DeltaBuilder(folder / "inner" / "plain", SCHEMA)
    inner.append(pa.table({"id": [1, 2], "name": ["a", "b"]}))
    arguments = ["--table", f"orders={orders.path}", "--table", f"sales.orders={orders.path}", "--tables", folder]
    with server(*arguments) as (_, found):
        yield found


@pytest.fixture(scope="module")
def reads(address: str, orders: DeltaBuilder, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("reads")
    answer: dict[str, Any] = ask(address, READS, orders.path, folder / "batches", folder / "checkpoint")
    return answer


@pytest.fixture(scope="module")
def firsts(address: str, orders: DeltaBuilder) -> dict[str, Any]:
    answer: dict[str, Any] = ask(address, FIRST_STATEMENTS, orders.path)
    return answer


@pytest.mark.own_jvm
def test_a_client_without_lakescan_reads_tables_by_name_format_and_path(reads: dict[str, Any]) -> None:
    everything = list(range(30))
    assert not reads["importable"]
    assert reads["name"] == reads["inner name"] == reads["format"] == everything
    assert reads["path"] == [0, 1, 2]
    assert reads["of a folder"] == 2
    assert reads["kept"] == list(range(10))
    assert reads["attached"] == 30


@pytest.mark.own_jvm
def test_a_client_sees_the_names_and_namespaces_that_the_server_was_given(reads: dict[str, Any]) -> None:
    assert reads["tables"] == reads["listed"] == ["orders", "vectors_mapped"]
    assert reads["tables of sales"] == ["orders"]
    assert reads["namespaces"] == ["default", "inner", "sales"]


@pytest.mark.own_jvm
def test_a_clients_point_query_plans_one_file_and_reads_one_column(reads: dict[str, Any]) -> None:
    assert reads["point"] == ["name 15"]
    assert "files=[1]" in reads["plan"]
    assert "filter=[id IS NOT NULL AND id = 15]" in reads["plan"]


@pytest.mark.own_jvm
def test_a_client_travels_in_time_and_reads_changes(reads: dict[str, Any]) -> None:
    assert reads["version"] == list(range(10))
    assert reads["version of a name"] == list(range(20))
    assert reads["feed"] == [[number, "insert", 3] for number in range(20, 30)]
    assert reads["table_changes"] == list(range(10, 20))
    assert reads["history"] == [3, 2, 1, 0]


@pytest.mark.own_jvm
def test_a_clients_streams_read_every_row_and_a_batchs_function_has_the_servers_names(reads: dict[str, Any]) -> None:
    assert reads["stream"] == reads["foreachBatch"] == list(range(30))


@pytest.mark.own_jvm
def test_every_clients_session_has_everything_whatever_it_asks_first(firsts: dict[str, Any]) -> None:
    expected = {"name": 30, "function": 4, "statement": 1, "format": 30, "list": 2, "expression": 29}
    assert {name: firsts[name] for name in expected} == expected


@pytest.mark.own_jvm
def test_a_name_that_a_client_attaches_is_its_own(firsts: dict[str, Any]) -> None:
    assert firsts["mine"]
    assert not firsts["mine elsewhere"]


@pytest.mark.own_jvm
def test_a_clients_mistake_is_told_in_one_sentence(firsts: dict[str, Any]) -> None:
    assert firsts["error"].startswith("[LAKESCAN_TABLE_NOT_FOUND] No table at /no/such/table")
    assert "JVM stacktrace" not in firsts["error"]
    assert "LAKESCAN_READ_ONLY" in firsts["write"]


WITH_LAKESCAN = """
import lakescan
from datetime import datetime, timedelta, timezone
from pathlib import Path
path, hudi, later = sys.argv[2], sys.argv[3], datetime.fromtimestamp(float(sys.argv[4]), timezone.utc)
ids = lambda frame: sorted(row.id for row in frame.collect())

def error(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except lakescan.LakescanError as failure:
        return [type(failure).__name__, str(failure)]

answer["installed"] = lakescan.install(spark) is spark
answer["read"] = ids(lakescan.read(spark, Path(path)))
answer["version"] = ids(lakescan.read(spark, path, version=1))
answer["timestamp"] = ids(lakescan.read(spark, path, timestamp=later))
answer["options"] = ids(lakescan.read(spark, path, options={"versionAsOf": 2}))
answer["hudi"] = lakescan.read(spark, hudi).count()
lakescan.attach(spark, "by_client", path, {"versionAsOf": 1})
answer["attached"] = ids(spark.table("lake.by_client"))
answer["changes"] = sorted([row.id, row._commit_version] for row in lakescan.changes(spark, path, 2, 2).collect())
answer["changes since"] = ids(lakescan.changes(spark, path, later - timedelta(days=3650)))
answer["report"] = error(lakescan.report, spark.read.format("delta").load(path))
answer["no version"] = error(lakescan.read, spark, path, version=99)
answer["no table"] = error(lakescan.read, spark, "/no/such/table")
answer["both"] = error(lakescan.read, spark, path, version=1, options={"lakescan.pushdown.limit": False})
answer["bad name"] = error(lakescan.attach, spark, "a b", path)
answer["bad option"] = error(lakescan.read, spark, path, options={"versionAsof2": 1})
"""


@pytest.mark.own_jvm
def test_on_a_client_with_lakescan_its_functions_do_what_they_do_in_a_classic_session(
    address: str, orders: DeltaBuilder, tmp_path: Path
) -> None:
    newest = max(file.stat().st_mtime_ns for file in orders.log.iterdir()) // 1_000_000 / 1000
    hudi = sample_table("cow_v8_simple")
    answer = ask(address, WITH_LAKESCAN, orders.path, hudi.unpack(tmp_path), newest, has_lakescan=True)
    assert answer["installed"]
    assert answer["read"] == answer["timestamp"] == answer["changes since"] == list(range(30))
    assert answer["version"] == answer["attached"] == list(range(10))
    assert answer["options"] == list(range(20))
    assert answer["hudi"] == len(hudi.rows)
    assert answer["changes"] == [[number, 2] for number in range(10, 20)]
    kind, message = answer["report"]
    assert kind == "NotOnConnect"
    assert "df.explain()" in message
    assert answer["no version"][0] == "VersionNotFound"
    assert answer["no table"][0] == "TableNotFound"
    assert answer["both"][0] == "InvalidOption"
    assert answer["bad name"][0] == "InvalidName"
    assert answer["bad option"][0] == "UnknownOption"


WITHOUT_A_SERVERS_LAKESCAN = """
import lakescan
def error(function, *arguments):
    try:
        function(*arguments)
    except lakescan.LakescanError as failure:
        return [type(failure).__name__, str(failure)]
path = sys.argv[2]
answer = {
    "install": error(lakescan.install, spark), "attach": error(lakescan.attach, spark, "a", path),
    "changes": error(lakescan.changes, spark, path, 1),
}
"""


@pytest.mark.own_jvm
def test_a_server_without_lakescan_is_told_by_name(orders: DeltaBuilder) -> None:
    # Spark starts a server of its own for such an address.
    answer = ask("local[1]", WITHOUT_A_SERVERS_LAKESCAN, orders.path, has_lakescan=True)
    for kind, message in answer.values():
        assert kind == "NotOnConnect"
        assert "lakescan connect" in message


ENDED = """
import threading
from lakescan.errors import ServerFailed
from lakescan.spark.connect_server import start_server
server = start_server("127.0.0.1", 0, {"spark.master": "local[1]"})
context = server._spark._jsparkSession.sparkContext()
context.stop()
try:
    server.wait(threading.Event())
except ServerFailed as failed:
    print("SAID " + str(failed))
server.stop()
"""


@pytest.mark.own_jvm
def test_a_server_whose_application_spark_has_ended_says_so_and_leaves_no_client_waiting() -> None:
    done = subprocess.run([sys.executable, "-c", ENDED], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "SAID The Spark Connect server cannot run: Spark has ended its application" in done.stdout
