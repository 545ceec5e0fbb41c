from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lakescan.formats.delta.log.commit_files import CommitFiles
from lakescan.formats.delta.log.log_segment import list_log
from lakescan.io.storage import Storage

VERSIONS = st.sets(st.integers(0, 30) | st.just(2**63 - 1), max_size=20).map(sorted)
BOUNDS = st.integers(-2, 33) | st.sampled_from([2**63 - 1, 2**63, 2**64, 10**30])


def commits_of(versions: list[int]) -> CommitFiles:
    sizes, times = [at % 7 for at in versions], [at % 1000 for at in versions]
    return CommitFiles(*(pa.array(values, pa.int64()) for values in (versions, sizes, times)))


@given(VERSIONS, BOUNDS, BOUNDS)
def test_between_two_versions_are_those_that_a_look_at_each_finds(versions: list[int], first: int, last: int) -> None:
    kept = commits_of(versions).between(first, last)
    assert [commit.version for commit in kept] == [version for version in versions if first <= version <= last]
    assert [commit.modified_ms for commit in kept] == [commit.version % 1000 for commit in kept]
    assert [commit.file.size for commit in kept] == [commit.version % 7 for commit in kept]


@given(VERSIONS)
def test_the_newest_run_ends_with_the_newest_commit_and_has_no_gap(versions: list[int]) -> None:
    run = [commit.version for commit in commits_of(versions).newest_run]
    assert run == versions[len(versions) - len(run) :]
    assert run == list(range(run[0], run[-1] + 1)) if run else not versions
    assert not run or run[0] - 1 not in versions


def test_one_commit_and_a_slice_are_what_iterating_gives() -> None:
    commits = commits_of([3, 4, 7])
    assert [commits[at] for at in range(len(commits))] == list(commits) == [*commits[:1], *commits[1:]]
    assert commits[-1].path == f"_delta_log/{7:020d}.json"


def test_a_file_whose_number_is_beyond_javas_longs_is_no_commit(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    names = [f"{0:020d}.json", f"{2**63 - 1:020d}.json", f"{2**63:020d}.json", "9" * 20 + ".json", "9" * 20 + ".crc"]
    for name in names:
        (tmp_path / "_delta_log" / name).touch()
    listing = list_log(Storage.at(tmp_path))
    assert [commit.version for commit in listing.commits] == [0, 2**63 - 1]
    assert listing.checksum(2**63) is None
