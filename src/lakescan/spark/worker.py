"""What a Spark Python worker runs: a pickled task in, Arrow batches out.

The batches have the columns of `worker_schema`: those of the scan, or, where it has none, one that stands for the
rows. PySpark 4.0 takes a batch without columns for one without rows, which would make every count zero.
"""

import pickle
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql.types import BooleanType, StructField, StructType

from lakescan.errors import LakescanError
from lakescan.reader.plan import ReadPlan
from lakescan.reader.read import read_task

_ROW = "row"
Reader = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def partition_reader(plan: ReadPlan) -> Reader:
    """The function that Spark sends to its workers; it gets its task as the one value of a batch."""

    def read(tasks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in tasks:
            for task in batch.column(0).to_pylist():
                try:
                    yield from map(_with_a_column, read_task(plan, pickle.loads(task)))
                except LakescanError as error:
                    # The message says it all: which file, what is wrong, what to do. Our own frames only hide it.
                    raise error.with_traceback(None) from None

    return read


def worker_schema(schema: StructType) -> StructType:
    """The columns that batches have on their way from a worker to Spark."""
    return schema if schema.fields else StructType([StructField(_ROW, BooleanType())])


def _with_a_column(batch: pa.RecordBatch) -> pa.RecordBatch:
    if batch.num_columns:
        return batch
    return pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows, pa.bool_())], names=[_ROW])
