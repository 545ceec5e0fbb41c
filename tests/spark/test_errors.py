"""Errors as a Spark user meets them: one message, which file, what to do, and no Java stack around it."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException, UnsupportedOperationException
from pyspark.sql import SparkSession

import lakescan
from lakescan.errors import CorruptLog, UnsupportedFeature, UnsupportedSpark, VersionNotFound
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark
PACKAGE = os.path.dirname(lakescan.__file__)
SCHEMA = pa.schema([("id", pa.int64())])
ROWS = pa.table({"id": [1, 2, 3]})


def message_of(action: Callable[[], object], kind: type[PySparkException]) -> str:
    """The message of the Spark error that an action ends in; it must be that and no more."""
    with pytest.raises(kind) as caught:
        action()
    text = str(caught.value)
    assert "\n\tat " not in text
    assert "Py4J" not in text
    return text


def test_a_missing_name_is_sparks_own_error(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException) as caught:
        spark.sql("SELECT * FROM lake.nowhere")
    assert caught.value.getCondition() == "TABLE_OR_VIEW_NOT_FOUND"


def test_a_path_without_a_table_is_named(spark: SparkSession, tmp_path: Path) -> None:
    for path in (f"{tmp_path}/nowhere", str(tmp_path)):
        text = message_of(partial(spark.sql, f"SELECT * FROM delta.`{path}`"), IllegalArgumentException)
        assert "[LAKESCAN_TABLE_NOT_FOUND]" in text
        assert path in text


def test_a_corrupt_commit_is_named(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", SCHEMA)
    table.append(ROWS)
    commit = table.log / "00000000000000000001.json"
    commit.write_text(commit.read_text()[:-30])
    text = message_of(lambda: spark.sql(f"SELECT * FROM delta.`{table.path}`").collect(), IllegalArgumentException)
    assert "[LAKESCAN_CORRUPT_LOG]" in text
    assert str(commit) in text


def test_a_missing_commit_is_named(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", SCHEMA)
    table.append(ROWS)
    table.append(ROWS)
    os.remove(table.log / "00000000000000000001.json")
    text = message_of(lambda: spark.sql(f"SELECT * FROM delta.`{table.path}`"), IllegalArgumentException)
    assert "[LAKESCAN_MISSING_COMMIT]" in text
    assert "00000000000000000001.json" in text


def test_an_unsupported_feature_is_refused_by_name_before_any_data_is_read(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", SCHEMA, features=["someFutureFeature"])
    text = message_of(lambda: spark.sql(f"SELECT * FROM delta.`{table.path}`"), UnsupportedOperationException)
    assert "[LAKESCAN_UNSUPPORTED_FEATURE]" in text
    assert "someFutureFeature" in text


def test_a_version_that_is_not_there_names_the_range_that_is(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", SCHEMA)
    sql = f"SELECT * FROM delta.`{table.path}` VERSION AS OF 7"
    text = message_of(lambda: spark.sql(sql), IllegalArgumentException)
    assert "[LAKESCAN_VERSION_NOT_FOUND]" in text
    assert "versions 0 to 0" in text


def worker_error(spark: SparkSession, path: str) -> str:
    with pytest.raises(PySparkException) as caught:
        spark.sql(f"SELECT * FROM delta.`{path}`").collect()
    text = str(caught.value)
    # Of our own code only the line that raises: the message is not buried in frames.
    # (A clone's folder may be called lakescan too.)
    assert text.count(f'File "{PACKAGE}{os.sep}') <= 1
    return text


def test_a_missing_data_file_is_named_by_the_worker(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", SCHEMA)
    table.append(ROWS)
    table.append(ROWS)
    os.remove(table.root / "part-00002.parquet")
    text = worker_error(spark, table.path)
    assert "MissingDataFile" in text
    assert "part-00002.parquet" in text
    assert "VACUUM" in text


def test_a_deletion_vector_with_a_wrong_checksum_is_named_by_the_worker(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", SCHEMA, features=["deletionVectors"])
    table.delete(table.append(ROWS), [1])
    vector = next(table.root.glob("deletion_vector_*.bin"))
    data = bytearray(vector.read_bytes())
    data[-1] ^= 0xFF
    vector.write_bytes(bytes(data))
    text = worker_error(spark, table.path)
    assert "CorruptDeletionVector" in text
    assert vector.name in text


@pytest.mark.parametrize(
    ("statement", "kind", "word"),
    [
        ("DROP TABLE lake.t", UnsupportedOperationException, "LAKESCAN_READ_ONLY"),
        ("CREATE TABLE lake.u (id INT)", UnsupportedOperationException, "LAKESCAN_READ_ONLY"),
        ("ALTER TABLE lake.t ADD COLUMN x INT", UnsupportedOperationException, "LAKESCAN_READ_ONLY"),
        ("ALTER TABLE lake.t RENAME TO lake.v", UnsupportedOperationException, "LAKESCAN_READ_ONLY"),
        ("INSERT INTO lake.t VALUES (1)", UnsupportedOperationException, "LAKESCAN_READ_ONLY"),
        ("DELETE FROM lake.t WHERE id = 1", UnsupportedOperationException, "LAKESCAN_READ_ONLY"),
    ],
)
def test_a_statement_that_would_write_is_refused(
    spark: SparkSession, tmp_path: Path, statement: str, kind: type[PySparkException], word: str
) -> None:
    table = DeltaBuilder(tmp_path / "t", SCHEMA)
    table.append(ROWS)
    lakescan.attach(spark, "t", table.path)
    assert word in message_of(lambda: spark.sql(statement), kind)
    assert lakescan.read(spark, table.path).count() == 3


def test_read_raises_lakescans_own_errors(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", SCHEMA)
    with pytest.raises(VersionNotFound):
        lakescan.read(spark, table.path, version=3)
    with pytest.raises(UnsupportedFeature):
        lakescan.read(spark, DeltaBuilder(tmp_path / "u", SCHEMA, features=["x"]).path)
    (table.log / "00000000000000000000.json").write_text("")
    with pytest.raises(CorruptLog):
        lakescan.read(spark, table.path)


def test_a_session_without_a_jvm_is_refused_with_what_to_use_instead() -> None:
    class ConnectSession:
        """Stands in for a Spark Connect session, which needs a server; only what is absent from it matters."""

    with pytest.raises(UnsupportedSpark, match="Spark Connect"):
        lakescan.install(ConnectSession())  # type: ignore[arg-type]
