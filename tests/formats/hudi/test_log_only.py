"""File groups without a base file, on a table that Hudi wrote: all its rows are in log files."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import lakescan
from lakescan.errors import MissingDataFile, UnsupportedFeature
from lakescan.formats.hudi.snapshot import HudiSnapshot
from lakescan.formats.hudi.timeline.completeness import check_complete, written_groups
from lakescan.formats.hudi.timeline.timeline import Timeline
from tests.sample_tables import sample_table

from .tables import open_hudi
from .test_errors import log_files

Unpack = Callable[[str], Path]
TABLE, COMPACTED, OLDER = "log_only_v9", "log_only_compacted_v9", "buckets_v6_after"


def rows(snapshot: HudiSnapshot) -> list[list[object]]:
    table = snapshot.scan().select("id", "name", "part").build().to_arrow()
    return sorted(list(row.values()) for row in table.to_pylist())


def test_the_rows_are_those_that_hudi_reads(unpack: Unpack) -> None:
    path = unpack(TABLE)
    assert not list(path.rglob("*.parquet"))
    wanted = sorted([row["id"], row["name"], row["part"]] for row in sample_table(TABLE).rows)
    assert rows(open_hudi(path).snapshot()) == wanted


@pytest.mark.parametrize("name", [TABLE, COMPACTED])
def test_every_instant_has_the_rows_that_hudi_reads_of_then(name: str, unpack: Unpack) -> None:
    """The second was compacted in between: groups have a base file, have none, or have none any more in the past."""
    table = open_hudi(unpack(name))
    expected = sample_table(name).known["instants"]
    assert list(expected) == table.snapshot().timeline.instants
    for instant, wanted in expected.items():
        assert rows(table.snapshot(version=instant)) == wanted


def test_filters_on_partitions_and_statistics_drop_such_slices(unpack: Unpack) -> None:
    snapshot = open_hudi(unpack(TABLE)).snapshot()
    for where, ids in (("part = 'b'", [12, 13]), ("id = 12", [12]), ("id < 2", [0, 1])):
        scan = snapshot.scan().filter(where).build()
        assert scan.files().num_rows == 1
        assert sorted(scan.to_arrow()["id"].to_pylist()) == ids


def test_nothing_is_counted_without_merging(unpack: Unpack) -> None:
    scan = open_hudi(unpack(TABLE)).snapshot().scan().build()
    assert scan.files()["rows"].null_count == 2
    assert scan.estimates().rows is None


def test_a_read_of_base_files_alone_has_no_row(unpack: Unpack) -> None:
    assert rows(open_hudi(unpack(TABLE)).read_optimized().snapshot()) == []


def test_a_log_file_that_is_gone_is_an_error(copy: Unpack) -> None:
    path = copy(TABLE)
    log_files(path)[0].unlink()
    with pytest.raises(MissingDataFile, match=r"\.log\."):
        rows(open_hudi(path).snapshot())


def test_a_folder_that_is_gone_is_an_error(copy: Unpack) -> None:
    path = copy(TABLE)
    for file in (path / "b").iterdir():
        file.unlink()
    (path / "b").rmdir()
    with pytest.raises(MissingDataFile, match=r"\.log\."):
        rows(open_hudi(path).snapshot())


def archive(path: Path, count: int) -> None:
    """As the archiver does it: the oldest commits leave the timeline for its history."""
    timeline = path / ".hoodie/timeline"
    (timeline / "history").mkdir(exist_ok=True)
    (timeline / "history" / "manifest_1").write_text("{}")
    (timeline / "history" / "00000000000000001_00000000000000002_0.parquet").touch()
    for instant in open_hudi(path).snapshot().timeline.instants[:count]:
        for file in timeline.glob(f"{instant}*"):
            file.unlink()


def test_groups_whose_commits_were_archived_are_found_too(copy: Unpack) -> None:
    path = copy(TABLE)
    wanted = rows(open_hudi(path).snapshot())
    archive(path, 2)
    assert rows(open_hudi(path).snapshot()) == wanted


def test_a_group_that_may_have_lost_its_base_file_is_refused_by_name(copy: Unpack) -> None:
    """Without a metadata table nobody knows what an archived commit wrote; with one, nobody knows of older instants."""
    path = copy(COMPACTED)
    archive(path, 1)
    with pytest.raises(UnsupportedFeature, match=r"may have had one before commits were archived \([ab]/\..*\.log\."):
        rows(open_hudi(path).snapshot())
    path = copy(TABLE)
    archive(path, 1)
    second = open_hudi(path).snapshot().timeline.instants[0]
    with pytest.raises(UnsupportedFeature, match="may have had one before commits were archived"):
        rows(open_hudi(path).snapshot(version=second))


def test_a_log_file_of_a_commit_under_way_is_no_part_of_a_slice(copy: Unpack) -> None:
    path = copy(TABLE)
    third = open_hudi(path).snapshot().timeline.instants[2]
    (done,) = (path / ".hoodie/timeline").glob(f"{third}_*.deltacommit")
    done.unlink()
    assert [row[0] for row in rows(open_hudi(path).snapshot())] == [0, 1, 2, 3, 4, 5, 12, 13]


def test_a_commit_under_way_is_not_taken_for_an_archived_one_because_it_began_first(copy: Unpack) -> None:
    path = copy(TABLE)
    snapshot = open_hudi(path).snapshot()
    first = snapshot.timeline.instants[0]
    later = snapshot.scan().filter(lakescan.col("_hoodie_commit_time") > first).select("id").build().to_arrow()
    assert 0 < later.num_rows < snapshot.scan().build().to_arrow().num_rows
    (done,) = (path / ".hoodie/timeline").glob(f"{first}_*.deltacommit")
    done.unlink()
    assert [row[0] for row in rows(open_hudi(path).snapshot())] == sorted(later["id"].to_pylist())


def test_a_group_that_is_not_found_is_an_error(unpack: Unpack) -> None:
    snapshot = open_hudi(unpack(TABLE)).snapshot()
    with pytest.raises(MissingDataFile, match=r"\.log\."):
        check_complete(snapshot.storage, snapshot.timeline, snapshot.instant, [])


def test_before_table_version_8_commits_say_which_log_files_there_are(copy: Unpack) -> None:
    """There the name of a log file does not say which commit wrote it. Each bucket began as log files alone."""
    path = copy(OLDER)
    table = open_hudi(path)
    first = table.snapshot().timeline.instants[0]
    snapshot = table.snapshot(version=first)
    assert {slice_ is None for slice_ in snapshot.files()["merged_with"].to_pylist()} == {False}
    assert all(".log." in file for file in snapshot.files()["path"].to_pylist())
    assert [row[0] for row in sorted(ids_of(snapshot))] == list(range(12))
    logs = log_files(path)
    assert len(logs) > snapshot.files().num_rows
    (path / snapshot.files()["path"][0].as_py()).unlink()
    with pytest.raises(MissingDataFile, match=r"\.log\."):
        ids_of(open_hudi(path).snapshot(version=first))


def test_before_table_version_8_a_group_whose_commits_were_archived_is_refused_by_name(copy: Unpack) -> None:
    """Nobody knows whether it had a base file, and its rows may not be left out in silence."""
    path = copy(OLDER)
    first = open_hudi(path).snapshot().timeline.instants[0]
    for file in (path / "p").glob("*.parquet"):
        file.unlink()
    for file in (path / ".hoodie").glob("2*"):
        if not file.name.startswith(first):
            file.unlink()
    assert len(ids_of(open_hudi(path).snapshot())) == 12
    newer = f"{int(first[:14]) + 1}000"
    for file in (path / ".hoodie").glob(f"{first}*"):
        content = file.read_text().replace("partitionToWriteStats", "none")
        file.rename(file.with_name(file.name.replace(first, newer))).write_text(content)
    (path / ".hoodie" / "archived").mkdir(exist_ok=True)
    (path / ".hoodie" / "archived" / ".commits_.archive.1_1-0-1").touch()
    archived = dict(open_hudi(path).snapshot().properties).get("hoodie.archivelog.folder", "archived")
    (path / ".hoodie" / archived).mkdir(exist_ok=True)
    (path / ".hoodie" / archived / ".commits_.archive.1_1-0-1").touch()
    with pytest.raises(UnsupportedFeature, match="may have had one before commits were archived"):
        ids_of(open_hudi(path).snapshot())


def ids_of(snapshot: HudiSnapshot) -> list[list[object]]:
    return [[row["id"]] for row in snapshot.scan().select("id").build().to_arrow().to_pylist()]


@pytest.mark.parametrize(("ended", "is_alive"), [("3", False), ("6", True)])
def test_what_is_written_to_a_group_while_it_is_being_replaced_does_not_bring_it_back(
    ended: str, is_alive: bool
) -> None:
    """So a consistent hashing index writes while it splits a bucket; after the end of that it never would."""
    old, new = ({"fileId": name, "path": f".{name}_2.log.1_0-0-0"} for name in ("old", "new"))
    commits = {
        "1": {"partitionToReplaceFileIds": {"": ["old"]}, "partitionToWriteStats": {"": [new]}},
        "2": {"partitionToWriteStats": {"": [old, new]}},
    }
    told = SimpleNamespace(completions={"1": "5", "2": ended}, until=lambda _: list(commits), commit=commits.get)
    assert (("", "old") in written_groups(cast(Timeline, told), "2")) == is_alive
    assert ("", "new") in written_groups(cast(Timeline, told), "2")
