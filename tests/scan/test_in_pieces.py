"""A log that executors replay gives the answers of one that this process replays."""

import json
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakescan
from lakescan.errors import CheckpointIgnored, InvalidSetting, UnreadableCheckpoint
from lakescan.predicate import TRUE, And, Column, Comparison, In, IsNull, Literal, Or, Predicate, col
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.reader.top_rows import SortColumn, top_rows
from lakescan.scan import in_pieces
from lakescan.scan.aggregates import can_read
from lakescan.scan.builder import ScanBuilder
from lakescan.scan.file_statistics import has_bounds
from lakescan.scan.limit import can_skip
from lakescan.scan.plan import Plan
from lakescan.scan.settings import Settings
from tests.examples import examples
from tests.sample_tables import SampleTable, sample_tables
from tests.scan.test_any_pushdown import RANDOM, in_order, random_aggregation, random_order, same
from tests.strategies import RandomTable, filters, many, tables
from tests.tables import DeltaBuilder

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")
FROM_ONE_FILE_ON = Settings(distributed_files=1)


class Elsewhere:
    """Executors that share nothing with this process but what pickles."""

    def __init__(self) -> None:
        self.jobs: list[str] = []
        self.given: list[int] = []

    def run(self, work: Callable[[_Item], _Made], items: Sequence[_Item]) -> list[_Made]:
        sent = pickle.dumps(work)
        made = [pickle.dumps(pickle.loads(sent)(pickle.loads(pickle.dumps(item)))) for item in items]
        function: Any = getattr(work, "func", work)
        self.jobs.append(function.__name__)
        self.given.append(sum(map(len, made)))
        return [pickle.loads(one) for one in made]


def both(path: str) -> tuple[ScanBuilder, ScanBuilder, Elsewhere]:
    """The same scan of two snapshots, to be planned here and elsewhere."""
    executors = Elsewhere()
    here, spread = (lakescan.open(path).snapshot().scan() for _ in range(2))
    return here, spread.with_settings(FROM_ONE_FILE_ON).with_executors(executors), executors


def rows_of(plan: Plan) -> Counter[str]:
    table = plan.to_arrow()
    return Counter(map(repr, table.to_pylist())) if table.num_columns else Counter({"": table.num_rows})


def paths(plan: Plan) -> list[str]:
    listed: list[str] = plan.files()["path"].to_pylist()
    return listed


def with_checkpoint(table: SampleTable, folder: Path) -> Path:
    """A copy of a sample table, with a checkpoint of small row groups where it has none of its newest version's."""
    path = table.unpack(folder)
    snapshot = lakescan.open(str(path)).snapshot()
    whole = all((path / "_delta_log" / f"{at:020d}.json").exists() for at in range(int(snapshot.version) + 1))
    if snapshot.log_state.checkpoint_version is None and whole:
        builder = DeltaBuilder(path, {}, create=False)
        builder.version = int(snapshot.version)
        builder.checkpoint(row_group_size=2)
    return path


@pytest.fixture(autouse=True)
def a_piece_is_a_row_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakescan.formats.delta.log.checkpoint._PART_ROWS", 1)


def own_filter(random: Random, rows: pa.Table, depth: int = 2) -> Predicate:
    """A filter by values of the table."""
    roll = random.random()
    if depth and roll < 0.6:
        sides = [own_filter(random, rows, depth - 1) for _ in range(2)]
        return And(*sides) if roll < 0.3 else Or(*sides)
    columns = [field.name for field in rows.schema if has_bounds(field.type)]
    if not columns:
        return TRUE
    name = random.choice(columns)
    column, values = Column((name,)), [value for value in rows[name].unique() if value.is_valid]
    if not values or roll > 0.95:
        return IsNull(column)
    literals = [Literal(value.as_py(), rows.schema.field(name).type) for value in random.choices(values, k=2)]
    if roll > 0.9:
        return In(column, tuple(literals))
    return Comparison(random.choice(["=", "<", "<=", ">", ">="]), column, literals[0])


def same_both_ways(path: str, random: Random, wheres: Sequence[Predicate]) -> Elsewhere:
    """Plans of the table at a path, made here and by executors, come to the same."""
    here, _, executors = both(path)
    schema = here.spec.snapshot.schema

    def spread(where: Predicate) -> ScanBuilder:
        """Of a snapshot that has listed no files yet: what is listed already is planned here."""
        scan = lakescan.open(path).snapshot().scan().filter(where)
        return scan.with_settings(FROM_ONE_FILE_ON).with_executors(executors)

    for where in wheres:
        ours, count = here.filter(where), random.randint(0, 8)
        whole, every = spread(where).build(), rows_of(ours.build())
        assert paths(whole) == paths(ours.build())
        assert rows_of(whole) == every
        same_aggregation(ours, spread(where), random_aggregation(random, schema))
        drawn = (random.choice([0.0, 0.3, 0.6, 1.0]), random.getrandbits(64))
        assert paths(spread(where).sample(*drawn).build()) == paths(ours.sample(*drawn).build())
        same_aggregation(ours.sample(*drawn), spread(where).sample(*drawn), random_aggregation(random, schema))
        limited = rows_of(spread(where).limit(count).build())
        assert limited.total() == min(count, every.total())
        assert limited <= every
        by = random_order(random, schema)
        if by:
            assert first(spread(where).first(count, *by).build()) == first(ours.first(count, *by).build())
        if can_skip(ours.build()):
            assert rows_of(spread(where).offset(count).build()) == rows_of(ours.offset(count).build())
    return executors


def same_aggregation(ours: ScanBuilder, theirs: ScanBuilder, how: Aggregation) -> None:
    one, other = ours.aggregate(how).build(), theirs.aggregate(how).build()
    assert other.metadata_only == one.metadata_only
    if not one.metadata_only and not can_read(one):
        return
    wanted, actual = (in_order([tuple(row.values()) for row in plan.to_arrow().to_pylist()]) for plan in (one, other))
    assert len(actual) == len(wanted)
    assert all(same(a, b) for a, b in zip(actual, wanted, strict=True)), (actual, wanted)


def first(plan: Plan) -> list[str]:
    """The sort columns of the first rows, as texts; each way may keep more rows than those."""
    assert plan.spec.top is not None
    kept = pa.Table.from_batches(top_rows(plan.to_batches(), plan.spec.top), plan.schema)
    return sorted(map(repr, kept.select([sort.column.path[0] for sort in plan.spec.top.by]).to_pylist()))


@pytest.mark.parametrize("table", sample_tables("delta"), ids=lambda table: table.name)
def test_every_sample_table_gives_the_same_in_pieces(table: SampleTable, tmp_path: Path) -> None:
    path = str(with_checkpoint(table, tmp_path))
    snapshot, random = lakescan.open(path).snapshot(), Random(table.name)
    rows = snapshot.scan().build().to_arrow()
    executors = same_both_ways(path, random, [TRUE, *(own_filter(random, rows) for _ in range(examples(4)))])
    assert "_of_piece" in executors.jobs or snapshot.log_state.checkpoint_version is None


@given(data=st.data(), table=tables(), random=RANDOM)
@many(25)
def test_any_table_gives_the_same_in_pieces(data: st.DataObject, table: RandomTable, random: Random) -> None:
    wheres = [TRUE, *data.draw(filters(table.schema, most=4))]
    with TemporaryDirectory() as root:
        builder = table.write(Path(root) / "t")
        builder.checkpoint(row_group_size=2)
        assert "_of_piece" in same_both_ways(builder.path, random, wheres).jobs


ID, COUNT = Column(("id",)), Aggregation((), (Aggregate("count_rows"),))


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    """Forty files of ten rows in four partitions; one was removed and two added since the checkpoint."""
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64()), ("p", pa.int64())]), ["p"])
    adds = [table.add(pa.table({"id": range(at * 10, at * 10 + 10)}), {"p": str(at % 4)}) for at in range(40)]
    table.commit(*adds)
    table.checkpoint(row_group_size=5)
    more = [table.add(pa.table({"id": range(at * 10, at * 10 + 10)}), {"p": "1"}) for at in (40, 41)]
    table.commit(table.remove(adds[7]), *more)
    return table


def test_what_executors_send_is_what_is_left(table: DeltaBuilder) -> None:
    _, spread, executors = both(table.path)
    spread.aggregate(COUNT).build()
    counted = executors.given[-1]
    assert spread.filter(col("id") == 123).build().files().num_rows == 1
    point = executors.given[-1]
    assert spread.filter(col("id") >= 0).build().files().num_rows == 41
    every = executors.given[-1]
    assert executors.jobs == ["sums", "marks", *["_of_piece"] * 3]
    assert counted < every
    assert point < every


def test_what_the_driver_gets_does_not_grow_with_the_table(tmp_path: Path) -> None:
    sent: dict[int, list[int]] = {}
    for files in (16, 160):
        table = DeltaBuilder(tmp_path / str(files), pa.schema([("id", pa.int64()), ("p", pa.int64())]), ["p"])
        adds = [table.add(pa.table({"id": [at]}), {"p": str(at % 4)}) for at in range(files)]
        table.commit(*adds)
        (file,) = table.checkpoint(row_group_size=files // 4)
        assert pq.read_metadata(file).num_row_groups == 5
        _, spread, executors = both(table.path)
        least = Aggregation((Column(("p",)),), (Aggregate("min", ID), Aggregate("count_rows")))
        assert spread.aggregate(least).build().metadata_only
        assert spread.filter(col("id") == 5).build().files().num_rows == 1
        by_id = SortColumn(ID, descending=False, nulls_first=False)
        assert spread.first(1, by_id).build().files().num_rows == 1
        sent[files] = [size for job, size in zip(executors.jobs, executors.given, strict=True) if job == "_of_piece"]
    # As good as the same: numbers have more digits.
    assert len(sent[16]) == len(sent[160]) == 3
    assert all(more < less * 1.1 for less, more in zip(*sent.values(), strict=True)), sent


def test_a_limit_that_the_newest_files_fill_asks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakescan.formats.delta.log.replay._MANY_ROWS", 1)
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    for at in range(4):
        table.append(pa.table({"id": range(at * 10, at * 10 + 10)}))
    table.checkpoint()
    table.append(pa.table({"id": range(10)}))
    _, spread, executors = both(table.path)
    assert spread.limit(10).build().files().num_rows == 1
    assert executors.jobs == []


def test_all_files_are_not_sent_for(table: DeltaBuilder) -> None:
    here, spread, executors = both(table.path)
    assert paths(spread.build()) == paths(here.build())
    assert executors.jobs == []


def test_a_smaller_log_is_replayed_here(table: DeltaBuilder) -> None:
    _, spread, executors = both(table.path)
    assert spread.with_settings(Settings(distributed_files=43)).aggregate(COUNT).build().metadata_only
    assert executors.jobs == []


def test_a_piece_with_too_many_files_is_listed_here(table: DeltaBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_pieces, "_MOST_FILES", 0)
    monkeypatch.setattr(in_pieces, "_FEW_FILES", 2)
    here, spread, executors = both(table.path)
    where = col("id") >= 95
    assert paths(spread.filter(where).build()) == paths(here.filter(where).build())
    assert executors.jobs[-1] == "_of_piece"


def test_the_report_is_that_of_the_whole_table(table: DeltaBuilder) -> None:
    here, spread, _ = both(table.path)
    where = And(Comparison("=", Column(("p",)), Literal(1, pa.int64())), Comparison(">", ID, Literal(200, pa.int64())))
    for scan in (here, spread):
        report = scan.filter(where).build().report()
        steps = [(step.name, step.files) for step in report.steps]
        assert steps == [("table", 41), ("partitions", 12), ("statistics", 7)]
    assert [step.bytes for step in spread.filter(where).build().report().steps] == [
        step.bytes for step in here.filter(where).build().report().steps
    ]


def test_an_extreme_that_a_file_of_another_piece_beats_is_not_read(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]), features=["deletionVectors"])
    adds = [table.add(pa.table({"id": range(at * 10, at * 10 + 10)})) for at in range(4)]
    table.commit(*adds)
    # Nobody knows its least value, but another file has a lesser one.
    table.delete(adds[3], [0])
    table.checkpoint(row_group_size=1)
    least = Aggregation((), (Aggregate("min", ID), Aggregate("count_rows")))
    here, spread, executors = both(table.path)
    assert here.aggregate(least).build().metadata_only
    plan = spread.aggregate(least).build()
    assert plan.metadata_only
    assert plan.to_arrow().to_pylist() == here.aggregate(least).build().to_arrow().to_pylist()
    assert executors.jobs[-1] == "_of_piece"


def twice(table: DeltaBuilder) -> None:
    """A checkpoint of the newest version, with its last add twice."""
    (file,) = table.checkpoint(row_group_size=5)
    whole = pq.read_table(file)
    pq.write_table(pa.concat_tables([whole, whole.slice(whole.num_rows - 1)]), file, 5)


def test_a_file_that_is_there_twice_is_not_counted_twice(table: DeltaBuilder) -> None:
    twice(table)
    _, spread, executors = both(table.path)
    with pytest.warns(CheckpointIgnored, match="twice"):
        plan = spread.aggregate(COUNT).build()
    assert plan.to_arrow().column(0).to_pylist() == [410]
    assert executors.jobs == ["sums", "marks", "paths"]


def test_a_checksum_that_counts_other_files_is_believed(table: DeltaBuilder) -> None:
    file = table.checksum()
    sums = {name: said for name, said in json.loads(file.read_text()).items() if name != "allFiles"}
    file.write_text(json.dumps(sums))
    _, spread, executors = both(table.path)
    assert spread.aggregate(COUNT).build().to_arrow().column(0).to_pylist() == [410]
    assert executors.jobs == ["sums", "sums", "_of_piece"]
    twice(table)
    _, spread, executors = both(table.path)
    with pytest.warns(CheckpointIgnored):
        assert spread.aggregate(COUNT).build().to_arrow().column(0).to_pylist() == [410]


def test_a_damaged_piece_is_told_as_if_it_were_read_here(table: DeltaBuilder) -> None:
    (file,) = table.checkpoint(row_group_size=5)
    whole = pq.read_table(file)
    adds = whole["add"].combine_chunks()
    fields = [adds.field(at) for at in range(len(adds.type))]
    place = adds.type.get_field_index("size")
    sizes = fields[place].to_pylist()
    sizes[-1] = None
    fields[place] = pa.array(sizes, pa.int64())
    broken = pa.StructArray.from_arrays(fields, fields=list(adds.type), mask=adds.is_null())
    pq.write_table(whole.set_column(whole.schema.get_field_index("add"), "add", broken), file, 5)
    table.clean_log(table.version)
    here, spread, _ = both(table.path)
    with pytest.raises(UnreadableCheckpoint) as one:
        here.aggregate(COUNT).build()
    with pytest.raises(UnreadableCheckpoint) as other:
        spread.aggregate(COUNT).build()
    assert str(other.value) == str(one.value)


def test_a_setting_says_from_how_many_files_on() -> None:
    assert Settings().distributed_files == 5_000_000
    assert Settings.of({"spark.lakescan.replay.distributed.files": "7"}).distributed_files == 7
    for wrong in ("0", "-1", "many"):
        with pytest.raises(InvalidSetting, match=r"lakescan\.replay\.distributed\.files"):
            Settings.of({"lakescan.replay.distributed.files": wrong})
