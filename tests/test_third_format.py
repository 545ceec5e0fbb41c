"""A format that Lakescan does not know: its folder and a line in the list give it all that the planner can do."""

from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import InvalidOption, TableNotFound, UnknownOption, VersionNotFound
from lakescan.formats import registry
from lakescan.formats.registry import asked, checked, pin_stream, pinned, state_options
from lakescan.options import Read
from lakescan.predicate import Column
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.reader.read import read_task
from lakescan.reader.top_rows import SortColumn
from lakescan.scan.plan import Plan
from lakescan.stream.stream import Limits, Offset
from tests import toy_format
from tests.toy_format.builder import ToyBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])


def rows(first: int, last: int) -> pa.Table:
    numbers = range(first, last + 1)
    texts = [None if number % 4 == 3 else f"t{number:03}" for number in numbers]
    return pa.table({"id": pa.array(numbers, pa.int64()), "text": pa.array(texts, pa.string())})


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyBuilder:
    """The format registered, and a table of three versions with ten rows each."""
    monkeypatch.setattr(registry, "FORMATS", (*registry.FORMATS, toy_format.FORMAT))
    built = ToyBuilder(tmp_path / "toys", SCHEMA)
    for first in (0, 10, 20):
        built.add(rows(first, first + 9))
    return built


def ids(plan: Plan) -> list[int]:
    return sorted(plan.to_arrow()["id"].to_pylist())


def files(plan: Plan) -> list[str]:
    return [str(path) for path in plan.planned.files["path"].to_pylist()]


def test_a_filter_skips_files_and_rows(toys: ToyBuilder) -> None:
    plan = lakescan.open(toys.path).snapshot().scan().filter("id BETWEEN 8 AND 11 AND text IS NOT NULL").build()
    assert (files(plan), ids(plan)) == (["0.csv", "1.csv"], [8, 9, 10])


def test_columns_are_read_in_the_order_asked_and_none_counts_the_rows(toys: ToyBuilder) -> None:
    scan = lakescan.open(toys.path).snapshot().scan()
    assert scan.select("text", "id").filter("id = 12").build().to_arrow().to_pylist() == [{"text": "t012", "id": 12}]
    assert sum(batch.num_rows for batch in scan.select().build().to_batches()) == 30


def test_a_limit_an_offset_and_a_top_n_read_the_files_that_they_need(toys: ToyBuilder) -> None:
    scan = lakescan.open(toys.path).snapshot().scan()
    limited = scan.limit(4).build()
    assert (len(files(limited)), limited.to_arrow().num_rows) == (1, 4)
    behind = scan.offset(25).build()
    assert (len(files(behind)), behind.to_arrow().num_rows) == (1, 5)
    first = scan.first(3, SortColumn(Column(("id",)), descending=True, nulls_first=False)).build()
    assert (files(first), ids(first)[-3:]) == (["2.csv"], [27, 28, 29])


def test_aggregates_come_from_the_manifest_and_from_the_files_that_it_does_not_answer_for(toys: ToyBuilder) -> None:
    number, text = Column(("id",)), Column(("text",))
    how = Aggregation(
        (), (Aggregate("count_rows"), Aggregate("count", text), Aggregate("min", number), Aggregate("max", number))
    )
    scan = lakescan.open(toys.path).snapshot().scan()
    whole = scan.aggregate(how).build()
    assert whole.metadata_only
    assert list(whole.to_arrow().to_pylist()[0].values()) == [30, 23, 0, 29]
    part = scan.filter("id >= 15").aggregate(how).build()
    assert files(part) == ["1.csv"]
    assert list(part.to_arrow().to_pylist()[0].values()) == [15, 11, 15, 29]


def test_a_file_that_is_no_parquet_file_is_read_once_however_many_pieces_its_size_asks_for(toys: ToyBuilder) -> None:
    toys.add(rows(30, 39), said_size=64 << 20)
    plan = lakescan.open(toys.path).snapshot().scan().build()
    tasks = plan.tasks(8)
    assert len(tasks) > 4
    assert sum(batch.num_rows for task in tasks for batch in read_task(plan.read_plan, task)) == 40


def test_its_options_are_checked_and_ask_for_a_version(toys: ToyBuilder) -> None:
    table = lakescan.open(toys.path)
    given = checked({"VERSIONASOF": 1}, table.format, Read.BATCH)
    snapshot = asked(table, given, table.snapshot)
    assert (snapshot.version, snapshot.num_files, pinned(snapshot, given)) == (1, 2, {"versionAsOf": "1"})
    assert pinned(asked(table, {}, table.snapshot), {}) == {"versionAsOf": "2"}
    assert asked(table, given, table.snapshot, travelled=True).version == 2
    assert "versionAsOf" in state_options()
    with pytest.raises(UnknownOption, match="Did you mean versionAsOf"):
        checked({"versionsAsOf": "1"}, table.format, Read.BATCH)
    with pytest.raises(InvalidOption, match="option of delta tables, and this is a toy table"):
        checked({"readChangeFeed": "true"}, table.format, Read.BATCH)
    with pytest.raises(VersionNotFound):
        table.snapshot(3)


def test_its_changes_are_planned_and_read_like_a_version(toys: ToyBuilder) -> None:
    plan = lakescan.open(toys.path).changes(1, 1).scan().filter("id < 13").build()
    assert (files(plan), ids(plan)) == (["1.csv"], [10, 11, 12])
    assert lakescan.open(toys.path).history(2)["version"].to_pylist() == [2, 1]


def test_where_there_is_no_table_the_error_names_every_format(toys: ToyBuilder, tmp_path: Path) -> None:
    with pytest.raises(TableNotFound, match=r"neither .*_delta_log.* nor .*\.hoodie.* nor .*toy_manifest\.json"):
        lakescan.open(tmp_path)


def test_a_stream_gives_each_version_once_and_goes_on_with_what_is_added(toys: ToyBuilder) -> None:
    pinned_stream = pin_stream(lakescan.open(toys.path), {})
    assert pinned_stream is not None
    stream = pinned_stream.open(pinned_stream.schema)

    def batch(start: Offset, end: Offset) -> list[int]:
        tasks = stream.plan(start, end, 2)
        return sorted(
            number for one in tasks for rows in read_task(one.plan, one.task) for number in rows["id"].to_pylist()
        )

    start = stream.initial_offset()
    middle = stream.next_offset(start, Limits(files=2))
    end = stream.next_offset(middle, Limits(files=2))
    assert (batch(start, middle), batch(middle, end)) == (list(range(20)), list(range(20, 30)))
    assert stream.next_offset(end, Limits()) == end
    toys.add(rows(30, 39))
    assert batch(end, stream.next_offset(end, Limits())) == list(range(30, 40))
