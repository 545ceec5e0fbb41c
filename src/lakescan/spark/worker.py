"""What a Spark Python worker runs: a pickled task in, Arrow batches out."""

import pickle
from collections.abc import Callable, Iterator

import pyarrow as pa

from lakescan.errors import LakescanError
from lakescan.reader.plan import ReadPlan
from lakescan.reader.read import read_task

Reader = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def partition_reader(plan: ReadPlan) -> Reader:
    """The function that Spark sends to its workers; it gets its task as the one value of a batch."""

    def read(tasks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in tasks:
            for task in batch.column(0).to_pylist():
                try:
                    yield from read_task(plan, pickle.loads(task))
                except LakescanError as error:
                    # The message says it all: which file, what is wrong, what to do. Our own frames only hide it.
                    raise error.with_traceback(None) from None

    return read
