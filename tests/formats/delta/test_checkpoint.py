"""Checkpoints of every kind give the same version as the commits, and a broken one costs time, never rows."""

import json
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import quote

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakescan
from lakescan import errors
from lakescan.predicate import col
from tests.sample_tables import sample_table
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("p", pa.int32())])
DATA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def _build(root: Path, **arguments: Any) -> DeltaBuilder:
    """Six files in three partitions; then one is removed, one gets a deletion vector, one is added again."""
    features = ["deletionVectors", "v2Checkpoint"]
    table = DeltaBuilder(root, SCHEMA, partition_by=["p"], features=features, **arguments)
    adds = [
        table.append(pa.table({"id": [n * 10, n * 10 + 1], "name": [f"n{n}", None]}, DATA), partition={"p": str(n % 3)})
        for n in range(6)
    ]
    table.commit(table.remove(adds[0]))
    table.delete(adds[1], [1])
    table.commit(table.remove(adds[2]))
    table.commit(adds[2])
    return table


def _rows(path: str, version: int | None = None, where: Any = None) -> list[tuple[Any, ...]]:
    scan = lakescan.open(path).snapshot(version).scan()
    table = (scan if where is None else scan.filter(where)).build().to_arrow()
    return sorted(table.to_pylist(), key=lambda row: row["id"])


def _theirs(path: str) -> list[Any]:
    query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(path))
    rows: list[Any] = pa.table(query.execute("SELECT * FROM t ORDER BY id")).to_pylist()
    return rows


KINDS: dict[str, dict[str, Any]] = {
    "classic": {},
    "three parts": {"parts": 3},
    "more parts than actions": {"parts": 40},
    "V2 with a JSON top": {"top": "json"},
    "V2 with a Parquet top": {"top": "parquet"},
    "V2 without sidecars, JSON": {"top": "json", "sidecars": 0},
    "V2 without sidecars, Parquet": {"top": "parquet", "sidecars": 0},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_gives_what_the_commits_give(kind: str, tmp_path: Path) -> None:
    table = _build(tmp_path)
    expected = _rows(table.path)
    adds = [action for action in table.live_actions() if "add" in action]
    assert len(expected) == 9
    table.checkpoint(**KINDS[kind])
    for commit in table.log.glob("*.json"):
        if ".checkpoint." not in commit.name:
            commit.unlink()
    assert _rows(table.path) == expected
    assert _rows(table.path) == _theirs(table.path)
    # Then a commit that removes a file of the checkpoint.
    first = next(add for add in adds if "deletionVector" not in add["add"])
    table.commit(table.remove(first))
    assert len(_rows(table.path)) == 7
    assert _rows(table.path) == _theirs(table.path)


@pytest.mark.parametrize("stats", ["json", "parsed", "both"])
@pytest.mark.parametrize("kind", ["classic", "three parts", "V2 with a JSON top", "V2 with a Parquet top"])
def test_statistics_in_a_checkpoint_skip_files_in_whichever_form_they_are(
    stats: str, kind: str, tmp_path: Path
) -> None:
    table = _build(tmp_path)
    by_commits = lakescan.open(table.path).snapshot().scan().filter(col("id") >= 40).build()
    wanted, files = by_commits.to_arrow().sort_by("id"), by_commits.files()["path"].to_pylist()
    assert len(files) == 2
    table.checkpoint(**KINDS[kind], stats=stats, parsed=DATA)
    scan = lakescan.open(table.path).snapshot().scan().filter(col("id") >= 40).build()
    assert sorted(scan.files()["path"].to_pylist()) == sorted(files)
    assert scan.to_arrow().sort_by("id") == wanted
    assert scan.files()["rows"].to_pylist() == [2, 2]


def test_a_file_without_parsed_statistics_falls_back_to_its_json_statistics(tmp_path: Path) -> None:
    table = _build(tmp_path)
    (file,) = table.checkpoint(stats="both", parsed=DATA)
    checkpoint = pq.read_table(file)
    rows = checkpoint.to_pylist()
    for row in rows:
        if row["add"] and row["add"]["path"].endswith("6.parquet"):
            row["add"]["stats_parsed"] = None
    pq.write_table(pa.Table.from_pylist(rows, checkpoint.schema), file)
    scan = lakescan.open(table.path).snapshot().scan().filter(col("id") < 30).build()
    assert not any(path.endswith("6.parquet") for path in scan.files()["path"].to_pylist())


def _damage(files: list[Path], how: str) -> None:
    file = files[-1]
    if how == "missing":
        file.unlink()
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "cut":
        file.write_bytes(file.read_bytes()[:-200])
    else:
        # The footer is whole, the pages are not.
        data = bytearray(file.read_bytes())
        data[4 : len(data) // 3] = b"\xff" * (len(data) // 3 - 4)
        file.write_bytes(bytes(data))


@pytest.mark.parametrize("spelling", ["name", "absolute", "URI"])
def test_a_sidecar_is_found_by_its_name_or_by_a_path_anywhere(spelling: str, tmp_path: Path) -> None:
    table = _build(tmp_path / "a table")
    expected = _rows(table.path)
    top, *sidecars = table.checkpoint(top="json")
    text = top.read_text()
    for file in sidecars:
        moved = tmp_path / "else%41where" / file.name
        moved.parent.mkdir(exist_ok=True)
        if spelling != "name":
            file.rename(moved)
        path = {"name": file.name, "absolute": quote(str(moved)), "URI": f"file:{quote(str(moved))}"}[spelling]
        text = text.replace(file.name, path)
    top.write_text(text)
    for version in range(table.version + 1):
        (table.log / f"{version:020d}.json").unlink()
    assert _rows(table.path) == expected


BROKEN = [("classic", "empty"), ("classic", "cut"), ("classic", "garbled")] + [
    (kind, how)
    for kind in ("three parts", "V2 with a JSON top", "V2 with a Parquet top")
    for how in ("missing", "empty", "cut", "garbled")
]


@pytest.mark.parametrize(("kind", "how"), BROKEN)
def test_a_broken_checkpoint_is_passed_over_with_a_warning(kind: str, how: str, tmp_path: Path) -> None:
    table = _build(tmp_path)
    expected = _rows(table.path)
    files = table.checkpoint(**KINDS[kind])
    assert _rows(table.path) == expected
    _damage(files, how)
    with pytest.warns(errors.CheckpointIgnored, match="checkpoint"):
        assert _rows(table.path) == expected


@pytest.mark.parametrize("lines", range(5))
@pytest.mark.parametrize("sidecars", [0, 2])
def test_a_v2_checkpoint_in_json_that_is_cut_after_a_line_is_passed_over(
    lines: int, sidecars: int, tmp_path: Path
) -> None:
    table = _build(tmp_path)
    table.append(pa.table({"id": [99], "name": ["late"]}, DATA), partition={"p": None})
    expected = _rows(table.path)
    main = table.checkpoint(top="json", sidecars=sidecars)[0]
    # As Delta Spark writes it: what it is, the files that it names, then the table's own actions.
    order = ("checkpointMetadata", "sidecar", "add", "remove", "protocol", "metaData")
    whole = sorted(main.read_text().splitlines(), key=lambda line: order.index(next(iter(json.loads(line)))))
    main.write_text("\n".join(whole) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _rows(table.path) == expected
    main.write_text("".join(f"{line}\n" for line in whole[:lines]))
    with pytest.warns(errors.CheckpointIgnored, match="it is empty or cut"):
        assert _rows(table.path) == expected
    # The state of the table may stand in a later commit, and the checkpoint's files in it alone.
    table.commit(table.protocol(), table.metadata())
    with pytest.warns(errors.CheckpointIgnored, match="it is empty or cut"):
        assert _rows(table.path) == expected


@pytest.mark.parametrize("how", ["empty", "cut", "garbled"])
def test_an_older_checkpoint_is_used_where_the_newer_one_is_broken(how: str, tmp_path: Path) -> None:
    table = _build(tmp_path)
    table.checkpoint()
    table.append(pa.table({"id": [99], "name": ["late"]}, DATA), partition={"p": None})
    expected = _rows(table.path)
    _damage(table.checkpoint(), how)
    for version in range(3):
        (table.log / f"{version:020d}.json").unlink()
    with pytest.warns(errors.CheckpointIgnored, match=f"{table.version:020d}.checkpoint"):
        assert _rows(table.path) == expected


def test_of_two_checkpoints_of_one_version_the_whole_one_is_used(tmp_path: Path) -> None:
    table = _build(tmp_path)
    expected = _rows(table.path)
    table.checkpoint(parts=3)
    table.checkpoint()[0].write_bytes(b"not Parquet")
    for version in range(table.version + 1):
        (table.log / f"{version:020d}.json").unlink()
    with pytest.warns(errors.CheckpointIgnored, match="checkpoint.parquet"):
        assert _rows(table.path) == expected


def test_a_broken_checkpoint_that_the_log_cannot_do_without_is_an_error(tmp_path: Path) -> None:
    table = _build(tmp_path)
    (file,) = table.checkpoint()
    (table.log / f"{2:020d}.json").unlink()
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(errors.UnreadableCheckpoint, match=file.name):
        lakescan.open(table.path).snapshot()
    # Versions that do not need it can still be read.
    assert lakescan.open(table.path).snapshot(1).version == 1


def test_unreadable_statistics_of_a_checkpoint_skip_nothing_and_warn(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    for n in range(3):
        table.append(pa.table({"id": [n]}))
    (file,) = table.checkpoint()
    snapshot = lakescan.open(table.path).snapshot()
    assert snapshot.num_files == 3
    metadata = pq.ParquetFile(file).metadata.row_group(0)
    stats = next(
        metadata.column(at) for at in range(metadata.num_columns) if metadata.column(at).path_in_schema == "add.stats"
    )
    data = bytearray(file.read_bytes())
    start = stats.dictionary_page_offset or stats.data_page_offset
    data[start : start + stats.total_compressed_size] = b"\xff" * stats.total_compressed_size
    file.write_bytes(bytes(data))
    snapshot = lakescan.open(table.path).snapshot()
    with pytest.warns(errors.CheckpointIgnored, match="checkpoint"):
        assert snapshot.scan().filter(col("id") == 1).build().to_arrow().to_pylist() == [{"id": 1}]


def test_no_last_checkpoint_file_or_a_broken_one_makes_no_difference(tmp_path: Path) -> None:
    table = _build(tmp_path)
    expected = _rows(table.path)
    table.checkpoint()
    assert _rows(table.path) == expected
    for text in ["", "{", '{"version": 4, "size": 1}', '{"version": 999}']:
        (table.log / "_last_checkpoint").write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert _rows(table.path) == expected


@pytest.mark.parametrize("runs", [[(1, 4)], [(0, 10)], [(0, 3), (2, 6), (4, 10)], [(1, 4), (1, 8)], [(3, 5), (7, 9)]])
def test_log_compaction_files_give_what_their_commits_give(runs: list[tuple[int, int]], tmp_path: Path) -> None:
    table = _build(tmp_path)
    assert table.version == 10
    expected = {version: _rows(table.path, version) for version in range(table.version + 1)}
    for first, last in runs:
        table.compact(first, last)
    for version in range(table.version + 1):
        assert _rows(table.path, version) == expected[version]
    segment = lakescan.open(table.path).snapshot()._replay.segment  # type: ignore[attr-defined]
    assert any("compacted" in commit.path for commit in segment.commits)


def test_a_compaction_stands_in_for_commits_that_are_gone(tmp_path: Path) -> None:
    table = _build(tmp_path)
    expected = _rows(table.path)
    table.compact(2, 5)
    for version in (2, 3, 4, 5):
        (table.log / f"{version:020d}.json").unlink()
    assert _rows(table.path) == expected
    with pytest.raises(errors.VersionNotFound, match="can rebuild versions 5 to 10"):
        lakescan.open(table.path).snapshot(4)


def test_a_checksum_of_a_table_that_must_be_refused_refuses_it(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, features=["somethingNew"])
    table.checksum()
    with pytest.raises(errors.UnsupportedFeature, match="somethingNew"):
        lakescan.open(table.path).snapshot()


def test_the_log_is_json_lines_that_another_reader_accepts(tmp_path: Path) -> None:
    """The builder's compaction and checkpoints are what the tests rest on: their actions are whole."""
    table = _build(tmp_path)
    lines = table.compact(0, table.version).read_text().splitlines()
    kinds = [next(iter(json.loads(line))) for line in lines]
    assert sorted(set(kinds)) == ["add", "metaData", "protocol", "remove"]
    assert kinds.count("add") == 5


def test_a_checkpoint_with_a_name_that_is_no_text_is_passed_over(tmp_path: Path) -> None:
    table = sample_table("row_tracking").unpack(tmp_path)
    expected = lakescan.open(table).snapshot().scan().build().to_arrow().num_rows
    for file in (table / "_delta_log").glob("*.checkpoint.parquet"):
        file.write_bytes(file.read_bytes().replace(b"minReaderVersion", b"\xffinReaderVersion"))
    with pytest.warns(errors.CheckpointIgnored, match="codec can't decode"):
        assert lakescan.open(table).snapshot().scan().build().to_arrow().num_rows == expected
