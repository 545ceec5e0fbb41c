"""LIMIT 10 of a table whose checkpoint names a million files, against the same with the whole log replayed.

Both sides open the table anew each time. Only the largest file is really there, the one that both of them read: a
limit takes the files with the most rows first, and asks the largest ones.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from harness import Result, compare
from pyspark.sql import SparkSession
from scan_columns import DATA

import lakescan
from lakescan.formats.delta.snapshot import DeltaSnapshot
from tests.tables import DeltaBuilder

FILES = 1_000_000
ROWS_PER_FILE = 100
ROW_GROUP = 250_000
BOUND = 0.1


def build(path: Path) -> None:
    """The table, written once and kept: a half-written one never gets the final name."""
    if path.exists():
        return
    unfinished = path.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    schema = pa.schema([("id", pa.int64()), ("day", pa.int32())])
    table = DeltaBuilder(unfinished, schema, partition_by=["day"])
    first = table.append(pa.table({"id": pa.array(range(ROWS_PER_FILE))}), partition={"day": "0"}, name="largest")
    (file,) = table.checkpoint()
    head = pq.read_table(file)
    others = adds(head.schema.field("add").type, smaller_than=first["add"]["size"])
    columns = [others if field.name == "add" else pa.nulls(len(others), field.type) for field in head.schema]
    pq.write_table(pa.concat_tables([head, pa.table(columns, schema=head.schema)]), file, ROW_GROUP)
    unfinished.rename(path)


def adds(type_: pa.StructType, smaller_than: int) -> pa.StructArray:
    """The add actions of all files but the first."""
    numbers = np.arange(1, FILES)
    texts, days = (pc.cast(pa.array(column), pa.string()) for column in (numbers, numbers * 50 // FILES))
    low, high = (pc.cast(pa.array(numbers * ROWS_PER_FILE + at), pa.string()) for at in (0, ROWS_PER_FILE - 1))
    bounds = ('},"maxValues":{"id":', high, '},"nullCount":{"id":0}}')
    known = {
        "path": pc.binary_join_element_wise("day=", days, "/part-", texts, ".snappy.parquet", ""),
        "partitionValues": pa.MapArray.from_arrays(
            pa.array(np.arange(FILES), pa.int32()), pa.array(["day"]).take(pa.array(np.zeros(FILES - 1, int))), days
        ),
        "size": pa.array(numbers % smaller_than),
        "modificationTime": pa.array(numbers),
        "dataChange": pa.array(np.zeros(FILES - 1, bool)),
        "stats": pc.binary_join_element_wise(f'{{"numRecords":{ROWS_PER_FILE},"minValues":{{"id":', low, *bounds, ""),
    }
    columns = [known.get(field.name, pa.nulls(FILES - 1, field.type)) for field in type_]
    return pa.StructArray.from_arrays(columns, fields=list(type_))


def first_rows(path: Path) -> None:
    assert lakescan.open(path).snapshot().scan().limit(10).build().to_arrow().num_rows == 10


def first_rows_of_all(path: Path) -> None:
    with patch.object(DeltaSnapshot, "partial_replays", lambda snapshot: iter(())):
        first_rows(path)


def run(spark: SparkSession) -> Iterable[Result]:
    path = DATA / f"long_log_{FILES}"
    build(path)
    yield compare("limit 10 of 1,000,000 files", lambda: first_rows(path), lambda: first_rows_of_all(path), BOUND)
