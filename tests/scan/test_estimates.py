"""What Spark is told of a scan: what the log says, scaled to the columns and to what filters are expected to leave."""

from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.scan.builder import ScanBuilder
from lakescan.scan.settings import Settings
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("part", pa.int32())])


@pytest.fixture
def scan(tmp_path: Path) -> ScanBuilder:
    """Two files with the ids from 1 to 1,000 and from 501 to 1,500, in a partition each."""
    table = DeltaBuilder(tmp_path, SCHEMA, ["part"])
    for part, first in enumerate((1, 501)):
        ids = pa.array(range(first, first + 1000), pa.int64())
        table.append(pa.table({"id": ids, "name": ids.cast(pa.string())}), partition={"part": str(part)})
    return lakescan.open(table.path).snapshot().scan()


def test_a_filter_is_expected_to_leave_the_share_of_values_that_it_wants(scan: ScanBuilder) -> None:
    everything = scan.build().estimates()
    half = scan.filter("id > 750").build()
    # A quarter of one file and three quarters of the other.
    assert half.expected_share == pytest.approx(0.5, abs=0.01)
    assert half.estimates().rows == pytest.approx(1000, abs=20)
    assert half.estimates().bytes == pytest.approx(everything.bytes / 2, rel=0.03)


def test_what_spark_filters_by_itself_is_expected_to_be_filtered_too(scan: ScanBuilder) -> None:
    assert scan.skip_unless("id > 750").build().expected_share == pytest.approx(0.5, abs=0.01)


def test_no_guess_is_below_a_sixteenth_of_what_the_files_hold(scan: ScanBuilder) -> None:
    one = scan.filter("id = 700").build()
    assert one.planned.files.num_rows == 2
    assert one.expected_share == 1 / 16
    assert one.estimates().rows == 2000 // 16


def test_files_that_are_skipped_and_partitions_are_known_and_not_guessed(scan: ScanBuilder) -> None:
    assert scan.filter("part = 1").build().expected_share == 1.0
    assert scan.filter("part = 1").build().estimates().rows == 1000
    # Of the second file alone: 1,301 to 1,500.
    assert scan.filter("id > 1300").build().estimates().rows == pytest.approx(200, abs=5)


def test_whoever_is_told_of_columns_works_out_filters_by_itself(scan: ScanBuilder) -> None:
    asked = scan.filter("id > 750").build().estimates(with_columns=True)
    assert asked.rows == 2000
    assert asked.columns["id"].minimum == 1


def test_where_statistics_are_switched_off_nothing_is_guessed(scan: ScanBuilder) -> None:
    plain = scan.with_settings(Settings(statistics=False))
    assert plain.filter("id > 750").build().estimates() == plain.build().estimates()


def test_of_many_files_some_tell(scan: ScanBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakescan.scan.pruning._MANY", 1)
    # The first file alone is looked at: a quarter of it.
    assert scan.filter("id > 750").build().expected_share == pytest.approx(0.25, abs=0.01)
