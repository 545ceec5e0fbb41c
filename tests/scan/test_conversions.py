"""Rows for other libraries; what is not installed is named."""

import sys
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

import lakescan
from lakescan.demo import TABLE
from lakescan.errors import MissingPackage
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.scan.plan import Plan


def plan() -> Plan:
    return lakescan.open(TABLE).snapshot().scan().filter("order_id < 100").select("order_id", "city").build()


def test_whoever_takes_an_arrow_stream_takes_a_scan() -> None:
    scan = plan()
    for _ in range(2):
        assert pa.table(scan).sort_by("order_id").equals(scan.to_arrow().sort_by("order_id"))
    counted = duckdb.connect().execute("SELECT count(*) FROM scan").fetchall()
    assert counted == [(scan.to_arrow().num_rows,)]


def test_the_stream_of_an_aggregation_is_its_answer() -> None:
    counted = plan().spec.snapshot.scan().aggregate(Aggregation((), (Aggregate("count_rows"),))).build()
    assert pa.table(counted).to_pylist() == [{"value_0": 4856}]


def test_a_relation_of_duckdbs_may_be_asked_twice() -> None:
    relation = plan().to_duckdb()
    assert relation.count("*").fetchall() == relation.count("*").fetchall() == [(plan().to_arrow().num_rows,)]
    assert plan().to_duckdb(duckdb.connect()).columns == ["order_id", "city"]


@pytest.mark.parametrize("name", ["pandas", "polars", "duckdb"])
def test_a_package_that_is_not_installed_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = plan()
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match=f"pip install {name}"):
        getattr(scan, f"to_{name}")()


def test_pandas_polars_and_duckdb_have_the_rows_and_types_that_delta_rs_gives_them(tmp_path: Path) -> None:
    noon = datetime(2024, 5, 6, 12, tzinfo=timezone.utc)
    written = pa.table(
        {
            "id": pa.array(range(5), pa.int64()),
            "price": pa.array([Decimal("1.50"), None, Decimal("-2.25"), Decimal("0.00"), None], pa.decimal128(9, 2)),
            "share": pa.array([0.5, float("nan"), None, float("inf"), 1.0]),
            "day": pa.array([date(2024, 1, 31), None, date(1900, 1, 1), None, date(2024, 2, 29)]),
            "at": pa.array([noon, None, noon, noon, None], pa.timestamp("us", "UTC")),
            "tags": pa.array([["a"], [], None, ["b", None], ["c"]], pa.list_(pa.string())),
        }
    )
    write_deltalake(tmp_path, written)
    scan = lakescan.open(tmp_path).snapshot().scan().filter("id > 0").build()
    read = DeltaTable(tmp_path).to_pyarrow_table()
    expected = read.filter(pc.greater(read["id"], 0)).sort_by("id")
    assert expected.num_rows == 4
    frame = scan.to_pandas().sort_values("id", ignore_index=True)
    pandas.testing.assert_frame_equal(frame, expected.to_pandas(), check_dtype=True)
    assert polars.DataFrame(expected).equals(scan.to_polars().sort("id"))
    columns = 'id, price, share::text, day, "at"::text, tags'  # a NaN is not equal to itself, a zone needs a package
    assert (
        scan.to_duckdb().order("id").select(columns).fetchall()
        == duckdb.from_arrow(expected).select(columns).fetchall()
    )
