"""Time travel finds the version that Delta Spark would: by number, by moment, or by the end of a path."""

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakescan
from lakescan import errors
from lakescan.formats.delta.log.time_travel import parse_timestamp, split_path
from tests.tables import DeltaBuilder, open_delta

SCHEMA = pa.schema([("id", pa.int64())])
START = datetime(2024, 1, 1, tzinfo=timezone.utc)


def _touch(table: DeltaBuilder, version: int, minutes: float) -> None:
    moment = START.timestamp() + minutes * 60
    os.utime(table.log / f"{version:020d}.json", (moment, moment))


def _at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def _table(root: Path, minutes: list[float]) -> DeltaBuilder:
    """Version n holds the ids up to n; its commit file was last changed at the given minute."""
    table = DeltaBuilder(root, SCHEMA)
    for n in range(1, len(minutes)):
        table.append(pa.table({"id": [n]}))
    for version, minute in enumerate(minutes):
        _touch(table, version, minute)
    return table


def _version(table: DeltaBuilder, minutes: float) -> int:
    return open_delta(table.path).snapshot(timestamp=_at(minutes)).version


def test_every_version_reads_as_it_was(tmp_path: Path) -> None:
    table = _table(tmp_path, [0, 1, 2, 3])
    for version in range(4):
        snapshot = lakescan.open(table.path).snapshot(version)
        ids = snapshot.scan().build().to_arrow()["id"].to_pylist()
        assert sorted(ids) == list(range(1, version + 1))
        assert lakescan.open(table.path).snapshot(str(version)).version == version


def test_a_moment_finds_the_newest_commit_that_is_not_after_it(tmp_path: Path) -> None:
    table = _table(tmp_path, [0, 10, 20])
    versions = [_version(table, minutes) for minutes in (0, 5, 10, 10.5, 19.99, 20)]
    assert versions == [0, 0, 1, 1, 1, 2]


def test_a_commit_file_older_than_the_one_before_it_counts_as_a_millisecond_younger(tmp_path: Path) -> None:
    """Delta's rule for file times that go backwards: each commit is at least 1 ms after the one before."""
    table = _table(tmp_path, [0, 10, 4, 4, 20])
    millisecond = 1 / 60_000
    assert _version(table, 4) == 0
    assert _version(table, 10) == 1
    assert _version(table, 10 + millisecond) == 2
    assert _version(table, 10 + 2 * millisecond) == 3
    assert _version(table, 20) == 4


def test_a_moment_before_the_first_or_after_the_newest_commit_names_the_range(tmp_path: Path) -> None:
    table = _table(tmp_path, [0, 10, 20])
    with pytest.raises(errors.VersionNotFound, match=r"before its first commit.*versions 0 to 2"):
        _version(table, -1)
    with pytest.raises(errors.VersionNotFound, match=r"after its newest commit.*versions 0 to 2"):
        _version(table, 21)


@pytest.mark.parametrize("version", [-1, 3, 99])
def test_a_version_that_is_not_there_names_the_range(version: int, tmp_path: Path) -> None:
    table = _table(tmp_path, [0, 10, 20])
    with pytest.raises(errors.VersionNotFound, match=f"version {version}: .*versions 0 to 2"):
        lakescan.open(table.path).snapshot(version)


def test_versions_before_the_oldest_checkpoint_of_a_cleaned_log_name_the_range(tmp_path: Path) -> None:
    table = _table(tmp_path, [0, 10, 20])
    table.checkpoint()
    table.append(pa.table({"id": [3]}))
    _touch(table, 3, 30)
    for version in (0, 1):
        (table.log / f"{version:020d}.json").unlink()
    with pytest.raises(errors.VersionNotFound, match="versions 2 to 3"):
        lakescan.open(table.path).snapshot(1)
    with pytest.raises(errors.VersionNotFound, match="versions 2 to 3"):
        _version(table, 15)
    assert [_version(table, 20), _version(table, 25), _version(table, 30)] == [2, 2, 3]


def test_times_that_commits_wrote_into_themselves_win_over_file_times(tmp_path: Path) -> None:
    properties = {"delta.enableInCommitTimestamps": "true"}
    table = DeltaBuilder(tmp_path, SCHEMA, properties=properties, create=False)
    for n, minutes in enumerate([0, 10, 20]):
        own = {"commitInfo": {"inCommitTimestamp": int(_at(minutes).timestamp() * 1000)}}
        first = [table.protocol(), table.metadata()] if n == 0 else [table.add(pa.table({"id": [n]}))]
        table.commit(own, *first)
        _touch(table, n, 500 - n)
    assert [_version(table, minutes) for minutes in (0, 9, 10, 15, 20)] == [0, 0, 1, 1, 2]
    with pytest.raises(errors.VersionNotFound, match="after its newest"):
        _version(table, 20.1)


def test_before_commits_had_times_of_their_own_the_files_times_count(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA)
    table.append(pa.table({"id": [1]}))
    table.properties = {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": str(int(_at(20).timestamp() * 1000)),
    }
    table.commit({"commitInfo": {"inCommitTimestamp": int(_at(20).timestamp() * 1000)}}, table.metadata())
    table.commit(
        {"commitInfo": {"inCommitTimestamp": int(_at(30).timestamp() * 1000)}}, table.add(pa.table({"id": [2]}))
    )
    for version, minutes in enumerate([0, 10, 900, 901]):
        _touch(table, version, minutes)
    assert [_version(table, minutes) for minutes in (0, 10, 19, 20, 29, 30)] == [0, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("mark", ["v", "V"])
def test_the_end_of_a_path_may_name_a_version(mark: str, tmp_path: Path) -> None:
    table = _table(tmp_path / "orders", [0, 10, 20])
    opened = lakescan.open(f"{table.path}@{mark}1")
    assert (opened.location, opened.snapshot().version) == (table.path, 1)
    with pytest.raises(errors.InvalidVersion, match="asks for a version already"):
        opened.snapshot(0)
    with pytest.raises(errors.VersionNotFound, match="versions 0 to 2"):
        lakescan.open(f"{table.path}@v7").snapshot()


def test_the_end_of_a_path_may_name_a_moment_in_the_readers_zone(tmp_path: Path) -> None:
    table = _table(tmp_path / "orders", [0, 10, 20])
    assert lakescan.open(f"{table.path}@20240101001000000").snapshot().version == 1
    assert lakescan.open(f"{table.path}@20240101001959999").snapshot().version == 1
    assert lakescan.open(f"{table.path}@20240101011000000", time_zone="Europe/Paris").snapshot().version == 1
    with pytest.raises(errors.InvalidVersion, match="yyyyMMddHHmmssSSS"):
        lakescan.open(f"{table.path}@20241301001000000")


def test_a_folder_whose_own_name_ends_like_a_version_is_itself(tmp_path: Path) -> None:
    _table(tmp_path / "orders", [0, 10, 20])
    named = _table(tmp_path / "orders@v1", [0])
    assert lakescan.open(named.path).snapshot().version == 0


def test_a_path_without_a_table_is_not_found_whatever_its_end(tmp_path: Path) -> None:
    with pytest.raises(errors.TableNotFound):
        lakescan.open(tmp_path / "nothing@v1")


def test_a_version_and_a_moment_at_once_are_refused(tmp_path: Path) -> None:
    table = _table(tmp_path, [0])
    with pytest.raises(errors.InvalidVersion, match="Give one of the two"):
        lakescan.open(table.path).snapshot(0, timestamp="2024-01-01")


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)), st.sampled_from(["UTC", "PST", "+09:00", "Asia/Tokyo"])
)
def test_a_time_without_a_zone_is_in_the_readers(moment: datetime, zone: str) -> None:
    hours = {"UTC": 0, "+09:00": 9, "Asia/Tokyo": 9}.get(zone)
    offset = parse_timestamp(moment, zone) - parse_timestamp(moment.replace(tzinfo=timezone.utc))
    assert offset in ([-hours * 3_600_000] if hours is not None else [7 * 3_600_000, 8 * 3_600_000])
    assert parse_timestamp(moment.isoformat(), zone) == parse_timestamp(moment, zone)


def test_only_a_version_or_a_moment_ends_a_path() -> None:
    for path in ["/a/b", "/a/b@", "/a/b@1", "/a/b@v", "/a/b@v1/c", "/a/b@2024010100100000", "@v1"]:
        assert split_path(path) is None
