"""Hudi tables through Spark SQL: paths, names, time travel, errors, and Hudi's own switch."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import lakescan
from lakescan.errors import InvalidOption
from tests.compare import first_row
from tests.sample_tables import sample_table
from tests.spark.test_options import loads_with_options
from tests.tables import DeltaBuilder

from .builder import HudiBuilder
from .tables import COW_PARTITIONED, MOR_STEPS, TRIPS_DELETED, TRIPS_INDEXED, TRIPS_UPDATED, open_hudi, rows_of

pytestmark = pytest.mark.spark
Unpack = Callable[[str], Path]
SWITCH = "hoodie.datasource.read.use.dsv2"


@pytest.fixture
def switch(spark: SparkSession) -> Iterator[Callable[[str], None]]:
    yield lambda value: spark.conf.set(SWITCH, value)
    spark.conf.unset(SWITCH)
    lakescan.install(spark)


@pytest.mark.parametrize("name", [COW_PARTITIONED, MOR_STEPS, TRIPS_INDEXED, "cow_v6_empty"])
def test_sql_by_path_has_the_rows_and_types_of_the_table(name: str, spark: SparkSession, unpack: Unpack) -> None:
    path = unpack(name)
    frame = spark.sql(f"SELECT * FROM hudi.`{path}`")
    expected = lakescan.open(path).snapshot().scan().build().to_arrow()
    assert frame.columns == expected.schema.names
    assert rows_of(frame.toArrow().cast(expected.schema)) == rows_of(expected)
    assert first_row(spark.sql(f"SELECT count(*) FROM hudi.`{path}`"))[0] == len(sample_table(name).rows)


def test_a_table_by_name_and_a_data_frame_have_the_same_rows(spark: SparkSession, unpack: Unpack) -> None:
    path = unpack(TRIPS_UPDATED)
    lakescan.attach(spark, "hudi_trips", path)
    by_name = spark.sql("SELECT * FROM lake.hudi_trips").toArrow()
    assert rows_of(by_name) == rows_of(lakescan.read(spark, path).toArrow())


def test_a_partition_filter_is_claimed_and_the_rest_is_left_to_spark(spark: SparkSession, unpack: Unpack) -> None:
    frame = spark.sql(f"SELECT rider FROM hudi.`{unpack(TRIPS_UPDATED)}` WHERE city = 'lima' AND fare > 26")
    assert sorted(row.rider for row in frame.collect()) == ["rider-D"]
    (scan,) = lakescan.report(frame).scans
    assert (scan.files_total, scan.files_planned) == (3, 1)


def test_time_travel_by_instant_and_by_time(spark: SparkSession, unpack: Unpack) -> None:
    path = unpack(TRIPS_DELETED)
    first, last = open_hudi(path).snapshot().timeline.instants
    count = "SELECT count(*) FROM hudi.`{}` {}"
    assert first_row(spark.sql(count.format(path, f"VERSION AS OF '{first}'")))[0] == 8
    assert first_row(spark.sql(count.format(path, f"VERSION AS OF '{last}'")))[0] == 5
    moment = datetime.strptime(last[:14], "%Y%m%d%H%M%S") - timedelta(seconds=1)
    assert first_row(spark.sql(count.format(path, f"TIMESTAMP AS OF '{moment}'")))[0] == 8


def test_a_read_optimized_query_reads_the_base_files_alone(spark: SparkSession, unpack: Unpack) -> None:
    path = unpack(TRIPS_DELETED)
    option = {"hoodie.datasource.query.type": "read_optimized"}
    expected = rows_of(open_hudi(path).read_optimized().snapshot().scan().build().to_arrow())
    assert len(expected) == 8
    lakescan.attach(spark, "optimized", path, option)
    lakescan.attach(spark, "merged", path)
    frames = [
        lakescan.read(spark, path, options=option),
        spark.sql("SELECT * FROM lake.optimized"),
        spark.read.format("lakescan").options(**option).load(str(path)),
    ]
    for frame in frames:
        assert rows_of(frame.toArrow()) == expected
    both = "SELECT (SELECT count(*) FROM lake.optimized), (SELECT count(*) FROM lake.merged)"
    assert tuple(first_row(spark.sql(both))) == (8, 5)


def test_one_query_reads_a_table_with_and_without_the_option(spark: SparkSession, unpack: Unpack) -> None:
    """Spark keeps the relations of a query by name: one must not get what another was asked for."""
    name = f"hudi.`{unpack(TRIPS_DELETED)}`"
    optimized = f"{name} WITH (`hoodie.datasource.query.type` = 'read_optimized')"
    if not loads_with_options(spark):
        with pytest.raises(PySparkException, match=r"query\.type cannot be used: .*Write lakescan\.read"):
            spark.sql(f"SELECT * FROM {optimized}").collect()
        return
    for left, right in ((name, optimized), (optimized, name)):
        rows = spark.sql(f"SELECT count(*) AS n FROM {left} UNION ALL SELECT count(*) FROM {right}").collect()
        assert sorted(row.n for row in rows) == [5, 8]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("incremental", r"needs hoodie\.datasource\.read\.begin\.instanttime"),
        ("read-optimized", "neither 'snapshot' nor"),
    ],
)
def test_a_query_type_that_is_not_read_is_told_where_it_was_written(
    kind: str, said: str, spark: SparkSession, unpack: Unpack
) -> None:
    option = {"hoodie.datasource.query.type": kind}
    with pytest.raises(InvalidOption, match=said):
        lakescan.read(spark, unpack(TRIPS_DELETED), options=option)
    with pytest.raises(InvalidOption, match=said):
        lakescan.attach(spark, "mistyped", unpack(TRIPS_DELETED), option)


def test_hudi_s_query_type_is_refused_for_a_delta_table(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    with pytest.raises(InvalidOption, match="an option of hudi tables"):
        lakescan.read(spark, tmp_path, options={"hoodie.datasource.query.type": "read_optimized"})


def test_changes_are_the_rows_that_the_commits_wrote(spark: SparkSession, unpack: Unpack) -> None:
    path = unpack(TRIPS_INDEXED)
    table = open_hudi(path)
    instants = table.snapshot().timeline.instants
    for start in instants:
        expected = rows_of(table.changes(start).scan().build().to_arrow())
        frame = lakescan.changes(spark, path, start)
        assert rows_of(frame.toArrow()) == expected
        assert frame.count() == len(expected)
    assert lakescan.changes(spark, path, instants[0], instants[0]).count() == 8


@pytest.mark.skipif(tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 2), reason="admission control")
def test_a_stream_goes_on_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    table = HudiBuilder(tmp_path / "table")

    def write(group: int, *ids: int) -> None:
        table.upsert(group, pa.table({"id": pa.array(ids, pa.int64()), "value": [f"v{at}" for at in ids]}))

    given: list[int] = []

    def run() -> StreamingQuery:
        stream = spark.readStream.format("lakescan").option("maxFilesPerTrigger", "1").load(str(table.path))
        sink = stream.writeStream.foreachBatch(lambda batch, _: given.extend(row.id for row in batch.collect()))
        query = sink.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    write(0, 1, 2)
    write(1, 3)
    batches = lakescan.progress(run())
    assert sorted(given) == [1, 2, 3]
    assert [(batch.files, batch.rows, batch.versions_behind) for batch in batches] == [(1, 2, 0), (1, 1, 0)]
    write(1, 4)
    reached = table.upsert(0, pa.table({"id": pa.array([5], pa.int64()), "value": ["v5"]}))
    (behind, newest) = lakescan.progress(run())
    assert sorted(given) == [1, 2, 3, 4, 5]
    assert (behind.versions_behind, newest.to_version) == (1, reached)
    for instant in open_hudi(table.path).snapshot().timeline.instants:
        table.archive(instant)
    write(0, 6)
    with pytest.raises(StreamingQueryException, match="archived"):
        run()
    assert sorted(given) == [1, 2, 3, 4, 5]


def test_a_cut_log_block_is_one_message_in_spark(spark: SparkSession, copy: Unpack) -> None:
    path = copy(TRIPS_DELETED)
    (log,) = [log_file for log_file in path.rglob(".*.log.*") if not log_file.name.endswith(".crc")]
    log.write_bytes(log.read_bytes()[:-9])
    with pytest.raises(Exception, match="cut off"):
        spark.sql(f"SELECT * FROM hudi.`{path}`").collect()


def test_a_catalog_has_only_tables_of_its_format(spark: SparkSession, unpack: Unpack) -> None:
    with pytest.raises(IllegalArgumentException, match="is a Hudi table, not a Delta one: write hudi"):
        spark.sql(f"SELECT * FROM delta.`{unpack(TRIPS_UPDATED)}`")


def test_the_switch_leaves_hudi_tables_unclaimed(
    spark: SparkSession, unpack: Unpack, switch: Callable[[str], None]
) -> None:
    path = unpack(TRIPS_UPDATED)
    lakescan.attach(spark, "switched", path)
    switch("false")
    # Spark asks the data source of a name for files where its catalog has no such table, and ours has none.
    for table, told in ((f"hudi.`{path}`", "UNSUPPORTED_DATASOURCE"), ("lake.switched", "TABLE_OR_VIEW_NOT_FOUND")):
        with pytest.raises(AnalysisException, match=told):
            spark.sql(f"SELECT * FROM {table}")
    lakescan.install(spark)
    with pytest.raises(AnalysisException):
        spark.sql(f"SELECT * FROM hudi.`{path}`")
    switch("true")
    lakescan.install(spark)
    assert first_row(spark.sql(f"SELECT count(*) FROM hudi.`{path}`"))[0] == 8
