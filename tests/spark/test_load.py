"""A session that runs for long: many queries leave memory, threads, sockets and files where they were, and its end
leaves none. It runs in a process of its own, whose open files are limited, so that what leaks would end it."""

import json
import os
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

from tests.tables import DeltaBuilder

# The full number takes minutes on a small machine: LAKESCAN_QUERIES=1000.
QUERIES = int(os.environ.get("LAKESCAN_QUERIES", "250"))

MORE_HEAP = 16 << 20

PROGRAM = """
import gc, json, os, resource, sys, tempfile, threading, time
from pathlib import Path
import lakescan

path, (count, more_heap) = sys.argv[1], map(int, sys.argv[2:])
spark = lakescan.session(
    master="local[2]", spark_sql_shuffle_partitions=2, spark_driver_memory="1g",
    # Spark itself remembers this many queries, for its page of them.
    spark_ui_retainedJobs=5, spark_ui_retainedStages=5, spark_ui_retainedTasks=50, spark_sql_ui_retainedExecutions=5,
    spark_sql_codegen_cache_maxEntries=20, spark_local_dir=tempfile.gettempdir(),
)
gateway = spark.sparkContext._gateway
jvm, server = gateway.jvm, gateway.jvm.java.lang.management.ManagementFactory
lakescan.attach(spark, "t", path)
queries = [
    "SELECT count(*) FROM lake.t",
    "SELECT k, sum(id) FROM lake.t GROUP BY k",
    "SELECT a.id FROM lake.t a JOIN lake.t b ON a.id = b.k",
    "SELECT * FROM lake.t WHERE id < 3 ORDER BY id LIMIT 2",
    f"SELECT /*+ BROADCAST(b) */ count(*) FROM lake.t a JOIN delta.`{path}` b USING (id)",
    "SELECT id FROM lake.t WHERE k IN (SELECT k FROM lake.t WHERE id > 3)",
    "SELECT min(id), max(k) FROM lake.t",
]
def run(at):
    if at % 11 == 10:
        return lakescan.read(spark, path).filter("id > 1").count()
    return len(spark.sql(queries[at % len(queries)]).collect())

def sockets():
    count = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            count += os.readlink(f"/proc/self/fd/{name}").startswith("socket")
        except OSError:
            pass
    return count

def here():
    return {"threads": threading.active_count(), "sockets": sockets()}

def heap():
    return server.getMemoryMXBean().getHeapMemoryUsage().getUsed()

def settled(enough=sys.maxsize):
    # On a busy machine Spark tells its own listeners of a query long after its end, and holds its plan until then.
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(120_000)
    # Python tells Java what it no longer refers to, then Java tells Python: a few rounds until neither has anything.
    # Spark's own cleaner frees what a query broadcast some time after that. What leaks is there after all rounds.
    for at in range(40):
        gc.collect()
        time.sleep(1.5)
        jvm.java.lang.System.gc()
        jvm.java.lang.System.runFinalization()
        if at >= 3 and heap() <= enough:
            break
    with open("/proc/self/statm") as statm:
        resident = int(statm.read().split()[1]) * resource.getpagesize()
    return {
        **here(),
        "proxies": len(gateway.gateway_property.pool),
        "objects": len(gc.get_objects()),
        "resident": resident,
        "heap": heap(),
        "bindings": server_bindings(),
        "files": sum(len(files) for _, _, files in os.walk(tempfile.gettempdir())),
    }

def server_bindings():
    from py4j.java_gateway import JavaObject
    return JavaObject("GATEWAY_SERVER", gateway._gateway_client).getGateway().getBindings().size()

for at in range(44):
    run(at)
before = settled()
resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
most, began = {}, time.perf_counter()
for at in range(count):
    run(at)
    most = {name: max(value, most.get(name, 0)) for name, value in here().items()}
took = time.perf_counter() - began
after = settled(enough=before["heap"] + more_heap)
spark.stop()
for _ in range(50):
    stopped = here()
    if stopped["threads"] <= 3:
        break
    time.sleep(0.1)
names = [thread.name for thread in threading.enumerate()]
print("ANSWER" + json.dumps(dict(before=before, most=most, after=after, stopped=stopped, names=names, took=took)))
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was counted before many queries, at most while they ran, after them, and after the session's end."""
    schema = pa.schema([("id", pa.int64()), ("k", pa.int64())])
    table = DeltaBuilder(tmp_path_factory.mktemp("t"), schema)
    for number in range(3):
        table.append(pa.table({"id": [2 * number, 2 * number + 1], "k": [number, number]}, schema))
    table.checkpoint()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, table.path, str(QUERIES), str(MORE_HEAP)],
        capture_output=True,
        text=True,
        timeout=1750,
        env={**os.environ, "TMPDIR": str(tmp_path_factory.mktemp("temporary"))},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout.split("ANSWER")[1])
    print(json.dumps(answer))
    return answer


pytestmark = [pytest.mark.own_jvm, pytest.mark.timeout(1800)]


def test_threads_and_sockets_do_not_grow_with_queries(session: dict[str, Any]) -> None:
    assert session["most"]["threads"] <= 20
    assert session["most"]["sockets"] <= 20
    assert session["after"]["threads"] <= session["before"]["threads"] + 4
    assert session["after"]["sockets"] <= session["before"]["sockets"] + 4


def test_nothing_of_a_query_is_kept_in_python(session: dict[str, Any]) -> None:
    before, after = session["before"], session["after"]
    assert after["proxies"] <= before["proxies"] + 30
    assert after["objects"] <= before["objects"] * 1.05 + 5 * 1000
    assert after["resident"] <= before["resident"] + (40 << 20)


def test_nothing_of_a_query_is_kept_in_java(session: dict[str, Any]) -> None:
    before, after = session["before"], session["after"]
    assert after["bindings"] <= before["bindings"] + 50
    assert after["heap"] <= before["heap"] + MORE_HEAP


def test_no_temporary_file_is_left_by_queries(session: dict[str, Any]) -> None:
    assert session["after"]["files"] <= session["before"]["files"]


def test_the_end_of_a_session_leaves_no_thread_and_no_connection_that_waits(session: dict[str, Any]) -> None:
    # What is left is Py4J's own: the main thread, the one that listens and the one that collects.
    assert session["stopped"]["threads"] <= 3, session["names"]
    assert session["stopped"]["sockets"] <= 3
