from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import AmbiguousColumn, InvalidFilter, InvalidLimit, UnknownColumn
from lakescan.scan.builder import ScanBuilder
from tests.tables import DeltaBuilder


@pytest.fixture
def scan(tmp_path: Path) -> ScanBuilder:
    builder = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64()), ("Name", pa.string()), ("a.b", pa.int64())]))
    builder.append(pa.table({"id": [1, 2, 3], "Name": ["x", "y", "z"], "a.b": [10, 20, 30]}))
    return lakescan.open(builder.path).snapshot().scan()


def test_filters_given_one_after_another_must_all_hold(scan: ScanBuilder) -> None:
    assert scan.filter("id > 1").filter(lakescan.col("Name") != "z").build().to_arrow()["id"].to_pylist() == [2]


def test_a_builder_is_never_changed_by_what_is_asked_of_it(scan: ScanBuilder) -> None:
    narrow = scan.filter("id = 1").select("id").limit(1)
    assert scan.build().to_arrow().num_rows == 3
    assert scan.build().schema.names == ["id", "Name", "a.b"]
    assert narrow.build().to_arrow().to_pydict() == {"id": [1]}


def test_columns_come_in_the_order_asked_for_spelled_as_the_table_spells_them(scan: ScanBuilder) -> None:
    assert scan.select("name", "ID").limit(1).build().to_arrow().to_pydict() == {"Name": ["x"], "id": [1]}


def test_a_column_may_be_selected_twice_and_may_have_a_dot_in_its_name(scan: ScanBuilder) -> None:
    assert scan.select("id", "a.b", "id").limit(1).build().to_arrow().column_names == ["id", "a.b", "id"]
    assert scan.filter("`a.b` = 20").select("a.b").build().to_arrow().to_pydict() == {"a.b": [20]}


def test_a_mistake_is_told_in_the_call_that_makes_it(scan: ScanBuilder) -> None:
    with pytest.raises(UnknownColumn, match=r"No column 'nope'.*It has: id, Name, a\.b"):
        scan.select("nope")
    with pytest.raises(UnknownColumn):
        scan.filter("nope = 1")
    with pytest.raises(UnknownColumn):
        scan.filter("a.b = 1")
    with pytest.raises(InvalidFilter):
        scan.filter("id = ")
    with pytest.raises(InvalidFilter):
        scan.skip_unless("id = DATE '2024-01-01'")
    with pytest.raises(InvalidLimit, match="-1"):
        scan.limit(-1)


def test_a_name_that_fits_two_columns_must_be_spelled_exactly(tmp_path: Path) -> None:
    builder = DeltaBuilder(tmp_path, pa.schema([("a", pa.int64()), ("A", pa.int64()), ("B", pa.int64())]))
    scan = lakescan.open(builder.path).snapshot().scan()
    assert scan.select("A", "b").build().schema.names == ["A", "B"]
    builder = DeltaBuilder(tmp_path / "two", pa.schema([("aa", pa.int64()), ("AA", pa.int64())]))
    with pytest.raises(AmbiguousColumn, match="aa, AA"):
        lakescan.open(builder.path).snapshot().scan().select("aA")
