"""Files that Spark wrote in either calendar hold the dates and times that it was given, in both readers.

Delta's log has statistics in the proleptic calendar whatever a file's is, so a filter must find the same rows with and
without skipping; the row groups' own statistics are in the file's calendar and skip nothing.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import lakescan
from lakescan.reader.rebase import hybrid_calendar, rebased
from lakescan.reader.zones_before_1900 import old_zone, zones
from tests.compare import bag
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark

DAYS = ("0001-01-01", "1000-02-28", "1582-10-04", "1582-10-15", "1883-11-18", "1899-12-31", "1900-01-01", "2024-02-29")
TIMES = [f"{day} {time}" for day in DAYS for time in ("00:00:00", "12:34:56.789")]
# Days on which the calendars drift apart: 1 January of year 1, 1 March of the centuries, and the change itself.
CALENDAR_SWITCHES = [-719_164, *(-719_470 + century * 36_525 for century in range(1, 16) if century % 4), -141_427]
SCHEMA = pa.schema(
    [("id", pa.int64()), ("d", pa.date32()), ("t", pa.timestamp("us", "UTC")), ("n", pa.timestamp("us"))]
)
SCHEMA = pa.schema([*SCHEMA, ("s", pa.struct(list(SCHEMA)[1:])), ("l", pa.list_(SCHEMA.field("t").type))])


def values(zone: str) -> str:
    rows = [
        f"({at}, DATE'{text[:10]}', TIMESTAMP'{text} {zone}', TIMESTAMP_NTZ'{text}')" for at, text in enumerate(TIMES)
    ]
    return (
        f"SELECT *, struct(d, t, n) AS s, array(t) AS l FROM VALUES {', '.join(rows)} AS v(id, d, t, n) "
        "UNION ALL SELECT 99, NULL, NULL, NULL, NULL, NULL"
    )


def written(spark: SparkSession, root: Path, mode: str, moments: str, zone: str) -> DeltaBuilder:
    """A Delta table of one file by Spark's own writer."""
    conf = {
        "spark.sql.session.timeZone": zone,
        "spark.sql.parquet.outputTimestampType": moments,
        "spark.sql.parquet.datetimeRebaseModeInWrite": mode,
        "spark.sql.parquet.int96RebaseModeInWrite": mode,
    }
    session = spark.newSession()
    for name, value in conf.items():
        session.conf.set(name, value)
    frame = session.sql(f"SELECT CAST(id AS BIGINT) AS id, * EXCEPT (id) FROM ({values(zone)})").coalesce(1)
    frame.write.parquet(str(root / "data"))
    (file,) = (root / "data").glob("*.parquet")
    notes = pq.read_metadata(file).metadata
    assert (b"org.apache.spark.legacyDateTime" in notes) == (mode == "LEGACY")
    table = DeltaBuilder(root, SCHEMA, features=["timestampNtz"])
    low, high = f"{DAYS[0]}T00:00:00.000Z", "2024-03-01T00:00:00.000Z"
    stats = {
        "numRecords": len(TIMES) + 1,
        "minValues": {"id": 0, "d": DAYS[0], "t": "0000-12-31T00:00:00.000Z", "n": low[:-1]},
        "maxValues": {"id": 99, "d": DAYS[-1], "t": high, "n": high[:-1]},
        "nullCount": {"id": 0, "d": 1, "t": 1, "n": 1},
    }
    add = {
        "path": f"data/{file.name}",
        "partitionValues": {},
        "size": file.stat().st_size,
        "modificationTime": 0,
        "dataChange": True,
        "stats": json.dumps(stats),
    }
    table.commit({"add": add})
    return table


def micros(frame: Any) -> pa.Table:
    """Days and moments as numbers: those of year 1 are out of Python's reach in some zones."""
    return frame.selectExpr(
        "id",
        "unix_date(d) AS d",
        "unix_micros(t) AS t",
        "CAST(n AS STRING) AS n",
        "unix_date(s.d) AS sd",
        "unix_micros(s.t) AS st",
        "CAST(s.n AS STRING) AS sn",
        "unix_micros(l[0]) AS l",
    ).toArrow()


@pytest.mark.parametrize(
    ("mode", "moments", "zone"),
    [
        ("LEGACY", "INT96", "America/Los_Angeles"),
        ("LEGACY", "TIMESTAMP_MICROS", "America/Los_Angeles"),
        ("LEGACY", "TIMESTAMP_MILLIS", "Europe/Amsterdam"),
        ("LEGACY", "TIMESTAMP_MICROS", "UTC"),
        ("CORRECTED", "INT96", "America/Los_Angeles"),
        ("CORRECTED", "TIMESTAMP_MICROS", "America/Los_Angeles"),
    ],
)
def test_old_dates_and_times_are_those_that_were_written(
    spark: SparkSession, tmp_path: Path, mode: str, moments: str, zone: str
) -> None:
    table = written(spark, tmp_path, mode, moments, zone)
    given = spark.sql(f"SELECT CAST(id AS BIGINT) AS id, * EXCEPT (id) FROM ({values(zone)})")
    expected = bag(micros(given))
    for plain in ("true", "false"):
        options = {"lakescan.pushdown.plain_files": plain}
        assert bag(micros(lakescan.read(spark, table.path, options=options))) == expected
    # By Spark's own reader of the same file, which the footer tells the calendar too.
    assert bag(micros(spark.read.schema(given.schema).parquet(f"{tmp_path}/data"))) == expected
    lakescan.read(spark, table.path).createOrReplaceTempView("read")
    given.createOrReplaceTempView("given")
    for bound in ("1000-02-28 12:34:56.789", "1582-10-15 00:00:00", "1899-12-31 12:34:56.789", "1900-01-01 00:00:00"):
        for filter_ in (
            f"d >= DATE'{bound[:10]}'",
            f"t = TIMESTAMP'{bound} {zone}'",
            f"t < TIMESTAMP'{bound} {zone}'",
            f"n <= TIMESTAMP_NTZ'{bound}'",
            f"s.d = DATE'{bound[:10]}'",
        ):
            actual, wanted = (
                spark.sql(f"SELECT id FROM {name} WHERE {filter_}").toArrow()["id"].sort().to_pylist()
                for name in ("read", "given")
            )
            assert actual == wanted, filter_


def test_a_footer_with_a_time_zone_that_there_is_not_is_an_error(tmp_path: Path) -> None:
    notes = {
        "org.apache.spark.version": "3.5.0",
        "org.apache.spark.legacyDateTime": "",
        "org.apache.spark.timeZone": "Xurope/Paris",
    }
    rows = pa.table({"t": pa.array([-(10**17)]).cast(pa.timestamp("us", "UTC"))}).replace_schema_metadata(notes)
    table = DeltaBuilder(tmp_path, rows.schema)
    table.append(rows, stats=False)
    with pytest.raises(lakescan.errors.CorruptDataFile, match="time zone"):
        lakescan.open(table.path).snapshot().scan().build().to_arrow()


def moments(zone: str) -> list[int]:
    """Around every moment at which what Spark adds changes, and some between; the last ones are after 1900."""
    known = old_zone(zone)
    assert known is not None
    edges = [day * 86_400 - known.offset for day in CALENDAR_SWITCHES] + list(known.until)
    edges += range(edges[0], 0, 10**9)
    near = (-86_400_000_000, -1_000_000, -1, 0, 1, 1_000_000, 86_400_000_000)
    return [edge * 1_000_000 + by for edge in edges for by in near if edge > edges[0] or by >= 0]


def test_moments_in_every_zone_that_a_file_may_name_are_those_that_spark_reads(
    spark: SparkSession, tmp_path: Path
) -> None:
    names = [*sorted(zones()), "EST", "MST", "HST", "PST", "JST", "ECT", "GMT+1", "GMT-05:30", "+01:00", "UTC+3", "Z"]
    ours = []
    for at, zone in enumerate(names):
        notes = {
            "org.apache.spark.version": "3.5.0",
            "org.apache.spark.legacyDateTime": "",
            "org.apache.spark.timeZone": zone,
        }
        stored = pa.array(moments(zone))
        rows = pa.table({"zone": [zone] * len(stored), "stored": stored, "t": stored.cast(pa.timestamp("us", "UTC"))})
        pq.write_table(rows.replace_schema_metadata(notes), tmp_path / f"{at}.parquet")
        calendar = hybrid_calendar({name.encode(): text.encode() for name, text in notes.items()}, False)
        assert calendar is not None
        read = rebased(rows["t"].combine_chunks(), calendar).cast(pa.int64())
        ours.append(pa.table({"zone": rows["zone"], "stored": stored, "t": read}))
    frame = spark.read.parquet(str(tmp_path)).selectExpr("zone", "stored", "unix_micros(t) AS t")
    order = [("zone", "ascending"), ("stored", "ascending"), ("t", "ascending")]
    joined, theirs = pa.concat_tables(ours).sort_by(order), frame.toArrow().sort_by(order)
    assert joined.num_rows == theirs.num_rows > 20_000
    differ = pc.not_equal(joined["t"], theirs["t"])
    assert sorted(set(joined["zone"].filter(differ).to_pylist())) == []


# Spark's notes on calendars go with its version. Without one its setting decides, which keeps what is stored.
def test_a_footer_without_sparks_version_moves_nothing_here_nor_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    notes = {"org.apache.spark.legacyDateTime": "", "org.apache.spark.timeZone": "America/Los_Angeles"}
    stored = [-(10**16), -(10**17) // 2]
    rows = pa.table({"t": pa.array(stored).cast(pa.timestamp("us", "UTC"))}).replace_schema_metadata(notes)
    pq.write_table(rows, tmp_path / "t.parquet")
    read = spark.read.parquet(str(tmp_path)).selectExpr("unix_micros(t) AS t").toArrow()["t"]
    assert sorted(read.to_pylist()) == sorted(stored)
    table = DeltaBuilder(tmp_path / "delta", rows.schema.remove_metadata())
    table.append(rows, stats=False)
    shown = lakescan.open(table.path).snapshot().scan().build().to_arrow()["t"].cast(pa.int64())
    assert sorted(shown.to_pylist()) == sorted(stored)
