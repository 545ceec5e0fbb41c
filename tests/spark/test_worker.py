"""What a Spark worker runs, without Spark: pickled tasks in, Arrow batches out."""

import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

import lakescan
from lakescan.predicate import Column
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.scan.plan import Plan
from lakescan.scan.snapshot import Snapshot
from lakescan.spark.dsv2.worker import partition_reader, worker_schema
from tests.tables import DeltaBuilder


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    """Three files of four rows in two partitions, three rows deleted."""
    schema = pa.schema([("id", pa.int64()), ("day", pa.int32())])
    table = DeltaBuilder(tmp_path, schema, partition_by=["day"], features=["deletionVectors"])
    for file in range(3):
        rows = pa.table({"id": pa.array(range(4 * file, 4 * file + 4), pa.int64())})
        added = table.append(rows, partition={"day": str(file % 2)}, row_group_size=2)
    table.delete(added, [0, 1, 2])
    return lakescan.open(tmp_path).snapshot()


def worked(scan: Plan) -> list[pa.RecordBatch]:
    """What the workers give for all of a scan's tasks."""
    read = partition_reader(scan.read_plan)
    whole = {"first": [0], "pieces": [2**63 - 1], "row": [0]}
    tasks = [pa.record_batch({"task": [pickle.dumps(task)], **whole}) for task in scan.tasks(2)]
    return [batch for task in tasks for batch in read(iter([task]))]


# PySpark 4.0 takes a batch without columns for one without rows: COUNT(*) was 0.
@pytest.mark.parametrize(
    ("columns", "where", "rows"),
    [
        ((), "TRUE", 9),
        ((), "id >= 3", 6),
        ((), "day = 1", 4),
        ((), "id > 100", 0),
        (("day",), "TRUE", 9),
        (("day",), "id >= 3", 6),
        (("id",), "TRUE", 9),
    ],
)
def test_every_batch_has_a_column_and_together_they_have_the_rows_of_the_scan(
    snapshot: Snapshot, columns: tuple[str, ...], where: str, rows: int
) -> None:
    scan = snapshot.scan().filter(where).select(*columns).build()
    batches = worked(scan)
    assert sum(batch.num_rows for batch in batches) == rows == scan.to_arrow().num_rows
    spark_schema = StructType([StructField(name, LongType()) for name in columns])
    assert all(batch.schema.names == worker_schema(spark_schema).names != [] for batch in batches)


def test_partial_rows_have_their_columns(snapshot: Snapshot) -> None:
    how = Aggregation((), (Aggregate("count_rows"), Aggregate("sum", Column(("id",)))))
    batches = worked(snapshot.scan().aggregate(how).build())
    assert {tuple(batch.schema.names) for batch in batches} == {("value_0", "value_1")}
    assert sum(count for batch in batches for count in batch.column(0).to_pylist()) == 9


def test_a_limit_ends_a_task(snapshot: Snapshot) -> None:
    assert sum(batch.num_rows for batch in worked(snapshot.scan().select().limit(3).build())) == 3
