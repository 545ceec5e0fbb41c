"""Why each file was read or skipped: the same as the planner's steps say, file by file."""

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lakescan
from lakescan.demo import TABLE
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.scan.builder import ScanBuilder
from lakescan.scan.plan import Plan
from lakescan.scan.planning import at_run_time
from lakescan.scan.report import FileFates
from tests.sample_tables import SampleTable, sample_tables
from tests.tables import DeltaBuilder


def orders() -> ScanBuilder:
    return lakescan.open(TABLE).snapshot().scan()


def agrees_with_its_report(plan: Plan) -> FileFates:
    report, make_fates = plan.report(), plan.report().fates
    assert make_fates is not None
    fates = make_fates()
    counts = fates.counts()
    assert counts["read"] == report.files_planned
    assert sum(counts.values()) == report.files_total == len(fates.fates)
    return fates


def test_files_go_by_partition_then_by_statistics() -> None:
    plan = orders().filter("day >= '2024-01-03' AND order_id < 2000").build()
    fates = agrees_with_its_report(plan)
    days = plan.spec.snapshot.files()["partition"].to_pylist()
    for day, fate in zip(days, fates.fates.tolist(), strict=True):
        assert (fates.names[fate] == "partitions") == (day["day"] < date(2024, 1, 3))
    read = [
        path for path, fate in zip(plan.spec.snapshot.files()["path"].to_pylist(), fates.fates, strict=True) if not fate
    ]
    assert read == plan.planned.files["path"].to_pylist()


@pytest.mark.parametrize("asked", ["sample", "limit", "aggregate", "everything", "nothing", "at run time"])
def test_every_kind_of_scan_has_fates_that_add_up(asked: str) -> None:
    how = Aggregation((), (Aggregate("count_rows"),))
    plans = {
        "sample": lambda: orders().sample(0.5, seed=3).filter("order_id < 2000").build(),
        "limit": lambda: orders().limit(3).build(),
        "aggregate": lambda: orders().aggregate(how).build(),
        "everything": lambda: orders().build(),
        "nothing": lambda: orders().filter("order_id < 0").build(),
        "at run time": lambda: at_run_time(orders().build(), "day = '2024-01-02'"),
    }
    agrees_with_its_report(plans[asked]())


def test_files_that_a_limit_never_listed_count_as_skipped(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("id", pa.int64())]))
    for number in range(12):
        table.append(pa.table({"id": [number]}))
    plan = lakescan.open(table.root).snapshot().scan().limit(1).build()
    assert plan.planned.snapshot is not plan.spec.snapshot
    assert agrees_with_its_report(plan).counts() == {"read": 1, "newest files": 4, "limit": 7}


@pytest.mark.parametrize("table", sample_tables(), ids=lambda table: table.name)
def test_the_fates_of_a_sample_table_add_up(table: SampleTable, tmp_path: Path) -> None:
    agrees_with_its_report(lakescan.open(table.unpack(tmp_path)).snapshot().scan().limit(2).build())


def test_a_million_files_become_few_bins_that_lose_none() -> None:
    fates = FileFates(("read", "statistics"), (np.arange(1_000_003) % 3 == 0).astype(np.int8))
    bins = fates.bins(480)
    assert bins.shape == (480, 2)
    assert bins.sum(axis=0).tolist() == list(fates.counts().values())
    assert bins.sum(axis=1).max() - bins.sum(axis=1).min() <= 1


def test_few_files_have_a_bin_each() -> None:
    fates = FileFates(("read", "limit"), np.array([0, 1, 1], np.int8))
    assert fates.bins(480).tolist() == [[1, 0], [0, 1], [0, 1]]
    assert FileFates(("read",), np.array([], np.int8)).bins(480).shape == (0, 1)
