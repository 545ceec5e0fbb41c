"""Types that Spark and Arrow see differently, through Spark SQL: variants, collations, padding, calendars, zones."""

from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import VariantType, VariantVal

import lakescan
from lakescan import errors
from lakescan.reader.rebase import HybridCalendar, rebased
from tests.sample_tables import sample_table
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark


@pytest.fixture
def conf(spark: SparkSession) -> Iterator[Any]:
    """The session's settings, put back afterwards."""
    changed: dict[str, str | None] = {}

    def put(name: str, value: str) -> None:
        changed.setdefault(name, spark.conf.get(name, None))
        spark.conf.set(name, value)

    yield put
    for name, value in changed.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def _field(name: str, type_: Any, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": True, "metadata": metadata}


def _struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


# What Delta Spark 4.4 says of the stored table (see tests/data/delta/make_tables.py).
SHREDDED = [
    '{"a":1,"b":"x","c":[1,2],"d":{"e":1.5,"f":2.25}}',
    '{"a":"text","b":null,"z":[1,{"k":null}]}',
    "5",
    "null",
    None,
    '[1,"a",true]',
    '{"a":99999999999,"c":[1,"x",3],"d":{"e":7,"g":1}}',
    '{"a":1,"dt":"2024-02-02","t":"2024-01-01 00:00:00+00:00"}',
    "{}",
]


@pytest.fixture
def shredded(sample: Callable[[str], Path]) -> str:
    return str(sample("shredded_variant"))


def test_a_shredded_variant_is_sparks_variant_type_with_the_values_delta_spark_gives(
    spark: SparkSession, shredded: str
) -> None:
    frame = spark.sql(
        f"SELECT id, v, to_json(v) AS text, variant_get(v, '$.a', 'string') AS a FROM delta.`{shredded}` ORDER BY id"
    )
    assert frame.schema["v"].dataType == VariantType()
    rows = frame.collect()
    assert [row.text for row in rows] == SHREDDED
    assert [row.a for row in rows] == ["1", "text", None, None, None, None, "99999999999", "1", None]
    assert spark.sql(f"SELECT id FROM delta.`{shredded}` WHERE v IS NULL").collect() == [(5,)]


def test_the_same_variants_without_spark(spark: SparkSession, shredded: str) -> None:
    variants = lakescan.open(shredded).snapshot().scan().build().to_arrow().sort_by("id")["v"].to_pylist()
    texts = [None if row is None else VariantVal(row["value"], row["metadata"]).toJson() for row in variants]
    assert texts == SHREDDED


def test_variants_inside_structs_lists_and_maps_are_variants(
    spark: SparkSession, sample: Callable[[str], Path]
) -> None:
    rows = spark.sql(
        "SELECT id, to_json(v) AS v, to_json(l[0]) AS l, to_json(s.v) AS s, to_json(m['v']) AS m, to_json(d[0].v) AS d "
        f"FROM delta.`{sample('variants')}`"
    ).collect()
    expected = {row["id"]: row["v"] and row["v"]["variant"] for row in sample_table("variants").rows}
    assert {row.id: row.v for row in rows} == expected
    assert all(row.v == row.l == row.s == row.m == row.d for row in rows)


def test_a_void_column_is_null(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, _struct(_field("a", "integer"), _field("v", "void")))
    table.append(pa.table({"a": pa.array([1], pa.int32())}))
    assert spark.sql(f"SELECT *, v IS NULL FROM delta.`{tmp_path}`").collect() == [(1, None, True)]


@pytest.mark.parametrize("in_type", [True, False])
def test_char_is_padded_and_varchar_is_not(spark: SparkSession, tmp_path: Path, in_type: bool) -> None:
    """Spark keeps the real type in the field's metadata; the protocol would also allow it as the type itself."""
    key = "__CHAR_VARCHAR_TYPE_STRING"
    fields = [("c", "char(5)"), ("v", "varchar(5)")]
    schema = [_field(n, t) if in_type else _field(n, "string", **{key: t}) for n, t in fields]
    table = DeltaBuilder(tmp_path, _struct(*schema))
    table.append(pa.table({"c": ["ab", "ab   "], "v": ["cd", "cd "]}))
    rows = spark.sql(f"SELECT c, v FROM delta.`{tmp_path}` ORDER BY v").collect()
    assert rows == [("ab   ", "cd"), ("ab   ", "cd ")]
    assert spark.sql(f"SELECT count(*) FROM delta.`{tmp_path}` WHERE c = 'ab'").collect() == [(2,)]
    assert spark.sql(f"SELECT count(*) FROM delta.`{tmp_path}` WHERE v = 'cd'").collect() == [(1,)]


@pytest.fixture
def collated(tmp_path: Path) -> str:
    """One file a row; its statistics, which are by bytes, would skip what a collation finds."""

    def text(name: str) -> dict[str, Any]:
        return _field(name, "string", __COLLATIONS={name: "spark.UTF8_LCASE"})

    elements = {"type": "array", "elementType": "string", "containsNull": True}
    schema = _struct(
        _field("id", "integer"),
        text("c"),
        _field("s", _struct(text("x"))),
        _field("a", elements, __COLLATIONS={"a.element": "spark.UTF8_LCASE"}),
        text("p"),
    )
    table = DeltaBuilder(tmp_path, schema, partition_by=["p"])
    for n, value in enumerate(["Abc", "ZZ", "b"]):
        data = {"id": pa.array([n], pa.int32()), "c": [value], "s": [{"x": value}], "a": [[value]]}
        table.append(pa.table(data), partition={"p": value})
    return str(tmp_path)


COLLATED = [
    ("c = 'aBC'", [0]),
    ("p = 'aBC'", [0]),
    ("s.x = 'zz'", [1]),
    ("c < 'B'", [0]),
    ("p >= 'B'", [1, 2]),
    ("c IN ('ABC', 'B')", [0, 2]),
    ("c <> 'abc'", [1, 2]),
    ("startswith(c, 'z')", [1]),
    ("c IS NOT NULL AND p IS NOT NULL", [0, 1, 2]),
    ("array_contains(a, 'abc')", [0]),
]


@pytest.mark.parametrize(("where", "expected"), COLLATED)
def test_a_collated_column_is_compared_by_its_collation(
    spark: SparkSession, collated: str, where: str, expected: list[int]
) -> None:
    rows = spark.sql(f"SELECT id FROM delta.`{collated}` WHERE {where} ORDER BY id").collect()
    assert [row.id for row in rows] == expected


def test_collated_columns_keep_their_type_and_group_by_it(spark: SparkSession, collated: str) -> None:
    frame = spark.sql(f"SELECT * FROM delta.`{collated}`")
    assert frame.schema["c"].dataType.simpleString() == "string collate UTF8_LCASE"
    assert frame.schema["p"].dataType.simpleString() == "string collate UTF8_LCASE"
    joined = spark.sql(f"SELECT count(*) FROM delta.`{collated}` x JOIN delta.`{collated}` y ON x.c = lower(y.p)")
    assert joined.collect() == [(3,)]
    twice = f"SELECT c FROM delta.`{collated}` UNION ALL SELECT upper(c) FROM delta.`{collated}`"
    assert spark.sql(f"SELECT count(DISTINCT c) FROM ({twice})").collect() == [(3,)]


def test_without_spark_a_comparison_by_collation_is_refused(collated: str) -> None:
    scan = lakescan.open(collated).snapshot().scan()
    for where in ("c = 'abc'", "p = 'abc'", "s.x = 'abc'"):
        with pytest.raises(errors.InvalidFilter, match="UTF8_LCASE"):
            scan.filter(where)
    assert scan.filter("c IS NOT NULL").build().to_arrow().num_rows == 3


def test_a_widened_table_reads_in_spark_as_without(spark: SparkSession, sample: Callable[[str], Path]) -> None:
    path = sample("widened")
    rows = spark.sql(f"SELECT * FROM delta.`{path}` WHERE f > 0.1D OR b IS NULL ORDER BY b").toArrow()
    everything = lakescan.open(path).snapshot().scan().build().to_arrow()
    expected = [row for row in everything.to_pylist() if row["b"] is None or row["f"] > 0.1]
    expected.sort(key=lambda row: (row["b"] is not None, row["b"]))
    assert rows.to_pylist() == expected
    assert len(expected) == 3


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "JST", "+05:30"])
def test_instants_are_the_same_in_every_session_zone_and_partition_texts_are_local(
    spark: SparkSession, conf: Any, tmp_path: Path, zone: str
) -> None:
    schema = pa.schema([("t", pa.timestamp("us", "UTC")), ("n", pa.timestamp("us")), ("p", pa.timestamp("us", "UTC"))])
    table = DeltaBuilder(tmp_path, schema, partition_by=["p"])
    moment = datetime(1890, 6, 1, 12)
    data = pa.table({"t": [moment], "n": [moment]}, schema.remove(2))
    texts = ["2024-01-02 03:04:05", "2024-01-02T03:04:05Z", "2024-03-10 02:30:00"]
    for text in texts:
        table.append(data, partition={"p": text})
    conf("spark.sql.session.timeZone", zone)
    rows = spark.sql(
        f"SELECT unix_micros(t) t, CAST(n AS string) n, unix_micros(p) p FROM delta.`{tmp_path}`"
    ).collect()
    assert {row.t for row in rows} == {int(moment.replace(tzinfo=timezone.utc).timestamp()) * 1_000_000}
    assert {row.n for row in rows} == {"1890-06-01 12:00:00"}
    # Spark's own cast of the text, in the same session, is what Delta Spark uses.
    casts = [spark.sql(f"SELECT unix_micros(CAST('{text}' AS timestamp))").collect()[0][0] for text in texts]
    assert sorted(row.p for row in rows) == sorted(casts)
    where = f"p = CAST('{texts[0]}' AS timestamp)"
    matching = casts.count(casts[0])
    assert spark.sql(f"SELECT count(*) FROM delta.`{tmp_path}` WHERE {where}").collect() == [(matching,)]


@pytest.mark.parametrize("kind", ["INT96", "TIMESTAMP_MICROS"])
@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles"])
def test_old_dates_of_files_in_the_hybrid_calendar_read_as_spark_reads_them(
    spark: SparkSession, conf: Any, tmp_path: Path, kind: str, zone: str
) -> None:
    conf("spark.sql.session.timeZone", zone)
    conf("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    conf("spark.sql.parquet.int96RebaseModeInWrite", "LEGACY")
    conf("spark.sql.parquet.outputTimestampType", kind)
    texts = [
        "0001-01-01",
        "1000-02-28",
        "1500-02-28",
        "1582-10-04",
        "1582-10-15",
        "1883-11-17",
        "1900-01-01",
        "2024-01-01",
    ]
    values = ", ".join(f"(DATE'{text}', TIMESTAMP'{text} 01:02:03.456789', array(DATE'{text}'))" for text in texts)
    written = spark.sql(f"SELECT * FROM VALUES {values} AS t(d, t, a)").coalesce(1)
    written.write.parquet(str(tmp_path / "files"))
    expected = spark.read.parquet(str(tmp_path / "files")).orderBy("d")
    fields = [_field("d", "date"), _field("t", "timestamp")]
    fields.append(_field("a", {"type": "array", "elementType": "date", "containsNull": True}))
    table = DeltaBuilder(tmp_path, _struct(*fields))
    for file in (tmp_path / "files").glob("*.parquet"):
        add = {"path": f"files/{file.name}", "partitionValues": {}, "size": file.stat().st_size}
        table.commit({"add": {**add, "modificationTime": 0, "dataChange": True}})
    query = "SELECT CAST(d AS string), unix_micros(t), CAST(t AS string), CAST(a AS string) FROM {} ORDER BY d"
    expected.createOrReplaceTempView("expected_in_hybrid_calendar")
    assert [row[0] for row in expected.selectExpr("CAST(d AS string)").collect()] == texts
    assert spark.sql(query.format(f"delta.`{tmp_path}`")).collect() == (
        spark.sql(query.format("expected_in_hybrid_calendar")).collect()
    )
    counts = spark.sql(f"SELECT count(*) FROM delta.`{tmp_path}` WHERE d = DATE'1500-02-28'").collect()
    assert counts == [(1,)]


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Europe/Paris", "Asia/Kolkata", "Asia/Tokyo", "+03:00"])
def test_moments_are_rebased_as_sparks_own_tables_say(spark: SparkSession, zone: str) -> None:
    rebase = spark._jvm.org.apache.spark.sql.catalyst.util.RebaseDateTime  # type: ignore[union-attr]
    moments = np.random.default_rng(7).integers(-62_135_000_000_000_000, -2_100_000_000_000_000, 60)
    array = pa.array(moments).cast(pa.timestamp("us", "UTC"))
    moved = rebased(array, HybridCalendar(True, True, zone)).cast(pa.int64()).to_pylist()
    assert moved == [rebase.rebaseJulianToGregorianMicros(zone, int(moment)) for moment in moments]


def test_sql_reads_a_path_with_a_version(spark: SparkSession, sample: Callable[[str], Path]) -> None:
    table, rows = sample("rs_changed"), [len(rows or []) for rows in sample_table("rs_changed").versions]
    versions = range(len(rows))
    by_path = [spark.sql(f"SELECT count(*) FROM delta.`{table}@v{version}`").collect() for version in versions]
    by_sql = [spark.sql(f"SELECT count(*) FROM delta.`{table}` VERSION AS OF {n}").collect() for n in versions]
    assert by_path == by_sql == [[(count,)] for count in rows]
    assert lakescan.read(spark, f"{table}@v2").count() == rows[2] == 11
    with pytest.raises(Exception, match=f"versions 0 to {len(rows) - 1}"):
        spark.sql(f"SELECT * FROM delta.`{table}@v99`").collect()


def test_a_moment_without_a_zone_is_in_the_sessions(spark: SparkSession, conf: Any, tmp_path: Path) -> None:
    properties = {"delta.enableInCommitTimestamps": "true"}
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]), properties=properties, create=False)
    start = datetime(2024, 1, 1, 12, tzinfo=timezone.utc).timestamp() * 1000
    for n in range(3):
        actions = [table.protocol(), table.metadata()] if n == 0 else [table.add(pa.table({"id": [n]}))]
        table.commit({"commitInfo": {"inCommitTimestamp": int(start) + n * 3_600_000}}, *actions)
    conf("spark.sql.session.timeZone", "Asia/Tokyo")
    for text, rows in [("2024-01-01 21:00:00", 0), ("2024-01-01 22:30:00", 1), ("2024-01-01 23:00:00", 2)]:
        counts = spark.sql(f"SELECT count(*) FROM delta.`{tmp_path}` TIMESTAMP AS OF '{text}'").collect()
        assert counts == [(rows,)]
        assert lakescan.read(spark, tmp_path, timestamp=text).count() == rows
    digits = "20240101223000000"
    assert spark.sql(f"SELECT count(*) FROM delta.`{tmp_path}@{digits}`").collect() == [(1,)]


def test_a_catalog_managed_table_is_refused_in_sql_with_the_reason(spark: SparkSession, tmp_path: Path) -> None:
    DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]), features=["catalogOwned-preview"])
    with pytest.raises(Exception, match=r"LAKESCAN_CATALOG_MANAGED.*A catalog decides"):
        spark.sql(f"SELECT * FROM delta.`{tmp_path}`").collect()
