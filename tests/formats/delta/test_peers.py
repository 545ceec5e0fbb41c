"""What the comparison with Delta Spark (`make peers`) has found, each in its smallest form.

The answers are Delta Spark's. Where a whole table was needed it is stored under `tests/data/peers`, named after the
seed of the walk that found it.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import lakescan
from lakescan.errors import InvalidFilter
from tests.tables import DeltaBuilder


def _char_schema(*partition: str) -> dict[str, Any]:
    note = {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}
    names = ["c", *partition]
    return {
        "type": "struct",
        "fields": [{"name": name, "type": "string", "nullable": True, "metadata": note} for name in names],
    }


@pytest.fixture
def chars(tmp_path: Path) -> str:
    """Seed 0: Delta Spark stores a CHAR as it was given and pads it when it reads."""
    table = DeltaBuilder(tmp_path / "chars", _char_schema("p"), partition_by=["p"])
    stored = pa.table({"c": ["é", "", None, "abc"]})
    table.append(stored, partition={"p": "x"})
    return table.path


def test_a_char_is_padded_to_its_length(chars: str) -> None:
    rows = lakescan.open(chars).snapshot().scan().build().to_arrow()
    assert rows.to_pydict() == {"c": ["é  ", "   ", None, "abc"], "p": ["x  "] * 4}


def test_a_char_that_is_filtered_is_padded_too(chars: str) -> None:
    """A filter keeps text in its file's dictionary, which has the texts as they were given."""
    rows = lakescan.open(chars).snapshot().scan().filter("c IS NOT NULL").build().to_arrow()
    assert rows["c"].to_pylist() == ["é  ", "   ", "abc"]


@pytest.mark.spark
def test_spark_finds_a_char_by_its_value_with_and_without_the_spaces(chars: str, spark: SparkSession) -> None:
    frame = lakescan.read(spark, chars)
    assert [row.c for row in frame.where("c = 'é'").collect()] == ["é  "]
    assert [row.c for row in frame.where("c = 'é  ' AND p = 'x'").collect()] == ["é  "]


def test_a_char_cannot_be_compared_without_spark(chars: str) -> None:
    scan = lakescan.open(chars).snapshot().scan()
    with pytest.raises(InvalidFilter, match=r"CHAR\(3\)"):
        scan.filter("c = 'é'")
    assert scan.filter("c IS NULL").build().to_arrow().num_rows == 1


def test_a_char_inside_another_type_is_padded_as_one_on_its_own(tmp_path: Path) -> None:
    inner = {"type": "struct", "fields": [{"name": "x", "type": "string", "nullable": True, "metadata": {}}]}
    note = {"__CHAR_VARCHAR_TYPE_STRING": "struct<x:char(3)>"}
    field = {"name": "s", "type": inner, "nullable": True, "metadata": note}
    table = DeltaBuilder(tmp_path / "t", {"type": "struct", "fields": [field]})
    table.append(pa.table({"s": [{"x": "a"}, None, {"x": None}]}))
    rows = lakescan.open(table.path).snapshot().scan().build().to_arrow()
    assert rows["s"].to_pylist() == [{"x": "a  "}, None, {"x": None}]


def test_a_varchar_stays_as_it_was_stored(tmp_path: Path) -> None:
    field = {"name": "v", "type": "string", "nullable": True, "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}}
    table = DeltaBuilder(tmp_path / "t", {"type": "struct", "fields": [field]})
    table.append(pa.table({"v": ["a"]}))
    assert lakescan.open(table.path).snapshot().scan().filter("v = 'a'").build().to_arrow()["v"].to_pylist() == ["a"]


def test_a_binary_partition_value_is_the_bytes_of_its_text(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", pa.binary())])
    table = DeltaBuilder(tmp_path / "t", schema, partition_by=["p"])
    table.append(pa.table({"id": [1]}), partition={"p": "\x00é\ufffd"})
    rows = lakescan.open(table.path).snapshot().scan().build().to_arrow()
    assert rows["p"].to_pylist() == [b"\x00\xc3\xa9\xef\xbf\xbd"]


def test_a_column_with_a_dot_in_its_name_is_not_a_field_of_a_struct(tmp_path: Path) -> None:
    """The footer of a file gives both the path `a.b`, and one's bounds must not be taken for the other's."""
    schema = pa.schema([("a.b", pa.int64()), ("a", pa.struct([("b", pa.int64())]))])
    table = DeltaBuilder(tmp_path / "t", schema)
    table.append(pa.table({"a.b": [1, 2, 3], "a": [{"b": 7}, {"b": 8}, None]}))
    scan = lakescan.open(table.path).snapshot().scan()
    assert scan.filter("`a.b` IN (1, 3)").build().to_arrow()["a.b"].to_pylist() == [1, 3]
    assert scan.filter("a.b = 7").build().to_arrow()["a.b"].to_pylist() == [1]


def _mapped(name: str, type_: Any, physical: str, number: int) -> dict[str, Any]:
    notes = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return {"name": name, "type": type_, "nullable": True, "metadata": notes}


@pytest.mark.parametrize("mode", ["name", "id"])
def test_a_field_dropped_inside_an_array_and_added_again_does_not_bring_its_values_back(
    tmp_path: Path, mode: str
) -> None:
    """Mapping was switched on in mid-life, so the old field's physical name is the new field's logical one."""
    struct = {"type": "struct", "fields": [_mapped("y", "long", "y", 2), _mapped("x", "long", "col-new", 4)]}
    array = {"type": "array", "elementType": struct, "containsNull": True}
    schema = {"type": "struct", "fields": [_mapped("a", array, "a", 1)]}
    properties = {"delta.columnMapping.mode": mode}
    table = DeltaBuilder(tmp_path / "t", schema, features=["columnMapping"], properties=properties)
    children = [
        pa.field(name, pa.int64(), metadata={b"PARQUET:field_id": number})
        for name, number in (("y", b"2"), ("x", b"3"))
    ]
    stored = pa.array([[{"y": 1, "x": 99}]], pa.list_(pa.field("element", pa.struct(children))))
    table.append(pa.table({"a": stored}), stats=False)
    rows = lakescan.open(table.path).snapshot().scan().build().to_arrow()
    assert rows["a"].to_pylist() == [[{"y": 1, "x": None}]]


def test_fields_that_have_swapped_their_names_inside_a_struct_keep_their_values(tmp_path: Path) -> None:
    struct = {"type": "struct", "fields": [_mapped("x", "long", "y", 2), _mapped("y", "long", "x", 3)]}
    schema = {"type": "struct", "fields": [_mapped("s", struct, "s", 1)]}
    properties = {"delta.columnMapping.mode": "name"}
    table = DeltaBuilder(tmp_path / "t", schema, features=["columnMapping"], properties=properties)
    table.append(pa.table({"s": [{"x": 1, "y": 2}]}), stats=False)
    rows = lakescan.open(table.path).snapshot().scan().build().to_arrow()
    assert rows["s"].to_pylist() == [{"x": 2, "y": 1}]


def test_a_partition_value_beyond_the_years_of_python_is_read(tmp_path: Path) -> None:
    """A local time at the end of the year 9999 is in the year 10000 in UTC."""
    schema = pa.schema([("id", pa.int64()), (".p", pa.timestamp("us", "UTC"))])
    table = DeltaBuilder(tmp_path / "t", schema, partition_by=[".p"])
    table.append(pa.table({"id": [1]}), partition={".p": "9999-12-31 23:59:59"})
    rows = lakescan.open(table.path, "America/New_York").snapshot().scan().build().to_arrow()
    assert rows[".p"].cast(pa.int64()).to_pylist() == [(253_402_300_799 + 5 * 3600) * 1_000_000]


def test_a_checkpoint_without_any_statistics_skips_nothing(tmp_path: Path) -> None:
    """Seeds 10 and 25: both of `delta.checkpoint.writeStatsAsJson` and `writeStatsAsStruct` were off."""
    table = DeltaBuilder(tmp_path / "t", pa.schema([("id", pa.int64())]))
    added = table.append(pa.table({"id": [1, 2, 3]}))
    table.delete(added, [0])
    (file,) = table.checkpoint()
    stored = pq.read_table(file)
    at = stored.schema.get_field_index("add")
    kept = [field for field in stored.schema.field(at).type if not field.name.startswith("stats")]
    adds = stored["add"].combine_chunks()
    bare = pa.StructArray.from_arrays([adds.field(f.name) for f in kept], fields=kept, mask=adds.is_null())
    pq.write_table(stored.set_column(at, pa.field("add", bare.type), bare), file)
    scan = lakescan.open(table.path).snapshot().scan()
    assert scan.build().to_arrow()["id"].to_pylist() == [2, 3]
    assert scan.filter("id > 2").build().to_arrow()["id"].to_pylist() == [3]
