"""Rows for other libraries; what is not installed is named."""

import sys

import duckdb
import pyarrow as pa
import pytest

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
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match=f"pip install {name}"):
        getattr(plan(), f"to_{name}")()


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_a_data_frame_has_the_same_rows(name: str) -> None:
    pytest.importorskip(name)
    frame = getattr(plan(), f"to_{name}")()
    assert sorted(frame["order_id"].to_list()) == sorted(plan().to_arrow()["order_id"].to_pylist())
