"""A file's column in the table's type: widened where Delta can widen, refused where values could change."""

from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan import errors
from tests.tables import DeltaBuilder

UTC = timezone.utc
WIDENED: list[tuple[list[Any], pa.DataType, pa.DataType, list[Any]]] = [
    ([-128, 127, None], pa.int8(), pa.int16(), [-128, 127, None]),
    ([-128, 127], pa.int8(), pa.int32(), [-128, 127]),
    ([-(2**15), 2**15 - 1], pa.int16(), pa.int64(), [-(2**15), 2**15 - 1]),
    ([-(2**31), 2**31 - 1], pa.int32(), pa.int64(), [-(2**31), 2**31 - 1]),
    ([-(2**31), 2**31 - 1, None], pa.int32(), pa.float64(), [-(2.0**31), 2.0**31 - 1, None]),
    ([-128, 127], pa.int8(), pa.float64(), [-128.0, 127.0]),
    ([0.1, None], pa.float32(), pa.float64(), [0.10000000149011612, None]),
    ([-128, 127], pa.int8(), pa.decimal128(10, 0), [Decimal(-128), Decimal(127)]),
    ([-(2**31), 2**31 - 1], pa.int32(), pa.decimal128(11, 1), [Decimal("-2147483648.0"), Decimal("2147483647.0")]),
    ([-(2**63), 2**63 - 1], pa.int64(), pa.decimal128(20, 0), [Decimal(-(2**63)), Decimal(2**63 - 1)]),
    ([2**63 - 1], pa.int64(), pa.decimal128(38, 18), [Decimal(2**63 - 1)]),
    ([Decimal("9.99"), None], pa.decimal128(3, 2), pa.decimal128(38, 10), [Decimal("9.99"), None]),
    ([Decimal("9.99")], pa.decimal128(3, 2), pa.decimal128(4, 2), [Decimal("9.99")]),
    ([date(1, 1, 1), date(9999, 12, 31)], pa.date32(), pa.timestamp("us"), [datetime(1, 1, 1), datetime(9999, 12, 31)]),
]
# The same kind in another encoding, by other writers.
ENCODED: list[tuple[list[Any], pa.DataType, pa.DataType, list[Any]]] = [
    ([datetime(2024, 1, 1, tzinfo=UTC)], pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC"), []),
    ([datetime(2024, 1, 1, tzinfo=UTC)], pa.timestamp("us", "Asia/Tokyo"), pa.timestamp("us", "UTC"), []),
    ([datetime(2024, 1, 1)], pa.timestamp("us"), pa.timestamp("us", "UTC"), [datetime(2024, 1, 1, tzinfo=UTC)]),
    ([datetime(2024, 1, 1)], pa.timestamp("ms"), pa.timestamp("us"), []),
    (["a", None], pa.large_string(), pa.string(), []),
    ([b"a"], pa.large_binary(), pa.binary(), []),
    ([b"ab"], pa.binary(2), pa.binary(), []),
    # As deltalake writes what an update or a merge computed.
    (["a", None, "longer than a view holds"], pa.string_view(), pa.string(), []),
    ([b"a"], pa.binary_view(), pa.binary(), []),
    (["a", "a"], pa.dictionary(pa.int32(), pa.string()), pa.string(), []),
]
REFUSED: list[tuple[list[Any], pa.DataType, pa.DataType]] = [
    ([0.1], pa.float64(), pa.float32()),
    ([1.0], pa.float64(), pa.int64()),
    ([1], pa.int64(), pa.float64()),
    ([1], pa.int64(), pa.string()),
    (["1"], pa.string(), pa.int64()),
    ([2**40], pa.int64(), pa.int32()),
    ([True], pa.bool_(), pa.int32()),
    ([1], pa.int32(), pa.bool_()),
    ([Decimal("1.25")], pa.decimal128(3, 2), pa.decimal128(3, 1)),
    ([Decimal("1.25")], pa.decimal128(3, 2), pa.float64()),
    ([Decimal("99")], pa.decimal128(2, 0), pa.decimal128(1, 0)),
    ([date(2024, 1, 1)], pa.date32(), pa.timestamp("us", "UTC")),
    ([datetime(2024, 1, 1)], pa.timestamp("us"), pa.date32()),
    ([1], pa.int32(), pa.date32()),
    ([[1]], pa.list_(pa.int32()), pa.int32()),
    ([{"a": 1}], pa.struct([("a", pa.int32())]), pa.list_(pa.int32())),
]


def _read(root: Path, stored: pa.Array, wanted: pa.DataType) -> pa.ChunkedArray:
    table = DeltaBuilder(root, pa.schema([("c", wanted)]))
    table.append(pa.table({"c": stored}), stats=False)
    return lakescan.open(table.path).snapshot().scan().build().to_arrow()["c"]


@pytest.mark.parametrize(("values", "stored", "wanted", "expected"), WIDENED + ENCODED, ids=str)
def test_a_column_in_another_size_or_encoding_reads_in_the_tables_type(
    values: list[Any], stored: pa.DataType, wanted: pa.DataType, expected: list[Any], tmp_path: Path
) -> None:
    column = _read(tmp_path, pa.array(values, stored), wanted)
    assert column.type == wanted
    assert column.to_pylist() == (expected or values)


@pytest.mark.parametrize(("values", "stored", "wanted", "expected"), WIDENED, ids=str)
def test_types_are_widened_inside_structs_lists_and_maps(
    values: list[Any], stored: pa.DataType, wanted: pa.DataType, expected: list[Any], tmp_path: Path
) -> None:
    def nested(type_: pa.DataType) -> pa.DataType:
        return pa.struct([("s", type_), ("l", pa.list_(pa.struct([("x", type_)]))), ("m", pa.map_(pa.string(), type_))])

    def rows(of: list[Any]) -> list[Any]:
        return [{"s": value, "l": [{"x": value}, None], "m": [("k", value)]} for value in of] + [None]

    column = _read(tmp_path, pa.array(rows(values), nested(stored)), nested(wanted))
    assert column.to_pylist() == rows(expected)


@pytest.mark.parametrize(("values", "stored", "wanted"), REFUSED, ids=str)
def test_a_column_that_could_change_its_values_is_refused_by_name(
    values: list[Any], stored: pa.DataType, wanted: pa.DataType, tmp_path: Path
) -> None:
    with pytest.raises(errors.SchemaMismatch, match="column c"):
        _read(tmp_path, pa.array(values, stored), wanted)


def test_a_column_all_of_whose_values_fit_a_narrower_table_type_reads(tmp_path: Path) -> None:
    """pyarrow writes whole numbers as 64 bits; the table says 32, and the values fit."""
    assert _read(tmp_path, pa.array([1, None], pa.int64()), pa.int32()).to_pylist() == [1, None]


def test_a_file_may_know_fewer_nulls_than_the_table_and_the_other_way_round(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int64())])
    table = DeltaBuilder(tmp_path, schema)
    strict = pa.schema([pa.field("a", pa.int64(), nullable=True), pa.field("b", pa.int64(), nullable=False)])
    table.append(pa.table({"a": [1], "b": [2]}, schema=strict))
    assert lakescan.open(table.path).snapshot().scan().build().to_arrow().to_pylist() == [{"a": 1, "b": 2}]


def test_a_void_column_is_null_whether_a_file_has_it_or_not(tmp_path: Path) -> None:
    inside = pa.struct([("x", pa.int64()), ("y", pa.null())])
    table = DeltaBuilder(tmp_path, pa.schema([("a", pa.int64()), ("v", pa.null()), ("s", inside)]))
    table.append(pa.table({"a": [1], "s": pa.array([{"x": 1}], pa.struct([("x", pa.int64())]))}))
    assert lakescan.open(table.path).snapshot().scan().build().to_arrow().to_pylist() == [
        {"a": 1, "v": None, "s": {"x": 1, "y": None}}
    ]


def test_names_in_another_case_are_found_and_exact_ones_preferred(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("Id", pa.int64()), ("Sub", pa.struct([("Xy", pa.int64())]))]))
    table.append(pa.table({"iD": [1], "sUB": [{"xY": 2}]}), stats=False)
    table.append(pa.table({"ID": [9], "Id": [3], "Sub": [{"Xy": 4}]}), stats=False)
    rows = lakescan.open(table.path).snapshot().scan().build().to_arrow().to_pylist()
    assert sorted(rows, key=lambda row: row["Id"]) == [{"Id": 1, "Sub": {"Xy": 2}}, {"Id": 3, "Sub": {"Xy": 4}}]


@pytest.mark.parametrize("as_integer", [True, False])
def test_decimals_of_every_precision_read_in_both_encodings(as_integer: bool, tmp_path: Path) -> None:
    types = [pa.decimal128(precision, precision // 2) for precision in range(1, 39)]
    values = [Decimal(("-" if n % 2 else "") + "9" * n + f"E-{n // 2}") for n in range(1, 39)]
    schema = pa.schema([(f"d{type_.precision}", type_) for type_ in types])
    table = DeltaBuilder(tmp_path, schema)
    columns = [pa.array([value, None], type_) for value, type_ in zip(values, types, strict=True)]
    table.append(pa.table(columns, schema=schema), store_decimal_as_integer=as_integer)
    rows = lakescan.open(table.path).snapshot().scan().build().to_arrow()
    assert rows.schema.types == types
    assert list(rows.to_pylist()[0].values()) == values
    assert set(rows.to_pylist()[1].values()) == {None}


# Year 1, both sides of 1970, the last moment of 9999 and a moment in the year 255479.
FAR = [-62_135_596_800_000_000, -1, 0, 253_402_300_799_999_999, 8_000_000_000_000_000_000]


def test_timestamps_near_and_far_read_in_every_encoding(tmp_path: Path) -> None:
    kind = pa.timestamp("us", "UTC")
    table = DeltaBuilder(tmp_path, pa.schema([("t", kind)]))
    table.append(pa.table({"t": pa.array(FAR).cast(kind)}), stats=False)
    # pyarrow writes INT96 from nanoseconds, so only those of the years 1678 to 2262; it keeps milliseconds apart.
    near = pa.array([-1, 0, 9_000_000_000_000_123]).cast(kind)
    table.append(pa.table({"t": near}), stats=False, use_deprecated_int96_timestamps=True)
    table.append(pa.table({"t": pa.array([-7]).cast(pa.timestamp("ms", "UTC"))}), stats=False)
    moments = lakescan.open(table.path).snapshot().scan().build().to_arrow()["t"]
    assert sorted(moments.cast(pa.int64()).to_pylist()) == sorted([*FAR, -1, 0, 9_000_000_000_000_123, -7000])


def test_dates_beyond_pythons_years_read_and_filter(tmp_path: Path) -> None:
    days = [-(2**31), -1_000_000, 0, 2_932_896, 2**31 - 1]
    table = DeltaBuilder(tmp_path, pa.schema([("d", pa.date32())]))
    table.append(pa.table({"d": pa.array(days, pa.int32()).cast(pa.date32())}), stats=False)
    scan = lakescan.open(table.path).snapshot().scan()
    assert scan.build().to_arrow()["d"].cast(pa.int32()).to_pylist() == days
    later = scan.filter("d > DATE'1969-01-01'").build().to_arrow()["d"].cast(pa.int32()).to_pylist()
    assert later == [0, 2_932_896, 2**31 - 1]
