"""A copy-on-write Hudi table of 8 million rows, against Spark's own Parquet reader on the same base files.

Hudi has no writer in Python, so the table is written by hand: base files, a commit that names them, and the table's
properties. Both sides hand every row of the wanted columns to Spark's `noop` sink.
"""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from harness import Result, compare
from pyspark.sql import SparkSession
from scan_columns import DATA, FILES, ROWS_PER_FILE, consume, rows_of

import lakescan

INSTANT = "20240101000000000"
BOUND = 1.2
META = ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path")
_AVRO = {
    pa.int64(): "long",
    pa.int32(): "int",
    pa.float64(): "double",
    pa.string(): "string",
    pa.timestamp("us", "UTC"): {"type": "long", "logicalType": "timestamp-micros"},
}
_PROPERTIES = {
    "hoodie.table.name": "bench",
    "hoodie.table.type": "COPY_ON_WRITE",
    "hoodie.table.version": "6",
    "hoodie.timeline.layout.version": "1",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    "hoodie.table.base.file.format": "PARQUET",
}


def build(path: Path) -> list[str]:
    """The table, written once and kept; gives its base files."""
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        (unfinished / ".hoodie").mkdir(parents=True)
        write(unfinished)
        unfinished.rename(path)
    return [str(file) for file in sorted(path.glob("*.parquet"))]


def write(path: Path) -> None:
    stats = []
    for number in range(FILES):
        rows = rows_of(number)
        name = f"file-{number}-0_{number}-0-0_{INSTANT}.parquet"
        own = [pa.array([INSTANT] * len(rows)), pa.array([f"{INSTANT}_{number}_{at}" for at in range(len(rows))])]
        own += [rows["id"].cast(pa.string()), pa.array([""] * len(rows)), pa.array([name] * len(rows))]
        names = [*META, "_hoodie_file_name", *rows.column_names]
        pq.write_table(pa.table([*own, *rows.columns], names=names), path / name)
        size = (path / name).stat().st_size
        stats.append({"fileId": f"file-{number}-0", "path": name, "numWrites": len(rows), "fileSizeInBytes": size})
    fields = [{"name": field.name, "type": ["null", _AVRO[field.type]]} for field in rows.schema]
    schema = json.dumps({"type": "record", "name": "bench", "fields": fields})
    commit = {"partitionToWriteStats": {"": stats}, "extraMetadata": {"schema": schema}, "operationType": "BULK_INSERT"}
    (path / ".hoodie" / f"{INSTANT}.commit").write_text(json.dumps(commit))
    text = "\n".join(f"{key}={value}" for key, value in _PROPERTIES.items())
    (path / ".hoodie" / "hoodie.properties").write_text(text + "\n")
    (path / ".hoodie_partition_metadata").write_text(f"commitTime={INSTANT}\npartitionDepth=0\n")


def run(spark: SparkSession) -> Iterable[Result]:
    path = DATA / f"hudi_scan_{FILES}x{ROWS_PER_FILE}"
    files = build(path)
    for name, columns in (("2 of 12", ["amount", "quantity"]), ("7 of 12", rows_of(0).column_names)):
        yield compare(
            f"Hudi copy on write, {name} columns, 8 M rows",
            lambda columns=columns: consume(lakescan.read(spark, str(path)).select(*columns)),  # type: ignore[misc]
            lambda columns=columns: consume(spark.read.parquet(*files).select(*columns)),  # type: ignore[misc]
            BOUND,
        )
