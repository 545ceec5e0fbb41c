"""Hudi on Spark in an environment of its own: writes the merge-on-read table, then answers queries when asked.

Runs as a process of `.venv-hudi` (PySpark 3.5, the newest that Hudi has a bundle for), started by `hudi_merge`. Each
line of its input is a request as JSON and each line of its output the answer, so that both sides take turns.
"""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tests.peers_hudi.walk import hudi_session  # noqa: E402

KEYS = {
    "hoodie.table.name": "bench",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    "hoodie.datasource.write.precombine.field": "version",
    "hoodie.compact.inline": "false",
    "hoodie.clean.automatic": "false",
}


def rows(spark: SparkSession, count: int, files: int, version: int) -> DataFrame:
    """Rows whose values follow from their key and their version, so that a later version differs everywhere."""
    return spark.range(0, count, 1, files).selectExpr(
        "id",
        f"cast({version} as bigint) AS version",
        f"cast(pmod(hash(id, {version}), 1000) as int) AS quantity",
        f"pmod(hash(id, {version}, 1), 100000) / 100.0D AS amount",
        f"pmod(hash(id, {version}, 2), 100000) / 7.0D AS score",
        "concat('city-', lpad(cast(pmod(hash(id, 3), 500) as string), 3, '0')) AS city",
        f"concat('note of row ', id, ' in version {version}') AS note",
        "timestamp_micros(1704067200000000 + id * 1000000) AS at",
    )


def write(spark: SparkSession, path: str, count: int, files: int) -> None:
    """Base files, then two commits of log files with every tenth row anew and one with every fiftieth deleted."""

    def save(frame: DataFrame, operation: str, mode: str = "append") -> None:
        sizes = {"hoodie.bulkinsert.shuffle.parallelism": str(files), "hoodie.parquet.small.file.limit": "0"}
        settings = {**KEYS, **sizes, "hoodie.datasource.write.operation": operation}
        frame.write.format("hudi").options(**settings).mode(mode).save(path)

    save(rows(spark, count, files, 0), "bulk_insert", "overwrite")
    save(rows(spark, count, files, 1).where("id % 10 = 1"), "upsert")
    save(rows(spark, count, files, 2).where("id % 10 = 2"), "upsert")
    save(rows(spark, count, files, 3).where("id % 50 = 3"), "delete")


def answered(frame: DataFrame, consume: bool) -> list[list[str]]:
    """The rows as text or, where they are only to be read, none."""
    if not consume:
        return [[str(value) for value in row] for row in frame.collect()]
    frame.write.format("noop").mode("overwrite").save()
    return []


def main() -> None:
    # Whatever Spark prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = hudi_session(HERE / ".data" / "warehouse", {"spark.driver.memory": "3g"})
    for line in sys.stdin:
        asked = json.loads(line)
        if "write" in asked:
            write(spark, asked["write"], asked["rows"], asked["files"])
            answer = []
        else:
            spark.read.format("hudi").load(asked["path"]).createOrReplaceTempView("bench")
            answer = answered(spark.sql(asked["query"]), asked["consume"])
        print(json.dumps(answer), file=answers, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
