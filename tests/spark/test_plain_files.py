"""Files that need nothing but decoding are read by Spark's own reader, all others by a worker, with the same rows.

Which of the two it was is told by an interpreter that is not there: only a scan without a worker does without it.
"""

import os
from dataclasses import replace
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

import lakescan
from lakescan.formats.delta.data_files import DeltaFiles
from lakescan.io.storage import Storage
from lakescan.scan.plan import Plan
from lakescan.spark.bridge import Bridge
from lakescan.spark.dsv2.plain_files import plain_columns, plain_pieces, told_pieces
from tests.compare import bag
from tests.formats.hudi.builder import HudiBuilder
from tests.parquet_bytes import write_sums
from tests.spark.conftest import NO_PYTHON
from tests.strategies import RandomTable, many, tables
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark

MOMENT = datetime(2024, 5, 17, 12, 30, 15, 123456)
VALUES: dict[str, tuple[pa.DataType, Any]] = {
    "flag": (pa.bool_(), True),
    "tiny": (pa.int8(), -7),
    "small": (pa.int16(), 300),
    "number": (pa.int32(), -70_000),
    "large": (pa.int64(), 2**53 + 1),
    "single": (pa.float32(), 1.5),
    "double": (pa.float64(), float("nan")),
    "text": (pa.string(), "Käse \U0001f600"),
    "bytes": (pa.binary(), b"\x00\xff"),
    "day": (pa.date32(), date(1500, 2, 28)),
    "moment": (pa.timestamp("us", "UTC"), MOMENT.replace(tzinfo=timezone.utc)),
    "local": (pa.timestamp("us"), MOMENT),
    "price": (pa.decimal128(9, 2), Decimal("-1234567.89")),
    "amount": (pa.decimal128(18, 4), Decimal("12345678901234.5678")),
    "total": (pa.decimal128(38, 10), Decimal("1234567890123456789012345678.0123456789")),
}
SCHEMA = pa.schema([(name, kind) for name, (kind, _) in VALUES.items()])
AS_SPARK_WRITES = {"store_decimal_as_integer": True}


def values(rows: int) -> pa.Table:
    """The value of each type, a null in every third row."""
    return pa.table(
        {
            name: pa.array([None if row % 3 == 1 else value for row in range(rows)], kind)
            for name, (kind, value) in VALUES.items()
        }
    )


def scanned(path: str) -> pa.Table:
    return lakescan.open(path).snapshot().scan().build().to_arrow()


def read(spark: SparkSession, path: str, plain: bool = True) -> pa.Table:
    options = {"lakescan.pushdown.plain_files": str(plain)}
    table: pa.Table = lakescan.read(spark, path, options=options).toArrow()
    return table


@pytest.fixture
def partitioned(tmp_path: Path) -> DeltaBuilder:
    """Every simple type, partition columns between them, files below folders with names that URIs escape."""
    schema = pa.schema([SCHEMA[0], ("city", pa.string()), *list(SCHEMA)[1:], (".since", pa.date32())])
    table = DeltaBuilder(tmp_path / "a table", schema, [".since", "city"], features=["timestampNtz"])
    for number, (city, since) in enumerate([("São Paulo", "2024-01-01"), (None, "1969-12-31"), ("100%", None)]):
        where = f"city={city}/since={since}/part-{number} #1.parquet"
        partition = {"city": city, ".since": since}
        table.append(values(7), partition=partition, name=where, row_group_size=3, **AS_SPARK_WRITES)
    return table


@pytest.mark.usefixtures("no_python")
def test_every_simple_type_and_partition_value_is_read_without_a_worker(
    spark: SparkSession, partitioned: DeltaBuilder
) -> None:
    rows, wanted = read(spark, partitioned.path), scanned(partitioned.path)
    assert rows.schema.names == wanted.schema.names
    assert rows.schema.types == wanted.schema.types
    assert bag(rows) == bag(wanted)
    assert rows.num_rows == 21


@pytest.mark.usefixtures("no_python")
def test_columns_come_in_the_order_of_the_query(spark: SparkSession, partitioned: DeltaBuilder) -> None:
    names = ["text", ".since", "flag", "city", "number"]
    rows = lakescan.read(spark, partitioned.path).select(*(f"`{name}`" for name in names)).toArrow()
    assert bag(rows) == bag(scanned(partitioned.path).select(names))


@pytest.mark.usefixtures("no_python")
def test_a_filter_on_a_partition_column_needs_no_worker(spark: SparkSession, partitioned: DeltaBuilder) -> None:
    rows = spark.sql(f"SELECT text FROM delta.`{partitioned.path}` WHERE city = 'São Paulo'").toArrow()
    assert rows["text"].to_pylist() == values(7)["text"].to_pylist()


@pytest.mark.usefixtures("no_python")
def test_a_filter_that_spark_evaluates_too_needs_no_worker(spark: SparkSession, tmp_path: Path) -> None:
    joined, rows = two_tables(spark, tmp_path)
    assert joined.toArrow().sort_by("id").to_pylist() == rows


def test_a_worker_that_reads_anyway_drops_rows_by_a_filter_that_spark_evaluates_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.conf.set("lakescan.pushdown.plain_files", "false")
    try:
        joined, rows = two_tables(spark, tmp_path)
        assert joined.toArrow().sort_by("id").to_pylist() == rows
    finally:
        spark.conf.unset("lakescan.pushdown.plain_files")


def two_tables(spark: SparkSession, folder: Path) -> tuple[DataFrame, list[dict[str, Any]]]:
    """A join of two filtered tables, one of them with deleted rows, and its rows."""
    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    facts = DeltaBuilder(folder / "facts", schema, features=["deletionVectors"])
    added = facts.append(pa.table({"id": range(10), "name": [f"n{at}" for at in range(10)]}))
    facts.delete(added, [4, 9])
    names = DeltaBuilder(folder / "names", pa.schema([("name", pa.string()), ("size", pa.int32())]))
    names.append(pa.table({"name": [f"n{at}" for at in range(10)], "size": pa.array(range(10), pa.int32())}))
    text = f"""
        SELECT id, size FROM delta.`{facts.path}` JOIN delta.`{names.path}` USING (name)
        WHERE id > 2 AND id <> 6 AND size < 9 AND size > 1"""
    return spark.sql(text), [{"id": at, "size": at} for at in (3, 5, 7, 8)]


@pytest.mark.usefixtures("no_python")
def test_mapped_columns_are_read_without_a_worker(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, mapping="name", features=["timestampNtz"])
    table.append(values(4), **AS_SPARK_WRITES)
    assert bag(read(spark, table.path)) == bag(values(4))


# As Spark writes them unless it is told otherwise; the first and the last that microseconds hold are out of its reach.
@pytest.mark.usefixtures("no_python")
def test_moments_in_int96_are_read_without_a_worker(spark: SparkSession, tmp_path: Path) -> None:
    days = [-719_162, -200_000, -25_567, -1, 0, 19_860, 2_932_896]
    micros = [day * 86_400_000_000 + of_day for day in days for of_day in (0, 1, 43_200_999_999, 86_399_999_999)]
    rows = pa.table({"at": pa.array([*micros, None]).cast(pa.timestamp("us", "UTC"))})
    table = DeltaBuilder(tmp_path, rows.schema)
    table.append(rows, stats=False, use_deprecated_int96_timestamps=True)
    assert pq.ParquetFile(tmp_path / "part-00001.parquet").schema.column(0).physical_type == "INT96"
    actual = lakescan.read(spark, table.path).selectExpr("unix_micros(at) AS at").toArrow()
    assert actual["at"].to_pylist() == [*micros, None] == scanned(table.path)["at"].cast(pa.int64()).to_pylist()


@pytest.mark.usefixtures("no_python")
@pytest.mark.parametrize("as_integers", [True, False])
def test_decimals_of_every_precision_are_read_without_a_worker(
    spark: SparkSession, tmp_path: Path, as_integers: bool
) -> None:
    rows = pa.table(
        {
            f"d{digits}": pa.array([Decimal(10**digits - 1), Decimal(1 - 10**digits), Decimal(0), None]).cast(
                pa.decimal128(digits, 0)
            )
            for digits in range(1, 39)
        }
    )
    table = DeltaBuilder(tmp_path, rows.schema)
    table.append(rows, stats=False, store_decimal_as_integer=as_integers)
    assert read(spark, table.path).to_pylist() == rows.to_pylist()


@pytest.mark.usefixtures("no_python")
def test_a_hudi_slice_without_log_files_is_read_without_a_worker(spark: SparkSession, tmp_path: Path) -> None:
    table = HudiBuilder(tmp_path)
    table.upsert(0, pa.table({"id": [1, 2], "name": ["a", None]}))
    table.upsert(1, pa.table({"id": [3], "name": ["c"]}))
    assert bag(read(spark, str(tmp_path))) == bag(scanned(str(tmp_path)))


@pytest.mark.usefixtures("no_python")
def test_pieces_of_one_file_give_each_row_once(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    rows = pa.table({"id": range(2_000_000)})
    table.append(rows, row_group_size=70_000, compression="none", use_dictionary=False)
    frame = lakescan.read(spark, table.path)
    assert frame.rdd.getNumPartitions() > 1
    assert frame.toArrow()["id"].sort().to_pylist() == rows["id"].to_pylist()


STORED_OTHERWISE: dict[str, tuple[pa.Field, pa.Array, dict[str, Any]]] = {
    "INT96 for a time without a zone": (
        pa.field("at", pa.timestamp("us")),
        pa.array([MOMENT], pa.timestamp("us")),
        {"use_deprecated_int96_timestamps": True},
    ),
    "milliseconds": (pa.field("at", pa.timestamp("us", "UTC")), pa.array([1], pa.timestamp("ms", "UTC")), {}),
    "a time without a zone": (pa.field("at", pa.timestamp("us", "UTC")), pa.array([MOMENT], pa.timestamp("us")), {}),
    "a narrower integer": (pa.field("id", pa.int64()), pa.array([1, None], pa.int32()), {}),
    "an unsigned integer": (pa.field("id", pa.int64()), pa.array([2**32 - 1], pa.uint32()), {}),
    "bytes for text": (pa.field("text", pa.string()), pa.array([b"a"]), {}),
    "a decimal of another scale": (
        pa.field("price", pa.decimal128(9, 2)),
        pa.array([Decimal("1.2")], pa.decimal128(9, 1)),
        {},
    ),
    "an encoding that Spark lacks": (
        pa.field("d", pa.float64()),
        pa.array([0.5, 0.25]),
        {"column_encoding": {"d": "BYTE_STREAM_SPLIT"}, "use_dictionary": False},
    ),
    "a codec that Spark lacks": (pa.field("id", pa.int64()), pa.array([1]), {"compression": "brotli"}),
    "nulls allowed where the table has none": (pa.field("id", pa.int64(), nullable=False), pa.array([1]), {}),
}


@pytest.mark.parametrize("what", STORED_OTHERWISE)
def test_a_file_that_stores_its_columns_otherwise_is_read_by_a_worker(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    field, column, options = STORED_OTHERWISE[what]
    table = DeltaBuilder(tmp_path, pa.schema([field]))
    table.append(pa.table({field.name: column}), stats=False, **options)
    rows = read(spark, table.path)
    assert rows.num_rows == len(column)
    assert bag(rows) == bag(scanned(table.path))
    monkeypatch.setattr(Bridge, "_worker_interpreter", NO_PYTHON)
    with pytest.raises(Exception, match=NO_PYTHON):
        read(spark, table.path)


@pytest.mark.parametrize(
    ("column", "note"),
    [
        (pa.array([-200_000], pa.int32()).cast(pa.date32()), "org.apache.spark.legacyDateTime"),
        (pa.array([-200_000 * 86_400_000_000]).cast(pa.timestamp("us", "UTC")), "org.apache.spark.legacyINT96"),
    ],
)
def test_a_file_in_the_hybrid_calendar_is_read_by_a_worker(
    spark: SparkSession, tmp_path: Path, column: pa.Array, note: str
) -> None:
    check_hybrid(spark, tmp_path, column, {note: "", "org.apache.spark.version": "3.5.0"})


# Older releases wrote no note: their calendar is known by their version alone.
@pytest.mark.parametrize(
    ("column", "version"),
    [
        (pa.array([-200_000], pa.int32()).cast(pa.date32()), "2.4.8"),
        (pa.array([-200_000 * 86_400_000_000]).cast(pa.timestamp("us", "UTC")), "3.0.1"),
    ],
)
def test_a_file_of_a_release_with_the_hybrid_calendar_is_read_by_a_worker(
    spark: SparkSession, tmp_path: Path, column: pa.Array, version: str
) -> None:
    check_hybrid(spark, tmp_path, column, {"org.apache.spark.version": version})


def check_hybrid(spark: SparkSession, folder: Path, column: pa.Array, notes: dict[str, str]) -> None:
    table = DeltaBuilder(folder, pa.schema([("when", column.type)]))
    rows = pa.table({"when": column}).replace_schema_metadata({**notes, "org.apache.spark.timeZone": "UTC"})
    table.append(rows, stats=False, use_deprecated_int96_timestamps=True)
    (day,) = read(spark, table.path)["when"].to_pylist()
    # 200,000 days before 1970 it was 3 June 1422 in our calendar, and nine days less in the one of the time.
    assert (day.year, day.month, day.day) == (1422, 5, 25)
    assert [day] == scanned(table.path)["when"].to_pylist()


def test_a_column_that_a_file_lacks_or_spells_otherwise_is_left_to_a_worker(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64()), ("new", pa.string())]))
    table.append(pa.table({"id": [1]}), stats=False)
    table.append(pa.table({"ID": [2], "new": ["b"]}), stats=False)
    table.append(pa.table({"id": [3], "new": ["c"]}), stats=False)
    assert bag(read(spark, table.path)) == bag([{"id": 1, "new": None}, {"id": 2, "new": "b"}, {"id": 3, "new": "c"}])


@pytest.mark.usefixtures("no_python")
@pytest.mark.parametrize("sensitive", ["true", "false"])
def test_names_are_exact_whatever_the_session_says(spark: SparkSession, tmp_path: Path, sensitive: str) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    table.append(pa.table({"ID": [2], "id": [1], "Id": [3]}), stats=False)
    session = spark.newSession()
    session.conf.set("spark.sql.caseSensitive", sensitive)
    assert read(session, table.path)["id"].to_pylist() == [1] == scanned(table.path)["id"].to_pylist()


# Hadoop checks a local file against the sums beside it, Arrow does not: wrong sums stop Spark's reader alone.
@pytest.mark.parametrize("group", [0, 1, 2])
def test_a_worker_reads_on_at_the_row_where_sparks_reader_stops(
    spark: SparkSession, tmp_path: Path, group: int
) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    for first in (0, 100_000):
        rows = pa.table({"id": range(first, first + 30_000)})
        table.append(rows, name=f"{first}.parquet", row_group_size=10_000, compression="none", use_dictionary=False)
    last = tmp_path / "100000.parquet"
    chunk = pq.ParquetFile(last).metadata.row_group(group).column(0)
    write_sums(last, wrong_at=chunk.data_page_offset + chunk.total_compressed_size // 2)
    ids = lakescan.read(spark, table.path).coalesce(1).toArrow()["id"].to_pylist()
    assert sorted(ids) == [*range(30_000), *range(100_000, 130_000)]


def test_what_is_wrong_with_a_file_is_named_also_after_its_first_rows(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": range(30_000)}), row_group_size=10_000, compression="none", use_dictionary=False)
    file = tmp_path / "part-00001.parquet"
    chunk = pq.ParquetFile(file).metadata.row_group(1).column(0)
    data = bytearray(file.read_bytes())
    data[chunk.data_page_offset : chunk.data_page_offset + 200] = b"\xff" * 200
    file.write_bytes(data)
    with pytest.raises(Exception, match=r"CorruptDataFile.*part-00001\.parquet"):
        read(spark, table.path)


def damage(table: DeltaBuilder, what: str) -> str:
    """One plain file that is not what the log, or its own checksums, say; gives what an error must say of it."""
    rows = pa.table({"id": range(3_000)})
    stats = {"numRecords": 3_001} if what == "rows" else True
    file = table.root / "f.parquet"
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    table.append(rows, name=file.name, stats=stats, **options)
    if what == "size":
        pq.write_table(rows.slice(1), file)
    elif what == "size alone":
        pq.write_table(rows, file)
    elif what == "page":
        content = bytearray(file.read_bytes())
        content[10_000] ^= 1
        file.write_bytes(content)
    elif what == "pipe":
        file.unlink()
        os.mkfifo(file)
    size = "bytes and the log says"
    others = {"rows": "3000 rows and the log says 3001", "page": "CRC", "pipe": "no regular file"}
    return others.get(what, size)


@pytest.mark.parametrize("what", ["size", "size alone", "rows", "page", "pipe"])
def test_a_file_that_is_not_what_the_log_or_its_checksums_say_is_an_error_in_both_readers(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    said = damage(table, what)
    for plain in (True, False):
        with pytest.raises(Exception, match=rf"f\.parquet.*{said}"):
            read(spark, table.path, plain)
    monkeypatch.setattr(Bridge, "_worker_interpreter", NO_PYTHON)
    with pytest.raises(Exception, match=NO_PYTHON):
        read(spark, table.path)


def test_the_switch_leaves_every_file_to_workers(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    monkeypatch.setattr(Bridge, "_worker_interpreter", NO_PYTHON)
    assert read(spark, table.path)["id"].to_pylist() == [1]
    with pytest.raises(Exception, match=NO_PYTHON):
        read(spark, table.path, plain=False)


@given(data=st.data())
@many(25)
def test_any_table_has_the_same_rows_with_and_without_workers(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    table: RandomTable = data.draw(tables())
    path = table.write(tmp_path_factory.mktemp("any")).path
    rows = read(spark, path)
    assert bag(rows) == bag(table.rows())
    assert bag(read(spark, path, plain=False)) == bag(rows)


# Without Spark: which scans and which of their tasks may be plain.


@pytest.fixture
def people(tmp_path: Path) -> DeltaBuilder:
    schema = pa.schema([("id", pa.int64()), ("name", pa.string()), ("home", pa.struct([("city", pa.string())]))])
    table = DeltaBuilder(tmp_path, schema, features=["deletionVectors"])
    table.append(pa.table({"id": [1, 2], "name": ["a", "b"], "home": [{"city": "x"}, None]}, schema=schema))
    return table


TWO_COLUMNS = StructType([StructField("id", LongType()), StructField("name", StringType())])


def pieces_of(scan: Plan, schema: StructType) -> bytes:
    (told,) = plain_pieces(scan.read_plan, plain_columns(scan.read_plan, schema), scan.tasks(1))
    return told


def test_a_plain_task_is_told_as_paths_and_bytes(people: DeltaBuilder) -> None:
    told = pieces_of(lakescan.open(people.path).snapshot().scan().select("id", "name").build(), TWO_COLUMNS)
    (piece,) = pa.ipc.open_stream(told).read_all().to_pylist()
    assert (piece["path"], piece["start"]) == (str(people.root / "part-00001.parquet"), 0)


def test_a_task_whose_filter_is_evaluated_by_spark_too_is_plain_and_a_worker_that_gets_it_drops_rows(
    people: DeltaBuilder,
) -> None:
    scan = lakescan.open(people.path).snapshot().scan().select("id", "name").filter_unclaimed("id > 1").build()
    (piece,) = pa.ipc.open_stream(pieces_of(scan, TWO_COLUMNS)).read_all().to_pylist()
    assert piece["path"] == str(people.root / "part-00001.parquet")
    assert scan.to_arrow().to_pylist() == [{"id": 2, "name": "b"}]
    other = lakescan.open(people.path).snapshot().scan().filter_unclaimed("id > 2").build()
    assert other.planned.files.num_rows == 0


@pytest.mark.parametrize("what", ["filter", "offset", "collation", "char", "metadata"])
def test_a_task_with_more_to_do_than_decoding_is_for_a_worker(people: DeltaBuilder, what: str) -> None:
    builder = lakescan.open(people.path).snapshot().scan().select("id", "name")
    notes: dict[str, dict[str, Any]] = {
        "collation": {"__COLLATIONS": {"name": "icu.UNICODE_CI"}},
        "char": {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"},
    }
    schema = StructType([StructField("id", LongType()), StructField("name", StringType(), True, notes.get(what))])
    if what == "filter":
        builder = builder.filter("id > 1")
    elif what == "offset":
        builder = builder.offset(1)
    elif what == "metadata":
        builder = builder.select("id", "_metadata.file_path")
    assert pieces_of(builder.build(), schema) == b""


@pytest.mark.parametrize(
    ("location", "path", "plain_path"),
    [
        ("/table", "part.parquet", "/table/part.parquet"),
        ("/table", "a%20b/part.parquet", "/table/a b/part.parquet"),
        ("/table", "/else/where.parquet", "/else/where.parquet"),
        ("file:///a%20b", "part.parquet", "/a b/part.parquet"),
        ("/table", "s3://bucket/part.parquet", None),
        ("s3://bucket/table", "part.parquet", "s3://bucket/table/part.parquet"),
        ("s3://bucket/table", "/part.parquet", "s3://bucket/part.parquet"),
        ("S3A://bucket/a%20b", "c%2525.parquet", "s3a://bucket/a b/c%25.parquet"),
        ("s3://bucket", "part.parquet", "s3://bucket/part.parquet"),
        ("s3://bucket/table", "s3://bucket/table/part.parquet", None),
        ("s3://bucket/table", "file:/part.parquet", None),
        ("s3://bucket/table", "a//part.parquet", None),
        ("s3://bucket/table", "a/../part.parquet", None),
        ("s3://bucket/table", "./part.parquet", None),
    ],
)
def test_files_are_named_in_full_where_they_are_in_the_tables_own_store(
    location: str, path: str, plain_path: str | None
) -> None:
    pieces = pa.table({"path": [path], "deletion_vector": pa.nulls(1)})
    assert DeltaFiles(Storage(location)).plain_files(pieces)["path"].to_pylist() == [plain_path]


@pytest.mark.parametrize(("not_opened", "plain"), [("no file system for s3", False), ("", True)])
def test_files_in_a_store_are_plain_only_where_executors_open_it(tmp_path: Path, not_opened: str, plain: bool) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    scan = lakescan.open(table.path).snapshot().scan().build()
    elsewhere = replace(scan.read_plan, files=DeltaFiles(Storage("s3://bucket/table")))
    columns = plain_columns(elsewhere, StructType([StructField("id", LongType())]))
    assert not isinstance(columns, str)
    told = told_pieces(elsewhere, replace(columns, not_opened=not_opened), scan.divided(1).packed.pieces)
    assert told is not None
    assert told.column(0).to_pylist() == ["s3://bucket/table/part-00001.parquet" if plain else None]
