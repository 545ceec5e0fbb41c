"""A schema log that a stream gets only at a restart, one of another table, and a partitioning that changed."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakescan.errors import OtherSchemaLog, SchemaChanged, SchemaTrackingBegun, SchemaTrackingNeeded
from tests.formats.delta.stream.engine import Engine, pin
from tests.tables import DeltaBuilder


def mapped(root: Path, name: str = "old") -> DeltaBuilder:
    built = DeltaBuilder(root, pa.schema([("id", pa.int64()), (name, pa.string())]), mapping="name")
    built.append(row(0, name))
    return built


def row(number: int, name: str) -> pa.Table:
    return pa.table({"id": pa.array([number], pa.int64()), name: [f"v{number}"]})


def rename(built: DeltaBuilder, name: str) -> None:
    built.schema["fields"][1]["name"] = name
    built.commit(built.metadata())


def until_done(engine: Engine) -> list[type[Exception]]:
    """Drain and restart until nothing stops the stream; what stopped it."""
    stopped: list[type[Exception]] = []
    while len(stopped) < 5:
        try:
            engine.drain()
        except (SchemaChanged, SchemaTrackingBegun) as error:
            stopped.append(type(error))
            engine.restart()
        else:
            return stopped
    raise AssertionError(stopped)


def test_a_stream_stuck_at_a_rename_goes_on_when_it_gets_a_schema_log(tmp_path: Path) -> None:
    built = mapped(tmp_path / "table")
    engine = Engine(built.path, {"startingVersion": 0})
    engine.drain()
    rename(built, "new")
    built.append(row(1, "new"))
    engine.restart()
    with pytest.raises(SchemaTrackingNeeded, match="schemaTrackingLocation"):
        engine.drain()
    engine.options = {**engine.options, "schemaTrackingLocation": str(tmp_path / "schemas")}
    engine.restart()
    until_done(engine)
    assert engine.rows == [{"id": 0, "old": "v0"}, {"id": 1, "new": "v1"}]
    rename(built, "newest")
    built.append(row(2, "newest"))
    assert until_done(engine) == [SchemaChanged]
    assert engine.rows[-1] == {"id": 2, "newest": "v2"}


def test_a_schema_log_that_comes_before_the_rename_keeps_the_rows_before_it_in_the_old_name(tmp_path: Path) -> None:
    built = mapped(tmp_path / "table")
    engine = Engine(built.path, {"startingVersion": 0, "maxFilesPerTrigger": 1})
    engine.batch()
    built.append(row(1, "old"))
    rename(built, "new")
    built.append(row(2, "new"))
    engine.options = {**engine.options, "schemaTrackingLocation": str(tmp_path / "schemas")}
    engine.restart()
    assert until_done(engine) == [SchemaChanged]
    assert engine.rows == [{"id": 0, "old": "v0"}, {"id": 1, "old": "v1"}, {"id": 2, "new": "v2"}]


def test_a_schema_log_given_with_a_batch_still_to_be_read_holds_the_schema_of_that_batch(tmp_path: Path) -> None:
    built = mapped(tmp_path / "table")
    engine = Engine(built.path, {"startingVersion": 0})
    engine.batch(crash=True)
    rename(built, "new")
    built.append(row(1, "new"))
    engine.options = {**engine.options, "schemaTrackingLocation": str(tmp_path / "schemas")}
    engine.restart()
    until_done(engine)
    assert engine.rows == [{"id": 0, "old": "v0"}, {"id": 1, "new": "v1"}]


def test_a_schema_log_given_after_the_first_commits_were_cleaned_away_begins_where_the_stream_is(
    tmp_path: Path,
) -> None:
    built = mapped(tmp_path / "table")
    engine = Engine(built.path, {"startingVersion": 0})
    engine.drain()
    built.checkpoint()
    built.append(row(1, "old"))
    built.clean_log(1)
    engine.options = {**engine.options, "schemaTrackingLocation": str(tmp_path / "schemas")}
    engine.restart()
    until_done(engine)
    assert [one["id"] for one in engine.rows] == [0, 1]
    (entry,) = (tmp_path / "schemas").glob("_schema_log_*/*")
    assert entry.name == "0"
    assert json.loads(entry.read_text().splitlines()[1])["deltaCommitVersion"] == 2


def test_a_schema_log_of_another_table_is_refused_by_name(tmp_path: Path) -> None:
    one, other = mapped(tmp_path / "one", "a"), mapped(tmp_path / "other", "b")
    options: dict[str, Any] = {"startingVersion": 0, "schemaTrackingLocation": str(tmp_path / "schemas")}
    Engine(one.path, options).drain()
    # Delta Spark keeps the logs of several tables in one folder.
    Engine(other.path, options).drain()
    first, second = sorted(
        (tmp_path / "schemas").iterdir(), key=lambda folder: one.metadata()["metaData"]["id"] not in folder.name
    )
    (first / "0").replace(second / "0")
    with pytest.raises(OtherSchemaLog, match=r"schemas.*another table .*other.*folder of its own"):
        pin(other.path, **options)


def repartitioned(root: Path) -> DeltaBuilder:
    """0 and 1: ids 0 and 1 without partitions; 2: partitioned by p, and all written anew; 3: id 3."""
    built = DeltaBuilder(root, pa.schema([("id", pa.int64()), ("p", pa.int64())]))
    first = built.append(pa.table({"id": pa.array([0, 1], pa.int64()), "p": pa.array([0, 0], pa.int64())}))
    built.partition_by = ["p"]
    only_id = pa.table({"id": pa.array([0, 1], pa.int64())})
    built.commit(built.metadata(), built.remove(first), built.add(only_id, partition={"p": "0"}))
    built.append(pa.table({"id": pa.array([3], pa.int64())}), partition={"p": "1"})
    return built


def test_a_stream_stops_where_the_partition_columns_changed(tmp_path: Path) -> None:
    built = repartitioned(tmp_path)
    engine = Engine(built.path, {"startingVersion": 0, "ignoreChanges": True})
    for _ in range(2):
        with pytest.raises(SchemaTrackingNeeded, match="partition columns were changed from none to p"):
            engine.drain()
        engine.restart()
    assert engine.rows == []
    later = Engine(built.path, {"startingVersion": 2, "ignoreChanges": True})
    later.drain()
    later.restart()
    later.drain()
    assert later.rows == [{"id": 0, "p": 0}, {"id": 1, "p": 0}, {"id": 3, "p": 1}]


def test_a_schema_log_takes_a_stream_through_a_change_of_the_partition_columns(tmp_path: Path) -> None:
    built = repartitioned(tmp_path / "table")
    options = {"startingVersion": 0, "ignoreChanges": True, "schemaTrackingLocation": str(tmp_path / "schemas")}
    engine = Engine(built.path, options)
    assert until_done(engine) == [SchemaChanged]
    assert [one["id"] for one in engine.rows] == [0, 1, 0, 1, 3]
    assert [one["p"] for one in engine.rows] == [0, 0, 0, 0, 1]


def test_a_renamed_partition_column_is_a_rename_and_no_other_partitioning(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", pa.int64())])
    built = DeltaBuilder(tmp_path / "table", schema, partition_by=["p"], mapping="name")
    built.append(pa.table({"id": pa.array([0], pa.int64())}), partition={"p": "7"})
    options = {"startingVersion": 0, "schemaTrackingLocation": str(tmp_path / "schemas")}
    engine = Engine(built.path, options)
    engine.drain()
    built.schema["fields"][1]["name"] = "q"
    built.partition_by = ["q"]
    built.commit(built.metadata())
    with pytest.raises(SchemaChanged) as told:
        engine.drain()
    assert "renamed to q" in str(told.value)
    assert "partition columns" not in str(told.value)
