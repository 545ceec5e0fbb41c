"""Filters go into a large checkpoint: what survives is what filtering a whole listing leaves, and less is read."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakescan
from lakescan import col
from lakescan.errors import CheckpointIgnored, ChecksumMismatch, UnreadableCheckpoint
from lakescan.formats.delta.log import checkpoint, opened_once
from lakescan.formats.delta.log import replay as delta_replay
from lakescan.predicate import Column, Predicate
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.reader.top_rows import SortColumn
from lakescan.scan import in_pieces
from lakescan.scan.kept_columns import KEPT
from lakescan.scan.plan import Plan
from lakescan.scan.settings import Settings
from lakescan.scan.snapshot import Snapshot
from lakescan.types.columns import member
from tests.sample_tables import SampleTable, sample_tables
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("p", pa.int32())])
PARSED = pa.schema([("id", pa.int64()), ("name", pa.string())])
FILES = 24


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_replay, "_MANY_ROWS", 1)
    monkeypatch.setattr(opened_once, "BATCH_ROWS", 3)


@pytest.fixture(params=["json", "parsed", "both"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> DeltaBuilder:
    """Files of ten ids each, in a checkpoint of row groups of four actions, and two commits after it."""
    return checkpointed(tmp_path / "table", stats=request.param)


def rows(at: int) -> pa.Table:
    ids = range(10 * at, 10 * at + 10)
    return pa.table({"id": pa.array(ids, pa.int64()), "name": pa.array([f"n{number:04d}" for number in ids])})


def checkpointed(path: Path, stats: str = "json", **how: Any) -> DeltaBuilder:
    table = DeltaBuilder(path, SCHEMA, partition_by=["p"], features=["deletionVectors"])
    adds = [table.add(rows(at), partition={"p": str(at % 3)}) for at in range(FILES)]
    table.commit(*adds)
    table.checkpoint(stats=stats, parsed=PARSED, row_group_size=4, **how)
    table.commit(table.remove(adds[5]), table.add(rows(FILES), partition={"p": "1"}))
    table.delete(adds[7], range(10))
    return table


def listed_first(path: str | Path) -> Snapshot:
    """A snapshot that lists all its files before anybody asks for some."""
    snapshot = lakescan.open(path).snapshot()
    snapshot.files()
    return snapshot


def planned(snapshot: Snapshot, predicate: Any) -> Plan:
    return snapshot.scan().filter(predicate).build()


def surviving(plan: Plan) -> list[dict[str, Any]]:
    return sorted(plan.files().to_pylist(), key=lambda file: str(file["path"]))


def is_pushed(plan: Plan) -> bool:
    return plan.planned.snapshot is not plan.spec.snapshot


FILTERS = {
    "one file": col("id") == 123,
    "no file": col("id") > 10_000,
    "a removed file": col("id") == 55,
    "a file without a live row": col("id") == 75,
    "a file of a commit": col("id") == 245,
    "text": col("name") < "n0042",
    "a partition": col("p") == 1,
    "no partition": col("p") == 9,
    "a partition and a value": (col("p") == 1) & (col("id") < 100),
    "a partition or a value": (col("p") == 1) | (col("id") < 20),
    "nulls": col("id").is_null(),
}


@pytest.mark.parametrize("predicate", FILTERS.values(), ids=FILTERS.keys())
def test_a_filter_in_the_checkpoint_leaves_what_a_filter_of_all_files_leaves(
    table: DeltaBuilder, predicate: Predicate
) -> None:
    pushed = planned(lakescan.open(table.path).snapshot(), predicate)
    expected = planned(listed_first(table.path), predicate)
    assert is_pushed(pushed)
    assert not is_pushed(expected)
    assert surviving(pushed) == surviving(expected)
    assert pushed.to_arrow().sort_by("id") == expected.to_arrow().sort_by("id")
    steps = [(step.name, step.files, step.bytes) for step in pushed.report().steps]
    assert steps == [(step.name, step.files, step.bytes) for step in expected.report().steps]


@pytest.mark.parametrize("how", [{"parts": 3}, {"top": "json"}, {"top": "parquet", "sidecars": 4}], ids=str)
@pytest.mark.parametrize("predicate", [FILTERS["one file"], FILTERS["a partition"]], ids=["one file", "a partition"])
def test_parts_and_sidecars_are_filtered_alike(tmp_path: Path, how: dict[str, Any], predicate: Predicate) -> None:
    table = checkpointed(tmp_path / "table", **how)
    pushed = planned(lakescan.open(table.path).snapshot(), predicate)
    assert is_pushed(pushed)
    assert surviving(pushed) == surviving(planned(listed_first(table.path), predicate))


def filters_of(sample: SampleTable, schema: pa.Schema) -> Iterator[Predicate]:
    """Of each simple column: equal to a value that it has, below it, and null."""
    for field in schema:
        simple = pa.types.is_integer(field.type) or pa.types.is_string(field.type) or pa.types.is_floating(field.type)
        values = [row.get(field.name) for row in sample.rows if simple and row.get(field.name) is not None]
        plain = [value for value in values if isinstance(value, (int, str, float)) and value == value]
        for value in plain[len(plain) // 2 :][:1]:
            yield from (col(f"`{field.name}`") == value, col(f"`{field.name}`") < value)
        yield col(f"`{field.name}`").is_null()


@pytest.mark.parametrize("sample", sample_tables("delta"), ids=lambda sample: sample.name)
def test_every_sample_table_is_filtered_alike(sample: SampleTable, tmp_path: Path) -> None:
    path = sample.unpack(tmp_path)
    expected, asked = listed_first(path), lakescan.open(path)
    for predicate in filters_of(sample, expected.schema):
        # Each time as if it were the first.
        again = lakescan.open(asked.location).snapshot()
        assert surviving(planned(again, predicate)) == surviving(planned(expected, predicate)), str(predicate)
        assert again.num_files == expected.num_files
        assert again.size_in_bytes == expected.size_in_bytes


class Read:
    """Which columns of which row groups were read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.columns: list[tuple[int, str]] = []
        batches: Callable[..., Any] = opened_once.OpenedOnce._batches

        def noted(file: opened_once.OpenedOnce, columns: Sequence[str], group: int) -> Any:
            self.columns += [(group, column) for column in columns]
            return batches(file, columns, group)

        monkeypatch.setattr(opened_once.OpenedOnce, "_batches", noted)

    def groups(self, column: str) -> set[int]:
        return {group for group, name in self.columns if name == column}


def test_paths_are_decoded_only_where_some_file_may_match(table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_FEW_OF", 1)
    read = Read(monkeypatch)
    assert is_pushed(planned(lakescan.open(table.path).snapshot(), FILTERS["one file"]))
    assert len(read.groups("add.path")) == 1


def test_row_groups_are_skipped_by_the_footers_bounds_of_statistics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = checkpointed(tmp_path / "table", stats="parsed")
    read = Read(monkeypatch)
    planned(lakescan.open(table.path).snapshot(), col("id") == 123)
    assert len(read.groups("add.stats_parsed.minValues.id")) == 1


def test_row_groups_are_skipped_by_the_footers_bounds_of_partition_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, partition_by=["p"])
    table.commit(*(table.add(rows(at), partition={"p": str(at // 8)}) for at in range(FILES)))
    (file,) = table.checkpoint(row_group_size=4)
    whole = pq.read_table(file)
    add = whole["add"].combine_chunks()
    days = pa.array(
        [None if texts is None else int(dict(texts)["p"]) for texts in member(add, "partitionValues").to_pylist()],
        pa.int32(),
    )
    parsed = pa.StructArray.from_arrays([days], names=["p"], mask=add.is_null())
    columns = [*add.flatten(), parsed]
    wider = pa.StructArray.from_arrays(
        columns, names=[*(field.name for field in add.type), "partitionValues_parsed"], mask=add.is_null()
    )
    pq.write_table(whole.set_column(whole.schema.get_field_index("add"), "add", wider), file, row_group_size=4)
    expected = planned(listed_first(table.path), col("p") == 2)
    read = Read(monkeypatch)
    pushed = planned(lakescan.open(table.path).snapshot(), col("p") == 2)
    assert surviving(pushed) == surviving(expected)
    assert len(read.groups("add.partitionValues")) < 5 < pq.read_metadata(file).num_row_groups


def test_a_row_group_with_a_file_without_statistics_is_read(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, partition_by=["p"])
    adds = [table.add(rows(at), partition={"p": "0"}) for at in range(8)]
    del adds[3]["add"]["stats"]
    table.commit(*adds)
    table.checkpoint(stats="parsed", parsed=PARSED, row_group_size=4)
    pushed = planned(lakescan.open(table.path).snapshot(), col("id") == 75)
    assert {file["path"].rsplit("/")[-1] for file in surviving(pushed)} == {
        adds[at]["add"]["path"].rsplit("/")[-1] for at in (3, 7)
    }


def test_the_number_of_files_is_known_without_their_partition_values(
    table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Read(monkeypatch)
    snapshot = lakescan.open(table.path).snapshot()
    assert snapshot.num_files == FILES
    assert snapshot.size_in_bytes > 0
    assert read.groups("add.size")
    assert not read.groups("add.partitionValues")


def test_texts_that_were_parsed_are_kept_for_the_next_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = checkpointed(tmp_path / "table")
    snapshot = lakescan.open(table.path).snapshot()
    first = surviving(planned(snapshot, col("id") == 123))
    read = Read(monkeypatch)
    assert surviving(planned(snapshot, col("id") == 123)) == first
    assert snapshot.exact_statistics(planned(snapshot, col("id") < 500).planned.files, []) is not None
    assert not read.groups("add.stats")


def test_nothing_is_kept_beyond_the_bound(tmp_path: Path) -> None:
    table = checkpointed(tmp_path / "table")
    scan = lakescan.open(table.path).snapshot().scan().filter(col("id") == 123)
    assert scan.build().planned.files.num_rows == 1
    assert KEPT.bytes > 0
    assert scan.with_settings(Settings.of({"lakescan.planning.kept.bytes": 0})).build().planned.files.num_rows == 1
    assert KEPT.bytes == 0
    assert scan.build().planned.files.num_rows == 1


def test_a_checksum_that_counts_other_files_refutes_a_filtered_plan(table: DeltaBuilder) -> None:
    (Path(table.path) / "_delta_log" / f"{table.version:020d}.crc").write_text(
        json.dumps({"numFiles": FILES + 3, "tableSizeBytes": 1})
    )
    with pytest.raises(ChecksumMismatch, match=f"{FILES + 3} files"):
        planned(lakescan.open(table.path).snapshot(), col("id") == 123)


def test_a_right_checksum_proves_a_filtered_plan(table: DeltaBuilder) -> None:
    live = listed_first(table.path)
    (Path(table.path) / "_delta_log" / f"{table.version:020d}.crc").write_text(
        json.dumps({"numFiles": live.num_files, "tableSizeBytes": live.size_in_bytes, "numDeletedRecordsOpt": 10})
    )
    assert is_pushed(planned(lakescan.open(table.path).snapshot(), col("id") == 123))


def test_a_file_twice_among_those_that_match_is_refused(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, partition_by=["p"])
    adds = [table.add(rows(at), partition={"p": "0"}) for at in range(4)]
    table.commit(*adds)
    (file,) = table.checkpoint()
    whole = pq.read_table(file)
    pq.write_table(pa.concat_tables([whole, whole.slice(whole.num_rows - 1)]), file)
    table.clean_log(table.version)
    with pytest.raises(UnreadableCheckpoint, match="twice"):
        planned(lakescan.open(table.path).snapshot(), col("id") == 35)


def test_a_checkpoint_that_fails_at_a_filter_is_passed_over(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, partition_by=["p"])
    table.commit(*(table.add(rows(at), partition={"p": "0"}) for at in range(4)))
    (file,) = table.checkpoint()
    whole = pq.read_table(file)
    add = whole["add"].combine_chunks()
    names = [field.name for field in add.type]
    columns = [pa.nulls(len(add), pa.int64()) if name == "size" else member(add, name) for name in names]
    broken = pa.StructArray.from_arrays(columns, names=names, mask=add.is_null())
    pq.write_table(whole.set_column(whole.schema.get_field_index("add"), "add", broken), file)
    with pytest.warns(CheckpointIgnored, match="without a size"):
        plan = planned(lakescan.open(table.path).snapshot(), col("id") == 35)
    assert len(surviving(plan)) == 1


@pytest.mark.parametrize("predicate", [FILTERS["a partition"], FILTERS["text"]], ids=["a partition", "text"])
def test_what_is_known_of_files_that_a_filter_left_is_asked_of_whoever_listed_them(
    table: DeltaBuilder, predicate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever else lists the version may have passed over its checkpoint, and number files in another way."""
    aggregation = Aggregation((), (Aggregate("count", None), Aggregate("max", Column(("id",)))))
    expected = listed_first(table.path).scan().filter(predicate)
    asked = lakescan.open(table.path).snapshot().scan().filter(predicate)

    def nobody(replay: Any) -> Any:
        raise AssertionError("all files are listed")

    monkeypatch.setattr(delta_replay.Replay, "_every_file", nobody)
    assert asked.aggregate(aggregation).build().to_arrow() == expected.aggregate(aggregation).build().to_arrow()
    top = (5, SortColumn(Column(("id",)), descending=True, nulls_first=False))
    assert surviving(asked.first(*top).build()) == surviving(expected.first(*top).build())
    assert asked.build().estimates(with_columns=True) == expected.build().estimates(with_columns=True)


def in_order(answer: pa.Table, how: Aggregation) -> pa.Table:
    keys = [(name, "ascending") for name in answer.schema.names[: len(how.keys)]]
    return answer.sort_by(keys) if keys else answer


AGGREGATIONS = [
    Aggregation((), (Aggregate("count"),)),
    Aggregation((), (Aggregate("count"), Aggregate("min", Column(("id",))), Aggregate("max", Column(("id",))))),
    Aggregation((Column(("p",)),), (Aggregate("count"), Aggregate("count", Column(("id",))))),
]


@pytest.mark.parametrize("how", AGGREGATIONS, ids=str)
def test_a_huge_table_is_not_listed_where_files_of_one_size_and_time_are_others(
    table: DeltaBuilder, how: Aggregation, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = listed_first(table.path).scan().aggregate(how).build()
    monkeypatch.setattr(in_pieces, "MANY_FILES", 1)
    snapshot = lakescan.open(table.path).snapshot()
    plan = snapshot.scan().aggregate(how).build()
    assert in_order(plan.to_arrow(), how).equals(in_order(expected.to_arrow(), how))
    # A file whose vector was changed since the checkpoint has its size and time twice in the log: by path it is one.
    assert "live_files" not in snapshot.__dict__["_replay"].__dict__


@pytest.mark.parametrize("how", AGGREGATIONS, ids=str)
@pytest.mark.parametrize("stats", ["json", "parsed"])
def test_pieces_of_a_huge_table_come_to_the_same(
    tmp_path: Path, stats: str, how: Aggregation, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, partition_by=["p"])
    adds = [table.add(rows(at), partition={"p": str(at % 3)}) for at in range(FILES)]
    table.commit(*adds)
    table.checkpoint(stats=stats, parsed=PARSED, row_group_size=4)
    table.commit(table.remove(adds[5]), table.add(rows(FILES), partition={"p": "1"}))
    expected = listed_first(table.path).scan().aggregate(how).build().to_arrow()
    monkeypatch.setattr(in_pieces, "MANY_FILES", 1)
    snapshot = lakescan.open(table.path).snapshot()
    plan = snapshot.scan().aggregate(how).build()
    assert "live_files" not in snapshot.__dict__["_replay"].__dict__
    assert plan.metadata_only
    assert plan.report().files_total == FILES
    assert in_order(plan.to_arrow(), how).equals(in_order(expected, how))


def test_a_huge_table_with_a_file_twice_is_not_counted_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_pieces, "MANY_FILES", 1)
    table = DeltaBuilder(tmp_path, SCHEMA, partition_by=["p"])
    table.commit(*(table.add(rows(at), partition={"p": "0"}) for at in range(4)))
    (file,) = table.checkpoint()
    whole = pq.read_table(file)
    pq.write_table(pa.concat_tables([whole, whole.slice(whole.num_rows - 1)]), file)
    table.clean_log(table.version)
    with pytest.raises(UnreadableCheckpoint, match="twice"):
        lakescan.open(table.path).snapshot().scan().aggregate(AGGREGATIONS[0]).build()
