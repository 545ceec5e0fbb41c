"""A query sees one version of a table as long as it lives, however many other queries come between."""

import gc
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakescan
from lakescan.spark.bridge import Bridge, LivingObjects
from lakescan.spark.dsv2 import catalog
from lakescan.spark.dsv2.pinned_versions import PinnedVersions
from lakescan.spark.dsv2.table import table_format
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64())])


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    built = DeltaBuilder(tmp_path, SCHEMA)
    built.append(pa.table({"id": [1]}))
    return built


def test_a_query_that_is_still_analyzed_keeps_its_version_while_forty_others_run(
    spark: SparkSession, table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    lakescan.attach(spark, "pinned", table.path)
    loads = [0]

    def others() -> None:
        table.append(pa.table({"id": [2]}))
        for _ in range(40):
            spark.sql("SELECT * FROM lake.pinned").schema  # noqa: B018

    def then_others(bridge: Bridge, path: str) -> Any:
        # Called at the beginning of every load: the second is that of the same query's other name.
        loads[0] += 1
        if loads[0] == 2:
            thread = threading.Thread(target=others)
            thread.start()
            thread.join()
        return table_format(bridge, path)

    monkeypatch.setattr(catalog, "table_format", then_others)
    both = spark.sql(f"SELECT id FROM lake.pinned UNION ALL SELECT id FROM delta.`{table.path}`")
    leaves = both._jdf.queryExecution().analyzed().collectLeaves()
    tables: list[Any] = [Bridge(spark).python_object(leaves.apply(at).table()) for at in range(leaves.size())]
    assert loads[0] > 40
    assert [loaded.snapshot.version for loaded in tables] == [1, 1]


def test_living_queries_are_told_apart_and_those_that_are_gone_are_forgotten(
    spark: SparkSession, table: DeltaBuilder
) -> None:
    bridge, opened = Bridge(spark), lakescan.open(table.path)
    pinned = PinnedVersions(LivingObjects(bridge))
    # Equal to each other, and to nothing else once they are filled: only identity tells these apart.
    living = [bridge.java_class("java.util.HashMap")() for _ in range(40)]
    first = [pinned.newest(query, opened) for query in living]
    table.append(pa.table({"id": [2]}))
    for query in living:
        query.put("some", "relation")
    assert [pinned.newest(query, opened).version for query in living] == [1] * 40
    assert pinned.newest(None, opened).version == 2
    for _ in range(300):
        pinned.newest(bridge.java_class("java.util.HashMap")(), opened)
    assert [pinned.newest(query, opened).version for query in living] == [1] * 40
    del query
    for _ in range(20):
        gc.collect()
        # Py4J tells Java once a second what Python no longer refers to.
        time.sleep(1.2)
        bridge.java_class("java.lang.System").gc()
        pinned._forget_what_is_gone()
        if len(pinned._met) <= 42:
            break
    assert 40 <= len(pinned._met) <= 42
    assert [pinned.newest(query, opened).version for query in living] == [1] * 40
    assert len(first) == 40
