from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.reader.read_plan import ReadTask
from lakescan.scan import packing
from lakescan.scan.builder import ScanBuilder
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def rows(start: int, count: int) -> pa.Table:
    return pa.table({"id": range(start, start + count), "name": [f"n{n}" for n in range(start, start + count)]})


@pytest.fixture
def scan(tmp_path: Path) -> ScanBuilder:
    builder = DeltaBuilder(tmp_path, SCHEMA)
    for start in (0, 10, 20):
        builder.append(rows(start, 10))
    return lakescan.open(builder.path).snapshot().scan()


def test_the_rows_come_in_the_order_of_the_files_read_at_once_or_one_by_one(
    scan: ScanBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scan.build().to_arrow().equals(rows(0, 30).cast(SCHEMA))
    monkeypatch.setattr(packing, "OPEN_BYTES", 1)
    built = scan.build()
    small = built.pack(built.planned.files, 2, target=500)
    assert len(small) > 3
    monkeypatch.setattr("lakescan.scan.plan.Plan.tasks", lambda self, parallelism=1: small)
    assert built.to_arrow().combine_chunks().equals(rows(0, 30).cast(SCHEMA).combine_chunks())


def test_batches_are_given_one_by_one_and_may_be_left_unread(scan: ScanBuilder) -> None:
    batches = scan.build().to_batches()
    assert next(batches).num_rows == 10
    batches.close()


def test_files_tasks_and_report_speak_of_one_plan(scan: ScanBuilder) -> None:
    built = scan.filter("id < 5").build()
    assert built.planned is built.planned
    assert built.files().num_rows == built.report().files_planned == 1
    (task,) = built.tasks()
    assert isinstance(task, ReadTask)
    assert task.pieces.num_rows == 1


def test_the_files_of_a_scan_have_full_paths_and_what_is_known_of_them(scan: ScanBuilder) -> None:
    files = scan.build().files()
    assert files.column_names == ["path", "size", "modification_time", "partition", "deletion_vector", "rows"]
    assert all(Path(path).is_file() for path in files["path"].to_pylist())
    assert [Path(path).stat().st_size for path in files["path"].to_pylist()] == files["size"].to_pylist()
    assert files["rows"].to_pylist() == [10, 10, 10]


def test_scans_with_one_token_ask_for_the_same_rows(scan: ScanBuilder) -> None:
    def token(builder: ScanBuilder) -> str:
        return builder.spec.token

    assert token(scan.filter("id < 5")) == token(scan.filter("ID<5"))
    different = [
        scan,
        scan.filter("id < 5"),
        scan.filter("id <= 5"),
        scan.skip_unless("id < 5"),
        scan.limit(5),
        scan.select("id"),
        scan.select("name", "id"),
        scan.select(),
    ]
    assert len(set(map(token, different))) == len(different)


def test_a_table_without_files_gives_no_rows_no_tasks_and_the_schema(tmp_path: Path) -> None:
    built = lakescan.open(DeltaBuilder(tmp_path, SCHEMA).path).snapshot().scan().filter("id > 5").build()
    assert built.files().num_rows == 0
    assert built.tasks(4) == []
    assert built.to_arrow().equals(SCHEMA.empty_table())
    assert built.estimates().rows == 0
    assert built.report().files_total == 0
    assert "0 considered" in str(built.report())


def test_no_columns_wanted_still_counts_the_rows(scan: ScanBuilder) -> None:
    actual = scan.select().build().to_arrow()
    assert (actual.num_rows, actual.num_columns) == (30, 0)
    assert scan.select().filter("id >= 25").build().to_arrow().num_rows == 5
    assert scan.select().limit(7).build().to_arrow().num_rows == 7
    assert scan.select().filter("id > 99").build().to_arrow().num_rows == 0


def test_a_hint_skips_files_and_filters_no_rows(scan: ScanBuilder) -> None:
    plan = scan.skip_unless("id = 3").build()
    assert plan.to_arrow()["id"].to_pylist() == list(range(10))
    assert plan.report().files_planned == 1
