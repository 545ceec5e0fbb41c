"""Small merge-on-read tables of real Hudi, each with what Hudi itself reads of it.

Each is the smallest that once was read wrong or refused: log files over a base file from before a column was renamed or
widened, log files from before and after that, and a key that a base file has twice. `make tables` runs it; so does
`.venv-hudi/bin/python tests/data/hudi/make_merges.py [name ...]`.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent))

from tests.data.keep import before_spark, keep, rows_of  # noqa: E402
from tests.peers_hudi.walk import hudi_session  # noqa: E402


class Table:
    """A table under way; ids, names and small numbers, with the newest `ts` of an id kept."""

    def __init__(self, spark: SparkSession, path: Path, log_format: str) -> None:
        self.spark, self.path = spark, path
        self.options = {
            "hoodie.table.name": path.name,
            "hoodie.datasource.write.table.type": "MERGE_ON_READ",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "",
            "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
            "hoodie.logfile.data.block.format": log_format,
            "hoodie.metadata.enable": "false",
            "hoodie.clean.automatic": "false",
            "hoodie.compact.inline": "false",
            # Small bloom filters, so that the files are small.
            "hoodie.index.bloom.num_entries": "10",
            "hoodie.bloom.index.filter.type": "SIMPLE",
            "hoodie.insert.shuffle.parallelism": "1",
            "hoodie.upsert.shuffle.parallelism": "1",
            "hoodie.delete.shuffle.parallelism": "1",
            "hoodie.bulkinsert.shuffle.parallelism": "1",
        }
        self.read_options: dict[str, str] = {}

    def write(self, rows: DataFrame, operation: str) -> None:
        settings = {**self.options, "hoodie.datasource.write.operation": operation}
        rows.coalesce(1).write.format("hudi").options(**settings).mode("append").save(str(self.path))

    def rows(self, sql: str) -> DataFrame:
        return self.spark.sql(f"SELECT id, {sql} FROM range(0, 6)")

    def alter(self, what: str) -> None:
        evolving = ("hoodie.schema.on.read.enable", "hoodie.datasource.write.schema.allow.auto.evolution.column.drop")
        self.read_options[evolving[0]] = "true"
        for option in evolving:
            self.options[option] = "true"
            self.spark.sql(f"set {option}=true")
        name = self.path.name
        self.spark.sql(f"create table {name} using hudi location '{self.path}'")
        self.spark.sql(f"alter table {name} {what}")


FIRST = "id AS ts, concat('n', id) AS name, cast(1e20 * (id + 1) as float) AS small"
LATER = "id + 10 AS ts, concat('m', id) AS {name}, cast(2e20 * (id + 1) as {kind}) AS small"


def renamed(table: Table) -> None:
    table.write(table.rows(FIRST), "insert")
    table.alter("rename column name to title")
    table.write(table.rows(LATER.format(name="title", kind="float")).where("id < 2"), "upsert")
    table.write(table.rows(LATER.format(name="title", kind="float")).where("id = 3"), "delete")


def widened(table: Table) -> None:
    table.write(table.rows(FIRST), "insert")
    table.write(table.rows(LATER.format(name="name", kind="double")).where("id < 2"), "upsert")


def changed_between_log_files(table: Table) -> None:
    table.write(table.rows(FIRST), "insert")
    table.write(table.rows(LATER.format(name="name", kind="float")).where("id in (1, 2)"), "upsert")
    table.alter("rename column name to title")
    table.write(table.rows(LATER.format(name="title", kind="float").replace("10", "20")).where("id > 3"), "upsert")


def widened_between_log_files(table: Table) -> None:
    table.write(table.rows(FIRST), "insert")
    table.write(table.rows(LATER.format(name="name", kind="float")).where("id in (1, 2)"), "upsert")
    table.write(table.rows(LATER.format(name="name", kind="double").replace("10", "20")).where("id > 1"), "upsert")


def key_twice(table: Table) -> None:
    """Two rows of one key in one base file, and an update that is newer than one of them and older than the other."""
    both = table.rows(FIRST).where("id = 1")
    table.write(table.rows(FIRST).union(both.selectExpr("id", "100L AS ts", "name", "small")), "bulk_insert")
    table.write(table.rows(LATER.format(name="name", kind="float")).where("id = 1"), "upsert")


TABLES: list[Callable[[Table], None]] = [
    renamed,
    widened,
    changed_between_log_files,
    widened_between_log_files,
    key_twice,
]


def main() -> None:
    before_spark()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with TemporaryDirectory() as folder:
        spark = hudi_session(Path(folder) / "warehouse")
        for make in TABLES:
            for log_format in ("avro", "parquet"):
                name = f"{make.__name__}_{log_format}"
                if name not in (sys.argv[1:] or [name]):
                    continue
                table = Table(spark, Path(folder) / name, log_format)
                make(table)
                rows = rows_of(spark.read.format("hudi").options(**table.read_options).load(str(table.path)))
                features = ["merge on read", "version 9", f"{log_format} log blocks", make.__name__.replace("_", " ")]
                keep(table.path, HERE / name, features, written_by=f"Hudi on Spark {spark.version}", rows=rows)
        spark.stop()


if __name__ == "__main__":
    main()
