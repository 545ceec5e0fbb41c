"""The same queries by a Spark Connect client and in a classic session, over 5 million rows in 5 files.

Both sides are one JVM, whose Connect service is what `lakescan connect` starts: what differs is the way there and back.
All of the bounds are 1.3.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from harness import Result, compare, results_page
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession
from scan_columns import DATA, ROWS_PER_FILE, build

from lakescan.spark.bridge import Bridge
from lakescan.spark.bridge.connect_service import start_service, stop_service
from lakescan.spark.dsv2.install import install_everywhere

FILES = 5
BOUND = 1.3
RESULTS = Path(__file__).resolve().parent / "results" / "connect.md"
_SAID = """# Spark Connect, measured

Written by `make bench ARGS=connect`: median seconds of 7 runs each, in turns, in one JVM. A ratio of 1.3
is the most that we want."""
QUERIES = {
    "count": "SELECT count(*) FROM delta.`{path}`",
    "count of a filter": "SELECT count(*) FROM delta.`{path}` WHERE quantity > 500",
    "point query": "SELECT * FROM delta.`{path}` WHERE id = 3141592",
    "grouped sum": "SELECT city, sum(amount) AS amount FROM delta.`{path}` GROUP BY city",
}


def run(spark: SparkSession) -> Iterable[Result]:
    path = DATA / f"scan_columns_{FILES}x{ROWS_PER_FILE}"
    build(path, FILES)
    install_everywhere(spark)
    bridge = Bridge(spark)
    # A service of the session's own JVM; PySpark's builder refuses a client beside a classic session.
    bridge.spark.sparkContext._conf.set("spark.connect.grpc.binding.port", "0")
    port = start_service(bridge)
    client = ConnectSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    results = []
    try:
        for name, query in QUERIES.items():
            sql = query.format(path=path)
            assert sorted(client.sql(sql).collect(), key=str) == sorted(spark.sql(sql).collect(), key=str)

            def connect(sql: str = sql) -> None:
                client.sql(sql).collect()

            def classic(sql: str = sql) -> None:
                spark.sql(sql).collect()

            results.append(compare(f"Connect against classic: {name}, 5 M rows", connect, classic, BOUND))
            yield results[-1]
    finally:
        client.stop()
        stop_service(bridge)
    named = [replace(result, name=result.name.partition(": ")[2]) for result in results]
    RESULTS.write_text(results_page(_SAID, "query | Connect | classic", named))
