"""A sample is the rows of whole files, and which files depends on their paths and the seed alone."""

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakescan
from lakescan.errors import InvalidSample, LakescanError
from lakescan.predicate import TRUE, Predicate
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.scan.aggregates import can_read
from lakescan.scan.limit import can_skip
from lakescan.scan.sample import Sample
from tests.sample_tables import SampleTable, sample_tables
from tests.scan.test_any_pushdown import (
    RANDOM,
    aggregated_by_duckdb,
    duck,
    fetched,
    in_order,
    random_aggregation,
    random_order,
    same,
    texts,
)
from tests.strategies import RandomTable, duckdb_text, filters, many, tables

if TYPE_CHECKING:  # Hypothesis keeps what an annotation names for ever, and DuckDB then complains when Python ends.
    from duckdb import DuckDBPyConnection
from tests.tables import DeltaBuilder

__all__ = ["duck"]

SEEDS = st.integers(-(2**63), 2**63 - 1)
FRACTIONS = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
COUNT = Aggregation((), (Aggregate("count_rows"),))


def taken(path: str, fraction: float, seed: int) -> bool:
    """The rule once more, in whole numbers: the first 53 bits of a digest, of which there are 2**53."""
    digest = blake2b(path.encode(), digest_size=8, salt=seed.to_bytes(8, "little", signed=True)).digest()
    return (int.from_bytes(digest, "little") >> 11) < Fraction(fraction) * 2**53


def kept(sample: Sample, paths: list[str]) -> set[str]:
    return {path for path, keep in zip(paths, sample.keeps(column(paths)).to_pylist(), strict=True) if keep}


def column(paths: list[str]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(paths, pa.string())])


def names(count: int) -> list[str]:
    return [f"day=2024-01-0{at % 9 + 1}/part-{at:05d}.parquet" for at in range(count)]


@given(paths=st.lists(st.text(), unique=True), fraction=FRACTIONS, seed=SEEDS, random=RANDOM)
def test_a_file_is_taken_by_its_path_and_the_seed_alone(
    paths: list[str], fraction: float, seed: int, random: Random
) -> None:
    sample = Sample(fraction, seed)
    wanted = {path for path in paths if taken(path, fraction, seed)}
    assert kept(sample, paths) == wanted
    some = random.sample(paths, random.randint(0, len(paths)))
    assert kept(sample, some) == wanted & set(some)


@given(paths=st.lists(st.text(), unique=True), seed=SEEDS, fractions=st.tuples(FRACTIONS, FRACTIONS))
def test_a_smaller_sample_is_a_part_of_a_larger_one_none_and_all_at_the_ends(
    paths: list[str], seed: int, fractions: tuple[float, float]
) -> None:
    assert kept(Sample(min(fractions), seed), paths) <= kept(Sample(max(fractions), seed), paths)
    assert kept(Sample(0, seed), paths) == set()
    assert kept(Sample(1, seed), paths) == set(paths)


@pytest.mark.parametrize("fraction", [0.01, 0.3, 0.5, 0.9])
def test_every_file_is_taken_as_often_as_the_fraction_says(fraction: float) -> None:
    paths, seeds = names(50), range(4_000)
    drawn = Counter(path for seed in seeds for path in kept(Sample(fraction, seed), paths))
    # Five standard deviations, of one file and of all of them.
    spread = (fraction * (1 - fraction) * len(seeds)) ** 0.5
    assert all(abs(drawn[path] - fraction * len(seeds)) < 5 * spread for path in paths)
    assert abs(drawn.total() - fraction * len(seeds) * len(paths)) < 5 * spread * len(paths) ** 0.5


def test_what_one_seed_takes_says_nothing_of_what_another_takes() -> None:
    paths = names(10_000)
    first, *others = (kept(Sample(0.5, seed), paths) for seed in (0, 1, 2, -1, 2**40))
    assert all(abs(len(first & other) - 2_500) < 250 for other in others)


@pytest.mark.parametrize("fraction", [-0.1, 1.0001, float("nan"), float("inf")])
def test_what_is_no_fraction_is_refused(fraction: float, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    with pytest.raises(InvalidSample, match="from 0 to 1"):
        lakescan.open(table.path).snapshot().scan().sample(fraction)


def sampled_part(table: RandomTable, built: DeltaBuilder, fraction: float, seed: int) -> RandomTable:
    """The table with only the files that are taken, by what the log calls them."""
    log = sorted(Path(built.path, "_delta_log").glob("*.json"))
    actions = [json.loads(line) for commit in log for line in commit.read_text().splitlines()]
    paths = [action["add"]["path"] for action in actions if "add" in action]
    chosen = [file for path, file in zip(paths, table.files, strict=True) if taken(path, fraction, seed)]
    return replace(table, files=tuple(chosen))


def wheres(schema: pa.Schema) -> st.SearchStrategy[list[Predicate]]:
    return filters(schema, most=3).map(lambda predicates: [TRUE, *predicates])


@given(data=st.data(), table=tables(), random=RANDOM, fraction=FRACTIONS, seed=SEEDS)
@many(80)
def test_whatever_is_asked_of_a_sample_is_asked_of_the_rows_of_its_files(
    data: st.DataObject,
    table: RandomTable,
    random: Random,
    fraction: float,
    seed: int,
    duck: "DuckDBPyConnection",
) -> None:
    with TemporaryDirectory() as root:
        built = table.write(Path(root) / "t")
        rows = sampled_part(table, built, fraction, seed).rows()
        for where in data.draw(wheres(table.schema)):
            scan = lakescan.open(built.path).snapshot().scan().sample(fraction, seed).filter(where)
            matching = Counter(map(repr, fetched(duck, f"SELECT * FROM rows WHERE {duckdb_text(where)}", rows)))
            assert texts(scan.build().to_arrow()) == matching
            count = random.randint(0, 8)
            limited = texts(scan.limit(count).build().to_arrow())
            assert limited.total() == min(count, matching.total())
            assert limited <= matching
            if can_skip(scan.build()):
                assert texts(scan.offset(count).build().to_arrow()).total() == max(0, matching.total() - count)
            by = random_order(random, table.schema)
            first = texts(scan.first(matching.total(), *by).build().to_arrow()) if by else matching
            assert first == matching
            how = random_aggregation(random, table.schema)
            plan = scan.aggregate(how).build()
            if plan.metadata_only or can_read(plan):
                wanted = in_order(aggregated_by_duckdb(duck, rows, where, how))
                actual = in_order([tuple(row.values()) for row in plan.to_arrow().to_pylist()])
                assert len(actual) == len(wanted)
                assert all(same(a, b) for a, b in zip(actual, wanted, strict=True)), (actual, wanted)


@pytest.mark.parametrize("table", sample_tables(), ids=lambda table: table.name)
def test_samples_of_every_sample_table_are_the_rows_of_whole_files_or_slices(
    table: SampleTable, tmp_path: Path
) -> None:
    snapshot = lakescan.open(table.unpack(tmp_path)).snapshot()
    try:
        snapshot.scan().build().to_arrow()
    except LakescanError:
        return
    whole = snapshot.files()["path"].to_pylist()
    assert None not in whole
    for seed in range(3):
        plan = snapshot.scan().sample(0.5, seed).build()
        assert plan.planned.files["path"].to_pylist() == [
            path for path in snapshot.scan().build().planned.files["path"].to_pylist() if taken(path, 0.5, seed)
        ]
        rows = plan.to_arrow().num_rows
        assert snapshot.scan().sample(0.5, seed).aggregate(COUNT).build().to_arrow()[0][0].as_py() == rows


def test_a_count_of_a_sample_needs_paths_where_one_of_the_table_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakescan.formats.delta.log.replay._MANY_ROWS", 1)
    table = DeltaBuilder(tmp_path / "t", pa.schema([("id", pa.int64())]))
    for at in range(8):
        table.append(pa.table({"id": [at] * (at + 1)}), name=f"f{at}")
    table.checkpoint()
    checksum = table.checksum()
    checksum.write_text(checksum.read_text().replace('"allFiles"', '"others"'))
    assert lakescan.open(table.path).snapshot().without_paths(False) is not None
    paths = [action["add"]["path"] for action in table.live_actions() if "add" in action]
    for seed in range(5):
        chosen = [at + 1 for at, path in enumerate(paths) if taken(path, 0.5, seed)]
        scan = lakescan.open(table.path).snapshot().scan()
        assert scan.sample(0.5, seed).aggregate(COUNT).build().to_arrow()[0][0].as_py() == sum(chosen)
        assert scan.aggregate(COUNT).build().to_arrow()[0][0].as_py() == 36


def test_a_limit_takes_no_file_from_the_beginning_of_a_log_that_is_not_in_the_sample(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("id", pa.int64())]))
    added = [table.append(pa.table({"id": [at] * 10}), name=f"f{at}")["add"]["path"] for at in range(30)]
    for seed in range(20):
        ids = {at for at, path in enumerate(added) if taken(path, 0.2, seed)}
        limited = lakescan.open(table.path).snapshot().scan().sample(0.2, seed).limit(5).build()
        assert set(limited.to_arrow()["id"].to_pylist()) <= ids
        assert limited.to_arrow().num_rows == (5 if ids else 0)
        assert limited.planned.files.num_rows == (1 if ids else 0)


def test_a_sample_of_changes_takes_the_changes_of_whole_files(tmp_path: Path) -> None:
    table = DeltaBuilder(
        tmp_path / "t", pa.schema([("id", pa.int64())]), properties={"delta.enableChangeDataFeed": "true"}
    )
    paths = [table.append(pa.table({"id": [at, at + 100]}), name=f"f{at}")["add"]["path"] for at in range(10)]
    for seed in range(5):
        rows = lakescan.open(table.path).changes(0).scan().sample(0.5, seed).build().to_arrow()
        wanted = {at for at, path in enumerate(paths) if taken(path, 0.5, seed)}
        assert sorted(rows["id"].to_pylist()) == sorted([*wanted, *(at + 100 for at in wanted)])


def test_the_report_and_the_description_tell_of_the_sample() -> None:
    from lakescan.demo import TABLE

    plan = lakescan.open(TABLE).snapshot().scan().sample(0.5, seed=3).filter("order_id < 2000").build()
    assert "sample=[50 % by seed 3]" in plan.spec.description
    names = [step.name for step in plan.report().steps]
    assert names.index("statistics") < names.index("sample")
