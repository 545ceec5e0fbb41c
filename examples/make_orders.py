"""Write the sample table of the demo and its known answers with Delta Spark.

This is how the committed table was made, with the `peers` extra (Delta Spark and the PySpark release it needs):

    make example        # .venv-peers/bin/python examples/make_orders.py

Delta Spark's JARs come from Maven Central on the first run. The rows are the same on every run (a fixed seed);
file names, commit times and so the log are not, because Delta names files by random UUIDs.

The answers in `orders_expected.json` are Delta Spark's own. They are never computed by Lakescan.
"""

import datetime
import decimal
import json
import random
import shutil
import tempfile
from importlib.metadata import version

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

from lakescan.demo import EXPECTED, TABLE
from lakescan.demo.queries import QUERIES, plain

FIRST_DAY = datetime.date(2024, 1, 1)
DAYS = 6
ORDERS_PER_DAY = 840
FILES_PER_DAY = 2
LATE_ORDERS = 60
CITIES = ["Athens", "Bergen", "Cork", "Dresden", "Évora", "Florence", "Gdańsk"]
SCHEMA = (
    "order_id long, customer string, city string, amount decimal(10,2), quantity int, ordered_at timestamp, day date"
)


def start(warehouse: str) -> SparkSession:
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("make_orders")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", warehouse)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    )
    spark: SparkSession = configure_spark_with_delta_pip(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def orders(rng: random.Random, first_id: int, count: int, day: datetime.date) -> list[tuple[object, ...]]:
    """`count` orders of one day, in the order they arrived."""
    midnight = datetime.datetime.combine(day, datetime.time(), datetime.timezone.utc)
    seconds = sorted(rng.sample(range(24 * 3600), count))
    return [
        (
            first_id + i,
            None if rng.random() < 0.02 else f"customer-{rng.randrange(400):03d}",  # 2 % order as a guest
            rng.choice(CITIES),
            decimal.Decimal(rng.randrange(100, 50_000)) / 100,
            rng.randint(1, 9),
            midnight + datetime.timedelta(seconds=second),
            day,
        )
        for i, second in enumerate(seconds)
    ]


def write(spark: SparkSession, name: str) -> None:
    rng = random.Random(20240101)
    days = [FIRST_DAY + datetime.timedelta(days=i) for i in range(DAYS)]

    def insert(rows: list[tuple[object, ...]], files: int) -> None:
        slices = spark.sparkContext.parallelize(rows, files)
        spark.createDataFrame(slices, SCHEMA).write.format("delta").mode("append").save(str(TABLE))

    spark.sql(
        f"CREATE TABLE {name} ({SCHEMA}) USING delta PARTITIONED BY (day) "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', 'delta.checkpointInterval' = '5')"
    )
    next_id = 0
    for pair in (days[0:2], days[2:4], days[4:6]):
        rows = []
        for day in pair:
            rows += orders(rng, next_id, ORDERS_PER_DAY, day)
            next_id += ORDERS_PER_DAY
        insert(rows, FILES_PER_DAY * len(pair))
    spark.sql(f"DELETE FROM {name} WHERE order_id % 41 = 5")  # a deletion vector for every file
    spark.sql(f"UPDATE {name} SET quantity = quantity + 1, amount = amount * 2 WHERE order_id % 500 = 7")
    spark.sql(f"DELETE FROM {name} WHERE day = '2024-01-03' AND city = 'Cork'")  # a second one for some files
    insert(orders(rng, next_id, LATE_ORDERS, days[-1]), 1)


def expected(spark: SparkSession, name: str) -> dict[str, object]:
    (detail,) = spark.sql(f"DESCRIBE DETAIL {name}").collect()
    (newest,) = spark.sql(f"DESCRIBE HISTORY {name} LIMIT 1").collect()
    answers = []
    for query in QUERIES:
        frame = spark.sql(query.sql.format(table=name))
        rows = plain(frame.collect())
        answers.append({"name": query.name, "sql": query.sql, "columns": frame.columns, "rows": rows})
    return {
        "written_by": f"Delta Spark {version('delta-spark')} on Spark {spark.version}",
        "version": newest.version,
        "files": detail.numFiles,
        "rows": spark.table(name).count(),
        "queries": answers,
    }


def main() -> None:
    shutil.rmtree(TABLE, ignore_errors=True)
    name = f"delta.`{TABLE}`"
    with tempfile.TemporaryDirectory() as warehouse:
        spark = start(warehouse)
        write(spark, name)
        answers = expected(spark, name)
        spark.stop()
    # Hadoop's local file system leaves a hidden checksum beside every file; they are no part of the table.
    # The log's own `<version>.crc` files are, and stay.
    for checksum in TABLE.rglob(".*.crc"):
        checksum.unlink()
    EXPECTED.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{answers['rows']} rows in {answers['files']} files at version {answers['version']}")


if __name__ == "__main__":
    main()
