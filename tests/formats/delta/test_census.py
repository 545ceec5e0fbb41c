"""What is counted of a version's files without listing them is what a whole listing gives."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import ChecksumMismatch
from lakescan.formats.delta.log import opened_once
from lakescan.formats.delta.log import replay as delta_replay
from lakescan.predicate import Column
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.scan.inspection import inspect
from lakescan.scan.listed_snapshot import ListedSnapshot
from lakescan.scan.planning import plan
from tests.sample_tables import SampleTable, sample_tables
from tests.tables import DeltaBuilder

IDS = pa.schema([("id", pa.int64())])


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_replay, "_MANY_ROWS", 1)
    monkeypatch.setattr(opened_once, "BATCH_ROWS", 3)


def built(path: Path, stats: str = "json", **how: Any) -> DeltaBuilder:
    """A checkpoint of twelve files, one of them without statistics, and commits that remove, delete and add."""
    table = DeltaBuilder(path, IDS, features=["deletionVectors"])
    adds = [table.add(pa.table({"id": list(range(at + 1))}), stats=at != 4) for at in range(12)]
    table.commit(*adds)
    table.delete(adds[9], [1, 2])
    table.checkpoint(stats=stats, parsed=IDS, row_group_size=4, **how)
    table.commit(table.remove(adds[5]), table.add(pa.table({"id": [1, 2, 3]})))
    table.delete(adds[7], range(3))
    return table


def counted(census: pa.Table) -> list[tuple[Any, ...]]:
    rows = zip(
        census["size"].to_pylist(), census["deletion_vector"].to_pylist(), census["rows"].to_pylist(), strict=True
    )
    return sorted(rows, key=str)


def listed_and_counted(path: Path) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """By the snapshot's own census, and by listing every file."""
    fresh, other = lakescan.open(path).snapshot(), lakescan.open(path).snapshot()
    assert isinstance(other, ListedSnapshot)
    return counted(fresh.census()), counted(ListedSnapshot.census(other))


@pytest.mark.parametrize("stats", ["json", "parsed", "both"])
@pytest.mark.parametrize("how", [{}, {"parts": 3}, {"top": "json"}, {"top": "parquet"}], ids=str)
def test_a_large_checkpoint_is_counted_as_it_is_listed(stats: str, how: dict[str, Any], tmp_path: Path) -> None:
    path = built(tmp_path / "t", stats, **how).root
    ours, listed = listed_and_counted(path)
    assert ours == listed
    assert len(ours) == 12
    assert [rows for _, _, rows in ours].count(None) == 1


def test_counting_lists_no_file(tmp_path: Path) -> None:
    snapshot: Any = lakescan.open(built(tmp_path / "t").root).snapshot()
    inspection = inspect(snapshot)
    assert (inspection.files, inspection.rows, inspection.uncounted_files, inspection.deleted_rows) == (12, None, 1, 5)
    assert "live_files" not in vars(snapshot._replay)


def test_a_right_checksum_saves_reading_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = DeltaBuilder(tmp_path / "t", IDS)
    table.commit(*(table.add(pa.table({"id": [at]})) for at in range(8)))
    table.checkpoint(row_group_size=4)
    table.append(pa.table({"id": [9]}))
    file = table.checksum()
    file.write_text(file.read_text().replace('"allFiles"', '"others"'))
    read: list[str] = []
    batches = opened_once.OpenedOnce._batches

    def noted(self: Any, columns: Any, group: int) -> Any:
        read.extend(columns)
        return batches(self, columns, group)

    monkeypatch.setattr(opened_once.OpenedOnce, "_batches", noted)
    assert lakescan.open(table.root).snapshot().census().num_rows == 9
    assert "add.size" in read
    assert "add.path" not in read


def test_a_checksum_that_counts_other_files_is_an_error(tmp_path: Path) -> None:
    table = built(tmp_path / "t")
    file = table.checksum()
    text = file.read_text().replace('"allFiles"', '"others"')
    file.write_text(text)
    ours, listed = listed_and_counted(table.root)
    assert ours == listed
    file.write_text(text.replace('"numFiles": 12', '"numFiles": 13'))
    with pytest.raises(ChecksumMismatch, match="13 files"):
        lakescan.open(table.root).snapshot().census()


def aggregated(path: Path, aggregation: Aggregation) -> tuple[list[dict[str, Any]], int, list[str]]:
    """The answer that the log gives, how many files are left to read, and which columns of the checkpoint it took."""
    read: list[str] = []
    batches = opened_once.OpenedOnce._batches

    def noted(self: Any, columns: Any, group: int) -> Any:
        read.extend(columns)
        return batches(self, columns, group)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opened_once.OpenedOnce, "_batches", noted)
        made = plan(replace(lakescan.open(path).snapshot().scan().spec, aggregation=aggregation))
    assert made.ready is not None
    return sorted(made.ready.to_pylist(), key=str), made.planned.files.num_rows, read


ID, DAY = Column(("id",)), Column(("day",))
AGGREGATIONS = {
    "count": Aggregation((), (Aggregate("count", None),)),
    "extremes": Aggregation((), (Aggregate("min", ID), Aggregate("max", ID), Aggregate("count", ID))),
    "by day": Aggregation((DAY,), (Aggregate("count", None), Aggregate("max", ID))),
    "of days": Aggregation((), (Aggregate("min", DAY), Aggregate("max", DAY))),
}


@pytest.mark.parametrize("how", [{}, {"parts": 3}, {"top": "json"}, {"top": "parquet"}], ids=str)
@pytest.mark.parametrize("stats", ["json", "parsed", "both"])
def test_an_aggregate_that_the_log_answers_reads_no_paths(stats: str, how: dict[str, Any], tmp_path: Path) -> None:
    schema = pa.schema([("day", pa.date32()), ("id", pa.int64())])
    table = DeltaBuilder(tmp_path / "t", schema, ["day"], features=["deletionVectors"])
    days = ("2024-01-01", None, "2024-01-03")
    adds = [table.add(pa.table({"id": [3 * at, 3 * at + 1]}), partition={"day": days[at % 3]}) for at in range(12)]
    table.commit(*adds)
    table.delete(adds[9], [0])
    table.checkpoint(stats=stats, parsed=IDS, row_group_size=4, **how)
    table.append(pa.table({"id": [-5]}), partition={"day": days[0]})
    unproven = {name: aggregated(table.root, asked) for name, asked in AGGREGATIONS.items()}
    file = table.checksum()
    file.write_text(file.read_text().replace('"allFiles"', '"others"'))
    for name, asked in AGGREGATIONS.items():
        rows, left, read = aggregated(table.root, asked)
        # What is left to read has to be named, and of a file with deleted rows the bounds are not known.
        assert ("add.path" in read) is (left > 0)
        assert ("add.partitionValues" in read) is (left > 0 or "day" in name)
        assert (rows, left) == unproven[name][:2]
    assert aggregated(table.root, AGGREGATIONS["count"])[0] == [{"value_0": 24}]


def test_files_that_commits_name_are_counted_by_their_paths(tmp_path: Path) -> None:
    table = built(tmp_path / "t")
    unproven = {name: aggregated(table.root, AGGREGATIONS[name])[:2] for name in ("count", "extremes")}
    file = table.checksum()
    file.write_text(file.read_text().replace('"allFiles"', '"others"'))
    for name, expected in unproven.items():
        rows, left, read = aggregated(table.root, AGGREGATIONS[name])
        assert (rows, left) == expected
        assert "add.path" in read


@pytest.mark.parametrize("sample", sample_tables(), ids=lambda table: table.name)
def test_a_sample_table_is_counted_as_it_is_listed(
    sample: SampleTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sample.unpack(tmp_path)
    ours, listed = listed_and_counted(path)
    assert ours == listed
    column = Column((lakescan.open(path).snapshot().schema.names[0],))
    asked = [AGGREGATIONS["count"], Aggregation((), (Aggregate("min", column), Aggregate("max", column)))]
    without = [aggregated(path, aggregation)[:2] for aggregation in asked]
    monkeypatch.setattr("lakescan.formats.delta.snapshot.DeltaSnapshot.without_paths", lambda self, partition: None)
    assert [aggregated(path, aggregation)[:2] for aggregation in asked] == without


def test_a_filter_that_is_asked_for_again_reads_nothing_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = lakescan.open(built(tmp_path / "t").root).snapshot()
    wheres = ("id = 3", "id = 4", "id = 3.0", "id > 3")
    expected = {where: snapshot.scan().filter(where).build().files()["path"].to_pylist() for where in wheres}
    monkeypatch.setattr(opened_once.OpenedOnce, "_batches", lambda *asked: pytest.fail("it reads the checkpoint"))
    for where in wheres:
        assert snapshot.scan().filter(where).build().planned.files.num_rows == len(expected[where])


def test_only_few_filters_and_only_their_few_files_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakescan.formats.delta.snapshot._KEPT_STEPS", 2)
    snapshot: Any = lakescan.open(built(tmp_path / "t").root).snapshot()
    for id_ in (1, 2, 3):
        snapshot.scan().filter(f"id = {id_}").build()
    assert len(snapshot._narrowed) == 2
    monkeypatch.setattr("lakescan.formats.delta.snapshot._FEW_FILES", 0)
    snapshot.scan().filter("id = 5").build()
    assert not any("value=5" in repr(step) for step in snapshot._narrowed)


def test_a_checksum_that_forgets_a_removed_file_is_not_believed(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", IDS)
    adds = [table.add(pa.table({"id": [at]})) for at in range(8)]
    table.commit(*adds)
    table.checkpoint(row_group_size=4)
    file = table.checksum()
    counted = json.loads(file.read_text())
    table.commit(table.remove(adds[3]))
    forgetful = {name: value for name, value in counted.items() if name != "allFiles"}
    file.with_name(f"{table.version:020d}.crc").write_text(json.dumps(forgetful))
    with pytest.raises(ChecksumMismatch):
        aggregated(table.root, AGGREGATIONS["count"])
