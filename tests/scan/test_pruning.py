from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

import lakescan
from lakescan.scan.plan import Plan
from tests.tables import DeltaBuilder, encode85

SCHEMA = pa.schema([("p", pa.string()), ("id", pa.int64())])


@pytest.fixture
def builder(tmp_path: Path) -> DeltaBuilder:
    """Three files: ids 0-9 and 10-19 in the partition a, 20-29 in b."""
    table = DeltaBuilder(tmp_path, SCHEMA, partition_by=["p"])
    for start, p in ((0, "a"), (10, "a"), (20, "b")):
        table.append(pa.table({"id": range(start, start + 10)}), partition={"p": p})
    return table


def scan_of(builder: DeltaBuilder, filter: str | None = None, limit: int | None = None) -> Plan:
    scan = lakescan.open(builder.path).snapshot().scan()
    scan = scan.filter(filter) if filter else scan
    return (scan if limit is None else scan.limit(limit)).build()


def files_of(scan: Plan) -> list[str]:
    return [path.rsplit("-")[-1][:5] for path in scan.files()["path"].to_pylist()]


@pytest.mark.parametrize(
    ("filter", "files"),
    [
        (None, ["00001", "00002", "00003"]),
        ("p = 'b'", ["00003"]),
        ("id >= 10", ["00002", "00003"]),
        ("p = 'a' AND id >= 10", ["00002"]),
        ("p = 'b' OR id < 5", ["00001", "00003"]),
        ("id > 100", []),
        ("p IS NULL", []),
        ("false", []),
    ],
)
def test_partitions_and_statistics_leave_only_the_files_that_may_match(
    builder: DeltaBuilder, filter: str | None, files: list[str]
) -> None:
    assert files_of(scan_of(builder, filter)) == files


def test_the_report_names_each_step_and_what_it_left(builder: DeltaBuilder) -> None:
    report = scan_of(builder, "p = 'a' AND id >= 10").report()
    assert [(step.name, step.files) for step in report.steps] == [("table", 3), ("partitions", 2), ("statistics", 1)]
    assert (report.files_total, report.files_planned, report.files_skipped) == (3, 1, 2)
    assert 0 < report.bytes_planned < report.bytes_total
    assert report.bytes_planned == scan_of(builder, "id = 12").files()["size"][0].as_py()


@pytest.mark.parametrize("stats", [False, "", "{}", "null", "not JSON", "{", '{"numRecords": "many"}', "[1, 2]", "5"])
def test_a_file_without_usable_statistics_is_read_and_never_an_error(builder: DeltaBuilder, stats: Any) -> None:
    builder.append(pa.table({"id": [1_000]}), partition={"p": "c"}, stats=stats)
    scan = scan_of(builder, "id >= 1000")
    assert files_of(scan) == ["00004"]
    assert scan.to_arrow()["id"].to_pylist() == [1_000]
    assert scan.estimates().rows is None
    assert sorted(files_of(scan_of(builder, "id = 3"))) == ["00001", "00004"]


@pytest.mark.parametrize("storage", ["u", "p", "i"])
def test_a_file_whose_every_row_is_deleted_is_never_opened(builder: DeltaBuilder, storage: str) -> None:
    gone = builder.append(pa.table({"id": [77, 78]}), partition={"p": "a"})
    builder.delete(gone, [0, 1], storage=storage)
    (builder.root / gone["add"]["path"]).unlink()
    scan = scan_of(builder)
    assert scan.to_arrow().num_rows == 30
    assert [(step.name, step.files) for step in scan.report().steps] == [("table", 4), ("deletion vectors", 3)]
    assert scan.report().rows_deleted == 0


def test_rows_that_vectors_drop_are_reported_for_the_files_that_are_read(builder: DeltaBuilder) -> None:
    builder.delete(builder.append(pa.table({"id": range(30, 40)}), partition={"p": "a"}), [0, 1, 2])
    assert scan_of(builder).report().rows_deleted == 3
    assert scan_of(builder, "id < 5").report().rows_deleted == 0
    assert scan_of(builder).estimates().rows == 37
    assert scan_of(builder).files()["rows"].to_pylist()[-1] == 7


@pytest.mark.parametrize(("limit", "files"), [(0, 0), (1, 1), (10, 1), (11, 2), (20, 2), (1_000, 3)])
def test_a_limit_plans_as_many_files_as_hold_enough_rows(builder: DeltaBuilder, limit: int, files: int) -> None:
    scan = scan_of(builder, limit=limit)
    assert scan.files().num_rows == files
    assert scan.to_arrow().num_rows == min(limit, 30)


def test_a_limit_counts_live_rows_and_nothing_for_files_that_give_no_count(tmp_path: Path) -> None:
    builder = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    builder.delete(builder.append(pa.table({"id": range(10)})), range(9))
    builder.append(pa.table({"id": range(10, 20)}), stats=False)
    builder.append(pa.table({"id": range(20, 30)}))
    builder.append(pa.table({"id": range(30, 40)}))
    # Live rows by file: 1, unknown, 10, 10. The fewest files that surely fill the limit are taken.
    for limit, files in ((5, 1), (15, 2), (21, 3), (22, 4)):
        scan = scan_of(builder, limit=limit)
        assert scan.files().num_rows == files
        assert scan.to_arrow().num_rows == limit


def test_a_limit_prunes_files_behind_a_partition_filter_but_not_behind_one_on_data(builder: DeltaBuilder) -> None:
    assert scan_of(builder, "p = 'a'", limit=1).files().num_rows == 1
    data = scan_of(builder, "id IN (9, 19, 29)", limit=2)
    assert data.files().num_rows == 3
    assert data.to_arrow().num_rows == 2


def test_a_limit_of_nothing_opens_no_file_behind_any_filter(builder: DeltaBuilder) -> None:
    for file in builder.root.glob("*.parquet"):
        file.unlink()
    assert scan_of(builder, "id >= 0", limit=0).to_arrow().to_pydict() == {"p": [], "id": []}


def test_a_nested_column_and_a_partition_column_together_are_judged_by_both(tmp_path: Path) -> None:
    inner = pa.struct([("x", pa.int64())])
    builder = DeltaBuilder(tmp_path, pa.schema([("p", pa.int32()), ("s", inner)]), partition_by=["p"])
    for number in range(3):
        bounds = {"s": {"x": number}}
        stats = {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": {"s": {"x": 0}}}
        builder.append(pa.table({"s": pa.array([{"x": number}], inner)}), partition={"p": str(number)}, stats=stats)
    assert files_of(scan_of(builder, "s.x = 1")) == ["00002"]
    assert files_of(scan_of(builder, "p = 0 OR s.x = 2")) == ["00001", "00003"]
    assert scan_of(builder, "p = 0 OR s.x = 2").to_arrow().to_pylist() == [
        {"p": 0, "s": {"x": 0}},
        {"p": 2, "s": {"x": 2}},
    ]


def test_decimals_that_a_writer_rounded_to_doubles_still_find_their_file(tmp_path: Path) -> None:
    value = Decimal("12345678901234567890.12")
    table = pa.table({"d": pa.array([value], pa.decimal128(22, 2))})
    deltalake.write_deltalake(tmp_path, table)
    scan = lakescan.open(tmp_path).snapshot().scan()
    assert scan.filter(lakescan.col("d") == value).build().to_arrow()["d"].to_pylist() == [value]
    assert scan.filter(lakescan.col("d") > Decimal("12345678901235567890.12")).build().files().num_rows == 0


def test_a_vector_that_is_wrong_is_met_when_its_file_is_read_not_when_it_is_planned(builder: DeltaBuilder) -> None:
    bad = {"storageType": "i", "pathOrInlineDv": encode85(b"\0" * 8), "sizeInBytes": 8, "cardinality": 1}
    builder.commit(builder.add(pa.table({"id": [99, 98]}), partition={"p": "z"}, vector=bad))
    assert scan_of(builder, "p = 'a'").to_arrow().num_rows == 20
    with pytest.raises(lakescan.errors.CorruptDeletionVector):
        scan_of(builder).to_arrow()
