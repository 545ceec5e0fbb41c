"""Old dates and times read as Delta Spark reads them, whichever calendar their file was written in.

Spark writes a file in the hybrid calendar when it is told to (LEGACY) and notes so in the footer, with its time zone.
Statistics in Delta's log are in the proleptic calendar whatever the file's is, so filters must find the same rows with
and without skipping.
"""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import lakescan
from tests.peers.compare import Different, same_rows
from tests.peers.session import settings

pytestmark = [pytest.mark.peers, pytest.mark.timeout(1200)]
DAYS = (
    "0001-01-01",
    "0004-02-29",
    "0999-12-31",
    "1000-02-28",
    "1499-12-31",
    "1582-10-04",
    "1582-10-10",
    "1582-10-15",
    "1799-12-31",
    "1883-11-18",
    "1899-12-31",
    "1900-01-01",
    "1945-05-08",
    "2024-02-29",
)
TIMES = ("00:00:00", "12:34:56.789123", "23:59:59.999999")
BOUNDS = ("1500-01-01", "1582-10-15", "1899-12-31")


def _write(spark: SparkSession, path: Path, mode: str, moments: str, zone: str) -> None:
    written = {
        "spark.sql.session.timeZone": zone,
        "spark.sql.parquet.outputTimestampType": moments,
        "spark.sql.parquet.datetimeRebaseModeInWrite": mode,
        "spark.sql.parquet.int96RebaseModeInWrite": mode,
    }
    values = [f"(DATE'{day}', TIMESTAMP'{day} {time}')" for day in DAYS for time in TIMES]
    with settings(spark, written):
        spark.sql(f"SELECT * FROM VALUES {', '.join(values)}, (NULL, NULL) AS v(d, t)").selectExpr(
            "row_number() OVER (ORDER BY t) AS id", "d", "t", "struct(d, t) AS s", "array(d) AS ds"
        ).repartitionByRange(5, "t").write.format("delta").save(str(path))


def _questions() -> list[str]:
    asked = ["SELECT * FROM {}", "SELECT MIN(d), MAX(d), MIN(t), MAX(t), MIN(s.d), MAX(s.t) FROM {}"]
    for bound in BOUNDS:
        asked.append(f"SELECT id, d FROM {{}} WHERE d >= DATE'{bound}'")
        asked.append(f"SELECT id FROM {{}} WHERE t < TIMESTAMP'{bound} 12:34:56.789123'")
    asked.append("SELECT id FROM {} WHERE s.t = TIMESTAMP'1582-10-04 12:34:56.789123'")
    asked.append("SELECT id, t FROM {} ORDER BY t LIMIT 3")
    return asked


@pytest.mark.parametrize(
    ("mode", "moments", "zone"),
    [
        ("LEGACY", "INT96", "America/Los_Angeles"),
        ("LEGACY", "TIMESTAMP_MICROS", "America/Los_Angeles"),
        ("LEGACY", "TIMESTAMP_MILLIS", "Europe/Amsterdam"),
        ("LEGACY", "TIMESTAMP_MICROS", "UTC"),
        ("CORRECTED", "INT96", "America/Los_Angeles"),
    ],
)
def test_old_dates_and_times_are_those_that_were_written_in_either_calendar(
    delta_spark: SparkSession, tmp_path: Path, mode: str, moments: str, zone: str
) -> None:
    path = tmp_path / "t"
    _write(delta_spark, path, mode, moments, zone)
    notes = pq.read_metadata(next(path.glob("*.parquet"))).metadata
    assert (b"org.apache.spark.legacyDateTime" in notes) == (mode == "LEGACY")
    with settings(delta_spark, {"spark.sql.session.timeZone": zone}):
        _same(delta_spark, path)


def _same(spark: SparkSession, path: Path) -> None:
    different = []
    lakescan.read(spark, path).createOrReplaceTempView("ours")
    spark.read.format("delta").load(str(path)).createOrReplaceTempView("theirs")
    for asked in _questions():
        try:
            same_rows(spark.sql(asked.format("ours")).toArrow(), spark.sql(asked.format("theirs")).toArrow(), asked)
        except Different as error:
            different.append(str(error))
    assert not different, f"{len(different)} differ:\n" + "\n".join(different[:20])
