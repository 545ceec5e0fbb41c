"""A spec is a value: it compares, it pickles, and it reads nothing."""

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import LakescanError
from lakescan.predicate import Column
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.reader.top_rows import SortColumn
from lakescan.scan.builder import ScanBuilder
from lakescan.scan.planning import plan
from tests.sample_tables import SampleTable, sample_tables
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.int32())])


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    builder = DeltaBuilder(tmp_path / "t", SCHEMA, partition_by=["day"])
    for day in range(3):
        builder.append(pa.table({"id": [day * 10, day * 10 + 1]}), partition={"day": str(day)})
    return builder


def questions(scan: ScanBuilder) -> list[ScanBuilder]:
    return [
        scan,
        scan.sample(0.5),
        scan.sample(0.5, seed=1),
        scan.sample(0.75),
        scan.filter("id > 10"),
        scan.filter_unclaimed("id > 10"),
        scan.skip_unless("id > 10"),
        scan.select("id"),
        scan.limit(3),
        scan.offset(1),
        scan.first(2, SortColumn(Column(("id",)), descending=True)),
        scan.aggregate(Aggregation((Column(("day",)),), (Aggregate("count_rows"),))),
    ]


def in_any_order(rows: pa.Table) -> list[str]:
    """hudi-rs gives the rows of a merged slice in any order; as text, a NaN is a NaN."""
    return sorted(map(repr, rows.to_pylist()))


def test_specs_are_equal_where_the_same_is_asked_and_only_there(table: DeltaBuilder) -> None:
    first, second = lakescan.open(table.path).snapshot().scan(), lakescan.open(table.path).snapshot().scan()
    asked = [builder.spec for builder in questions(first)]
    assert asked == [builder.spec for builder in questions(second)]
    assert all(asked[a] != asked[b] for a in range(len(asked)) for b in range(a))
    table.append(pa.table({"id": [1]}), partition={"day": "7"})
    assert lakescan.open(table.path).snapshot().scan().spec != first.spec


def test_a_spec_pickles_small_and_asks_the_same_where_it_arrives(table: DeltaBuilder) -> None:
    for builder in questions(lakescan.open(table.path).snapshot().scan()):
        builder.build()
        sent = pickle.dumps(builder.spec)
        assert len(sent) < 4_000
        arrived = pickle.loads(sent)
        assert arrived == builder.spec
        assert plan(arrived).to_arrow().equals(builder.build().to_arrow())


@pytest.mark.parametrize("sample", sample_tables(), ids=lambda sample: sample.name)
def test_a_spec_of_every_sample_table_gives_the_same_rows_after_a_journey(sample: SampleTable, tmp_path: Path) -> None:
    snapshot = lakescan.open(sample.unpack(tmp_path)).snapshot()
    spec = snapshot.scan().spec
    arrived = pickle.loads(pickle.dumps(spec))
    assert arrived.token == spec.token
    try:
        rows = in_any_order(plan(spec).to_arrow())
    except LakescanError as error:
        with pytest.raises(type(error)):
            plan(arrived).to_arrow()
        return
    assert in_any_order(plan(arrived).to_arrow()) == rows


def test_making_a_spec_opens_no_file(table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = lakescan.open(table.path).snapshot()
    monkeypatch.setattr("lakescan.io.storage.Storage.open", lambda *_: pytest.fail("a file is opened"))
    monkeypatch.setattr("lakescan.io.storage.Storage.list_from", lambda *_: pytest.fail("a folder is listed"))
    for builder in questions(snapshot.scan()):
        assert builder.spec.token
        assert builder.spec.description
