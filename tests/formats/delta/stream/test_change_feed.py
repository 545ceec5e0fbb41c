"""The change feed as a stream: the rows that Delta Spark gives, and rows that rebuild the table when applied."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakescan.errors import (
    ChangesNotRecorded,
    HalfReadCommit,
    InvalidOption,
    SchemaChanged,
    SchemaTrackingNeeded,
    UnsupportedFeature,
)
from lakescan.stream.admission import Admission
from lakescan.stream.stream import Limits
from tests.examples import examples, seeds
from tests.expected import copied, in_order, tables
from tests.formats.delta.feeds import ON, feed, rows
from tests.formats.delta.stream.engine import Engine, pin
from tests.formats.delta.stream.history import History, Row
from tests.tables import DeltaBuilder

CHUNK = min(40, examples(40))
OWN = ("_change_type", "_commit_version", "_commit_timestamp")


@pytest.mark.parametrize("name", [name for name in tables() if name.startswith("changes")])
def test_a_stream_gives_the_changes_that_delta_spark_gives(name: str, tmp_path: Path) -> None:
    root, expected = copied(name, tmp_path)
    single = {change["start"]: change for change in expected["changes"] if change["start"] == change["end"]}
    checked = 0
    for start in sorted(single):
        engine = Engine(str(root), {"startingVersion": start, "readChangeFeed": True, "maxFilesPerTrigger": 1})
        due: list[Any] = []
        try:
            engine.drain()
            stopped = max(single) + 1
        except (ChangesNotRecorded, SchemaTrackingNeeded, UnsupportedFeature):
            at = pin(str(root), startingVersion=start, readChangeFeed=True)
            last = engine.offsets[-1] if engine.offsets else None
            stopped = _version(last) if last else start
            assert single[stopped].get("error") or _renamed(at.metadata.schema.names, single[stopped]["columns"])
        for version in range(start, stopped):
            due.extend(single[version]["rows"])
        padded = [{name: row.get(name) for name in engine.pinned.schema.names} for row in due]
        assert in_order(engine.rows) == in_order(padded), start
        checked += len(due)
    assert checked


def _version(offset: str) -> int:
    import json

    version: int = json.loads(offset)["reservoirVersion"]
    return version


def _renamed(now: list[str], then: list[str]) -> bool:
    """Whether a column of then is none of now's."""
    return bool(set(then) - set(now) - set(OWN))


def key(row: Row) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted((k, v) for k, v in row.items() if v is not None and k not in OWN))


def run(root: Path, seed: int) -> None:
    chance = random.Random(seed)
    history = History(root, seed, properties=ON)
    for _ in range(chance.randint(0, 5)):
        history.grow()
    options: dict[str, Any] = {"readChangeFeed": True}
    options |= chance.choice([{}, {"maxFilesPerTrigger": chance.randint(1, 3)}])
    first = history.newest
    live: Counter[Any] = Counter()
    if chance.random() < 0.5:
        first = options["startingVersion"] = chance.randint(1, history.newest + 1)
        live = Counter(key(row) for row in history.versions[first - 1].live_rows)
    engine = Engine(history.built.path, options)
    engine.decide()
    for _ in range(chance.randint(1, 4)):
        history.grow()
        if chance.random() < 0.5:
            engine.restart()
        try:
            engine.batch(crash=chance.random() < 0.3)
        except SchemaChanged:
            engine.restart()
    for _ in range(50):
        try:
            engine.drain()
            break
        except SchemaChanged:
            engine.restart()
    versions = {row["_commit_version"] for row in engine.rows}
    assert not versions or min(versions) >= first
    for version in range(first, history.newest + 1):
        changes = [row for row in engine.rows if row["_commit_version"] == version]
        live.subtract(key(row) for row in changes if row["_change_type"] in ("delete", "update_preimage"))
        live.update(key(row) for row in changes if row["_change_type"] in ("insert", "update_postimage"))
        assert +live == Counter(key(row) for row in history.versions[version].live_rows), version
        assert not -live, version


@pytest.mark.parametrize("chunk", seeds(3))
def test_changes_applied_in_order_rebuild_every_version(tmp_path: Path, chunk: int) -> None:
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        try:
            run(tmp_path / str(seed), seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def test_the_initial_snapshot_comes_as_inserts_of_its_version(tmp_path: Path) -> None:
    built = feed(tmp_path)
    first = built.append(rows(1, 2, 3))
    built.delete(first, [0])
    for version in range(3):
        built.set_time(version, 998 + version)
    engine = Engine(built.path, {"readChangeFeed": True})
    engine.drain()
    changes = sorted((row["id"], row["_change_type"], row["_commit_version"]) for row in engine.rows)
    assert changes == [(2, "insert", 2), (3, "insert", 2)]
    assert {row["_commit_timestamp"].timestamp() for row in engine.rows} == {1000.0}


def test_a_commit_is_never_split(tmp_path: Path) -> None:
    built = feed(tmp_path)
    built.commit(*[built.add(rows(at)) for at in range(4)])
    built.append(rows(4))
    engine = Engine(built.path, {"readChangeFeed": True, "startingVersion": 1, "maxFilesPerTrigger": 2})
    engine.batch()
    assert len(engine.rows) == 4
    engine.batch()
    assert len(engine.rows) == 5
    whole = Admission(Limits(files=3))
    assert whole.admit(pa.chunked_array([[1, 1]]), whole=True) == 2
    assert whole.admit(pa.chunked_array([[1, 1]]), whole=True) == 0


def test_a_version_whose_changes_were_not_recorded_is_refused_after_the_rows_before_it(tmp_path: Path) -> None:
    built = feed(tmp_path)
    built.append(rows(1))
    built.properties = {}
    built.commit(built.metadata())
    engine = Engine(built.path, {"readChangeFeed": True, "startingVersion": 0})
    with pytest.raises(ChangesNotRecorded, match=r"version 2.*enableChangeDataFeed"):
        engine.drain()
    assert [row["id"] for row in engine.rows] == [1]


def test_a_table_with_a_column_of_the_feeds_name_is_refused(tmp_path: Path) -> None:
    from tests.tables import DeltaBuilder

    built = DeltaBuilder(tmp_path, pa.schema([("_commit_version", pa.int64())]), properties=ON)
    with pytest.raises(UnsupportedFeature, match="_commit_version"):
        Engine(built.path, {"readChangeFeed": True, "startingVersion": 0}).drain()


def test_the_feed_and_options_that_leave_changes_out_do_not_go_together(tmp_path: Path) -> None:
    built = feed(tmp_path)
    with pytest.raises(InvalidOption, match="readChangeFeed gives every change"):
        pin(built.path, readChangeFeed=True, skipChangeCommits=True)


def half_read(root: Path, change: bool) -> Engine:
    """A stream of appended rows that stopped after the first of two files of version 1."""
    built = DeltaBuilder(root, pa.schema([("id", pa.int64())]), properties={"delta.enableChangeDataFeed": "true"})
    first = built.add(pa.table({"id": pa.array([1], pa.int64())}))
    built.commit(first, built.add(pa.table({"id": pa.array([2], pa.int64())})))
    if change:
        made = [built.add(pa.table({"id": pa.array([number], pa.int64())})) for number in (3, 4)]
        built.commit(built.remove(first), *made)
    options = {"startingVersion": 2 if change else 1, "maxFilesPerTrigger": 1, "ignoreChanges": True}
    engine = Engine(built.path, options)
    engine.batch()
    engine.restart()
    engine.options = {"readChangeFeed": True}
    return engine


def test_a_restart_with_the_feed_inside_a_commit_of_appends_gives_the_files_that_are_left(tmp_path: Path) -> None:
    engine = half_read(tmp_path, change=False)
    engine.drain()
    assert [(row["id"], row.get("_change_type")) for row in engine.rows] == [(1, None), (2, "insert")]


def test_a_restart_with_the_feed_inside_a_commit_of_changes_is_refused(tmp_path: Path) -> None:
    engine = half_read(tmp_path, change=True)
    with pytest.raises(HalfReadCommit, match=r"inside version 2.*without readChangeFeed first"):
        engine.drain()
