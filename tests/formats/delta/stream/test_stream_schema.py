"""Schema changes in mid-stream: what a restart passes, what a schema log passes, and what is refused."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakescan.errors import CorruptLog, SchemaChanged, SchemaTrackingNeeded, UnsupportedFeature
from tests.formats.delta.stream.engine import Engine, pin
from tests.tables import DeltaBuilder, spark_schema

ID = pa.schema([("id", pa.int64())])


def ids(first: int, last: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, last + 1), pa.int64())})


def table(root: Path) -> DeltaBuilder:
    return DeltaBuilder(root, ID, features=["deletionVectors"])


def drained(built: DeltaBuilder, **options: Any) -> list[int]:
    engine = Engine(built.path, options)
    engine.drain()
    return sorted(row["id"] for row in engine.rows)


def test_an_added_column_stops_the_stream_and_a_restart_goes_on_with_it(tmp_path: Path) -> None:
    built = table(tmp_path)
    built.append(ids(0, 1))
    engine = Engine(built.path, {"startingVersion": 0})
    engine.drain()
    built.append(ids(2, 2))
    built.schema = spark_schema(pa.schema([("id", pa.int64()), ("extra", pa.string())]))
    built.commit(built.metadata(), built.add(pa.table({"id": pa.array([3], pa.int64()), "extra": ["x"]})))
    with pytest.raises(SchemaChanged, match=r"Version 3 .*the column extra was added.*Restart the stream"):
        engine.drain()
    assert sorted(row["id"] for row in engine.rows) == [0, 1, 2]
    engine.restart()
    engine.drain()
    assert engine.rows[-1] == {"id": 3, "extra": "x"}
    assert len(engine.rows) == 4


def mapped(root: Path) -> DeltaBuilder:
    schema = pa.schema([("id", pa.int64()), ("old", pa.string())])
    built = DeltaBuilder(root, schema, mapping="name")
    built.append(pa.table({"id": pa.array([0], pa.int64()), "old": ["a"]}))
    return built


def rename(built: DeltaBuilder) -> None:
    built.schema["fields"][1]["name"] = "new"
    built.commit(built.metadata())
    built.append(pa.table({"id": pa.array([1], pa.int64()), "new": ["b"]}))


def drop(built: DeltaBuilder) -> None:
    built.schema["fields"] = built.schema["fields"][:1]
    built.commit(built.metadata())
    built.append(ids(1, 1))


@pytest.mark.parametrize(("change", "said"), [(rename, "renamed to new"), (drop, "old was dropped")])
def test_renames_and_drops_are_refused_without_a_schema_log_before_and_after_a_restart(
    tmp_path: Path, change: Any, said: str
) -> None:
    built = mapped(tmp_path)
    engine = Engine(built.path, {"startingVersion": 0})
    engine.drain()
    change(built)
    for _ in range(2):
        with pytest.raises(SchemaTrackingNeeded, match=f"{said}.*schemaTrackingLocation"):
            engine.drain()
        engine.restart()
    assert engine.rows == [{"id": 0, "old": "a"}]
    with pytest.raises(SchemaTrackingNeeded, match=said):
        Engine(built.path, {"startingVersion": 0}).drain()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (rename, [{"id": 0, "old": "a"}, {"id": 1, "new": "b"}]),
        (drop, [{"id": 0, "old": "a"}, {"id": 1}]),
    ],
)
def test_a_schema_log_takes_a_stream_through_renames_and_drops(
    tmp_path: Path, change: Any, expected: list[dict[str, Any]]
) -> None:
    built = mapped(tmp_path / "table")
    change(built)
    engine = Engine(built.path, {"startingVersion": 0, "schemaTrackingLocation": str(tmp_path / "schemas")})
    with pytest.raises(SchemaChanged, match="Restart the stream"):
        engine.drain()
    engine.restart()
    engine.drain()
    assert engine.rows == expected


def test_a_schema_log_that_is_damaged_is_named(tmp_path: Path) -> None:
    built = mapped(tmp_path / "table")
    folder = tmp_path / "schemas"
    Engine(built.path, {"startingVersion": 0, "schemaTrackingLocation": str(folder)}).drain()
    (file,) = folder.glob("_schema_log_*/0")
    whole = file.read_text()
    for text in ("", "{}", "v1", "v1\n{}", whole.replace("v1", "v2"), whole.replace("fields", "felds")):
        file.write_text(text)
        with pytest.raises(CorruptLog, match=f"{file.parent.name}/0"):
            pin(built.path, startingVersion=0, schemaTrackingLocation=str(folder))


def test_a_type_that_is_not_wider_is_refused(tmp_path: Path) -> None:
    built = table(tmp_path)
    engine = Engine(built.path, {"startingVersion": 0})
    engine.drain()
    built.schema = spark_schema(pa.schema([("id", pa.string())]))
    built.commit(built.metadata())
    with pytest.raises(SchemaTrackingNeeded, match="type of id was changed from int64 to string"):
        engine.drain()


def test_a_widened_type_asks_for_a_restart_and_old_rows_come_in_the_wider_type(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int32())]))
    built.append(pa.table({"id": pa.array([1], pa.int32())}))
    engine = Engine(built.path, {"startingVersion": 0})
    engine.drain()
    built.schema = spark_schema(ID)
    built.commit(built.metadata())
    built.append(ids(5_000_000_000, 5_000_000_000))
    with pytest.raises(SchemaChanged, match="widened from int32 to int64"):
        engine.drain()
    engine.restart()
    engine.drain()
    assert [row["id"] for row in engine.rows] == [1, 5_000_000_000]
    assert drained(built, startingVersion=0) == [1, 5_000_000_000]


def test_a_feature_switched_on_in_mid_stream_is_refused_by_name_after_the_rows_before_it(tmp_path: Path) -> None:
    built = table(tmp_path)
    engine = Engine(built.path, {"startingVersion": 0})
    engine.drain()
    built.append(ids(0, 0))
    named = {"readerFeatures": ["futureThing"], "writerFeatures": ["futureThing"]}
    built.commit({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **named}})
    with pytest.raises(UnsupportedFeature, match="futureThing"):
        engine.drain()
    assert [row["id"] for row in engine.rows] == [0]
