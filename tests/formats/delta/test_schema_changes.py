"""Whether rows of an older schema fit a newer one."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakescan.errors import IncompatibleChanges
from lakescan.formats.delta.changes.schema_changes import lost_in
from lakescan.formats.delta.log.protocol import Metadata
from lakescan.reader.align import align
from tests.formats.delta.feeds import SCHEMA, feed, rows
from tests.tables import DeltaBuilder, open_delta, spark_schema


def _evolved(table: DeltaBuilder, schema: pa.Schema) -> None:
    table.schema = spark_schema(schema)
    table.commit(table.metadata())


def test_rows_from_before_a_column_was_added_have_null_in_it(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    table.append(rows(0))
    _evolved(table, SCHEMA.append(pa.field("w", pa.int32())))
    table.append(rows(1).append_column("w", pa.array([5], pa.int32())))
    actual = open_delta(table.path).changes(0).to_arrow().to_pylist()
    assert sorted((row["id"], row["w"]) for row in actual) == [(0, None), (1, 5)]
    # A range that ends before the change is given in the newest schema too, as Delta Spark gives it.
    assert "w" in open_delta(table.path).changes(0, 1).schema.names


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (pa.schema([("id", pa.int64())]), "the column v was dropped"),
        (pa.schema([("id", pa.int32()), ("v", pa.string())]), "the column id was int64 and is int32"),
        (pa.schema([("id", pa.string()), ("v", pa.string())]), "the column id was int64 and is string"),
        (pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())]), "the column id could be null"),
    ],
)
def test_a_change_of_schema_that_loses_values_is_refused_by_name(tmp_path: Path, schema: pa.Schema, why: str) -> None:
    table = feed(tmp_path / "t")
    table.append(rows(0))
    _evolved(table, schema)
    open_ = open_delta(table.path)
    with pytest.raises(IncompatibleChanges, match=f"since version 0 {why}"):
        open_.changes(0)
    assert open_.changes(0, 1).to_arrow().num_rows == 1
    assert open_.changes(2).to_arrow().num_rows == 0


def test_a_new_partitioning_inside_the_range_is_refused(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    table.append(rows(0))
    table.partition_by = ["v"]
    table.commit(table.metadata())
    with pytest.raises(IncompatibleChanges, match="the partition columns were none and are v"):
        open_delta(table.path).changes(0)


_TYPES = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    *(pa.bool_(), pa.string(), pa.binary(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")),
    *(pa.decimal128(5, 0), pa.decimal128(7, 2), pa.decimal128(10, 0), pa.decimal128(12, 2)),
    *(pa.decimal128(19, 0), pa.decimal128(22, 2)),
]


def _metadata(type_: pa.DataType) -> Metadata:
    schema = pa.schema([("a", type_)])
    return Metadata("", spark_schema(schema), (), {}, False)


def _extremes(type_: pa.DataType) -> list[Any]:
    if pa.types.is_integer(type_):
        half = 2 ** (type_.bit_width - 1)
        return [-half, half - 1]
    if pa.types.is_decimal(type_):
        most = Decimal(10**type_.precision - 1).scaleb(-type_.scale)
        return [-most, most]
    if pa.types.is_floating(type_):
        return [-0.1, 1.5]
    return [date(1, 1, 1), date(9999, 12, 31)] if pa.types.is_date(type_) else []


@pytest.mark.parametrize("older", _TYPES, ids=str)
def test_a_type_that_fits_another_loses_no_value_in_it(older: pa.DataType) -> None:
    fits = [newer for newer in _TYPES if lost_in(_metadata(older), _metadata(newer)) is None]
    assert older in fits
    for newer in fits:
        values = pa.array(_extremes(older), older)
        field = pa.field("a", newer)
        assert align(values, pa.field("a", older), field, field).cast(older).equals(values)


def test_the_types_that_fit_are_those_that_delta_widens() -> None:
    wider = {
        (str(older), str(newer))
        for older in _TYPES
        for newer in _TYPES
        if older != newer and lost_in(_metadata(older), _metadata(newer)) is None
    }
    integers = ["int8", "int16", "int32", "int64"]
    assert wider == {
        *((older, newer) for at, older in enumerate(integers) for newer in integers[at + 1 :]),
        *((older, "double") for older in ["int8", "int16", "int32", "float"]),
        ("date32[day]", "timestamp[us]"),
        # The protocol widens every integer up to 32 bits as if it had ten digits, and 64 bits as if twenty.
        *(
            (older, f"decimal128({newer})")
            for older in ["int8", "int16", "int32"]
            for newer in ["10, 0", "12, 2", "19, 0", "22, 2"]
        ),
        ("int64", "decimal128(22, 2)"),
        *(("decimal128(5, 0)", f"decimal128({digits})") for digits in ["7, 2", "10, 0", "12, 2", "19, 0", "22, 2"]),
        *(("decimal128(7, 2)", f"decimal128({digits})") for digits in ["12, 2", "22, 2"]),
        *(("decimal128(10, 0)", f"decimal128({digits})") for digits in ["12, 2", "19, 0", "22, 2"]),
        *((f"decimal128({digits})", "decimal128(22, 2)") for digits in ["12, 2", "19, 0"]),
    }


@pytest.mark.parametrize(
    ("older", "newer", "why"),
    [
        (pa.struct([("x", pa.int32())]), pa.struct([("y", pa.int8()), ("x", pa.int64())]), None),
        (pa.struct([("x", pa.int32()), ("y", pa.int8())]), pa.struct([("x", pa.int32())]), "column a.y was dropped"),
        (pa.list_(pa.int32()), pa.list_(pa.int64()), None),
        (pa.list_(pa.int64()), pa.list_(pa.int32()), "column a.element was int64 and is int32"),
        (pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), pa.int32()), "column a.value was int64"),
        (pa.list_(pa.int64()), pa.int64(), "column a was list"),
    ],
)
def test_nested_fields_are_looked_at_one_by_one(older: pa.DataType, newer: pa.DataType, why: str | None) -> None:
    lost = lost_in(_metadata(older), _metadata(newer))
    assert lost is None if why is None else lost is not None and why in lost
