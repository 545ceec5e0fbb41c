"""What users of Delta Spark write, as they write it: each function is one snippet and gives its rows.

Run as a program it makes a session, with Delta's JARs, with Lakescan and no JAR, or of a Spark Connect server, and
writes what each snippet gave. Nothing in a snippet knows which of them it runs on.

    python -m tests.peers.snippets delta FOLDER              # writes the tables into the folder first
    python -m tests.peers.snippets lakescan FOLDER
    python -m tests.peers.snippets connect FOLDER ADDRESS    # of a server with the settings of `settings(FOLDER)`
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.window import Window

Snippet = Callable[[SparkSession, str], list[Row]]
"""Takes a session and the folder of the tables; `orders` and `customers` are also names in the metastore."""


def write_tables(spark: SparkSession, folder: str) -> None:
    spark.sql(
        "CREATE TABLE orders (id BIGINT, day DATE, city STRING, item STRUCT<name: STRING, price: DECIMAL(8, 2)>) USING "
        f"delta PARTITIONED BY (day) LOCATION '{folder}/orders' TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )
    spark.sql(
        "INSERT INTO orders SELECT id, DATE'2024-01-01' + CAST(id % 3 AS INT), array('lima', 'oslo', NULL)[id % 3], "
        "named_struct('name', concat('item ', id), 'price', CAST(id AS DECIMAL(8, 2)) / 4) FROM range(30)"
    )
    spark.sql("UPDATE orders SET city = 'rome' WHERE id IN (4, 7)")
    spark.sql("DELETE FROM orders WHERE id >= 25")
    spark.sql("INSERT INTO orders VALUES (100, DATE'2024-02-01', 'rome', named_struct('name', 'last', 'price', 9.99))")
    cities = [("lima", "Peru"), ("oslo", "Norway"), ("rome", "Italy"), ("bonn", "Germany")]
    customers = spark.createDataFrame(cities, "city string, country string")
    customers.write.format("delta").save(f"{folder}/customers")
    # Managed: its folder is in the warehouse.
    customers.write.format("delta").saveAsTable("customers")
    spark.sql(f"CREATE TABLE events (id BIGINT, kind STRING) USING delta LOCATION '{folder}/events'")
    for first in (0, 100, 200):
        made = spark.range(first, first + 10, numPartitions=1).selectExpr("id", "concat('kind ', id % 2) AS kind")
        made.write.format("delta").mode("append").save(f"{folder}/events")
    spark.sql("CREATE VIEW priced AS SELECT id, item.price AS price FROM orders WHERE item.price > 2")


def read_by_path(spark: SparkSession, folder: str) -> list[Row]:
    return spark.read.format("delta").load(f"{folder}/orders").collect()


def read_an_older_version(spark: SparkSession, folder: str) -> list[Row]:
    return spark.read.format("delta").option("versionAsOf", 1).load(f"{folder}/orders").collect()


def read_the_version_of_a_moment(spark: SparkSession, folder: str) -> list[Row]:
    moment = spark.sql(f"DESCRIBE HISTORY delta.`{folder}/orders`").where("version = 2").first()
    assert moment is not None
    return spark.read.format("delta").option("timestampAsOf", str(moment.timestamp)).load(f"{folder}/orders").collect()


def read_a_version_by_the_path(spark: SparkSession, folder: str) -> list[Row]:
    return spark.read.format("delta").load(f"{folder}/orders@v1").collect()


def select_from_a_path(spark: SparkSession, folder: str) -> list[Row]:
    return spark.sql(f"SELECT city, count(*) AS n FROM delta.`{folder}/orders` GROUP BY city").collect()


def select_a_version_from_a_path(spark: SparkSession, folder: str) -> list[Row]:
    return spark.sql(f"SELECT * FROM delta.`{folder}/orders` VERSION AS OF 2 WHERE city = 'rome'").collect()


def read_a_table_by_name(spark: SparkSession, folder: str) -> list[Row]:
    return spark.table("orders").collect()


def read_a_managed_table_by_name(spark: SparkSession, folder: str) -> list[Row]:
    return spark.read.table("default.customers").collect()


def select_a_version_by_name(spark: SparkSession, folder: str) -> list[Row]:
    return spark.sql("SELECT id, city FROM orders VERSION AS OF 1").collect()


def read_a_version_by_name(spark: SparkSession, folder: str) -> list[Row]:
    return spark.read.option("versionAsOf", 3).table("orders").collect()


def what_two_versions_differ_in(spark: SparkSession, folder: str) -> list[Row]:
    before = spark.read.format("delta").option("versionAsOf", 1).load(f"{folder}/orders")
    return spark.read.format("delta").load(f"{folder}/orders").exceptAll(before).collect()


def read_the_change_feed(spark: SparkSession, folder: str) -> list[Row]:
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    changes = reader.option("startingVersion", 1).option("endingVersion", 3).load(f"{folder}/orders")
    return changes.collect()


def count_the_changes_of_each_version(spark: SparkSession, folder: str) -> list[Row]:
    changes = spark.read.format("delta").options(readChangeFeed=True, startingVersion=0).load(f"{folder}/orders")
    return changes.groupBy("_commit_version", "_change_type").count().collect()


def select_changes_by_name(spark: SparkSession, folder: str) -> list[Row]:
    return spark.sql("SELECT id, city, _change_type FROM table_changes('orders', 2, 3)").collect()


def describe_history(spark: SparkSession, folder: str) -> list[Row]:
    return spark.sql("DESCRIBE HISTORY orders").collect()


def describe_history_of_a_path(spark: SparkSession, folder: str) -> list[Row]:
    return spark.sql(f"DESCRIBE HISTORY '{folder}/orders' LIMIT 2").select("version", "readVersion").collect()


def describe_detail(spark: SparkSession, folder: str) -> list[Row]:
    return spark.sql("DESCRIBE DETAIL orders").collect()


def a_temporary_view(spark: SparkSession, folder: str) -> list[Row]:
    spark.read.format("delta").load(f"{folder}/orders").createOrReplaceTempView("some_orders")
    return spark.sql("SELECT day, sum(item.price) AS total FROM some_orders GROUP BY day ORDER BY day").collect()


def a_view_of_the_metastore(spark: SparkSession, folder: str) -> list[Row]:
    return spark.table("priced").where("id < 20").collect()


def a_join_with_an_aggregate(spark: SparkSession, folder: str) -> list[Row]:
    orders, customers = spark.table("orders"), spark.read.format("delta").load(f"{folder}/customers")
    joined = orders.join(customers, "city", "left").groupBy("country")
    return joined.agg(f.count("*").alias("n"), f.max("item.price").alias("most")).collect()


def a_subquery(spark: SparkSession, folder: str) -> list[Row]:
    sql = "SELECT id FROM orders WHERE city IN (SELECT city FROM customers WHERE country > 'J') AND day >= '2024-01-02'"
    return spark.sql(sql).collect()


def a_filter_on_a_partition_and_a_nested_field(spark: SparkSession, folder: str) -> list[Row]:
    frame = spark.read.format("delta").load(f"{folder}/orders")
    return frame.where("day = '2024-01-02' AND item.price BETWEEN 1 AND 4").select("item.name", "item.price").collect()


def a_window(spark: SparkSession, folder: str) -> list[Row]:
    ranked = f.row_number().over(Window.partitionBy("day").orderBy(f.desc("item.price")))
    return spark.table("orders").withColumn("place", ranked).where("place <= 2").select("day", "id", "place").collect()


def which_files_rows_are_in(spark: SparkSession, folder: str) -> list[Row]:
    frame = spark.read.format("delta").load(f"{folder}/orders").withColumn("file", f.input_file_name())
    return frame.groupBy("file").agg(f.min("id"), f.count("*")).collect()


def what_is_known_of_files(spark: SparkSession, folder: str) -> list[Row]:
    frame = spark.read.format("delta").load(f"{folder}/orders")
    return frame.select("id", "_metadata.file_name", "_metadata.file_size").where("id % 5 = 0").collect()


def a_name_for_a_path(spark: SparkSession, folder: str) -> list[Row]:
    spark.sql(f"CREATE TABLE IF NOT EXISTS people USING delta LOCATION '{folder}/customers'")
    found = spark.table("people").collect()
    spark.sql("DROP TABLE people")
    return found


def a_cached_table(spark: SparkSession, folder: str) -> list[Row]:
    frame: DataFrame = spark.table("orders").cache()
    counts = [Row(n=frame.count()), Row(n=frame.where("city IS NULL").count())]
    frame.unpersist()
    return counts


def names_of_the_metastore(spark: SparkSession, folder: str) -> list[Row]:
    columns = [Row(name=column.name, is_partition=column.isPartition) for column in spark.catalog.listColumns("orders")]
    tables = [Row(name=name, there=spark.catalog.tableExists(name)) for name in ("orders", "customers", "nothing")]
    return [*columns, *tables]


def a_stream_to_files(spark: SparkSession, folder: str) -> list[Row]:
    target = tempfile.mkdtemp(dir=folder)
    writer = spark.readStream.format("delta").load(f"{folder}/events").where("kind = 'kind 1'").writeStream
    query = writer.option("checkpointLocation", f"{target}/checkpoint").trigger(availableNow=True)
    query.format("parquet").start(f"{target}/rows").awaitTermination()
    return spark.read.parquet(f"{target}/rows").collect()


def a_stream_that_goes_on_from_its_checkpoint(spark: SparkSession, folder: str) -> list[Row]:
    target = tempfile.mkdtemp(dir=folder)
    shutil.copytree(f"{folder}/events", f"{target}/events")
    later = Path(target, "events", "_delta_log", f"{3:020}.json")
    later.rename(f"{target}/later")

    def rows_so_far() -> list[Row]:
        writer = spark.readStream.format("delta").load(f"{target}/events").writeStream.format("parquet")
        query = writer.option("checkpointLocation", f"{target}/checkpoint").trigger(availableNow=True)
        query.start(f"{target}/rows").awaitTermination()
        return spark.read.parquet(f"{target}/rows").collect()

    before = rows_so_far()
    Path(target, "later").rename(later)
    return [Row(before=len(before)), *rows_so_far()]


def a_stream_by_batches(spark: SparkSession, folder: str) -> list[Row]:
    target = tempfile.mkdtemp(dir=folder)

    def keep(batch: DataFrame, number: int) -> None:
        counted = batch.groupBy("kind").agg(f.count("*").alias("n"), f.max("id").alias("last"))
        counted.withColumn("batch", f.lit(number)).write.mode("append").parquet(f"{target}/rows")

    reader = spark.readStream.format("delta").option("startingVersion", 0).option("maxFilesPerTrigger", 1)
    writer = reader.load(f"{folder}/events").writeStream.foreachBatch(keep).trigger(availableNow=True)
    writer.option("checkpointLocation", f"{target}/checkpoint").start().awaitTermination()
    return spark.read.parquet(f"{target}/rows").collect()


def a_stream_of_a_name(spark: SparkSession, folder: str) -> list[Row]:
    query = spark.readStream.table("events").writeStream.format("memory").queryName("seen").start()
    query.processAllAvailable()
    query.stop()
    return spark.table("seen").collect()


def a_stream_of_changes(spark: SparkSession, folder: str) -> list[Row]:
    target = tempfile.mkdtemp(dir=folder)
    reader = spark.readStream.format("delta").option("readChangeFeed", "true").option("startingVersion", 1)
    writer = reader.load(f"{folder}/orders").writeStream.format("parquet").trigger(availableNow=True)
    writer.option("checkpointLocation", f"{target}/checkpoint").start(f"{target}/rows").awaitTermination()
    return spark.read.parquet(f"{target}/rows").collect()


def a_stream_from_a_version(spark: SparkSession, folder: str) -> list[Row]:
    reader = spark.readStream.format("delta").option("startingVersion", "2")
    query = reader.load(f"{folder}/events").writeStream.format("memory").queryName("from_two").start()
    query.processAllAvailable()
    query.stop()
    return spark.table("from_two").collect()


def a_stream_past_changed_rows(spark: SparkSession, folder: str) -> list[Row]:
    reader = spark.readStream.format("delta").option("skipChangeCommits", "true").option("startingVersion", 0)
    query = reader.load(f"{folder}/orders").writeStream.format("memory").queryName("unchanged").start()
    query.processAllAvailable()
    query.stop()
    return spark.table("unchanged").collect()


def a_running_count(spark: SparkSession, folder: str) -> list[Row]:
    counts = spark.readStream.format("delta").load(f"{folder}/events").groupBy("kind").count()
    query = counts.writeStream.outputMode("complete").format("memory").queryName("counts").start()
    query.processAllAvailable()
    query.stop()
    return spark.table("counts").collect()


def a_stream_joined_with_a_table(spark: SparkSession, folder: str) -> list[Row]:
    cities = spark.read.format("delta").load(f"{folder}/orders").select("id", "city")
    joined = spark.readStream.format("delta").load(f"{folder}/events").join(cities, "id", "left")
    query = joined.writeStream.format("memory").queryName("joined").start()
    query.processAllAvailable()
    query.stop()
    return spark.table("joined").collect()


BATCHES: tuple[Snippet, ...] = (
    read_by_path,
    read_an_older_version,
    read_the_version_of_a_moment,
    read_a_version_by_the_path,
    select_from_a_path,
    select_a_version_from_a_path,
    read_a_table_by_name,
    read_a_managed_table_by_name,
    select_a_version_by_name,
    read_a_version_by_name,
    what_two_versions_differ_in,
    read_the_change_feed,
    count_the_changes_of_each_version,
    select_changes_by_name,
    describe_history,
    describe_history_of_a_path,
    describe_detail,
    a_temporary_view,
    a_view_of_the_metastore,
    a_join_with_an_aggregate,
    a_subquery,
    a_filter_on_a_partition_and_a_nested_field,
    a_window,
    which_files_rows_are_in,
    what_is_known_of_files,
    a_name_for_a_path,
    a_cached_table,
    names_of_the_metastore,
)
STREAMS: tuple[Snippet, ...] = (
    a_stream_to_files,
    a_stream_that_goes_on_from_its_checkpoint,
    a_stream_by_batches,
    a_stream_of_a_name,
    a_stream_of_changes,
    a_stream_from_a_version,
    a_stream_past_changed_rows,
    a_running_count,
    a_stream_joined_with_a_table,
)
SNIPPETS = BATCHES + STREAMS


def settings(folder: str) -> dict[str, str]:
    """Spark's, with a metastore in the folder."""
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
        # Many tiny queries: to compile each would take longer than to run it.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.system.home={folder}",
        "spark.sql.catalogImplementation": "hive",
    }


def start(kind: str, folder: str) -> SparkSession:
    chosen: dict[str, Any] = settings(folder)
    if kind == "delta":
        release = ".".join(pyspark.__version__.split(".")[:2])
        chosen |= {
            "spark.jars.packages": f"io.delta:delta-spark_{release}_2.13:{version('delta-spark')}",
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.databricks.delta.snapshotPartitions": "1",
        }
    spark = SparkSession.builder.master("local[2]").config(map=chosen).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    if kind == "lakescan":
        import lakescan

        lakescan.install(spark)
    return spark


def text(value: Any) -> str:
    """As Python shows it, but the entries of a map in order: they have none, and come as they were sent."""
    if isinstance(value, Row):
        return f"Row({', '.join(f'{name}={text(field)}' for name, field in zip(value.__fields__, value, strict=True))})"
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{text(key)}: {text(entry)}' for key, entry in value.items()))}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(text, value))}]"
    return repr(value)


def run(spark: SparkSession, folder: str) -> dict[str, list[str]]:
    """What each snippet gives, as text in a fixed order; an error is what it says."""
    found = {}
    for snippet in SNIPPETS:
        try:
            found[snippet.__name__] = sorted(text(row) for row in snippet(spark, folder))
        except Exception as error:
            found[snippet.__name__] = [f"{type(error).__name__}: {str(error)[:300]}"]
    return found


def main() -> None:
    kind, folder, *address = sys.argv[1:]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.chdir(folder)
    spark = SparkSession.builder.remote(*address).getOrCreate() if address else start(kind, folder)
    if kind == "delta":
        write_tables(spark, folder)
    answer: dict[str, Any] = run(spark, folder)
    Path(folder, f"{kind}.json").write_text(json.dumps(answer), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main()
