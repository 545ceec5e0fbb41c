"""A format that Lakescan does not know, in a real Spark: names in SQL, pushdowns and a stream come with the list."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import lakescan
from lakescan.formats import registry
from lakescan.spark.python_source.python_data_source import LakescanDataSource
from tests import toy_format
from tests.toy_format.builder import ToyBuilder

pytestmark = pytest.mark.spark
SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])


class ToySource(LakescanDataSource):
    """Spark makes a source in a process of its own, which has to know the format too."""

    def __init__(self, options: Mapping[str, str]) -> None:
        if toy_format.FORMAT not in registry.FORMATS:
            registry.FORMATS = (*registry.FORMATS, toy_format.FORMAT)
        super().__init__(options)

    @classmethod
    def name(cls) -> str:
        return "lakescan_with_toys"


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyBuilder:
    monkeypatch.setattr(registry, "FORMATS", (*registry.FORMATS, toy_format.FORMAT))
    built = ToyBuilder(tmp_path / "toys", SCHEMA)
    for first in (0, 10, 20):
        add(built, first)
    return built


def add(built: ToyBuilder, first: int) -> None:
    numbers = range(first, first + 10)
    built.add(pa.table({"id": pa.array(numbers, pa.int64()), "text": [f"t{number}" for number in numbers]}))


def test_its_tables_have_names_in_sql_and_queries_are_pushed_down(spark: SparkSession, toys: ToyBuilder) -> None:
    # A session of its own: the catalog goes with it.
    session = lakescan.install(spark.newSession())
    lakescan.attach(session, "toys", toys.path)
    for name in (f"toy.`{toys.path}`", "lake.toys"):
        frame = session.sql(f"SELECT id, text FROM {name} WHERE id > 17 AND id < 21")
        assert sorted(tuple(row) for row in frame.collect()) == [(18, "t18"), (19, "t19"), (20, "t20")]
        assert [scan.files_planned for scan in lakescan.report(frame).scans] == [2]
        counted = session.sql(f"SELECT count(*), min(id), max(text) FROM {name} WHERE id >= 10")
        assert tuple(counted.collect()[0]) == (20, 10, "t29")
        assert len(session.sql(f"SELECT * FROM {name} LIMIT 3").collect()) == 3
    assert session.sql(f"SELECT max(id) FROM toy.`{toys.path}` VERSION AS OF 1").collect()[0][0] == 19
    assert lakescan.read(session, toys.path, options={"versionAsOf": 0}).count() == 10
    with pytest.raises(PySparkException, match="is a Toy table, not a Delta one"):
        session.sql(f"SELECT * FROM delta.`{toys.path}`").collect()
    with pytest.raises(PySparkException, match="Lakescan reads tables and never changes them"):
        session.sql(f"DROP TABLE toy.`{toys.path}`")


def test_its_tables_are_streams(spark: SparkSession, toys: ToyBuilder, tmp_path: Path) -> None:
    session = spark.newSession()
    session.dataSource.register(ToySource)
    batches: dict[int, list[Any]] = {}

    def keep(batch: DataFrame, number: int) -> None:
        batches[number] = sorted(row["id"] for row in batch.collect())

    def run() -> None:
        frame = session.readStream.format(ToySource.name()).load(toys.path)
        writer = frame.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()

    run()
    assert sorted(number for batch in batches.values() for number in batch) == list(range(30))
    batches.clear()
    add(toys, 30)
    run()
    assert list(batches.values()) == [list(range(30, 40))]
