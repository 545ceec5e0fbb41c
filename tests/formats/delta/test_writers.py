"""A float's maximum rules out NaN only where its writer is known to count NaN, or where no row is left for one."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.predicate import col
from tests.tables import DeltaBuilder, statistics_of

SPARK = "Apache-Spark/4.2.0 Delta-Lake/4.4.0"
FLOATS = pa.table({"d": [1.0, 2.0, 3.0], "id": [1, 2, 3]})


def kept(
    root: Path,
    engine: str | None,
    operation: str = "WRITE",
    stats: Any = True,
    vector: bool = False,
    rows: Any = FLOATS,
) -> int:
    builder = DeltaBuilder(root, rows.schema, features=["deletionVectors"])
    add = builder.add(rows, stats=stats, vector=builder.vector([0], "i") if vector else None)
    info = {"operation": operation, **({"engineInfo": engine} if engine else {})}
    builder.commit({"commitInfo": info}, add)
    return len(lakescan.open(builder.path).snapshot().scan().filter(col("d") > 3.0).build().files())


def test_a_maximum_of_delta_spark_rules_out_greater_numbers_and_nan(tmp_path: Path) -> None:
    assert kept(tmp_path, SPARK) == 0


@pytest.mark.parametrize("engine", [None, "delta-rs:1.6.0", "Databricks-Runtime/16.0", "Apache-Spark/4.2.0 Other/1"])
def test_a_maximum_of_any_other_writer_may_have_left_nan_out(tmp_path: Path, engine: str | None) -> None:
    assert kept(tmp_path, engine) == 1


@pytest.mark.parametrize("operation", ["CONVERT", "RESTORE", "CLONE", "ROW TRACKING BACKFILL"])
def test_an_operation_that_takes_statistics_over_does_not_vouch_for_them(tmp_path: Path, operation: str) -> None:
    assert kept(tmp_path, SPARK, operation) == 1


def test_a_file_with_a_deletion_vector_keeps_the_statistics_of_its_first_writer(tmp_path: Path) -> None:
    assert kept(tmp_path, SPARK, "DELETE", vector=True) == 1


def test_a_maximum_that_is_nan_keeps_the_file(tmp_path: Path) -> None:
    stats = statistics_of(FLOATS)
    stats["maxValues"]["d"] = "NaN"
    assert kept(tmp_path, SPARK, stats=stats) == 1


def test_where_every_value_is_a_bound_there_is_no_room_for_nan(tmp_path: Path) -> None:
    assert kept(tmp_path / "two", "delta-rs:1.6.0", rows=FLOATS.slice(1)) == 0
    assert kept(tmp_path / "one", "delta-rs:1.6.0", rows=FLOATS.slice(2)) == 0
    with_nan = pa.table({"d": [3.0, float("nan")], "id": [1, 2]})
    assert kept(tmp_path / "nan", "delta-rs:1.6.0", rows=with_nan) == 1
