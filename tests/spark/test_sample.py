"""`TABLESAMPLE SYSTEM`: the rows of whole files, in Spark as the planner draws them; a sample of rows stays Spark's."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

import lakescan
from lakescan.scan import builder
from lakescan.scan.sample import Sample
from lakescan.scan.settings import Settings
from lakescan.spark.bridge import Bridge
from lakescan.spark.dsv2.scan_builder import SparkScanBuilder
from tests.sample_tables import sample_tables
from tests.scan.test_sample import taken
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark

RELEASE = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
of_whole_files = pytest.mark.skipif(RELEASE < (4, 2), reason="Spark has TABLESAMPLE SYSTEM since 4.2")
FILES, ROWS = 24, 10


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> DeltaBuilder:
    """So many files of so many rows in two partitions; ids go on from file to file."""
    schema = pa.schema([("id", pa.int64()), ("name", pa.string()), ("day", pa.int32())])
    built = DeltaBuilder(tmp_path_factory.mktemp("t"), schema, partition_by=["day"])
    for number in range(FILES):
        ids = range(number * ROWS, (number + 1) * ROWS)
        built.append(pa.table({"id": ids, "name": [f"n{i}" for i in ids]}), partition={"day": str(number % 2)})
    return built


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Sample]:
    """The samples that Spark has asked for since the test began: it draws a seed for each plan."""
    samples: list[Sample] = []

    def noted(fraction: float, seed: int) -> Sample:
        samples.append(Sample(fraction, seed))
        return samples[-1]

    monkeypatch.setattr(builder, "Sample", noted)
    return samples


def asked(spark: SparkSession, table: DeltaBuilder, sql: str, options: dict[str, Any] | None = None) -> DataFrame:
    lakescan.read(spark, table.path, options=options).createOrReplaceTempView("sampled")
    return spark.sql(sql)


def ids_of(table: DeltaBuilder, sample: Sample) -> list[int]:
    """The ids in the files that a sample takes, as Arrow reads them."""
    added = [action["add"]["path"] for action in table.live_actions() if "add" in action]
    paths = [path for path in added if taken(path, sample.fraction, sample.seed)]
    return sorted(i for path in paths for i in pq.ParquetFile(table.root / path).read(["id"])["id"].to_pylist())


@of_whole_files
@pytest.mark.parametrize("percent", [0, 10, 37.5, 50, 100])
def test_a_sample_is_the_rows_of_the_files_that_its_seed_takes(
    spark: SparkSession, table: DeltaBuilder, drawn: list[Sample], percent: float
) -> None:
    frame = asked(spark, table, f"SELECT id, day, name FROM sampled TABLESAMPLE SYSTEM ({percent} PERCENT)")
    rows = frame.collect()
    (sample,) = drawn
    assert sample.fraction == percent / 100
    wanted = ids_of(table, sample)
    assert sorted(row.id for row in rows) == wanted
    assert all(row.day == row.id // ROWS % 2 and row.name == f"n{row.id}" for row in rows)
    if percent in (0, 100):
        assert len(wanted) == FILES * ROWS * percent / 100
    (scan,) = lakescan.report(frame).scans
    assert [(step.name, step.files) for step in scan.steps][1:] == [("sample", len(wanted) // ROWS)]


WHERE = "id % 3 = 1 AND id > 35 AND day = 1"
QUERIES: dict[str, Callable[[list[int]], Any]] = {
    "SELECT count(*), min(id), max(id) FROM SAMPLE": lambda ids: [
        (len(ids), min(ids, default=None), max(ids, default=None))
    ],
    "SELECT day, count(*) FROM SAMPLE GROUP BY day ORDER BY day": lambda ids: sorted(
        Counter(i // ROWS % 2 for i in ids).items()
    ),
    "SELECT sum(id), count(name) FROM SAMPLE WHERE id > 42": lambda ids: [
        (sum(i for i in ids if i > 42) or None, sum(i > 42 for i in ids))
    ],
    f"SELECT id FROM SAMPLE WHERE {WHERE} ORDER BY id": lambda ids: [
        (i,) for i in ids if i % 3 == 1 and i > 35 and i // ROWS % 2 == 1
    ],
    "SELECT id FROM SAMPLE ORDER BY id DESC LIMIT 13": lambda ids: [(i,) for i in ids[::-1][:13]],
    "SELECT id FROM SAMPLE WHERE id BETWEEN 100 AND 180 ORDER BY id LIMIT 7 OFFSET 4": lambda ids: [
        (i,) for i in ids if 100 <= i <= 180
    ][4:11],
    "SELECT count(*) FROM (SELECT * FROM SAMPLE LIMIT 25)": lambda ids: [(min(25, len(ids)),)],
    "SELECT count(*) FROM (SELECT * FROM SAMPLE OFFSET 25)": lambda ids: [(max(0, len(ids) - 25),)],
    "SELECT a.id FROM SAMPLE a JOIN VALUES (0), (15), (77), (150) AS b(id) ON a.id = b.id ORDER BY 1": lambda ids: [
        (i,) for i in (0, 15, 77, 150) if i in ids
    ],
}


@of_whole_files
@pytest.mark.parametrize("sql", QUERIES)
@pytest.mark.parametrize("by_partition", [False, True])
def test_whatever_is_asked_of_a_sample_is_asked_of_its_rows(
    spark: SparkSession, table: DeltaBuilder, drawn: list[Sample], sql: str, by_partition: bool
) -> None:
    options = {"lakescan.planning.by_partition": by_partition}
    for percent in (0, 50, 100):
        text = sql.replace("FROM SAMPLE", f"FROM sampled TABLESAMPLE SYSTEM ({percent} PERCENT)")
        rows = asked(spark, table, text, options).collect()
        assert list(map(tuple, rows)) == QUERIES[sql](ids_of(table, drawn[-1]))


@of_whole_files
def test_a_runtime_filter_drops_files_of_the_sample_only(
    spark: SparkSession, table: DeltaBuilder, drawn: list[Sample], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakescan.scan.runtime_filter._WORTH_BYTES", 0)
    spark.createDataFrame([(0, "x"), (1, "y")], "day int, kind string").createOrReplaceTempView("kinds")
    frame = asked(
        spark,
        table,
        "SELECT id FROM sampled TABLESAMPLE SYSTEM (60 PERCENT) s JOIN kinds k ON s.day = k.day WHERE k.kind = 'y'",
    )
    rows = frame.collect()
    assert sorted(row.id for row in rows) == [i for i in ids_of(table, drawn[-1]) if i // ROWS % 2 == 1]


@of_whole_files
def test_scans_of_one_table_keep_their_own_samples(spark: SparkSession, table: DeltaBuilder) -> None:
    """Spark merges scalar subqueries, reuses exchanges, and may build a scan anew for that."""
    none, every = (f"sampled TABLESAMPLE SYSTEM ({percent} PERCENT)" for percent in (0, 100))
    sums = ", ".join(f"(SELECT sum(id % 7 + {at}) FROM {of})" for at, of in enumerate((none, every, "sampled", none)))
    (row,) = asked(spark, table, f"SELECT {sums}").collect()
    ids = range(FILES * ROWS)
    assert tuple(row) == (None, sum(i % 7 + 1 for i in ids), sum(i % 7 + 2 for i in ids), None)
    joined = f"SELECT count(*) FROM {every} a JOIN {none} b ON a.id = b.id JOIN sampled c ON a.id = c.id"
    assert asked(spark, table, joined).collect() == [(0,)]
    assert asked(spark, table, joined.replace("(0 PER", "(100 PER")).collect() == [(FILES * ROWS,)]


@of_whole_files
def test_the_plan_tells_of_the_sample(spark: SparkSession, table: DeltaBuilder, drawn: list[Sample]) -> None:
    frame = asked(spark, table, "EXPLAIN SELECT id FROM sampled TABLESAMPLE SYSTEM (30 PERCENT)")
    assert f"sample=[30 % by seed {drawn[-1].seed}]" in frame.collect()[0][0]


@of_whole_files
@pytest.mark.parametrize("name", ["cow_v9_steps", "mor_v9_steps"])
def test_a_sample_of_a_hudi_table_takes_whole_slices(
    spark: SparkSession, tmp_path: Path, drawn: list[Sample], name: str
) -> None:
    (sample,) = (known for known in sample_tables("hudi") if known.name == name)
    path = str(sample.unpack(tmp_path))
    lakescan.read(spark, path).createOrReplaceTempView("trips")
    for _ in range(4):
        rows = spark.sql("SELECT * FROM trips TABLESAMPLE SYSTEM (50 PERCENT)").collect()
        plan = lakescan.open(path).snapshot().scan().build()
        files = [file for file in plan.planned.files["path"].to_pylist() if taken(file, 0.5, drawn[-1].seed)]
        wanted = lakescan.open(path).snapshot().scan().sample(0.5, drawn[-1].seed).build()
        assert wanted.planned.files["path"].to_pylist() == files
        assert Counter(row.id for row in rows) == Counter(wanted.to_arrow()["id"].to_pylist())


@of_whole_files
def test_without_the_switch_spark_refuses(spark: SparkSession, table: DeltaBuilder) -> None:
    sql = "SELECT id FROM sampled TABLESAMPLE SYSTEM (100 PERCENT)"
    with pytest.raises(AnalysisException, match="TABLESAMPLE_SYSTEM"):
        asked(spark, table, sql, {"lakescan.pushdown.sample": False}).collect()
    assert asked(spark, table, sql).count() == FILES * ROWS


@of_whole_files
def test_what_no_files_can_answer_spark_refuses(spark: SparkSession, table: DeltaBuilder) -> None:
    with pytest.raises(AnalysisException, match="TABLESAMPLE_SYSTEM_NO_SCAN"):
        asked(
            spark, table, "SELECT * FROM (SELECT * FROM sampled WHERE id > 3) TABLESAMPLE SYSTEM (50 PERCENT)"
        ).collect()
    for refused in ("(50 PERCENT) REPEATABLE (3)", "(3 ROWS)"):
        with pytest.raises(ParseException, match="TABLESAMPLE_SYSTEM"):
            asked(spark, table, f"SELECT * FROM sampled TABLESAMPLE SYSTEM {refused}")


def test_a_sample_of_which_spark_names_no_method_is_one_of_rows(spark: SparkSession, table: DeltaBuilder) -> None:
    """As Spark 4.0 and 4.1 ask."""
    asked_builder = SparkScanBuilder(Bridge(spark), lakescan.open(table.path).snapshot(), Settings())
    assert asked_builder.pushTableSample(0.0, 0.5, False, 3) is False


@pytest.mark.parametrize("switch", [True, False])
def test_a_sample_of_rows_is_drawn_by_spark(
    spark: SparkSession, table: DeltaBuilder, drawn: list[Sample], switch: bool
) -> None:
    options = {"lakescan.pushdown.sample": switch}
    frame = asked(spark, table, "SELECT id FROM sampled TABLESAMPLE (40 PERCENT) REPEATABLE (3)", options)
    per_file = Counter(row.id // ROWS for row in frame.collect())
    assert any(0 < count < ROWS for count in per_file.values())
    whole = lakescan.read(spark, table.path, options=options)
    again = whole.select("id").sample(fraction=0.4, seed=3)
    assert [row.id for row in frame.collect()] == [row.id for row in again.collect()]
    assert whole.sample(True, 2.0, seed=1).count() > 0
    assert not drawn
