"""Deleted rows are left out by the executor's own reader, without a worker, exactly as a worker leaves them out."""

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import lakescan
from lakescan.formats.delta.deletion_vector import with_vectors
from lakescan.io.storage import Storage
from lakescan.reader.read_plan import undeleted_files
from lakescan.spark.bridge import Bridge
from lakescan.spark.bridge.java_classes import executor_class
from tests.compare import bag
from tests.parquet_bytes import write_sums
from tests.strategies import many
from tests.tables import DeltaBuilder, encode85

pytestmark = pytest.mark.spark

ROWS = 20_000
GROUP = 9_000
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("part", pa.int32()), ("price", pa.decimal128(22, 2))])

# A batch of Spark's reader has 4,096 rows, and none has rows of two row groups.
DELETED: dict[str, Callable[[int], bool]] = {
    "the first row": lambda row: row == 0,
    "the last row": lambda row: row == ROWS - 1,
    "every row but one": lambda row: row != 9_500,
    "a batch": lambda row: 4_096 <= row < 8_192,
    "a row group": lambda row: GROUP <= row < 2 * GROUP,
    "one row in seven": lambda row: row % 7 == 3,
    "six rows in seven": lambda row: row % 7 != 3,
    "the ends of batches and row groups": lambda row: row in (4_095, 4_096, 8_999, 9_000, 13_095, 13_096, 17_999),
}


def stored(rows: int = ROWS) -> pa.Table:
    columns = {
        "id": pa.array(range(rows)),
        "name": pa.array([None if row % 5 == 2 else f"name {row % 900}" for row in range(rows)]),
        "price": pa.array([None if row % 3 == 1 else row for row in range(rows)]).cast(pa.decimal128(22, 2)),
    }
    return pa.table(columns)


def table_of(root: Path) -> DeltaBuilder:
    return DeltaBuilder(root, SCHEMA, ["part"], features=["deletionVectors"])


@pytest.mark.usefixtures("no_python")
@pytest.mark.parametrize("what", DELETED)
def test_deleted_rows_are_left_out_without_a_worker(spark: SparkSession, tmp_path: Path, what: str) -> None:
    table, rows = table_of(tmp_path), stored()
    gone = [row for row in range(ROWS) if DELETED[what](row)]
    for part, storage in enumerate("upi"):
        added = table.append(rows, partition={"part": str(part)}, row_group_size=GROUP)
        table.delete(added, gone, storage)
    table.append(rows.slice(0, 10), partition={"part": None})
    kept = rows.take([row for row in range(ROWS) if not DELETED[what](row)])
    frame = lakescan.read(spark, table.path)
    for part in (0, 1, 2):
        actual = frame.where(f"part = {part}").select("id", "name", "price").toArrow()
        assert actual.equals(kept.select(["id", "name", "price"]).cast(actual.schema))
    assert frame.where("part IS NULL").select("id").toArrow()["id"].to_pylist() == [*range(10)]


@pytest.mark.usefixtures("no_python")
@pytest.mark.parametrize("codegen", ["true", "false"])
def test_rows_that_are_left_are_cached_sorted_and_joined_as_any_others(
    spark: SparkSession, tmp_path: Path, codegen: str
) -> None:
    table = table_of(tmp_path)
    added = table.append(stored(9_000), partition={"part": "1"})
    table.delete(added, [row for row in range(9_000) if row % 2])
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", codegen)
    frame = lakescan.read(session, table.path)
    kept = [row for row in range(9_000) if not row % 2]
    cached = frame.select("id", "name", "part").cache()
    try:
        assert [row.id for row in cached.orderBy("id").collect()] == kept
    finally:
        cached.unpersist()
    joined = frame.alias("a").join(frame.alias("b"), "id").selectExpr("id", "a.name = b.name AS same").collect()
    assert sorted(row.id for row in joined) == kept
    assert sum(row.same is None for row in joined) == sum(row % 5 == 2 for row in kept)


TYPES: dict[str, pa.DataType] = {
    "flag": pa.bool_(),
    "tiny": pa.int8(),
    "small": pa.int16(),
    "number": pa.int32(),
    "large": pa.int64(),
    "single": pa.float32(),
    "double": pa.float64(),
    "text": pa.string(),
    "bytes": pa.binary(),
    "day": pa.date32(),
    "moment": pa.timestamp("us", "UTC"),
    "local": pa.timestamp("us"),
    "price": pa.decimal128(9, 2),
    "amount": pa.decimal128(18, 4),
    "total": pa.decimal128(38, 10),
}


def every_type(rows: int) -> pa.Table:
    """Columns of every simple type, whose values tell rows apart, with nulls at other rows in each."""

    def value(kind: pa.DataType, row: int) -> Any:
        if pa.types.is_boolean(kind):
            return row % 7 < 3
        if pa.types.is_int8(kind):
            return row % 101 - 50
        if pa.types.is_string(kind):
            return f"text {row % 2_000}"
        if pa.types.is_binary(kind):
            return bytes([row % 251]) * (row % 5)
        if pa.types.is_decimal(kind):
            return Decimal(row)
        return row

    columns = {
        name: pa.array(
            [None if (row + at) % 11 == 0 else value(kind, row) for row in range(rows)],
            pa.int32() if pa.types.is_date(kind) else pa.int64() if pa.types.is_timestamp(kind) else kind,
        ).cast(kind)
        for at, (name, kind) in enumerate(TYPES.items())
    }
    return pa.table({"id": pa.array(range(rows)), "full": pa.array(range(rows), pa.int32()), **columns})


# In long runs values are moved together, in short ones they are looked up where they are.
@pytest.mark.usefixtures("no_python")
@pytest.mark.parametrize("every", [3, 97])
@pytest.mark.parametrize("dictionary", [True, False])
def test_every_simple_type_keeps_the_values_of_the_rows_that_are_left(
    spark: SparkSession, tmp_path: Path, every: int, dictionary: bool
) -> None:
    rows = every_type(9_000)
    table = DeltaBuilder(tmp_path, rows.schema, features=["deletionVectors", "timestampNtz"])
    added = table.append(
        rows, row_group_size=7_000, use_dictionary=dictionary, data_page_size=9_000, store_decimal_as_integer=True
    )
    table.delete(added, range(5, 9_000, every))
    actual = lakescan.read(spark, table.path).toArrow()
    kept = rows.take([row for row in range(9_000) if row % every != 5 % every or row < 5])
    assert actual.to_pylist() == kept.to_pylist()


NESTED = pa.schema(
    [
        ("id", pa.int64()),
        ("point", pa.struct([("x", pa.int32()), ("name", pa.string()), ("inner", pa.struct([("y", pa.float64())]))])),
        ("tags", pa.list_(pa.string())),
        ("points", pa.list_(pa.struct([("x", pa.int64())]))),
        ("counts", pa.map_(pa.string(), pa.int32())),
        ("gaps", pa.struct([("tags", pa.list_(pa.int16())), ("flag", pa.bool_())])),
    ]
)


def nested(row: int) -> dict[str, Any]:
    """A row of every nested type, whose values tell rows apart, with nulls at other rows in each and inside of some."""
    inner = None if row % 13 == 4 else {"y": row / 2}
    return {
        "id": row,
        "point": None
        if row % 11 == 3
        else {"x": row, "name": None if row % 7 == 2 else f"n{row % 800}", "inner": inner},
        "tags": None if row % 5 == 1 else [f"t{row % 300}"] * (row % 4),
        "points": [None if (row + at) % 3 == 0 else {"x": row + at} for at in range(row % 3)],
        "counts": None if row % 17 == 8 else [(f"k{at}", row) for at in range(row % 3)],
        "gaps": None if row % 9 == 5 else {"tags": None if row % 2 else [row % 1_000, None], "flag": row % 3 == 0},
    }


@pytest.mark.usefixtures("no_python")
@pytest.mark.parametrize("every", [3, 97])
@pytest.mark.parametrize("dictionary", [True, False])
def test_every_nested_type_keeps_the_values_of_the_rows_that_are_left(
    spark: SparkSession, tmp_path: Path, every: int, dictionary: bool
) -> None:
    rows = pa.Table.from_pylist([nested(row) for row in range(9_000)], NESTED)
    table = DeltaBuilder(tmp_path, NESTED, features=["deletionVectors"])
    table.delete(table.append(rows, row_group_size=7_000, use_dictionary=dictionary), range(5, 9_000, every))
    actual = lakescan.read(spark, table.path).toArrow()
    kept = rows.take([row for row in range(9_000) if row % every != 5 % every or row < 5])
    assert actual.to_pylist() == kept.to_pylist()


def test_the_arrays_of_this_sparks_vectors_are_known(spark: SparkSession) -> None:
    bridge = Bridge(spark)
    vectors = bridge.java_class("org.apache.spark.sql.execution.vectorized.OnHeapColumnVector")
    types = bridge.java_class("org.apache.spark.sql.types.DataTypes")
    arrays = executor_class(bridge, "VectorArrays")
    (are_known,) = (method for method in arrays.getMethods() if method.getName() == "areKnown")
    vector = vectors(8, types.LongType)
    assert are_known.invoke(None, bridge.array("java.lang.Object", [vector]))


@pytest.mark.usefixtures("no_python")
def test_pieces_of_one_file_leave_out_the_rows_of_the_whole_files_vector(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]), features=["deletionVectors"])
    rows = pa.table({"id": range(2_000_000)})
    added = table.append(rows, row_group_size=70_000, compression="none", use_dictionary=False)
    gone = {*range(0, 2_000_000, 1_001), *range(700_000, 840_000)}
    table.delete(added, gone)
    frame = lakescan.read(spark, table.path)
    assert frame.rdd.getNumPartitions() > 1
    assert frame.toArrow()["id"].sort().to_pylist() == [id for id in range(2_000_000) if id not in gone]


@given(data=st.data())
@many(15)
def test_any_deleted_rows_are_left_out_alike_with_and_without_workers(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    table = table_of(tmp_path_factory.mktemp("any"))
    expected = 0
    for part in range(data.draw(st.integers(1, 3))):
        count = data.draw(st.sampled_from([1, 7, 4_096, 4_097, 9_001]))
        added = table.append(
            stored(count), partition={"part": str(part)}, row_group_size=data.draw(st.sampled_from([5, 1_000, 5_000]))
        )
        spans = data.draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(1, 5_000)), max_size=5))
        step = data.draw(st.sampled_from([1, 2, 97]))
        gone = {row for first, length in spans for row in range(first, min(count, first + length), step)}
        if gone:
            table.delete(added, gone, data.draw(st.sampled_from("upi")))
        expected += count - len(gone)
    by_reader = {plain: lakescan.read(spark, table.path, options={PLAIN: plain}).toArrow() for plain in (True, False)}
    assert by_reader[True].num_rows == expected
    assert bag(by_reader[True]) == bag(by_reader[False])


PLAIN = "lakescan.pushdown.plain_files"


def test_a_worker_reads_on_behind_deleted_rows(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]), features=["deletionVectors"])
    rows = pa.table({"id": range(30_000)})
    added = table.append(rows, name="f.parquet", row_group_size=10_000, compression="none", use_dictionary=False)
    gone = {*range(5_000), 9_999, 10_000, *range(12_000, 13_000), 29_999}
    table.delete(added, gone)
    chunk = pq.ParquetFile(tmp_path / "f.parquet").metadata.row_group(1).column(0)
    write_sums(tmp_path / "f.parquet", wrong_at=chunk.data_page_offset + chunk.total_compressed_size // 2)
    ids = lakescan.read(spark, table.path).coalesce(1).toArrow()["id"].to_pylist()
    assert ids == [id for id in range(30_000) if id not in gone]


def _damage(table: DeltaBuilder, what: str) -> str:
    """A file whose vector is not what the log says; gives what an error must say of it."""
    add = table.append(pa.table({"id": range(100)}))
    rows = [3, 4, 5, 200] if what == "another file's" else [3, 4, 5]
    inline = what in ("no base 85", "no magic number", "no bitmap", "inline, of another size")
    vector = table.vector(rows, "i" if inline else "u")
    if what == "no base 85":
        vector["pathOrInlineDv"] = '"' * 40
    elif what == "no magic number":
        vector["pathOrInlineDv"] = encode85(b"\0" * vector["sizeInBytes"])
    elif what == "no bitmap":
        data = (1681511377).to_bytes(4, "little") + b"\1" + b"\0" * 7 + b"\xff" * (vector["sizeInBytes"] - 12)
        vector["pathOrInlineDv"] = encode85(data)
    elif what in ("of another size", "inline, of another size"):
        vector["sizeInBytes"] += 4
    elif what == "of another number of rows":
        vector["cardinality"] = 4
    elif what == "of no known kind":
        vector["storageType"] = "x"
    table.commit(table.remove(add), {"add": {**add["add"], "deletionVector": vector}})
    if inline:
        return "deletion vector"
    (file,) = table.root.glob("deletion_vector_*.bin")
    content = bytearray(file.read_bytes())
    if what == "damaged":
        content[-5] ^= 1
    elif what == "of another format":
        content[0] = 2
    elif what == "cut":
        del content[-3:]
    file.write_bytes(content)
    if what == "missing":
        file.unlink()
    return "do not belong together" if what == "another file's" else "deletion vector"


@pytest.mark.parametrize(
    "what",
    [
        "another file's",
        "no base 85",
        "no magic number",
        "no bitmap",
        "inline, of another size",
        "of another size",
        "of another number of rows",
        "of no known kind",
        "damaged",
        "of another format",
        "cut",
        "missing",
    ],
)
def test_a_vector_that_is_not_what_the_log_says_is_the_same_error_with_and_without_workers(
    spark: SparkSession, tmp_path: Path, what: str
) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]), features=["deletionVectors"])
    said = _damage(table, what)
    errors = []
    for plain in (True, False):
        with pytest.raises(Exception, match=f"(?i){said}") as raised:
            lakescan.read(spark, table.path, options={PLAIN: plain}).collect()
        errors.append(next(line for line in str(raised.value).splitlines() if re.search(said, line, re.IGNORECASE)))
    assert errors[0] == errors[1]


def test_a_vector_that_the_log_does_not_place_leaves_its_file_to_a_worker() -> None:
    known: dict[str, Any] = {"storageType": "p", "pathOrInlineDv": "/a%20b/v.bin", "sizeInBytes": 34, "cardinality": 2}
    vectors = pa.chunked_array(
        [
            pa.array(
                [
                    None,
                    {**known, "offset": 7},
                    {**known, "storageType": "u", "pathOrInlineDv": "short", "offset": 1},
                    {**known, "pathOrInlineDv": "s3://bucket/v.bin"},
                    {**known, "cardinality": None},
                ]
            )
        ]
    )
    files = undeleted_files(pa.chunked_array([pa.array([f"/f{at}" for at in range(5)])]))
    placed = with_vectors(Storage("/table"), files, vectors)
    assert placed["path"].to_pylist() == ["/f0", "/f1", None, None, None]
    assert placed["vector_file"].to_pylist()[:2] == [None, "/a b/v.bin"]
    assert placed["vector_offset"].to_pylist()[1] == 7
