"""Skipping by the column statistics of Hudi's metadata table, on tables that Hudi itself wrote and skips in.

The files that are kept are told by the ids of their rows: the table `types_v9` has a file for 0 to 9, one for 10 to 20
and so on (see `tests/data/hudi/make_indexed.py`).
"""

import shutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakescan
from lakescan.errors import ColumnStatisticsIgnored
from lakescan.formats.hudi.index.index_keys import column_key, file_key, xxh64
from lakescan.formats.hudi.index.metadata_table import MetadataPartition
from lakescan.formats.hudi.schema.evolution import FileNames
from lakescan.io.storage import Storage
from lakescan.predicate import Column, bind, evaluate
from lakescan.scan.settings import Settings
from lakescan.scan.snapshot import Snapshot
from tests.examples import examples
from tests.sample_tables import sample_table

from .tables import TRIPS_INDEXED, open_hudi, rows_of
from .test_pushdown import predicates

Unpack = Callable[[str], Path]
TYPES, TYPES_V6, GROUPS, LOGS, LOGS_V6 = "types_v9", "types_v6", "row_groups_v9", "logs_v8", "logs_v6"
INDEXED = (
    *(TYPES, TYPES_V6, GROUPS, LOGS, LOGS_V6, TRIPS_INDEXED),
    "cow_v9_timed_millis",
    "cow_v9_steps_indexed",
    "mor_v9_rolled_back",
    "mor_v9_steps_indexed",
)
# A row group with a NaN has 0.0 for its bounds, and one of long text counts as nulls: Hudi then passes over rows.
LOST_BY_HUDI = {"ratio > 25": [30, 31], "name >= 'y'": [50, 51]}
WITHOUT_SKIPPING = Settings(skipping=False)


def said_by_hudi(name: str) -> dict[str, Any]:
    return sample_table(name).known


def ids(snapshot: Snapshot, where: str) -> list[int]:
    return sorted(snapshot.scan().filter(where).select("id").build().to_arrow()["id"].to_pylist())


def kept(snapshot: Snapshot, where: str) -> list[int]:
    """The least id in each base file that is kept."""
    paths = snapshot.scan().filter(where).build().files()["path"].to_pylist()
    return sorted(min(pyarrow.parquet.read_table(path, columns=["id"])["id"].to_pylist()) for path in paths)


@pytest.mark.parametrize(
    ("name", "where"), [(name, where) for name in (TYPES, LOGS) for where in said_by_hudi(name)["filters"]]
)
def test_a_filter_finds_the_rows_that_hudi_finds_and_those_that_hudi_loses(
    name: str, where: str, unpack: Unpack
) -> None:
    snapshot = lakescan.open(unpack(name)).snapshot()
    lost = LOST_BY_HUDI.get(where, []) if name == TYPES else []
    assert ids(snapshot, where) == sorted(said_by_hudi(name)["filters"][where]["ids"] + lost)


@pytest.mark.parametrize(
    "where",
    [
        *("id = 15", "id > 100", "big >= 30000000000000", "price > 10", "day = '2020-01-11'", "big is null"),
        *("name is null", "wide < 1", "ok is null", "at > '2024-01-01 00:00:45'"),
    ],
)
def test_as_many_files_are_read_as_hudi_reads(where: str, unpack: Unpack) -> None:
    scan = lakescan.open(unpack(TYPES)).snapshot().scan().filter(where).build()
    assert scan.files().num_rows == said_by_hudi(TYPES)["filters"][where]["files"]


@pytest.mark.parametrize(
    ("where", "files"),
    [
        ("id = 15", [10]),
        ("id between 9 and 31", [0, 10, 30]),
        ("big > 20000000000000", [30, 40, 50]),
        ("price = 7.75", [30]),
        ("wide > 7", []),
        ("day is null", [10, 60]),
        ("at < timestamp'2024-01-01 00:00:01'", [0]),
        ("deep.a = 12", [10]),
        # As text b31 and 41 are also between what the first file has, b0 to b9 and 0 to 9.
        ("deep.b = 'b31'", [0, 30]),
        ("_hoodie_record_key = '41'", [0, 40]),
        # Long text has no entry to go by, odd characters one whose order is another: these two files stay.
        ("name = 's0015'", [10, 50]),
        ("name = 'é'", [50]),
        ("name > '\uffff'", [40, 50]),
        # A file of nulls alone has no float that matches; nothing else is known of floats.
        ("ratio > 1000", [0, 10, 30, 40, 50]),
        ("ratio is null", [10, 60]),
        ("raw = X'01'", [0, 10, 30, 40, 50]),
        ("raw is null", [10, 60]),
    ],
)
def test_the_files_kept_are_those_that_may_match(where: str, files: list[int], unpack: Unpack) -> None:
    assert kept(lakescan.open(unpack(TYPES)).snapshot(), where) == files


@pytest.mark.parametrize(
    ("where", "files"),
    [
        ("id = 15", [10]),
        ("day = date'2020-02-01'", [30]),
        ("price < 0.5", [0]),
        ("big is null", [10]),
        # Entries of version 1 say neither a timestamp's unit nor more than 15 digits behind the point.
        ("at < timestamp'2024-01-01 00:00:01'", [0, 10, 30]),
        ("wide < 0.5", [0, 10, 30]),
    ],
)
def test_entries_of_index_version_1_are_understood_as_far_as_they_go(
    where: str, files: list[int], unpack: Unpack
) -> None:
    assert kept(lakescan.open(unpack(TYPES_V6)).snapshot(), where) == files


@pytest.mark.parametrize(
    ("where", "files"),
    [
        # The base file says s0003, a log file updated; the row is of one of the two.
        ("name = 'updated'", [0, 10]),
        ("name = 's0003'", [0, 10]),
        ("name = 'not there'", [10]),
        ("id = 12", [10]),
        ("id = 31", [30]),
        ("big > 100000000000000", [0, 10]),
        # Of merged rows nulls are not counted.
        ("day is null", [0, 10]),
    ],
)
def test_a_slice_with_log_files_is_dropped_only_where_none_of_its_files_can_match(
    where: str, files: list[int], unpack: Unpack
) -> None:
    snapshot = lakescan.open(unpack(LOGS)).snapshot()
    logs = [len(names or []) for names in snapshot.files()["merged_with"].to_pylist()]
    assert sorted(logs) == [0, 1, 2]
    assert kept(snapshot, where) == files


def test_before_table_version_8_nothing_is_known_of_a_slice_with_log_files(unpack: Unpack) -> None:
    snapshot = lakescan.open(unpack(LOGS_V6)).snapshot()
    assert kept(snapshot, "id > 100") == [0]
    assert kept(snapshot, "id = 15") == [0, 10]


def test_an_older_instant_is_skipped_in_by_its_own_files(unpack: Unpack) -> None:
    table = open_hudi(unpack(LOGS))
    first = table.snapshot(version=table.snapshot().timeline.instants[0])
    assert ids(first, "name = 's0003'") == [3]
    assert kept(first, "name = 's0003'") == [0]
    assert kept(first, "name = 'updated'") == []


def test_a_file_of_several_row_groups_keeps_what_one_of_them_does_not_tell(unpack: Unpack) -> None:
    snapshot = lakescan.open(unpack(GROUPS)).snapshot()
    (path,) = snapshot.scan().build().files()["path"].to_pylist()
    assert pyarrow.parquet.read_metadata(path).num_row_groups > 2
    assert ids(snapshot, "ratio > 9999") == [1003]
    assert ids(snapshot, f"name = '{'a' * 3000}'") == [1003]
    assert ids(snapshot, "name is null") == [1500]
    assert kept(snapshot, "id < 1000") == []


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_with_skipping_the_rows_are_those_without(data: st.DataObject, unpack: Unpack) -> None:
    name = data.draw(st.sampled_from(INDEXED))
    snapshot = lakescan.open(unpack(name)).snapshot()
    whole = snapshot.scan().with_settings(WITHOUT_SKIPPING).build().to_arrow()
    predicate = bind(data.draw(predicates(whole)), snapshot.schema)
    wanted = whole.filter(evaluate(predicate, whole), null_selection_behavior="drop")
    assert rows_of(snapshot.scan().filter(predicate).build().to_arrow()) == rows_of(wanted)
    hinted = snapshot.scan().skip_unless(predicate).build().to_arrow()
    assert rows_of(hinted.filter(evaluate(predicate, hinted), null_selection_behavior="drop")) == rows_of(wanted)


@pytest.mark.parametrize("name", INDEXED)
def test_bounds_enclose_every_value_and_counts_are_those_of_the_rows(name: str, unpack: Unpack) -> None:
    """Slice by slice, against the rows that are read from it."""
    snapshot = lakescan.open(unpack(name)).snapshot()
    files = snapshot.files()
    columns = [Column((field.name,)) for field in snapshot.schema if not pyarrow.types.is_nested(field.type)]
    told = snapshot.statistics(files, columns).to_pylist()
    exact = snapshot.exact_statistics(files, columns).to_pylist()
    scan = snapshot.scan().build()
    known = 0
    for at in range(files.num_rows):
        rows = pyarrow.Table.from_batches(_read(scan, files.slice(at, 1)), schema=scan.schema)
        for column in columns:
            (field,) = column.path
            values = [value for value in rows[field].to_pylist() if value is not None]
            low, high = told[at]["minimum"][field], told[at]["maximum"][field]
            known += low is not None
            assert all((low is None or low <= value) and (high is None or value <= high) for value in values)
            assert told[at]["null_count"][field] in (None, rows.num_rows - len(values))
            assert exact[at]["minimum"][field] in (None, min(values, default=None))
            assert exact[at]["maximum"][field] in (None, max(values, default=None))
    assert known > 0 or name == "mor_v9_rolled_back"


def _read(scan: Any, files: Any) -> list[Any]:
    from lakescan.reader.read import read_task

    return [batch for task in scan.pack(files, 1) for batch in read_task(scan.read_plan, task)]


@pytest.mark.parametrize("name", INDEXED)
def test_every_entry_is_under_the_key_that_its_names_have(name: str, unpack: Unpack) -> None:
    path = unpack(name)
    snapshot = lakescan.open(path).snapshot()
    index = MetadataPartition.of(Storage.at(path), "column_stats", snapshot.properties)
    assert index is not None
    folders = {file.parent.relative_to(path) for file in path.rglob("*") if ".hoodie" not in file.parts}
    seen = 0
    for key, record in index.records(b"", None):
        entry = record["ColumnStatsMetadata"][1]
        prefix = column_key(entry["columnName"])
        wanted = {prefix + file_key(f"{'' if str(at) == '.' else f'{at}/'}{entry['fileName']}") for at in folders}
        assert key in wanted
        seen += 1
    assert seen > 10


def test_xxh64_is_that_of_its_specification() -> None:
    """The first is published with the algorithm, the others were computed with the `xxhash` package."""
    assert xxh64(b"", 0) == 0xEF46DB3751D8E999
    assert xxh64(bytes(range(100))) == 0xFEBB9CA47614888B
    assert xxh64(b"inner.address.street_and_house_number") == 0xBC10691F6FE1B1F2


def test_a_column_that_was_called_otherwise_has_no_entries_of_its_own() -> None:
    names = FileNames(1, {"new": "old", "s.x": "y"})
    assert names.differs(("new",))
    assert names.differs(("new", "field"))
    assert names.differs(("s", "x"))
    assert not names.differs(("s", "z"))
    assert not names.differs(("old",))


def test_a_table_that_does_not_name_the_index_is_read_without_it(copy: Unpack) -> None:
    path = copy(TYPES)
    properties = path / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text().replace("column_stats,", ""))
    snapshot = lakescan.open(path).snapshot()
    assert kept(snapshot, "id = 15") == [0, 10, 30, 40, 50, 60]
    assert ids(snapshot, "id = 15") == [15]


def index_files(path: Path) -> list[Path]:
    files = sorted((path / ".hoodie/metadata/column_stats").iterdir())
    return [file for file in files if "col-stats" in file.name and file.stat().st_size > 1000]


@pytest.mark.parametrize("name", [TYPES, LOGS])
@pytest.mark.parametrize("damage", ["cut", "content", "trailer"])
def test_a_damaged_index_is_passed_over_with_a_warning(name: str, damage: str, copy: Unpack) -> None:
    path = copy(name)
    wanted = ids(lakescan.open(path).snapshot(), "id < 12")
    for file in index_files(path):
        content = bytearray(file.read_bytes())
        if damage == "cut":
            content = content[:-50]
        elif damage == "content":
            at = content.index(b"DATABLK*") + 60
            content[at : at + 20] = b"\0" * 20
        else:
            content = content.replace(b'TRABLK"$', b"TRABLK??")
        file.write_bytes(bytes(content))
    snapshot = lakescan.open(path).snapshot()
    with pytest.warns(ColumnStatisticsIgnored, match="col-stats"):
        assert ids(snapshot, "id < 12") == wanted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnStatisticsIgnored)
        assert snapshot.scan().filter("id < 12").build().files().num_rows == snapshot.num_files


@pytest.mark.parametrize("name", [TYPES, TYPES_V6])
def test_an_index_that_is_gone_is_passed_over_with_a_warning(name: str, copy: Unpack) -> None:
    path = copy(name)
    shutil.rmtree(path / ".hoodie/metadata/column_stats")
    with pytest.warns(ColumnStatisticsIgnored, match="column_stats"):
        assert ids(lakescan.open(path).snapshot(), "id < 3") == [0, 1, 2]


def test_what_an_instant_that_was_never_completed_wrote_is_not_read(copy: Unpack) -> None:
    path = copy(TYPES)
    options = lakescan.open(path).snapshot().properties
    timeline = path / ".hoodie/metadata/.hoodie/timeline"
    newest = max(timeline.glob("*.deltacommit"))
    before = files_indexed(path, options)
    newest.unlink()
    instant = newest.name.split("_")[0]
    assert {name for name in before if instant in name}
    assert files_indexed(path, options) == {name for name in before if instant not in name}


def files_indexed(path: Path, options: Mapping[str, str]) -> set[str]:
    index = MetadataPartition.of(Storage.at(path), "column_stats", options)
    assert index is not None
    return {record["ColumnStatsMetadata"][1]["fileName"] for _, record in index.records(b"", None)}
