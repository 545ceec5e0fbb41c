"""`spark.sql.catalog.<name>=lakescan.LakeCatalog`: names by settings, in every session and after every restart."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64())])

PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
folder, file, path = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
settings = {
    "lake": "lakescan.LakeCatalog", "lake.folder": folder, "lake.table.given": path, "lake.table.Far.given": path,
    "by_file": "lakescan.LakeCatalog", "by_file.file": file,
    "wrong": "lakescan.LakeCatalog", "wrong.foldr": folder,
    "gone": "lakescan.LakeCatalog", "gone.table.orders": "/no/such/table",
}
for name, value in settings.items():
    builder = builder.config(f"spark.sql.catalog.{name}", value)
spark = builder.getOrCreate()
import lakescan
lakescan.install(spark)

def names(frame, column):
    return [row[column] for row in frame.collect()]

def said(statement):
    try:
        spark.sql(statement).collect()
    except Exception as error:
        return str(error)

answer = {
    "folder": spark.table("lake.orders").count(),
    "default": spark.table("lake.default.orders").count(),
    "namespace": spark.table("lake.db.Trips").count(),
    "deep": spark.table("lake.db.inner.parts").count(),
    "given": spark.sql("SELECT count(*) AS n FROM lake.given VERSION AS OF 1").collect()[0].n,
    "far": spark.table("lake.far.given").count(),
    "file": spark.table("by_file.sales.orders").count(),
    "options of a file": spark.table("by_file.first").count(),
    "tables": names(spark.sql("SHOW TABLES IN lake"), "tableName"),
    "tables of db": names(spark.sql("SHOW TABLES IN lake.db"), "tableName"),
    "namespaces": names(spark.sql("SHOW NAMESPACES IN lake"), 0),
    "namespaces of db": names(spark.sql("SHOW NAMESPACES IN lake.db"), 0),
    "listed": [table.name for table in spark.catalog.listTables("lake")],
    "listed in db": [table.name for table in spark.catalog.listTables("lake.db")],
    "described": names(spark.sql("DESCRIBE EXTENDED lake.db.Trips"), "col_name")[0],
    "missing": said("SELECT * FROM lake.nothing"),
    "missing namespace": said("SHOW TABLES IN lake.nowhere"),
    "write": said("INSERT INTO lake.orders VALUES (1)"),
    "create": said("CREATE TABLE lake.more (id INT)"),
    "drop": said("DROP TABLE lake.orders"),
    "wrong": said("SELECT * FROM wrong.orders"),
    "gone": said("SELECT * FROM gone.orders"),
}
lakescan.attach(spark, "attached", path)
answer["attached"] = spark.table("lake.attached").count()
other = spark.newSession()
answer["other"] = other.table("lake.db.trips").count()
answer["function of another"] = other.sql("SELECT * FROM lake_history('lake.orders')").count()
answer["path of another"] = other.sql(f"SELECT * FROM delta.`{path}`").count()
answer["attached in another"] = other.catalog.tableExists("lake.attached")
third = spark.newSession()
third.catalog.setCurrentCatalog("lake")
third.sql("USE db")
answer["current"] = third.table("trips").count()
answer["current tables"] = [table.name for table in third.catalog.listTables()]
stream = spark.readStream.table("lake.orders").writeStream.format("memory").queryName("streamed")
stream.trigger(availableNow=True).start().awaitTermination(120)
answer["stream"] = spark.table("streamed").count()
print("ANSWER" + json.dumps(answer))
spark.stop()
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    for rows, place in enumerate(["orders", "db/Trips", "db/inner/parts"], 1):
        DeltaBuilder(folder / place, SCHEMA).append(pa.table({"id": range(rows)}))
    table = DeltaBuilder(folder.parent / f"{folder.name}-given", SCHEMA)
    table.append(pa.table({"id": range(10)}))
    table.append(pa.table({"id": range(10)}))
    text = '[tables]\nfirst = {{ path = "{0}", versionAsOf = 1 }}\n[tables.sales]\norders = "{0}"\n'
    (folder.parent / f"{folder.name}.toml").write_text(text.format(table.path))
    return folder


def ran(lake: Path) -> dict[str, Any]:
    file, given = (lake.parent / f"{lake.name}{ending}" for ending in (".toml", "-given"))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(lake), str(file), str(given)],
        capture_output=True,
        text=True,
        timeout=250,
        env={key: value for key, value in os.environ.items() if key != "PYSPARK_PYTHON"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout.split("ANSWER")[1])
    return answer


@pytest.fixture(scope="module")
def answer(lake: Path) -> dict[str, Any]:
    return ran(lake)


@pytest.mark.own_jvm
def test_tables_of_a_folder_a_mapping_and_a_file_are_read_by_name(answer: dict[str, Any]) -> None:
    counts = ("folder", "default", "namespace", "deep", "given", "far", "file", "options of a file", "stream")
    assert [answer[name] for name in counts] == [1, 1, 2, 3, 10, 20, 20, 10, 1]


@pytest.mark.own_jvm
def test_tables_and_namespaces_are_listed(answer: dict[str, Any]) -> None:
    assert answer["tables"] == answer["listed"] == ["given", "orders"]
    assert answer["tables of db"] == answer["listed in db"] == ["Trips"]
    assert answer["namespaces"] == ["db", "default", "far"]
    assert answer["namespaces of db"] == ["db.inner"]
    assert answer["described"] == "id"


@pytest.mark.own_jvm
def test_another_session_has_the_catalog_the_functions_and_the_paths_with_no_call(answer: dict[str, Any]) -> None:
    assert (answer["other"], answer["function of another"], answer["path of another"]) == (2, 2, 20)
    assert (answer["current"], answer["current tables"]) == (2, ["Trips"])
    assert answer["attached"] == 20
    assert not answer["attached in another"]


@pytest.mark.own_jvm
def test_a_configured_catalog_only_reads_and_says_what_is_wrong_with_its_settings(answer: dict[str, Any]) -> None:
    assert "TABLE_OR_VIEW_NOT_FOUND" in answer["missing"]
    assert "nowhere" in answer["missing namespace"]
    for statement in ("write", "create", "drop"):
        assert "LAKESCAN_READ_ONLY" in answer[statement], answer[statement]
    assert "LAKESCAN_INVALID_OPTION" in answer["wrong"]
    assert "foldr" in answer["wrong"]
    assert "LAKESCAN_TABLE_NOT_FOUND" in answer["gone"]
    assert "/no/such/table" in answer["gone"]
