"""A new version is read from the new commits: what an earlier one has read is shared, and nothing of it piles up."""

import gc
import random
import weakref
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.formats.delta.log import replay as delta_replay
from lakescan.io.storage import Storage
from lakescan.scan.snapshot import Snapshot
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.int32())])


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_replay, "_MANY_ROWS", 1)


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    table = DeltaBuilder(tmp_path, SCHEMA, partition_by=["p"], features=["deletionVectors"])
    table.commit(*(added(table, at) for at in range(6)))
    table.checkpoint()
    return table


def added(table: DeltaBuilder, at: int) -> dict[str, Any]:
    return table.add(pa.table({"id": pa.array(range(10 * at, 10 * at + 10), pa.int64())}), partition={"p": str(at % 2)})


def read_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the log's files that are opened from now on."""
    names: list[str] = []
    opened = Storage.open

    def noted(storage: Storage, path: str) -> pa.NativeFile:
        names.append(path.rsplit("/", 1)[-1])
        return opened(storage, path)

    monkeypatch.setattr(Storage, "open", noted)
    return names


def contents(snapshot: Snapshot) -> list[dict[str, Any]]:
    files = snapshot.files()
    counts = snapshot.statistics(files, ()).field("row_count").to_pylist()
    shown = files.select(["path", "size", "partition", "deletion_vector"]).to_pylist()
    return sorted(
        ({**file, "rows": rows} for file, rows in zip(shown, counts, strict=True)), key=lambda file: file["path"]
    )


def test_a_new_version_reads_the_new_commits_only(table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = lakescan.open(table.path)
    opened.snapshot().files()
    first = table.commit(added(table, 6))
    second = table.commit(added(table, 7))
    names = read_files(monkeypatch)
    assert opened.snapshot().files().num_rows == 8
    assert sorted(names) == [f"{version:020d}.json" for version in (first, second)]


def test_a_newer_checkpoint_is_not_read_where_the_older_one_is(
    table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = lakescan.open(table.path)
    opened.snapshot().files()
    version = table.commit(added(table, 6))
    table.checkpoint()
    names = read_files(monkeypatch)
    assert opened.snapshot().files().num_rows == 7
    assert names == [f"{version:020d}.json"]


def test_after_many_commits_the_newer_checkpoint_is_read(table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakescan.formats.delta.table._MOST_COMMITS", 1)
    opened = lakescan.open(table.path)
    opened.snapshot().files()
    for at in (6, 7):
        table.commit(added(table, at))
    (checkpoint,) = table.checkpoint()
    names = read_files(monkeypatch)
    assert opened.snapshot().files().num_rows == 8
    assert names == [checkpoint.name]


@pytest.mark.parametrize("seed", range(6))
def test_every_version_on_the_way_is_what_a_new_reader_sees(table: DeltaBuilder, seed: int) -> None:
    chance = random.Random(seed)
    opened, live = lakescan.open(table.path), [action for action in table.live_actions() if "add" in action]
    for at in range(6, 24):
        kind = chance.choice(["add", "remove", "delete", "again", "checkpoint", "look"])
        if kind == "remove" and live:
            table.commit(table.remove(live.pop(chance.randrange(len(live)))))
        elif kind == "delete" and live:
            place = chance.randrange(len(live))
            live[place] = table.delete(live[place], [chance.randrange(10)])
        elif kind == "again" and live:
            table.commit(live[chance.randrange(len(live))])
        else:
            live.append(added(table, at))
            table.commit(live[-1])
        if kind == "checkpoint":
            table.checkpoint()
        if kind != "look":
            continue
        now, fresh = opened.snapshot(), lakescan.open(table.path).snapshot()
        assert now.version == fresh.version
        assert contents(now) == contents(fresh)
        assert now.num_files == len(live)
        for predicate in ("p = 1", f"id = {10 * at - 5}"):
            paths = [snapshot.scan().filter(predicate).build().files()["path"].to_pylist() for snapshot in (now, fresh)]
            assert sorted(paths[0]) == sorted(paths[1])


def test_versions_that_are_gone_leave_nothing_behind(table: DeltaBuilder) -> None:
    opened, kept = lakescan.open(table.path), []
    for at in range(6, 12):
        snapshot = opened.snapshot()
        snapshot.files()
        kept.append(weakref.ref(snapshot.__dict__["_replay"]))
        del snapshot
        table.commit(added(table, at))
    opened.snapshot().files()
    gc.collect()
    assert [ref() for ref in kept] == [None] * len(kept)


def test_another_partitioning_shares_no_files(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, partition_by=["p"])
    table.commit(added(table, 0))
    table.checkpoint()
    opened = lakescan.open(table.path)
    assert opened.snapshot().files().num_rows == 1
    removed = [table.remove(action) for action in table.live_actions() if "add" in action]
    metadata = table.metadata()
    metadata["metaData"]["partitionColumns"] = []
    new = table.add(pa.table({"id": pa.array([1], pa.int64()), "p": pa.array([1], pa.int32())}))
    new["add"]["partitionValues"] = {}
    table.commit(*removed, metadata, new)
    assert opened.snapshot().partition_columns == ()
    assert opened.snapshot().files().num_rows == 1
