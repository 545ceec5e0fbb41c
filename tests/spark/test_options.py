"""Options in every way to read: each is honoured, or refused by name."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import lakescan
from lakescan.errors import InvalidOption, LakescanError, UnknownOption
from tests.formats.delta.feeds import feed, rows
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark
Way = Callable[[SparkSession, str, Mapping[str, Any]], DataFrame]
FEED = {"readChangeFeed": "true", "startingVersion": 0}


def by_read(spark: SparkSession, path: str, options: Mapping[str, Any]) -> DataFrame:
    return lakescan.read(spark, path, options=options)


def by_attach(spark: SparkSession, path: str, options: Mapping[str, Any]) -> DataFrame:
    lakescan.attach(spark, "with_options", path, options)
    return spark.table("lake.with_options")


def by_source(spark: SparkSession, path: str, options: Mapping[str, Any]) -> DataFrame:
    return spark.read.format("lakescan").options(**options).load(path)


def by_with(spark: SparkSession, path: str, options: Mapping[str, Any]) -> DataFrame:
    listed = ", ".join(f"`{name}` = '{value}'" for name, value in options.items())
    return spark.sql(f"SELECT * FROM delta.`{path}` WITH ({listed})")


def by_table(spark: SparkSession, path: str, options: Mapping[str, Any]) -> DataFrame:
    return spark.read.options(**options).table(f"delta.`{path}`")


def by_name(spark: SparkSession, path: str, options: Mapping[str, Any]) -> DataFrame:
    lakescan.attach(spark, "named", path)
    return spark.read.options(**options).table("lake.named")


EVERY_RELEASE = (by_read, by_attach, by_source)
FROM_SPARK_4_3 = (by_with, by_table, by_name)
WAYS = (*EVERY_RELEASE, *FROM_SPARK_4_3)


def loads_with_options(spark: SparkSession) -> bool:
    """Whether Spark tells a catalog the options of a query when it loads a table."""
    return tuple(map(int, spark.version.split(".")[:2])) >= (4, 3)


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    """Version 1 has three rows, version 2 two more, version 3 deletes one of the first."""
    built = feed(tmp_path / "t")
    first = built.append(rows(1, 2, 3))
    built.append(rows(4, 5))
    built.delete(first, [0])
    return built


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def changes(frame: DataFrame) -> list[tuple[str, int, int]]:
    return sorted((row["_change_type"], row["id"], row["_commit_version"]) for row in frame.collect())


EVERY_CHANGE = [
    ("delete", 1, 3),
    *(("insert", 1, 1), ("insert", 2, 1), ("insert", 3, 1)),
    *(("insert", 4, 2), ("insert", 5, 2)),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (FEED, EVERY_CHANGE),
        ({"READCHANGEDATA": "True", "startingversion": "2"}, [EVERY_CHANGE[0], *EVERY_CHANGE[4:]]),
        ({**FEED, "endingVersion": 1}, EVERY_CHANGE[1:4]),
        ({"readChangeFeed": "true", "startingTimestamp": "1970-01-01 00:00:02", "endingVersion": 2}, EVERY_CHANGE[4:]),
        ({**FEED, "endingTimestamp": "1970-01-01 00:00:01"}, EVERY_CHANGE[1:4]),
    ],
)
def test_the_change_feed_is_read(
    spark: SparkSession, table: DeltaBuilder, way: Way, options: dict[str, Any], expected: list[Any]
) -> None:
    for version in range(4):
        table.set_time(version, version)
    if way in FROM_SPARK_4_3 and not loads_with_options(spark):
        with pytest.raises(PySparkException, match=r"LAKESCAN_INVALID_OPTION.*lakescan\.read\(spark, path, options"):
            way(spark, table.path, options).collect()
    else:
        assert changes(way(spark, table.path, options)) == expected


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"versionAsOf": 1}, [1, 2, 3]),
        ({"VERSIONASOF": 2}, [1, 2, 3, 4, 5]),
        ({"timestampAsOf": "1970-01-01 00:00:01"}, [1, 2, 3]),
        ({"mergeSchema": "true"}, [2, 3, 4, 5]),
        ({"readChangeFeed": "false"}, [2, 3, 4, 5]),
        ({"lakescan.pushdown.limit": "false"}, [2, 3, 4, 5]),
    ],
)
def test_the_version_asked_for_is_read(
    spark: SparkSession, table: DeltaBuilder, way: Way, options: dict[str, Any], expected: list[int]
) -> None:
    for version in range(4):
        table.set_time(version, version)
    if options == {"readChangeFeed": "false"} and way in FROM_SPARK_4_3 and not loads_with_options(spark):
        pytest.skip("refused, as every such option is before PySpark 4.3")
    assert ids(way(spark, table.path, options)) == expected


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"versionasof1": "1"}, "versionasof1 cannot be used: there is no such option. Did you mean versionAsOf"),
        ({"pushdown.limit": False}, "pushdown.limit cannot be used.* lakescan.pushdown.limit"),
        ({"startingVersion": 0}, "startingVersion cannot be used: .*readChangeFeed = true"),
        ({"endingVersion": 1}, "endingVersion cannot be used: .*readChangeFeed"),
        ({"maxFilesPerTrigger": 1}, "maxFilesPerTrigger cannot be used: it is an option of a stream"),
        ({"readChangeFeed": "true"}, "readChangeFeed cannot be used: .*startingVersion or startingTimestamp"),
        ({**FEED, "startingTimestamp": "2024-01-01"}, "startingVersion is given too"),
        ({"readChangeFeed": "yes"}, "'yes' is neither 'true' nor 'false'"),
        ({"as.of.instant": "20240101000000"}, "as.of.instant cannot be used: it is an option of hudi tables"),
        ({**FEED, "startingVersion": "1970-01-01"}, "'1970-01-01' is (not|neither) a version's number"),
    ],
)
def test_an_option_that_cannot_be_honoured_is_refused_by_name(
    spark: SparkSession, table: DeltaBuilder, way: Way, options: dict[str, Any], said: str
) -> None:
    if not loads_with_options(spark) and way in FROM_SPARK_4_3:
        said = said.split(" cannot", maxsplit=1)[0] if "cannot" in said else "LAKESCAN_INVALID_OPTION"
    with pytest.raises((LakescanError, PySparkException), match=said):
        way(spark, table.path, options).collect()


def test_a_mistyped_option_is_told_where_it_is_written(spark: SparkSession, table: DeltaBuilder) -> None:
    with pytest.raises(UnknownOption):
        lakescan.read(spark, table.path, options={"versoinAsOf": 1})
    with pytest.raises(UnknownOption):
        lakescan.attach(spark, "mistyped", table.path, {"versoinAsOf": 1})


def test_a_version_given_twice_is_refused(spark: SparkSession, table: DeltaBuilder) -> None:
    with pytest.raises(InvalidOption, match="version= or timestamp= is given too"):
        lakescan.read(spark, table.path, version=1, options={"versionAsOf": 2})
    with pytest.raises(InvalidOption, match="reads a range of versions"):
        lakescan.read(spark, table.path, version=1, options=FEED)


def test_a_query_of_an_attached_table_wins_over_the_options_it_was_attached_with(
    spark: SparkSession, table: DeltaBuilder
) -> None:
    lakescan.attach(spark, "at_one", table.path, {"versionAsOf": 1})
    assert ids(spark.table("lake.at_one")) == [1, 2, 3]
    assert ids(spark.sql("SELECT * FROM lake.at_one VERSION AS OF 2")) == [1, 2, 3, 4, 5]
    assert ids(spark.read.option("versionAsOf", 2).table("lake.at_one")) == [1, 2, 3, 4, 5]


def test_one_query_reads_a_table_with_and_without_options(spark: SparkSession, table: DeltaBuilder) -> None:
    """Spark keeps the relations of a query by name: one must not get what another was asked for."""
    for first, second in (("", " VERSION AS OF 1"), (" VERSION AS OF 1", "")):
        sql = (
            f"SELECT count(*) AS n FROM delta.`{table.path}`{first} UNION ALL SELECT count(*) FROM delta.`{table.path}`"
        )
        assert sorted(row.n for row in spark.sql(sql + second).collect()) == [3, 4]
    if not loads_with_options(spark):
        return
    changed = f"delta.`{table.path}` WITH (`readChangeFeed` = 'true', `startingVersion` = '0')"
    for left, right in ((f"delta.`{table.path}`", changed), (changed, f"delta.`{table.path}`")):
        counts = spark.sql(f"SELECT count(*) AS n FROM {left} UNION ALL SELECT count(*) FROM {right}").collect()
        assert sorted(row.n for row in counts) == [4, 6]
