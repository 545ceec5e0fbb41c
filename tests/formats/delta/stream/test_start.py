"""Where a stream starts: each starting point, each mode, and what is refused, always with the reason."""

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakescan.errors import InvalidVersion, MissingCommit, RelaxedStartRefused, StartNotRebuilt, VersionNotFound
from lakescan.formats.delta.log.log_segment import list_log
from lakescan.formats.delta.stream.pinned_stream import PinnedDeltaStream
from lakescan.formats.delta.stream.start import starting_state
from lakescan.formats.delta.table import DeltaTable, open_delta
from lakescan.io.storage import Storage
from lakescan.stream.stream import Limits
from tests.formats.delta.stream.engine import Engine
from tests.tables import DeltaBuilder, spark_schema

FUTURE = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["futureThing"],
        "writerFeatures": ["futureThing"],
    }
}


def ids(first: int, last: int, name: str = "id", type_: pa.DataType | None = None) -> pa.Table:
    return pa.table({name: pa.array(range(first, last + 1), type_ or pa.int64())})


def stream_ids(built: DeltaBuilder, **options: Any) -> list[Any]:
    engine = Engine(built.path, options)
    engine.drain()
    return sorted(row["id"] for row in engine.rows)


def mapped_at_one(root: Path, mode: str, protocol: dict[str, Any] | None = None) -> DeltaBuilder:
    """0: a plain table with ids 0 to 9; 1: column mapping on, with new names in files, and 10 to 19; 2: 20 to 29."""
    built = DeltaBuilder(root, pa.schema([("id", pa.int64()), ("name", pa.string())]), create=False)

    def rows(first: int) -> pa.Table:
        numbers = range(first, first + 10)
        return pa.table({"id": pa.array(numbers, pa.int64()), "name": [f"n{number}" for number in numbers]})

    built.commit(protocol or built.protocol(), built.metadata(), built.add(rows(0)))
    built.map_columns(mode)
    added = built.add(rows(10))
    built.commit(built.protocol(), built.metadata(), added)
    built.append(rows(20))
    return built


@pytest.mark.parametrize("mode", ["name", "id"])
def test_streams_from_before_and_at_the_switch_to_column_mapping_are_both_right(tmp_path: Path, mode: str) -> None:
    built = mapped_at_one(tmp_path, mode)
    for start in (0, 1, 2):
        engine = Engine(built.path, {"startingVersion": start})
        engine.drain()
        expected = [{"id": number, "name": f"n{number}"} for number in range(start * 10, 30)]
        assert sorted(engine.rows, key=lambda row: row["id"]) == expected


def test_an_unsupported_protocol_at_the_start_is_refused_by_name_in_both_modes(tmp_path: Path) -> None:
    built = mapped_at_one(tmp_path, "name", FUTURE)
    with pytest.raises(StartNotRebuilt, match=r"futureThing.*startingVersionMode to relaxed"):
        stream_ids(built, startingVersion=0)
    with pytest.raises(RelaxedStartRefused, match=r"unsupported feature was in force.*futureThing"):
        stream_ids(built, startingVersion=0, startingVersionMode="relaxed")
    assert stream_ids(built, startingVersion=1) == list(range(10, 30))


def test_a_snapshot_that_cannot_be_rebuilt_is_refused_in_exact_and_read_in_relaxed_mode(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Nothing proves the metadata of version 1: it comes with 2.
    built = unknown_start(tmp_path, lambda built: built.commit(built.metadata()))
    with pytest.raises(StartNotRebuilt, match=r"version 1.*startingVersionMode to relaxed"):
        stream_ids(built, startingVersion=1)
    engine = Engine(built.path, {"startingVersion": 1, "startingVersionMode": "relaxed"})
    with caplog.at_level(logging.WARNING, "lakescan.stream"):
        engine.drain()
    assert sorted(row["id"] for row in engine.rows) == list(range(20))
    assert "version 1" in engine.notes[0]["warning"]
    assert "cannot be rebuilt" in caplog.text


def unknown_start(root: Path, change: Any, first: pa.Table | None = None, **kwargs: Any) -> DeltaBuilder:
    """Commit 1 adds a file under metadata that is lost; `change` comes at 2, and only 3 can be rebuilt."""
    built = DeltaBuilder(root, pa.schema([("id", pa.int64())]), **kwargs)
    partition = dict.fromkeys(built.partition_by, "7") or None
    built.append(ids(0, 9) if first is None else first, partition=partition)
    change(built)
    built.append(ids(10, 19), partition=dict.fromkeys(built.partition_by, "7") or None)
    built.checkpoint()
    (built.log / f"{0:020d}.json").unlink()
    return built


def relaxed(built: DeltaBuilder) -> list[Any]:
    with pytest.raises(StartNotRebuilt):
        stream_ids(built, startingVersion=1)
    return stream_ids(built, startingVersion=1, startingVersionMode="relaxed")


@pytest.mark.parametrize("mode", ["exact", "relaxed"])
def test_both_modes_read_where_nothing_changed_since_the_start(tmp_path: Path, mode: str) -> None:
    built = unknown_start(tmp_path, lambda built: built.commit({"commitInfo": {}}))
    assert stream_ids(built, startingVersion=1, startingVersionMode=mode) == list(range(20))


def test_relaxed_refuses_new_physical_names(tmp_path: Path) -> None:
    def change(built: DeltaBuilder) -> None:
        built.map_columns("name")
        built.commit(built.protocol(), built.metadata())

    with pytest.raises(RelaxedStartRefused, match="column mapping mode or a physical name differs"):
        relaxed(unknown_start(tmp_path, change))


def test_relaxed_refuses_files_without_ids_under_id_mapping(tmp_path: Path) -> None:
    def change(built: DeltaBuilder) -> None:
        built.map_columns("id")
        built.commit(built.protocol(), built.metadata())

    with pytest.raises(RelaxedStartRefused, match="column mapping mode or a physical name differs"):
        relaxed(unknown_start(tmp_path, change))


def test_relaxed_reads_where_the_mapping_kept_the_names(tmp_path: Path) -> None:
    def change(built: DeltaBuilder) -> None:
        built.map_columns("name")
        built.schema["fields"][0]["metadata"]["delta.columnMapping.physicalName"] = "id"
        built.commit(built.protocol(), built.metadata())

    assert relaxed(unknown_start(tmp_path, change)) == list(range(20))


def test_relaxed_reads_an_added_column_as_null(tmp_path: Path) -> None:
    def change(built: DeltaBuilder) -> None:
        built.schema = spark_schema(pa.schema([("id", pa.int64()), ("extra", pa.string())]))
        built.commit(built.metadata())

    built = unknown_start(tmp_path, change)
    assert relaxed(built) == list(range(20))


def test_relaxed_refuses_a_dropped_column(tmp_path: Path) -> None:
    def change(built: DeltaBuilder) -> None:
        built.commit(built.metadata())

    first = pa.table({"id": pa.array([1], pa.int64()), "gone": ["x"]})
    with pytest.raises(RelaxedStartRefused, match="the column gone is not one of"):
        relaxed(unknown_start(tmp_path, change, first))


def test_relaxed_refuses_another_partition_column(tmp_path: Path) -> None:
    def change(built: DeltaBuilder) -> None:
        built.schema = spark_schema(pa.schema([("id", pa.int64()), ("p", pa.string())]))
        built.partition_by = ["p"]
        built.commit(built.metadata())

    with pytest.raises(RelaxedStartRefused, match=r"a partition column changed.*no partition columns.*p"):
        relaxed(unknown_start(tmp_path, change))


def test_relaxed_reads_a_type_that_widened_and_refuses_one_that_did_not(tmp_path: Path) -> None:
    def change(built: DeltaBuilder) -> None:
        built.commit(built.metadata())

    assert relaxed(unknown_start(tmp_path / "wide", change, ids(0, 9, type_=pa.int32()))) == list(range(20))
    text = pa.table({"id": ["1", "2"]})
    with pytest.raises(RelaxedStartRefused, match="type changed, not by widening"):
        relaxed(unknown_start(tmp_path / "text", change, text))


def test_relaxed_refuses_where_a_feature_was_dropped_since(tmp_path: Path) -> None:
    def change(built: DeltaBuilder) -> None:
        built.commit({"commitInfo": {"operation": "DROP FEATURE"}}, built.protocol())

    with pytest.raises(RelaxedStartRefused, match="drops a table feature"):
        relaxed(unknown_start(tmp_path, change))


def test_relaxed_refuses_an_unsupported_feature_that_came_later(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    built.append(ids(0, 9))
    built.commit(FUTURE)
    built.commit(built.protocol())
    built.checkpoint()
    (built.log / f"{0:020d}.json").unlink()
    with pytest.raises(RelaxedStartRefused, match="futureThing"):
        stream_ids(built, startingVersion=2, startingVersionMode="relaxed")


def test_relaxed_refuses_where_no_newer_snapshot_can_be_rebuilt(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    built.append(ids(0, 9))
    built.append(ids(10, 19))
    built.checkpoint()
    (built.log / f"{0:020d}.json").unlink()
    storage = Storage.at(built.path)
    # As a stream sees it whose end was fixed before the checkpoint.
    listing = list_log(storage).up_to(1)
    with pytest.raises(RelaxedStartRefused, match="no newer one can"):
        starting_state(storage, listing, 1, relaxed=True)


def test_a_table_whose_newest_version_cannot_be_rebuilt_is_an_error_and_no_empty_stream(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    built.append(ids(0, 9))
    engine = Engine(built.path, {"startingVersion": 1, "startingVersionMode": "relaxed"})
    _ = engine.stream
    (built.log / f"{0:020d}.json").unlink()
    for _ in range(2):
        with pytest.raises(MissingCommit, match=r"00000000000000000000.json is missing"):
            engine.drain()
        engine.restart()
    assert engine.rows == []


@pytest.mark.parametrize("mode", ["exact", "relaxed"])
@pytest.mark.parametrize("start", [4, 99])
def test_a_version_beyond_the_next_one_names_the_range_that_exists(tmp_path: Path, mode: str, start: int) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    built.append(ids(0, 9))
    built.append(ids(10, 19))
    with pytest.raises(VersionNotFound, match="commits 0 to 2"):
        stream_ids(built, startingVersion=start, startingVersionMode=mode)


@pytest.mark.parametrize("mode", ["exact", "relaxed"])
def test_a_version_whose_commit_is_gone_names_the_range_that_exists(tmp_path: Path, mode: str) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    for at in range(4):
        built.append(ids(at, at))
    built.checkpoint()
    built.append(ids(4, 4))
    built.clean_log(3)
    with pytest.raises(VersionNotFound, match="commits 3 to 5"):
        stream_ids(built, startingVersion=2, startingVersionMode=mode)


def test_the_version_to_come_is_waited_for(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    built.append(ids(0, 9))
    engine = Engine(built.path, {"startingVersion": 2})
    engine.drain()
    assert engine.rows == []
    built.append(ids(10, 19))
    engine.restart()
    engine.drain()
    assert sorted(row["id"] for row in engine.rows) == list(range(10, 20))


def test_latest_holds_the_place_where_the_stream_began_across_a_restart(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    built.append(ids(0, 9))
    engine = Engine(built.path, {"startingVersion": "latest"})
    engine.drain()
    built.append(ids(10, 19))
    engine.restart()
    built.append(ids(20, 29))
    engine.drain()
    assert sorted(row["id"] for row in engine.rows) == list(range(10, 30))


def timed(root: Path) -> DeltaBuilder:
    built = DeltaBuilder(root, pa.schema([("id", pa.int64())]))
    for at in range(3):
        built.append(ids(at, at))
    for version, seconds in enumerate((100, 200, 300, 400)):
        built.set_time(version, seconds)
    return built


def test_a_timestamp_starts_at_the_first_commit_not_before_it(tmp_path: Path) -> None:
    built = timed(tmp_path)
    at = "1970-01-01T00:03:20Z"  # 200 s, the time of version 1
    assert stream_ids(built, startingTimestamp=at) == [0, 1, 2]
    assert stream_ids(built, startingTimestamp="1970-01-01T00:03:21Z") == [1, 2]
    assert stream_ids(built, startingTimestamp="1970-01-01T00:00:00Z") == [0, 1, 2]


def test_a_timestamp_outside_the_commits_names_the_range_that_exists(tmp_path: Path) -> None:
    built = timed(tmp_path)
    with pytest.raises(VersionNotFound, match=r"after its newest commit.*commits 0 to 3"):
        stream_ids(built, startingTimestamp="1970-01-01T00:06:41Z")
    built.checkpoint()
    built.clean_log(2)
    built.append(ids(3, 3))
    with pytest.raises(VersionNotFound, match=r"before its first commit.*commits 2 to 4"):
        stream_ids(built, startingTimestamp="1970-01-01T00:00:01Z")


def test_a_timestamp_is_compared_with_in_commit_times_where_they_are_on(tmp_path: Path) -> None:
    built = DeltaBuilder(
        tmp_path, pa.schema([("id", pa.int64())]), properties={"delta.enableInCommitTimestamps": "true"}, create=False
    )
    built.commit({"commitInfo": {"inCommitTimestamp": 100_000}}, built.protocol(), built.metadata())
    for at in range(3):
        built.commit({"commitInfo": {"inCommitTimestamp": 200_000 + at * 100_000}}, built.add(ids(at, at)))
    assert stream_ids(built, startingTimestamp="1970-01-01T00:03:21Z") == [1, 2]


def test_a_stream_that_starts_again_where_the_log_was_cleaned_says_so(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    built.append(ids(0, 0))
    engine = Engine(built.path, {"startingVersion": 0})
    engine.drain()
    for at in range(1, 5):
        built.append(ids(at, at))
    built.checkpoint()
    built.clean_log(5)
    engine.restart()
    with pytest.raises(VersionNotFound, match="commits 5 to 5"):
        engine.drain()
    assert [row["id"] for row in engine.rows] == [0]


def test_a_path_that_asks_for_a_version_is_no_stream(tmp_path: Path) -> None:
    built = timed(tmp_path)
    with pytest.raises(InvalidVersion, match="a stream is of the whole table"):
        PinnedDeltaStream.of(open_delta(Storage.at(f"{built.path}@v1"), "UTC"), {})


def test_a_timestamp_without_a_zone_is_in_the_readers(tmp_path: Path) -> None:
    built = timed(tmp_path)
    # 01:03:21 in Paris, an hour ahead of UTC in 1970, is a second after version 1.
    pinned = PinnedDeltaStream.of(
        DeltaTable(Storage.at(built.path), "Europe/Paris"), {"startingTimestamp": "1970-01-01T01:03:21"}
    )
    stream = pinned.open(pinned.schema)
    stream.next_offset(stream.initial_offset(), Limits())
    assert stream.newest_offset()["batch"]["fromVersion"] == 2
