"""Filters in the executor: pages without a row that passes are not read, and the rows are those of a worker."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import lakescan
from lakescan.predicate import TRUE, And, Column, Comparison, Constant, In, IsNull, Literal, Not, Or, StartsWith
from lakescan.predicate import Predicate as Filter
from lakescan.spark.dsv2 import plain_files
from lakescan.spark.dsv2.filter_words import FilterWords
from tests.compare import bag
from tests.parquet_bytes import write_sums
from tests.spark.conftest import WrittenDown
from tests.strategies import COLUMNS, VALUES, many, random_filter
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark

PAGES: dict[str, Any] = {"write_page_index": True, "data_page_size": 400, "write_batch_size": 50}
# PySpark 4.0 fills a buffer for each range of pages that it reads; later ones read just the range.
BUFFER = 65_536 if pyspark.__version__.startswith("4.0.") else 0
BIG = {"write_page_index": True, "data_page_size": 4_000, "write_batch_size": 500, "compression": "none"}


@pytest.fixture(autouse=True, scope="module")
def every_file_is_looked_at() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_files, "WORTH_LOOKING_AT_PAGES", 0)
        patch.setattr(plain_files, "SMALL_SCAN", -1)
        yield


def numbers(root: Path, rows: int = 60_000, **options: Any) -> DeltaBuilder:
    """One file with a column in order and one in none."""
    schema = pa.schema([("id", pa.int64()), ("mixed", pa.int64()), ("name", pa.string())])
    table = DeltaBuilder(root, schema, features=["deletionVectors"])
    ids = range(rows)
    columns = {"id": ids, "mixed": [id * 7_919 % rows for id in ids], "name": [f"name {id:06d}" for id in ids]}
    table.append(pa.table(columns), name="f.parquet", stats=False, **{**BIG, "use_dictionary": False, **options})
    return table


def ids(spark: SparkSession, table: DeltaBuilder, condition: str, **options: Any) -> list[int]:
    rows = lakescan.read(spark, table.path, options=options).where(condition).select("id").toArrow()
    return list(rows["id"].to_pylist())


def bytes_read(spark: SparkSession) -> int:
    """What Hadoop has read of local files by now."""
    jvm: Any = spark._jvm
    return sum(statistics.getBytesRead() for statistics in jvm.org.apache.hadoop.fs.FileSystem.getAllStatistics())


@pytest.mark.usefixtures("no_python")
@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ("id BETWEEN 30000 AND 30059", range(30_000, 30_060)),
        ("id = 59999", [59_999]),
        ("id < 3 OR id >= 59998", [0, 1, 2, 59_998, 59_999]),
        ("id IN (7, 40000)", [7, 40_000]),
        (f"id IN ({', '.join(map(str, range(500, 560)))})", range(500, 560)),
        ("name LIKE 'name 01234%'", range(12_340, 12_350)),
        ("name = 'name 000099' AND mixed >= 0", [99]),
        ("id > 100000", []),
        ("id IS NULL", []),
    ],
)
def test_a_filter_on_a_sorted_column_reads_only_its_pages(
    spark: SparkSession, tmp_path: Path, condition: str, wanted: Any
) -> None:
    table = numbers(tmp_path)
    ids(spark, table, "id = 1")
    before = bytes_read(spark)
    assert ids(spark, table, condition) == list(wanted)
    # The footer is read twice, the index of the pages and then pages, of up to three columns.
    assert bytes_read(spark) - before - 3 * BUFFER < (tmp_path / "f.parquet").stat().st_size / 8


@pytest.mark.usefixtures("no_python")
@pytest.mark.parametrize("step", [1, 3])
def test_deleted_rows_are_found_where_pages_between_them_are_left_out(
    spark: SparkSession, tmp_path: Path, step: int
) -> None:
    table = numbers(tmp_path, row_group_size=25_000)
    (add,) = (action for action in table.live_actions() if "add" in action)
    gone = {*range(0, 60_000, 7), *range(24_000, 26_000, step)}
    table.delete(add, gone)
    kept = [id for id in range(60_000) if id not in gone]
    condition = "id BETWEEN 23990 AND 26010 OR id > 59990 OR id = 35"
    assert ids(spark, table, condition) == [id for id in kept if 23_990 <= id <= 26_010 or id > 59_990 or id == 35]


@pytest.mark.usefixtures("no_python")
def test_row_groups_are_left_out_where_there_is_no_index_of_pages(spark: SparkSession, tmp_path: Path) -> None:
    table = numbers(tmp_path, row_group_size=5_000, write_page_index=False)
    assert ids(spark, table, "id BETWEEN 4990 AND 5010") == [*range(4_990, 5_011)]


def test_a_filter_for_which_every_page_must_be_read_is_left_to_a_worker(
    spark: SparkSession, tmp_path: Path, left_to_workers: WrittenDown
) -> None:
    table = numbers(tmp_path)
    wanted = [id for id in range(60_000) if id * 7_919 % 60_000 == 30_000]
    assert ids(spark, table, "mixed = 30000") == wanted
    assert left_to_workers() == [(["f.parquet"], 0)]


@pytest.mark.usefixtures("no_python")
def test_a_small_scan_is_filtered_in_executors(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = numbers(tmp_path)
    monkeypatch.setattr(plain_files, "SMALL_SCAN", (tmp_path / "f.parquet").stat().st_size)
    wanted = [id for id in range(60_000) if id * 7_919 % 60_000 == 30_000]
    assert ids(spark, table, "mixed = 30000") == wanted
    assert ids(spark, table, "name IN ('name 000003', 'name 059999') OR id < 2") == [0, 1, 3, 59_999]


def test_a_small_file_of_a_larger_scan_is_filtered_by_a_worker(
    spark: SparkSession, tmp_path: Path, left_to_workers: WrittenDown, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = numbers(tmp_path)
    monkeypatch.setattr(plain_files, "WORTH_LOOKING_AT_PAGES", (tmp_path / "f.parquet").stat().st_size + 1)
    assert ids(spark, table, "id = 3") == [3]
    assert left_to_workers() == [(["f.parquet"], 0)]


@pytest.mark.usefixtures("no_python")
def test_what_a_filter_that_spark_evaluates_implies_leaves_out_pages(spark: SparkSession, tmp_path: Path) -> None:
    table = numbers(tmp_path)
    before = bytes_read(spark)
    assert ids(spark, table, "id < 20 AND length(name) + mixed > 0", **{"lakescan.pushdown.filters": False}) == [
        *range(20)
    ]
    assert bytes_read(spark) - before < (tmp_path / "f.parquet").stat().st_size / 8


@pytest.mark.usefixtures("no_python")
@pytest.mark.parametrize("claimed", [True, False])
def test_nulls_are_dropped_without_a_worker(spark: SparkSession, tmp_path: Path, claimed: bool) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64()), ("name", pa.string())]), features=["deletionVectors"])
    names = pa.array([None if id % 3 == 0 or 5_000 < id < 9_500 else "a" for id in range(10_000)])
    table.delete(table.append(pa.table({"id": range(10_000), "name": names}), stats=False), [1, 4, 6])
    frame = lakescan.read(spark, table.path, options={"lakescan.pushdown.filters": claimed})
    actual = frame.where("name IS NOT NULL AND id IS NOT NULL").select("id").toArrow()["id"].to_pylist()
    assert actual == [id for id in range(10_000) if names[id].is_valid and id not in (1, 4, 6)]


@pytest.mark.usefixtures("no_python")
def test_a_limit_needs_no_worker(spark: SparkSession, tmp_path: Path) -> None:
    table = numbers(tmp_path)
    assert len(lakescan.read(spark, table.path).limit(5).collect()) == 5
    assert len(lakescan.read(spark, table.path).where("id > 59000").limit(2).collect()) == 2


# Hadoop checks a local file against the sums beside it, Arrow does not: wrong sums stop Spark's reader alone.
def test_a_worker_reads_on_where_pages_were_left_out(
    spark: SparkSession, tmp_path: Path, left_to_workers: WrittenDown
) -> None:
    table = numbers(tmp_path, row_group_size=20_000)
    (add,) = (action for action in table.live_actions() if "add" in action)
    table.delete(add, range(10_000, 10_100))
    chunk = pq.ParquetFile(tmp_path / "f.parquet").metadata.row_group(1).column(0)
    write_sums(tmp_path / "f.parquet", wrong_at=chunk.data_page_offset + chunk.total_compressed_size // 2)
    condition = "id BETWEEN 9000 AND 11000 OR id BETWEEN 28000 AND 32000 OR id > 59000"
    wanted = [*range(9_000, 10_000), *range(10_100, 11_001), *range(28_000, 32_001), *range(59_001, 60_000)]
    assert ids(spark, table, condition) == wanted
    ((files, row),) = left_to_workers()
    assert files == ["f.parquet"]
    assert 11_000 <= row <= 30_000


@given(data=st.data())
@many(10)
def test_any_filter_passes_the_same_rows_as_without_spark(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    random = Random(data.draw(st.integers(0, 2**32)))
    names = random.sample([name for name in COLUMNS if name != "st"], 3)
    schema = pa.schema([("row", pa.int64()), *((name, COLUMNS[name]) for name in names)])
    rows = random.choice([50, 700, 6_000])
    columns = [pa.array(range(rows), pa.int64()), *(column(random, COLUMNS[name], rows) for name in names)]
    table = DeltaBuilder(tmp_path_factory.mktemp("any"), schema, features=["deletionVectors", "timestampNtz"])
    added = table.append(
        pa.Table.from_arrays(columns, schema=schema),
        stats=False,
        row_group_size=random.choice([max(1, rows // 5), rows]),
        store_decimal_as_integer=random.random() < 0.8,
        use_dictionary=random.random() < 0.5,
        **PAGES,
    )
    if random.random() < 0.5:
        table.delete(added, [row for row in range(rows - 1) if random.random() < 0.2])
    for _ in range(3):
        predicate = random_filter(random, schema, random.randint(0, 2))
        wanted = lakescan.open(table.path).snapshot().scan().filter(predicate).build().to_arrow()
        for claimed in (True, False):
            options = {"lakescan.pushdown.filters": claimed}
            actual = lakescan.read(spark, table.path, options=options).where(spark_text(predicate)).toArrow()
            assert bag(actual) == bag(wanted), (str(predicate), claimed)


def column(random: Random, kind: pa.DataType, rows: int) -> pa.Array:
    """Values in runs, so that some pages have none of a value; nulls in runs and alone."""
    run = random.choice([1, 40, 600])
    values: list[Any] = []
    while len(values) < rows:
        value = None if random.random() < 0.15 else random.choice(VALUES[kind])
        values += [value] * random.randint(1, run)
    return pa.array(values[:rows], kind)


_TYPES = {
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
    pa.timestamp("us", "UTC"): "TIMESTAMP",
    pa.timestamp("us"): "TIMESTAMP_NTZ",
    pa.decimal128(7, 2): "DECIMAL(7,2)",
    pa.bool_(): "BOOLEAN",
}


def spark_text(predicate: Filter) -> str:
    """The same filter in Spark's SQL."""
    match predicate:
        case Constant(value):
            return "CAST(NULL AS BOOLEAN)" if value is None else str(value)
        case And(left, right):
            return f"({spark_text(left)} AND {spark_text(right)})"
        case Or(left, right):
            return f"({spark_text(left)} OR {spark_text(right)})"
        case Not(child):
            return f"(NOT {spark_text(child)})"
        case IsNull(name):
            return f"({name} IS NULL)"
        case StartsWith(name, prefix):
            return f"startswith({name}, '{prefix}')"
        case In(name, ()):
            return "FALSE"
        case In(name, values):
            return f"({name} IN ({', '.join(map(_literal, values))}))"
        case Comparison(op, name, right):
            return f"({name} {op} {right if isinstance(right, Column) else _literal(right)})"


def _literal(literal: Literal) -> str:
    kind = _TYPES[literal.type]
    if literal.value is None:
        return f"CAST(NULL AS {kind})"
    return f"X'{literal.value.hex()}'" if isinstance(literal.value, bytes) else f"CAST('{literal.value}' AS {kind})"


# Without Spark: what has words.

FIELDS = [pa.field("id", pa.int64()), pa.field("name", pa.string()), pa.field("s", pa.struct([("a", pa.int64())]))]


def test_a_filter_is_written_with_its_operands_before_its_operators() -> None:
    words = FilterWords(FIELDS)
    other = Comparison("<>", Column(("name",)), Literal("a", pa.string()))
    text = words.whole(And(Not(IsNull(Column(("id",)))), other))
    assert text is not None
    assert text == "column 0\nnull\nnot\ncolumn 1\nliteral 0\n<>\nand"
    stream = pa.ipc.open_stream(words.stream(text, "", "true", always=False))
    told = {b"rows": text.encode(), b"not_null": b"", b"wanted": b"true", b"always": b"false"}
    assert stream.schema.metadata == told
    assert stream.read_all().to_pylist() == [{"0": "a"}]


def test_nulls_that_are_dropped_are_told_by_their_columns_alone() -> None:
    id, name = (Not(IsNull(Column((column,)))) for column in ("id", "name"))
    words = FilterWords(FIELDS)
    assert words.not_null(And(name, id)) == "1 0"
    assert words.not_null(And(name, Comparison("=", Column(("id",)), Literal(1, pa.int64())))) is None
    assert words.not_null(Not(IsNull(Column(("s", "a"))))) is None
    # Few pages have nothing but nulls.
    assert words.part(And(name, id)) == ""


@pytest.mark.parametrize(
    "predicate",
    [
        IsNull(Column(("s",))),
        IsNull(Column(("s", "a"))),
        IsNull(Column(("elsewhere",))),
        Comparison("=", Column(("id",)), Literal(1, pa.int32())),
        In(Column(("id",)), ()),
        In(Column(("id",)), (Literal(1, pa.int64()), Literal("1", pa.string()))),
    ],
    ids=str,
)
def test_what_spark_has_no_words_for_is_left_out_and_the_rest_of_an_and_is_not(predicate: Filter) -> None:
    words = FilterWords(FIELDS)
    assert words.whole(predicate) is None
    assert words.part(predicate) == words.part(TRUE) == ""
    known = words.part(And(predicate, IsNull(Column(("id",)))))
    assert known == "column 0\nnull"
    assert words.part(Or(predicate, IsNull(Column(("id",))))) == ""
