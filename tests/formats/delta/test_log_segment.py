import time
from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import CheckpointIgnored, CommitsNotFound, MissingCommit, TableNotFound, VersionNotFound
from lakescan.formats.delta.log.commit_range import check_range
from lakescan.formats.delta.log.log_segment import list_log
from lakescan.io.storage import Storage
from tests.tables import DeltaBuilder

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"


def log_of(root: Path, *names: str) -> Storage:
    """A log of empty files: a listing looks only at names."""
    (root / "_delta_log").mkdir(parents=True, exist_ok=True)
    for name in names:
        (root / "_delta_log" / name).touch()
    return Storage.at(root)


def commit(version: int) -> str:
    return f"{version:020d}.json"


def checkpoint(version: int, rest: str = "parquet") -> str:
    return f"{version:020d}.checkpoint.{rest}"


def part(number: int, count: int) -> str:
    return f"{number:010d}.{count:010d}.parquet"


def test_without_a_checkpoint_a_version_is_all_commits_up_to_it(tmp_path: Path) -> None:
    listing = list_log(log_of(tmp_path, *map(commit, range(5))))
    assert listing.segment().version == 4
    assert [each.version for each in listing.segment(2).commits] == [0, 1, 2]
    assert listing.segment(2).checkpoint is None
    assert (listing.earliest, listing.latest) == (0, 4)


def test_the_newest_checkpoint_up_to_the_version_is_used_with_the_commits_after_it(tmp_path: Path) -> None:
    names = [*map(commit, range(8)), checkpoint(2), checkpoint(5)]
    listing = list_log(log_of(tmp_path, *names))
    for version, base, commits in ((7, 5, [6, 7]), (5, 5, []), (4, 2, [3, 4]), (1, None, [0, 1])):
        segment = listing.segment(version)
        assert (segment.checkpoint.version if segment.checkpoint else None) == base
        assert [each.version for each in segment.commits] == commits


def test_a_checkpoint_alone_is_a_version(tmp_path: Path) -> None:
    listing = list_log(log_of(tmp_path, checkpoint(7)))
    assert (listing.earliest, listing.latest) == (7, 7)
    assert listing.segment().commits == ()


def test_a_checkpoint_in_parts_counts_only_with_all_its_parts(tmp_path: Path) -> None:
    storage = log_of(tmp_path, *map(commit, range(4)), checkpoint(3, part(1, 2)))
    assert list_log(storage).segment().checkpoint is None
    newest = list_log(log_of(tmp_path, checkpoint(3, part(2, 2)))).segment().checkpoint
    assert newest is not None
    assert [path.rsplit(".checkpoint.")[1] for path in newest.paths] == [part(1, 2), part(2, 2)]


def test_parts_of_two_attempts_at_a_checkpoint_are_not_mixed(tmp_path: Path) -> None:
    names = [checkpoint(3, part(1, 2)), checkpoint(3, part(2, 3)), checkpoint(3, part(3, 3))]
    assert list_log(log_of(tmp_path, *map(commit, range(4)), *names)).segment().checkpoint is None


@pytest.mark.parametrize("rest", [f"{UUID}.parquet", f"{UUID}.json"])
def test_a_v2_checkpoint_is_found_by_its_unique_name(tmp_path: Path, rest: str) -> None:
    newest = list_log(log_of(tmp_path, *map(commit, range(4)), checkpoint(2, rest))).segment().checkpoint
    assert newest is not None
    assert (newest.version, newest.paths) == (2, (f"_delta_log/{checkpoint(2, rest)}",))


def test_other_files_of_the_log_are_not_commits(tmp_path: Path) -> None:
    others = [
        "_last_checkpoint",
        "00000000000000000000.crc",
        f"{1:020d}.{4:020d}.compacted.json",
        "00000000000000000009.json.tmp",
        ".00000000000000000009.json.crc",
        "9.json",
        "00000000000000000009.checkpoint.json",
        f"{commit(9)}.uuid",
    ]
    (tmp_path / "_delta_log" / "_sidecars").mkdir(parents=True)
    (tmp_path / "_delta_log" / commit(9)).mkdir()
    listing = list_log(log_of(tmp_path, commit(0), *others))
    assert (listing.latest, listing.segment().checkpoint) == (0, None)


def test_a_missing_commit_is_an_error_that_names_its_file(tmp_path: Path) -> None:
    listing = list_log(log_of(tmp_path, commit(0), commit(1), commit(3)))
    with pytest.raises(MissingCommit, match=f"Version 3 cannot be rebuilt: {tmp_path}/_delta_log/{commit(2)}"):
        listing.segment()
    assert listing.segment(1).version == 1


def test_a_gap_after_a_checkpoint_is_refused_and_one_before_it_is_not(tmp_path: Path) -> None:
    listing = list_log(log_of(tmp_path, checkpoint(5), commit(3), commit(7), commit(8)))
    with pytest.raises(MissingCommit, match=commit(6)):
        listing.segment()
    assert listing.segment(5).version == 5


def test_a_log_whose_first_commits_are_gone_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingCommit, match=commit(0)):
        list_log(log_of(tmp_path, commit(4), commit(5))).segment()


@pytest.mark.parametrize("version", [-1, 3, 10**30])
def test_a_version_that_never_was_is_refused_with_those_that_are(tmp_path: Path, version: int) -> None:
    listing = list_log(log_of(tmp_path, *map(commit, range(3))))
    with pytest.raises(VersionNotFound, match=f"at version {version}: its log can rebuild versions 0 to 2"):
        listing.segment(version)


def test_a_version_that_was_cleaned_up_is_refused_with_those_that_are_left(tmp_path: Path) -> None:
    listing = list_log(log_of(tmp_path, checkpoint(5), *map(commit, range(4, 8))))
    with pytest.raises(VersionNotFound, match="can rebuild versions 5 to 7"):
        listing.segment(4)


def test_a_folder_without_a_log_or_with_an_empty_one_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(TableNotFound, match=str(tmp_path)):
        list_log(Storage.at(tmp_path))
    with pytest.raises(TableNotFound, match=str(tmp_path)):
        list_log(log_of(tmp_path, "_last_checkpoint"))


@pytest.mark.parametrize(
    "content", [b"", b"not JSON", b'{"version": 99}', b'{"version": -1}', b"\xff\xfe", b"[]", b"null"]
)
def test_a_broken_last_checkpoint_is_ignored(tmp_path: Path, content: bytes) -> None:
    builder = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    builder.append(pa.table({"id": [1]}))
    (builder.log / "_last_checkpoint").write_bytes(content)
    assert lakescan.open(builder.path).snapshot().scan().build().to_arrow()["id"].to_pylist() == [1]


@pytest.mark.parametrize(
    ("names", "wanted", "named"),
    [
        ([commit(1), commit(2)], 3, f"{commit(0)} is missing"),
        ([commit(1), commit(2)], 1, f"{commit(0)} is missing"),
        ([commit(0), commit(1), commit(3)], 9, "can rebuild versions 0 to 1"),
        ([commit(2), commit(3), f"{3:020d}.checkpoint.parquet"], 2, "can rebuild versions 3 to 3"),
        ([commit(0), commit(2), f"{3:020d}.checkpoint.parquet", commit(4)], 7, "can rebuild versions 3 to 4"),
    ],
)
def test_the_versions_that_an_error_names_are_those_that_can_be_rebuilt(
    tmp_path: Path, names: list[str], wanted: int, named: str
) -> None:
    with pytest.raises((VersionNotFound, MissingCommit), match=named):
        list_log(log_of(tmp_path, *names)).segment(wanted)


def test_a_part_of_a_checkpoint_may_claim_any_number_of_others(tmp_path: Path) -> None:
    storage = log_of(tmp_path, commit(0), f"{0:020d}.checkpoint.{1:010d}.{200_000_000:010d}.parquet")
    began = time.perf_counter()
    with pytest.warns(CheckpointIgnored, match="other parts of it are missing"):
        assert list_log(storage).segment().checkpoint is None
    assert time.perf_counter() - began < 5


def test_a_log_without_commits_has_none_to_start_from(tmp_path: Path) -> None:
    listing = list_log(log_of(tmp_path, f"{3:020d}.checkpoint.parquet"))
    with pytest.raises(CommitsNotFound, match="no commit that leads up to its newest version, 3"):
        check_range(listing, 3, 3)


def test_versions_are_those_that_have_files_and_never_counted_up(tmp_path: Path) -> None:
    listing = list_log(log_of(tmp_path, commit(1), commit(2), commit(10**18), checkpoint(7)))
    assert listing.versions_after(1) == [2, 7, 10**18]
    began = time.perf_counter()
    with pytest.raises(MissingCommit):
        listing.segment()
    assert time.perf_counter() - began < 5
