"""The pieces of a task: which row groups are theirs, and which of them a worker is left."""

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import lakescan
from lakescan.predicate import TRUE
from lakescan.reader.read import read_task
from lakescan.reader.read_plan import ReadTask
from lakescan.reader.row_groups import row_groups
from lakescan.spark.bridge import Bridge
from lakescan.spark.bridge.java_classes import executor_class
from tests.compare import bag
from tests.parquet_bytes import write_sums
from tests.spark.conftest import WrittenDown
from tests.strategies import many
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark

ONE_COLUMN = pa.schema([("id", pa.int64())])


def rows_of(spark: SparkSession, path: str, **options: Any) -> pa.Table:
    table: pa.Table = lakescan.read(spark, path, options=options).toArrow()
    return table


def test_only_the_files_that_spark_cannot_read_are_left_to_a_worker(
    spark: SparkSession, tmp_path: Path, left_to_workers: WrittenDown
) -> None:
    table = DeltaBuilder(tmp_path, ONE_COLUMN)
    # Of sixty small files each of two tasks reads thirty.
    odd = {10, 11, 12, 20, 29, 30, 45, 59}
    for file in range(60):
        kind = pa.int32() if file in odd else pa.int64()
        table.append(pa.table({"id": pa.array([file, -file], kind)}), name=f"{file:02d}.parquet", stats=False)
    ids = rows_of(spark, table.path)["id"].to_pylist()
    assert ids == [value for file in range(60) for value in (file, -file)]
    told = [([f"{file:02d}.parquet" for file in run], 0) for run in ([10, 11, 12], [20], [29], [30], [45], [59])]
    assert left_to_workers() == told


def test_the_files_behind_one_that_fails_are_sparks_again(
    spark: SparkSession, tmp_path: Path, left_to_workers: WrittenDown
) -> None:
    table = DeltaBuilder(tmp_path, ONE_COLUMN)
    for first in (0, 100_000, 200_000):
        rows = pa.table({"id": range(first, first + 30_000)})
        name = f"{first:06d}.parquet"
        table.append(rows, name=name, row_group_size=10_000, compression="none", use_dictionary=False)
        # Hadoop checks a local file against the sums beside it, Arrow does not: wrong sums stop Spark's reader alone.
        chunk = pq.ParquetFile(tmp_path / name).metadata.row_group(1).column(0)
        if first == 100_000:
            write_sums(tmp_path / name, wrong_at=chunk.data_page_offset + chunk.total_compressed_size // 2)
    frame = lakescan.read(spark, table.path).coalesce(1)
    assert frame.toArrow()["id"].to_pylist() == [
        id for first in (0, 100_000, 200_000) for id in range(first, first + 30_000)
    ]
    assert left_to_workers() == [(["100000.parquet"], 10_000)]


@pytest.mark.parametrize("deleted", [[], [0], [3, 4, 5], [9], [*range(1, 10)]])
@pytest.mark.parametrize("row", [0, 1, 3, 4, 5, 8, 9, 10])
def test_a_worker_reads_a_piece_from_any_row_on(tmp_path: Path, row: int, deleted: list[int]) -> None:
    table = DeltaBuilder(tmp_path, ONE_COLUMN, features=["deletionVectors"])
    first = table.append(pa.table({"id": range(10)}), row_group_size=4)
    if deleted:
        table.delete(first, deleted)
    table.append(pa.table({"id": range(10, 13)}))
    scan = lakescan.open(table.path).snapshot().scan().build()
    (task,) = scan.tasks(1)
    assert isinstance(task, ReadTask)
    pieces = task.pieces.sort_by("path")
    rest = pickle.loads(pickle.dumps(ReadTask(pieces, from_row=row)))
    ids = [value for batch in read_task(scan.read_plan, rest) for value in batch.column(0).to_pylist()]
    assert ids == [id for id in range(13) if id >= row and id not in deleted]


@given(data=st.data())
@many(40)
def test_both_readers_have_one_rule_for_the_row_groups_of_a_piece(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    columns = data.draw(st.integers(1, 4))
    rows = data.draw(st.integers(0, 300))
    file = tmp_path_factory.mktemp("cut") / "f.parquet"
    pq.write_table(
        pa.table({f"c{at}": [f"{at}-{row}" for row in range(rows)] for at in range(columns)}),
        file,
        row_group_size=data.draw(st.integers(1, 80)),
        compression=data.draw(st.sampled_from(["none", "zstd"])),
        use_dictionary=data.draw(st.booleans()),
    )
    size = file.stat().st_size
    cuts = sorted({0, *data.draw(st.lists(st.integers(1, size + 10), max_size=8))})
    ends = [*cuts[1:], 2**62]
    metadata, groups = pq.ParquetFile(file).metadata, blocks(spark, file)
    read: list[int] = []
    for start, end in zip(cuts, ends, strict=True):
        python = [group.index for group in row_groups(metadata, start, end - start, TRUE, {})]
        assert groups_in(spark, groups, start, end - start) == python
        read += python
    assert sorted(read) == [*range(metadata.num_row_groups)]


def blocks(spark: SparkSession, file: Path) -> Any:
    jvm: Any = spark._jvm
    configuration = spark._jsc.hadoopConfiguration()
    source = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(
        jvm.org.apache.hadoop.fs.Path(str(file)), configuration
    )
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(source)
    try:
        return reader.getFooter().getBlocks()
    finally:
        reader.close()


def groups_in(spark: SparkSession, groups: Any, start: int, length: int) -> list[int]:
    bridge = Bridge(spark)
    pieces = executor_class(bridge, "FilePiece")
    (method,) = (method for method in pieces.getMethods() if method.getName() == "groupsIn")
    jvm: Any = spark._jvm
    arguments = [groups, jvm.java.lang.Long.valueOf(start), jvm.java.lang.Long.valueOf(length)]
    return list(method.invoke(None, bridge.array("java.lang.Object", arguments)))


def test_rows_of_odd_and_plain_files_are_those_of_workers_alone(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, ONE_COLUMN)
    for file in range(9):
        kind = pa.int32() if file % 3 == 1 else pa.int64()
        table.append(pa.table({"id": pa.array([file, None], kind)}), stats=False)
    rows = rows_of(spark, table.path)
    assert rows.num_rows == 18
    assert bag(rows) == bag(rows_of(spark, table.path, **{"lakescan.pushdown.plain_files": False}))
