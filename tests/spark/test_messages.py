"""What a user is told who goes a wrong way: one line that says what to do."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession

import lakescan
from lakescan.errors import InvalidName, JavaNotFound, NotASession, StoppedSession, VersionNotFound
from lakescan.spark.dsv2.worker import shipped
from lakescan.spark.session import refuse_without_java
from tests.formats.delta.feeds import feed, rows
from tests.formats.hudi.builder import HudiBuilder
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    built = feed(tmp_path / "t")
    built.append(rows(1, 2, 3))
    return built


def refusal(action: Any) -> str:
    with pytest.raises(PySparkException) as caught:
        action()
    return str(caught.value)


def test_a_stopped_session_is_told_so(table: DeltaBuilder) -> None:
    class Context:
        _jsc = None

    class Stopped:
        """Stands in for a session after `stop()`: the tests' own must live on."""

        _jsparkSession = None
        sparkContext = Context()

    stopped = cast(SparkSession, Stopped())
    for call in (lakescan.install, lambda spark: lakescan.read(spark, table.path)):
        with pytest.raises(StoppedSession, match="Make a new one"):
            call(stopped)


def test_swapped_arguments_are_told_so(spark: SparkSession, table: DeltaBuilder) -> None:
    wrong: Any = table.path
    with pytest.raises(NotASession, match=r"write lakescan\.read\(spark, path\)"):
        lakescan.read(wrong, spark)  # type: ignore[arg-type]
    with pytest.raises(NotASession):
        lakescan.changes(Path(wrong), spark, 0)  # type: ignore[arg-type]


def test_an_older_pyspark_is_refused_with_what_to_install(tmp_path: Path) -> None:
    metadata = tmp_path / "pyspark-3.5.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: pyspark\nVersion: 3.5.1\n")
    code = "import lakescan\nlakescan.session()"
    process = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert "UnsupportedSpark: Lakescan needs PySpark 4.0 or newer" in process.stderr
    assert "this is 3.5.1: pip install" in process.stderr


def test_a_worker_without_lakescan_says_what_to_install(tmp_path: Path) -> None:
    sent = tmp_path / "sent"
    # The copy of cloudpickle that PySpark has in it ships no types.
    sent.write_bytes(cloudpickle.dumps(shipped(lambda tasks: tasks)))  # type: ignore[no-untyped-call]
    code = (
        "import sys, pickle\nsys.modules['lakescan'] = None\n"
        f"read = pickle.loads(open({str(sent)!r}, 'rb').read())\nlist(read(iter(())))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.stderr.splitlines()[-1].startswith(
        "ModuleNotFoundError: Lakescan is not installed where Spark's Python"
    )
    assert "spark.pyspark.python" in process.stderr


@pytest.mark.parametrize(
    ("version", "said"), [(None, "where there is no bin/java"), ('openjdk version "1.8.0_392"', "is Java 8")]
)
def test_java_that_is_missing_or_too_old_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str | None, said: str
) -> None:
    if version is not None:
        java = tmp_path / "bin" / "java"
        java.parent.mkdir()
        java.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
        java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    exited = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    with pytest.raises(JavaNotFound, match=said):
        refuse_without_java(exited)


def test_a_session_without_java_is_refused_in_one_line(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-c", "import lakescan\nlakescan.session()"],
        env={**os.environ, "JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert process.stderr.splitlines()[-1].startswith("lakescan.errors.JavaNotFound: Spark needs Java 17 or newer")


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("INSERT INTO lake.written VALUES (1, 'a')", "INSERT"),
        ("INSERT OVERWRITE lake.written VALUES (1, 'a')", "DELETE and INSERT"),
        ("UPDATE lake.written SET v = 'x'", "UPDATE"),
        ("DELETE FROM lake.written WHERE id = 1", "DELETE"),
        ("MERGE INTO lake.written a USING lake.written b ON a.id = b.id WHEN MATCHED THEN DELETE", "DELETE"),
    ],
)
def test_a_statement_that_writes_gets_the_clear_refusal(
    spark: SparkSession, table: DeltaBuilder, statement: str, named: str
) -> None:
    lakescan.attach(spark, "written", table.path)
    text = refusal(lambda: spark.sql(statement))
    assert text.startswith(f"[LAKESCAN_READ_ONLY] {named} is not possible in the catalog lake: Lakescan reads")


def test_a_table_is_not_truncated(spark: SparkSession, table: DeltaBuilder) -> None:
    lakescan.attach(spark, "written", table.path)
    assert "TRUNCATE TABLE is not possible in lake.`written`" in refusal(
        lambda: spark.sql("TRUNCATE TABLE lake.written")
    )


def test_a_dataframe_that_is_written_gets_the_clear_refusal(
    spark: SparkSession, table: DeltaBuilder, tmp_path: Path
) -> None:
    lakescan.attach(spark, "written", table.path)
    frame = spark.createDataFrame([(1, "a")], "id long, v string")
    for write in (lambda: frame.writeTo("lake.written").append(), lambda: frame.write.insertInto("lake.written")):
        assert "INSERT is not possible in the catalog lake" in refusal(write)
    for mode, place in (("append", table.path), ("overwrite", table.path), ("append", str(tmp_path / "new"))):
        text = refusal(lambda mode=mode, place=place: frame.write.format("lakescan").mode(mode).save(place))
        assert 'Writing is not possible in format("lakescan"): Lakescan reads tables' in text
    assert lakescan.read(spark, table.path).count() == 3


def test_a_table_of_another_format_under_a_name_is_told(
    spark: SparkSession, table: DeltaBuilder, tmp_path: Path
) -> None:
    hudi = HudiBuilder(tmp_path / "h")
    text = refusal(lambda: spark.sql(f"SELECT * FROM delta.`{hudi.path}`"))
    assert f"{hudi.path} is a Hudi table, not a Delta one: write hudi.`{hudi.path}`" in text
    text = refusal(lambda: spark.sql(f"SELECT * FROM hudi.`{table.path}`"))
    assert f"is a Delta table, not a Hudi one: write delta.`{table.path}`" in text


def test_a_time_after_the_newest_commit_is_refused_with_that_commits_time(
    spark: SparkSession, table: DeltaBuilder
) -> None:
    table.set_time(0, 1000)
    table.set_time(1, 86_400)
    with pytest.raises(VersionNotFound, match=r"after its newest commit, of 1970-01-02T00:00:00\+00:00"):
        lakescan.read(spark, table.path, timestamp="2099-01-01")
    with pytest.raises(VersionNotFound, match=r"after its newest commit, of 1970-01-02T00:00:00\+00:00"):
        lakescan.changes(spark, table.path, "2099-01-01")


def test_a_table_of_the_sessions_catalog_that_uses_lakescan_keeps_the_options_it_was_made_with(
    spark: SparkSession, table: DeltaBuilder
) -> None:
    spark.sql("DROP TABLE IF EXISTS using_lakescan")
    try:
        spark.sql(f"CREATE TABLE using_lakescan USING lakescan OPTIONS (path '{table.path}', versionAsOf '0')")
        assert spark.sql("SELECT id FROM using_lakescan").collect() == []
        assert lakescan.read(spark, table.path).count() == 3
    finally:
        spark.sql("DROP TABLE IF EXISTS using_lakescan")


def test_tables_and_namespaces_of_a_catalog_are_listed(spark: SparkSession, table: DeltaBuilder) -> None:
    lakescan.attach(spark, "listed", table.path)
    assert "listed" in [listed.name for listed in spark.catalog.listTables("lake")]
    assert [row.namespace for row in spark.sql("SHOW NAMESPACES IN lake").collect()] == ["default"]
    assert spark.sql("SELECT count(*) AS n FROM lake.default.listed").collect()[0].n == 3
    assert spark.sql("SHOW NAMESPACES IN delta").collect() == []
    assert spark.sql("SHOW TABLES IN delta").collect() == []
    current = spark.catalog.currentCatalog()
    try:
        spark.catalog.setCurrentCatalog("lake")
        assert [row.namespace for row in spark.sql("SHOW NAMESPACES").collect()] == ["default"]
        assert "listed" in [row.tableName for row in spark.sql("SHOW TABLES").collect()]
        assert spark.sql("SELECT count(*) AS n FROM listed").collect()[0].n == 3
    finally:
        spark.catalog.setCurrentCatalog(current)


@pytest.mark.parametrize("name", ["a\n", "a\nb", "\x00", "a\x7f", "\ta"])
def test_a_name_with_a_line_break_or_a_control_character_is_refused(
    spark: SparkSession, table: DeltaBuilder, name: str
) -> None:
    with pytest.raises(InvalidName, match="line breaks"):
        lakescan.attach(spark, name, table.path)


@pytest.mark.parametrize("plain", [True, False])
def test_input_file_name_is_the_file_of_each_row(spark: SparkSession, tmp_path: Path, plain: bool) -> None:
    """Also where a task has several files, one of which gives no row, and rows are filtered and deleted."""
    built = DeltaBuilder(tmp_path / "a table", pa.schema([("id", pa.int64())]), features=["deletionVectors"])
    names = {10 * at + last: f"file%20{at}.parquet" for at in range(5) for last in range(2)}
    for at in range(5):
        added = built.append(pa.table({"id": [10 * at, 10 * at + 1]}), name=f"file {at}.parquet")
    built.delete(added, [0])
    frame = lakescan.read(spark, built.path, options={"lakescan.pushdown.plain_files": plain})
    for rows_, kept in ((frame, set(names) - {40}), (frame.where("id % 10 = 1 AND id != 11"), {1, 21, 31, 41})):
        by_id = {row.id: row.name for row in rows_.selectExpr("id", "input_file_name() AS name").collect()}
        assert set(by_id) == kept
        assert all(name.startswith("file:/") and name.endswith(f"/{names[id_]}") for id_, name in by_id.items()), by_id
    starts = frame.selectExpr("input_file_block_start() AS s", "input_file_block_length() AS n").collect()
    sizes = {path.stat().st_size for path in built.root.glob("*.parquet")}
    assert all(row.s == 0 and row.n in sizes for row in starts)
    assert frame.selectExpr("input_file_name() AS name").distinct().count() == 5
