"""Columns whose type was widened: old files, old partition values and old statistics, all in the new type."""

import json
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakescan
from lakescan.formats.delta.log.actions import StatisticsRequest
from lakescan.formats.delta.statistics.parsed import parse_statistics
from lakescan.formats.delta.type_widening import once_float
from lakescan.predicate import col
from tests.tables import DeltaBuilder

FLOAT, DOUBLE = {"fromType": "float", "toType": "double", "tableVersion": 2}, "double"


@pytest.fixture
def widened(sample: Callable[[str], Path]) -> str:
    """A table that Delta Spark wrote and widened (see tests/data/delta/make_tables.py)."""
    return str(sample("widened"))


def test_old_rows_read_in_the_new_types_as_delta_spark_reads_them(widened: str) -> None:
    rows = lakescan.open(widened).snapshot().scan().build().to_arrow().to_pylist()
    low, high, new, nothing = sorted(rows, key=lambda row: (row["b"] is None, row["b"]))
    assert low == {
        "b": -128,
        "s": -32768,
        "i": -2147483648,
        "f": 0.10000000149011612,
        "d": datetime(1500, 1, 1),
        "dec": Decimal("-999.9900"),
        "bd": Decimal("-128.00"),
        "sd": -32768.0,
        "idc": Decimal("-2147483648"),
        "ldc": Decimal("-2147483648.00"),
        "idb": -2147483648.0,
        "st": {"x": -128, "f": 0.10000000149011612},
        "a": [-32768, None],
        "m": [(-128, -2147483648)],
        "p": -2147483648,
        "pf": 0.1,
        "pd": datetime(1500, 1, 1),
    }
    assert high["f"] == 3.3999999521443642e38
    assert (high["d"], high["pf"], high["m"]) == (datetime(9999, 12, 31), 3.4e38, [(127, 2147483647)])
    assert (new["i"], new["dec"], new["m"]) == (5000000000, Decimal("1.2345"), [(7000, 5000000000)])
    assert set(nothing.values()) == {None}


def test_versions_before_the_change_read_in_the_old_types(widened: str) -> None:
    old = lakescan.open(widened).snapshot(1)
    assert old.schema.field("f").type == pa.float32()
    assert old.schema.field("d").type == pa.date32()
    assert old.scan().build().to_arrow().num_rows == 3


FILTERS = [
    (col("f") > 0.1, 2),
    (col("f") >= 0.10000000149011612, 2),
    (col("f") == 0.1, 1),
    (col("st.f") > 0.1, 2),
    (col("d") < datetime(1500, 1, 1, 0, 0, 1), 1),
    (col("d") == datetime(9999, 12, 31), 1),
    (col("dec") < Decimal("-999.98"), 1),
    (col("dec") == Decimal("1.2345"), 1),
    (col("i") > 2147483647, 1),
    (col("idc") == Decimal(2147483647), 1),
    (col("sd") == -32768.0, 1),
    (col("p") == 5000000000, 1),
    (col("pd") == datetime(1500, 1, 1), 1),
    (col("pf") == 0.1, 2),
]


@pytest.mark.parametrize(("where", "count"), FILTERS, ids=str)
def test_statistics_and_partition_values_of_the_old_type_skip_only_what_cannot_match(
    widened: str, where: Any, count: int
) -> None:
    snapshot = lakescan.open(widened).snapshot()
    assert snapshot.scan().filter(where).build().to_arrow().num_rows == count


def test_a_float_whose_text_is_a_smaller_double_is_not_skipped(tmp_path: Path) -> None:
    """Delta Spark 4.4 misses this row: the file's greatest value is written 0.1, and as a double it is more."""
    field = {"name": "f", "type": DOUBLE, "nullable": True, "metadata": {"delta.typeChanges": [FLOAT]}}
    table = DeltaBuilder(tmp_path, {"type": "struct", "fields": [field]}, features=["typeWidening"])
    data = pa.table({"f": pa.array([0.1], pa.float32())})
    table.append(data, stats={"numRecords": 1, "minValues": {"f": 0.1}, "maxValues": {"f": 0.1}, "nullCount": {"f": 0}})
    for checkpoint in (False, True):
        if checkpoint:
            table.checkpoint(stats="parsed", parsed=pa.schema([("f", pa.float64())]))
        rows = lakescan.open(table.path).snapshot().scan().filter(col("f") > 0.1).build().to_arrow()
        assert rows.to_pylist() == [{"f": 0.10000000149011612}]


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_bounds_of_a_double_that_was_a_float_hold_every_float_of_that_text(value: float) -> None:
    stored = float(np.float32(value))
    text = json.loads(str(np.float32(value)))
    schema = pa.schema([("f", pa.float64())])
    request = StatisticsRequest(schema, schema, frozenset({("f",)}))
    statistics = json.dumps({"numRecords": 1, "minValues": {"f": text}, "maxValues": {"f": text}})
    (row,) = parse_statistics(pa.array([statistics]), request).to_pylist()
    assert row["minimum"]["f"] <= stored <= row["maximum"]["f"]


def test_the_columns_that_were_floats_are_found_at_every_depth_of_structs() -> None:
    def field(name: str, type_: Any, *changes: dict[str, Any]) -> dict[str, Any]:
        return {"name": name, "type": type_, "metadata": {"delta.typeChanges": list(changes)} if changes else {}}

    inside = {"type": "struct", "fields": [field("x", DOUBLE, FLOAT), field("y", DOUBLE)]}
    other = {"fromType": "integer", "toType": "double"}
    elements = {"type": "array", "elementType": "double", "containsNull": True}
    schema = {
        "type": "struct",
        "fields": [
            field("a", DOUBLE, FLOAT),
            field("b", DOUBLE, other),
            field("s", inside),
            field("l", elements, {**FLOAT, "fieldPath": "element"}),
        ],
    }
    assert once_float(schema) == {("a",), ("s", "x")}
