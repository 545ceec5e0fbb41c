"""Nested, mapped and missing columns: read by the executor's own reader where a file has them as Spark would have
written them, or surely does not have them, and by a worker in all other cases, with the same rows.
"""

from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import lakescan
from lakescan.spark.bridge import Bridge
from tests.compare import bag
from tests.reader.shapes import FIELD_ID, shapes
from tests.spark.conftest import NO_PYTHON
from tests.strategies import many
from tests.tables import DeltaBuilder, spark_type

pytestmark = pytest.mark.spark

PLAIN = "lakescan.pushdown.plain_files"
VALUES: dict[pa.DataType, Sequence[Any]] = {
    pa.bool_(): [True, False],
    pa.int8(): [-128, 0, 5],
    pa.int32(): [-(2**31), 0, 7],
    pa.int64(): [-(2**63), 0, 2**53 + 1],
    pa.float64(): [-0.5, 1e300],
    pa.string(): ["", "a", "ä\U0001f600", "long " * 20],
    pa.binary(): [b"", b"\xff\x00"],
    pa.date32(): [date(1500, 2, 28), date(2024, 2, 29)],
    pa.timestamp("us", "UTC"): [datetime(2024, 5, 17, 12, 30, 15, 123456, timezone.utc)],
    pa.decimal128(9, 2): [Decimal("-1.25"), Decimal("9999999.99")],
    pa.decimal128(38, 10): [Decimal("1234567890123456789012345678.0123456789")],
}


def random_type(random: Random, depth: int) -> pa.DataType:
    kind = random.choice(["struct", "list", "map"]) if depth else ""
    if kind == "struct":
        names = random.sample(["a", "b", "c.d", "E"], random.randint(1, 3))
        return pa.struct([(name, random_type(random, random.randint(0, depth - 1))) for name in names])
    if kind == "list":
        return pa.list_(pa.field("element", random_type(random, random.randint(0, depth - 1))))
    if kind == "map":
        key = random.choice([pa.int32(), pa.string(), pa.date32()])
        return pa.map_(key, random_type(random, random.randint(0, depth - 1)))
    return random.choice(list(VALUES))


def random_value(random: Random, kind: pa.DataType, null: bool = True) -> Any:
    if null and random.random() < 0.2:
        return None
    if pa.types.is_struct(kind):
        return {field.name: random_value(random, field.type) for field in kind}
    if pa.types.is_map(kind):
        keys = {random_value(random, kind.key_type, null=False) for _ in range(random.randint(0, 3))}
        return [(key, random_value(random, kind.item_type)) for key in sorted(keys)]
    if pa.types.is_list(kind):
        return [random_value(random, kind.value_type) for _ in range(random.randint(0, 3))]
    return random.choice(VALUES[kind])


def read(spark: SparkSession, path: str, plain: bool = True) -> pa.Table:
    table: pa.Table = lakescan.read(spark, path, options={PLAIN: plain}).toArrow()
    return table


@given(seed=st.integers(0, 2**32), rows=st.sampled_from([1, 40, 5_000]), group=st.sampled_from([3, 1_000, 5_000]))
@many(15)
def test_any_nested_columns_are_read_without_a_worker(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, seed: int, rows: int, group: int
) -> None:
    random = Random(seed)
    schema = pa.schema([("n", random_type(random, 3)), ("id", pa.int64()), ("m", random_type(random, 1))])
    few = [[random_value(random, field.type) for _ in range(min(rows, 60))] for field in schema]
    columns = [
        pa.array(random.choices(choices, k=rows), field.type) for choices, field in zip(few, schema, strict=True)
    ]
    stored = pa.Table.from_arrays(columns, schema=schema)
    table = DeltaBuilder(tmp_path_factory.mktemp("nested"), schema, features=["deletionVectors"])
    added = table.append(stored, stats=False, row_group_size=max(group, rows // 20), store_decimal_as_integer=True)
    gone = {row for row in range(rows) if random.random() < random.choice([0, 0.01, 0.5])}
    if gone:
        table.delete(added, gone)
    kept = stored.take(pa.array([row for row in range(rows) if row not in gone], pa.int64()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bridge, "_worker_interpreter", NO_PYTHON)
        actual = read(spark, table.path) if len(gone) < rows else kept
    assert actual.to_pylist() == kept.to_pylist()


@pytest.mark.parametrize("mode", ["none", "name", "id"])
@given(data=st.data())
@many(12)
def test_any_column_however_its_file_holds_it_is_the_same_with_and_without_workers(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, mode: str, data: st.DataObject
) -> None:
    shape = data.draw(shapes(mode))
    rows = data.draw(st.lists(shape.values, min_size=1, max_size=6))
    field = mapped_field("x", shape.table, shape.source, 50, mode)
    table = DeltaBuilder(
        tmp_path_factory.mktemp("shape"),
        {"type": "struct", "fields": [field]},
        properties={"delta.columnMapping.mode": mode},
        features=["columnMapping", "timestampNtz"],
    )
    table.append(pa.table({"x": pa.array([stored for stored, _ in rows], shape.file)}), stats=False)
    actual = read(spark, table.path)
    assert actual["x"].to_pylist() == [shown for _, shown in rows]
    assert bag(actual) == bag(read(spark, table.path, plain=False))


def mapped_field(name: str, table: pa.DataType, source: pa.DataType, number: int, mode: str) -> dict[str, Any]:
    """A field of a schema in the log, with the names and ids that the files have."""
    return {**mapped(name, number, name, mode), "type": mapped_type(table, source, mode)}


def mapped(name: str, number: int, physical: str, mode: str) -> dict[str, Any]:
    notes = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return {"name": name, "nullable": True, "metadata": notes if mode != "none" else {}}


def mapped_type(table: pa.DataType, source: pa.DataType, mode: str) -> Any:
    if pa.types.is_struct(table):
        fields = []
        for at, (field, physical) in enumerate(zip(table, source, strict=True), 1):
            number = int((physical.metadata or {}).get(FIELD_ID, at))
            fields.append(
                {
                    **mapped(field.name, number, physical.name, mode),
                    "type": mapped_type(field.type, physical.type, mode),
                }
            )
        return {"type": "struct", "fields": fields}
    if pa.types.is_map(table):
        item = mapped_type(table.item_type, source.item_type, mode)
        return {"type": "map", "keyType": spark_type(table.key_type), "valueType": item, "valueContainsNull": True}
    if pa.types.is_list(table):
        element = mapped_type(table.value_type, source.value_type, mode)
        return {"type": "array", "elementType": element, "containsNull": True}
    return spark_type(table)


PEOPLE = pa.schema(
    [
        ("id", pa.int64()),
        ("home", pa.struct([("city", pa.string()), ("lots", pa.list_(pa.field("element", pa.int32())))])),
        ("marks", pa.map_(pa.string(), pa.int64())),
    ]
)


@pytest.mark.usefixtures("no_python")
def test_some_fields_of_a_struct_are_read_without_a_worker(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, PEOPLE)
    rows = [
        {"id": 1, "home": {"city": "x", "lots": [1, None]}, "marks": [("a", 1)]},
        {"id": 2, "home": None, "marks": []},
        {"id": 3, "home": {"city": None, "lots": None}, "marks": None},
    ]
    table.append(pa.Table.from_pylist(rows, PEOPLE))
    frame = lakescan.read(spark, table.path)
    assert [tuple(row) for row in frame.select("home.city", "id").collect()] == [("x", 1), (None, 2), (None, 3)]
    assert [row[0] for row in frame.selectExpr("home IS NULL").collect()] == [False, True, False]
    assert [row[0] for row in frame.selectExpr("marks['a']").collect()] == [1, None, None]


@pytest.mark.usefixtures("no_python")
@pytest.mark.parametrize("mode", [None, "name", "id"])
def test_columns_that_a_file_lacks_are_null_without_a_worker(
    spark: SparkSession, tmp_path: Path, mode: str | None
) -> None:
    nested = list(PEOPLE)[1:] if mode is None else []
    schema = pa.schema([("id", pa.int64()), ("text", pa.string()), *nested])
    table = DeltaBuilder(tmp_path, schema, mapping=mode, features=["deletionVectors"])
    added = table.append(pa.table({"id": range(5_000)}))
    table.delete(added, range(100))
    table.append(pa.table({"text": ["a", "b"]}))
    nothing = dict.fromkeys(schema.names[1:])
    wanted = [{"id": id, **nothing} for id in range(100, 5_000)]
    assert bag(read(spark, table.path)) == bag([*wanted, *({"id": None, **nothing, "text": text} for text in "ab")])


ODD: dict[str, tuple[pa.Schema, pa.Table, Any]] = {
    "a field that the file lacks": (
        pa.schema([("s", pa.struct([("a", pa.int64()), ("b", pa.int64())]))]),
        pa.table({"s": pa.array([{"a": 1}], pa.struct([("a", pa.int64())]))}),
        {"a": 1, "b": None},
    ),
    "a field in another case": (
        pa.schema([("s", pa.struct([("a", pa.int64())]))]),
        pa.table({"s": pa.array([{"A": 1}])}),
        {"a": 1},
    ),
    "a column in another case": (
        pa.schema([("s", pa.int64()), ("Id", pa.int64())]),
        pa.table({"S": [1], "Id": [2]}),
        1,
    ),
    "a narrower field": (
        pa.schema([("s", pa.struct([("a", pa.int64())]))]),
        pa.table({"s": pa.array([{"a": 1}], pa.struct([("a", pa.int32())]))}),
        {"a": 1},
    ),
    "elements of another name": (
        pa.schema([("s", pa.list_(pa.int64()))]),
        pa.table({"s": pa.array([[1]], pa.list_(pa.field("array", pa.int64())))}),
        [1],
    ),
    "no column at all": (
        pa.schema([("s", pa.int64())]),
        pa.table({"other": [1]}),
        None,
    ),
}


@pytest.mark.parametrize("what", ODD)
def test_a_file_with_other_columns_is_read_by_a_worker(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    schema, rows, wanted = ODD[what]
    table = DeltaBuilder(tmp_path, schema)
    table.append(rows, stats=False, use_compliant_nested_type=False)
    assert read(spark, table.path)["s"].to_pylist() == [wanted]
    monkeypatch.setattr(Bridge, "_worker_interpreter", NO_PYTHON)
    with pytest.raises(Exception, match=NO_PYTHON):
        read(spark, table.path)


def test_columns_found_by_id_are_an_error_in_a_file_without_ids(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64()), ("b", pa.int64())]), mapping="id")
    added = table.append(pa.table({"id": [1], "b": [2]}))
    file = tmp_path / added["add"]["path"]
    bare = pq.read_table(file)
    pq.write_table(pa.table(dict(zip(bare.column_names, bare.columns, strict=True))), file)
    table.commit({"add": {**added["add"], "size": file.stat().st_size}})
    for plain in (True, False):
        with pytest.raises(Exception, match="found by their Parquet field id"):
            read(spark, table.path, plain)
