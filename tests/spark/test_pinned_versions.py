"""A query sees one version of a table, whoever made its parts and when; what names a version stays at it.

Delta Spark 4.4 gives the same rows in all of these, but for what is cached: there a new query gives cached rows of an
older version, and here those of the newest.
"""

import gc
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import lakescan
from lakescan.errors import ReplacedWhilePlanned
from lakescan.formats.delta.table import DeltaTable
from lakescan.spark.bridge import Bridge, LivingObjects
from lakescan.spark.dsv2 import catalog
from lakescan.spark.dsv2.opened_tables import table_format
from lakescan.spark.dsv2.pinned_versions import PinnedVersions
from tests.formats.hudi.builder import HudiBuilder
from tests.tables import DeltaBuilder, spark_schema

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


Frames = Callable[[SparkSession, str], DataFrame]
WAYS: dict[str, Frames] = {
    "read": lambda spark, path: lakescan.read(spark, path),
    "load": lambda spark, path: spark.read.format("delta").load(path),
    "sql": lambda spark, path: spark.sql(f"SELECT * FROM delta.`{path}`"),
    "table": lambda spark, path: spark.table(f"delta.`{path}`"),
    "name": lambda spark, path: spark.table("lake.followed"),
}


@pytest.fixture
def growing(spark: SparkSession, tmp_path: Path) -> Iterator[DeltaBuilder]:
    """Versions 0 to 3 with none, one, two and three rows, which have the names `lake.followed` and `lake.first`."""
    built = DeltaBuilder(tmp_path / "t", SCHEMA, properties={"delta.enableChangeDataFeed": "true"})
    for id_ in range(3):
        built.append(pa.table({"id": [id_]}))
    lakescan.attach(spark, "followed", built.path)
    lakescan.attach(spark, "first", f"{built.path}@v1")
    spark.sql(f"CREATE TABLE first_kept USING delta LOCATION '{built.path}@v1'")
    spark.sql(f"CREATE TEMPORARY VIEW first_seen AS SELECT * FROM delta.`{built.path}@v1`")
    yield built
    spark.sql("DROP TABLE first_kept")
    spark.sql("DROP VIEW first_seen")
    spark.catalog.clearCache()


def made_anew(table: DeltaBuilder, *commits: list[int]) -> DeltaBuilder:
    shutil.rmtree(table.root)
    built = DeltaBuilder(table.root, SCHEMA)
    for ids in commits:
        built.append(pa.table({"id": ids}))
    return built


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.collect())


@pytest.mark.parametrize("first", ["delta.`{}@v1`", "lake.first", "first_kept", "first_seen", "(SELECT * FROM of_cte)"])
def test_a_version_that_a_path_names_is_not_that_of_the_path_without_it(
    spark: SparkSession, growing: DeltaBuilder, first: str
) -> None:
    old, new = first.format(growing.path), f"delta.`{growing.path}`"
    of_cte = f"WITH of_cte AS (SELECT * FROM delta.`{growing.path}@v1`)" if "of_cte" in first else ""
    for left, right, counts in ((old, new, (1, 3)), (new, old, (3, 1)), ("lake.followed", old, (3, 1))):
        counted = spark.sql(f"{of_cte} SELECT (SELECT count(*) FROM {left}), (SELECT count(id) FROM {right})")
        assert tuple(counted.collect()[0]) == counts
        assert spark.sql(f"{of_cte} SELECT id FROM {left} UNION ALL SELECT id FROM {right}").count() == 4
    assert ids(spark.sql(f"{of_cte} SELECT id FROM {new} WHERE id NOT IN (SELECT id FROM {old})")) == [1, 2]


@pytest.mark.parametrize(("way", "other"), list(zip(WAYS, ["sql", "read", "name", "load", "table"], strict=True)))
def test_frames_that_were_made_before_and_after_a_commit_are_one_version_in_a_query(
    spark: SparkSession, growing: DeltaBuilder, way: str, other: str
) -> None:
    before = WAYS[way](spark, growing.path)
    assert ids(before) == [0, 1, 2]
    before.createOrReplaceTempView("seen_before")
    growing.append(pa.table({"id": [3]}))
    after = WAYS[other](spark, growing.path)
    assert ids(after) == [0, 1, 2, 3]
    counts = before.selectExpr("count(*) AS id").union(after.selectExpr("count(*)"))
    assert ids(counts) == [4, 4]
    assert after.join(before, "id", "left_anti").count() == 0
    named = spark.sql("SELECT (SELECT count(*) FROM seen_before), (SELECT count(id) FROM lake.followed)")
    assert tuple(named.collect()[0]) == (4, 4)


@pytest.mark.parametrize("way", WAYS)
def test_a_frame_without_a_version_follows_the_table_and_one_that_names_it_stays(
    spark: SparkSession, growing: DeltaBuilder, way: str
) -> None:
    frame = WAYS[way](spark, growing.path)
    stay = [
        lakescan.read(spark, growing.path, version=2),
        lakescan.read(spark, f"{growing.path}@v2"),
        spark.read.format("delta").option("versionAsOf", 2).load(growing.path),
        spark.sql(f"SELECT * FROM delta.`{growing.path}` VERSION AS OF 2"),
        lakescan.read(spark, growing.path, options={"readChangeFeed": "true", "startingVersion": 2}),
    ]
    growing.append(pa.table({"id": [3]}))
    assert frame.count() == 4
    growing.append(pa.table({"id": [4]}))
    assert (frame.count(), frame.selectExpr("max(id) AS id").collect()[0].id) == (5, 4)
    assert [frame.count() for frame in stay] == [2] * 5
    # Its plan was made, and the version with it.
    collected = ids(frame)
    growing.append(pa.table({"id": [5]}))
    assert ids(frame) == collected == [0, 1, 2, 3, 4]


def test_parts_of_a_query_see_one_version_while_others_commit_however_its_path_is_spelled(
    spark: SparkSession, growing: DeltaBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(growing.root)
    spelled = [growing.path, f"{growing.path}/", f"file:{growing.path}", f"file://{growing.path}", str(link)]
    frames = [lakescan.read(spark, path) for path in spelled]
    snapshot = DeltaTable.snapshot

    def while_others_write(self: DeltaTable, *when: Any) -> Any:
        loaded = snapshot(self, *when)
        growing.append(pa.table({"id": [growing.version]}))
        return loaded

    monkeypatch.setattr(DeltaTable, "snapshot", while_others_write)
    counted = [frame.selectExpr("count(*) AS id") for frame in frames]
    rows = [frame.select("id") for frame in frames]
    assert len(set(ids(reduce(DataFrame.union, counted)))) == 1
    gathered = reduce(DataFrame.union, rows).groupBy("id").count().collect()
    assert {row["count"] for row in gathered} == {len(spelled)}


@pytest.mark.parametrize("way", WAYS)
def test_a_table_made_anew_is_read_by_new_queries_and_by_frames_of_the_one_before(
    spark: SparkSession, growing: DeltaBuilder, way: str
) -> None:
    frame, cached = WAYS[way](spark, growing.path), WAYS[way](spark, growing.path).where("id >= 0").cache()
    whole = WAYS[way](spark, growing.path).cache()
    assert (whole.count(), cached.count()) == (3, 3)
    growing = made_anew(growing, [10], [11, 12], [13])
    for other in WAYS.values():
        assert ids(other(spark, growing.path)) == [10, 11, 12, 13]
        assert other(spark, growing.path).where("id >= 0").count() == 4
    assert (whole.count(), cached.count()) == (3, 3)
    whole.unpersist()
    cached.unpersist()
    assert frame.count() == whole.count() == cached.count() == 4


def test_what_is_cached_serves_its_own_version_alone(spark: SparkSession, growing: DeltaBuilder) -> None:
    frame = spark.table("lake.followed")
    growing.append(pa.table({"id": [3]}))
    # It was loaded at version 3, and is cached at version 4.
    cached = frame.cache()
    assert cached.count() == 4
    assert spark.sql("SELECT * FROM lake.followed VERSION AS OF 3").count() == 3
    growing.append(pa.table({"id": [4]}))
    assert cached.count() == 4
    assert spark.table("lake.followed").count() == lakescan.read(spark, growing.path).count() == 5


def test_columns_that_are_new_are_not_a_frames_and_one_that_lost_a_column_is_refused_by_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    struct = pa.struct([("a", pa.int64())])
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64()), ("s", struct), ("l", pa.list_(struct))]))
    row = {"id": 1, "s": {"a": 2}, "l": [{"a": 3}]}
    table.append(pa.Table.from_pylist([row]))
    frames = [lakescan.read(spark, table.path), spark.table(f"delta.`{table.path}`")]
    wider = pa.struct([("a", pa.int64()), ("b", pa.string())])
    columns = [("n", pa.string()), ("id", pa.int64()), ("s", wider), ("l", pa.list_(wider))]
    table.schema = spark_schema(pa.schema(columns))
    table.commit(table.metadata())
    table.append(pa.Table.from_pylist([{"id": 4, "s": {"a": 5, "b": "x"}, "l": [], "n": "y"}], pa.schema(columns)))
    for frame in frames:
        assert frame.columns == ["id", "s", "l"]
        found = [found.asDict(recursive=True) for found in frame.orderBy("id").collect()]
        assert found == [row, {"id": 4, "s": {"a": 5}, "l": []}]
    table.schema = spark_schema(pa.schema([("id", pa.string()), ("s", wider), ("l", pa.list_(wider))]))
    table.commit(table.metadata())
    for frame in frames:
        with pytest.raises(PySparkException, match=r"LAKESCAN_CHANGED_SINCE_ANALYSIS.*id was long and is string"):
            frame.count()
    table.schema = spark_schema(pa.schema([("id", pa.int64()), ("s", pa.struct([("b", pa.string())]))]))
    table.commit(table.metadata())
    for frame in frames:
        with pytest.raises(PySparkException, match=r"CHANGED_SINCE_ANALYSIS.*s\.a is gone"):
            frame.select("id").collect()


def test_a_folder_that_holds_a_table_of_another_format_now_is_read_as_that(
    spark: SparkSession, growing: DeltaBuilder
) -> None:
    frame = lakescan.read(spark, growing.path)
    shutil.rmtree(growing.root)
    other = HudiBuilder(growing.root)
    other.upsert(0, pa.table({"id": pa.array(range(10), pa.int64())}))
    assert spark.sql(f"SELECT * FROM hudi.`{growing.path}`").count() == 10
    assert spark.read.format("hudi").load(growing.path).count() == 10
    assert lakescan.read(spark, growing.path).count() == 10
    with pytest.raises(PySparkException, match="LAKESCAN_TABLE_NOT_FOUND"):
        frame.count()
    with pytest.raises(PySparkException, match="LAKESCAN_WRONG_FORMAT"):
        spark.sql(f"SELECT * FROM delta.`{growing.path}`").count()


def test_a_version_that_nothing_holds_any_more_is_read_again_and_never_another_in_its_place(
    spark: SparkSession, growing: DeltaBuilder
) -> None:
    bridge = Bridge(spark)
    pinned, query = PinnedVersions(LivingObjects(bridge)), bridge.java_class("java.util.HashMap")()
    first = pinned.newest(query, lakescan.open(growing.path)).identity
    growing.append(pa.table({"id": [3]}))
    gc.collect()
    assert pinned.newest(query, lakescan.open(growing.path)).identity == first
    gc.collect()
    made_anew(growing, [10], [11], [12], [13])
    with pytest.raises(ReplacedWhilePlanned, match=f"{growing.path} holds another version 3"):
        pinned.newest(query, lakescan.open(growing.path))
