"""Time travel, read-optimized and incremental reads, and the units that they rest on."""

import json
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import hudi
import numpy as np
import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import InvalidVersion, UnsupportedFeature, UnsupportedType
from lakescan.formats.hudi.engine import open_table
from lakescan.formats.hudi.schema.avro_schema import spark_schema
from lakescan.formats.hudi.schema.evolution import FileNames
from lakescan.formats.hudi.slices.partition_paths import PartitionPaths
from lakescan.io.storage import Storage

from .builder import HudiBuilder
from .tables import COW, MOR_PARTITIONED, MOR_STEPS, TRIPS_DELETED, TRIPS_INDEXED, TRIPS_UPDATED, open_hudi, rows_of

Unpack = Callable[[str], Path]


@pytest.mark.parametrize("name", [COW, MOR_PARTITIONED, MOR_STEPS, TRIPS_INDEXED, TRIPS_UPDATED, TRIPS_DELETED])
def test_every_instant_reads_as_hudi_rs_reads_it(name: str, unpack: Unpack) -> None:
    table = open_hudi(unpack(name))
    for instant in table.snapshot().timeline.instants:
        batches = hudi.HudiTable(str(unpack(name))).read(hudi.HudiReadOptions().with_as_of_timestamp(instant))
        rows = table.snapshot(version=instant).scan().build().to_arrow()
        assert rows_of(rows) == rows_of(pa.Table.from_batches(batches)), instant


def test_a_time_means_the_newest_instant_that_is_not_after_it(unpack: Unpack) -> None:
    table = open_hudi(unpack(COW))
    first, last = table.snapshot().timeline.instants
    # Instants are in the time zone of the machine, as Hudi writes them.
    moment = datetime.strptime(last[:14], "%Y%m%d%H%M%S").astimezone()
    assert table.snapshot(timestamp=(moment - timedelta(seconds=1)).isoformat()).version == first
    # A day without a zone begins at midnight in UTC.
    assert table.snapshot(timestamp=f"{(moment + timedelta(days=2)).date()}").version == last
    with pytest.raises(InvalidVersion, match="14 or 17 digits"):
        table.snapshot(version="yesterday")


def test_a_snapshot_is_kept_while_the_timeline_stays_the_same(unpack: Unpack) -> None:
    table = lakescan.open(unpack(COW))
    assert table.snapshot() is table.snapshot()


def test_a_read_optimized_read_is_the_base_files_alone(unpack: Unpack) -> None:
    table = open_hudi(unpack(TRIPS_DELETED)).read_optimized()
    snapshot = table.snapshot()
    assert snapshot.scan().build().to_arrow().num_rows == 8
    assert snapshot.files()["merged_with"].null_count == snapshot.num_files
    assert snapshot.scan().spec.token != lakescan.open(unpack(TRIPS_DELETED)).snapshot().scan().spec.token


@pytest.mark.parametrize("name", [COW, MOR_PARTITIONED, MOR_STEPS, TRIPS_INDEXED, TRIPS_UPDATED, TRIPS_DELETED])
def test_changes_are_the_rows_of_the_last_state_that_the_commits_wrote(name: str, unpack: Unpack) -> None:
    table = open_hudi(unpack(name))
    instants = table.snapshot().timeline.instants
    for at, start in enumerate(instants):
        for end in instants[at:]:
            state = table.snapshot(version=end).scan().build().to_arrow().to_pylist()
            wanted = [row for row in state if start <= row["_hoodie_commit_time"] <= end]
            rows = table.changes(start, end).scan().select("_hoodie_record_key").build().to_arrow()
            keys = sorted(rows["_hoodie_record_key"].to_pylist())
            assert keys == sorted(row["_hoodie_record_key"] for row in wanted), (start, end)


def test_changes_need_the_meta_fields(unpack: Unpack) -> None:
    table = lakescan.open(unpack("cow_v8_simple_hive_no_meta"))
    with pytest.raises(UnsupportedFeature, match="meta fields"):
        table.changes("2020-01-01")


def test_changes_of_an_empty_range_are_an_error(unpack: Unpack) -> None:
    table = open_hudi(unpack(COW))
    first, last = table.snapshot().timeline.instants
    with pytest.raises(InvalidVersion, match="no commit"):
        table.changes(last, first)


# Partition paths


def paths(kind: pa.DataType, hive_style: bool = False, encoded: bool = False) -> PartitionPaths:
    return PartitionPaths((pa.field("p", kind),), hive_style, encoded)


@pytest.mark.parametrize(
    ("kind", "folder", "value"),
    [
        (pa.string(), "east side", "east side"),
        (pa.int32(), "-7", -7),
        (pa.bool_(), "true", True),
        (pa.date32(), "2024-02-29", date(2024, 2, 29)),
    ],
)
def test_a_folder_tells_the_value_that_it_was_named_after(kind: pa.DataType, folder: str, value: object) -> None:
    assert paths(kind).values(folder) == {"p": value}
    assert paths(kind, hive_style=True).values(f"p={folder}") == {"p": value}


@pytest.mark.parametrize(
    ("kind", "folder"),
    [
        (pa.string(), "default"),
        (pa.string(), "__HIVE_DEFAULT_PARTITION__"),
        (pa.string(), ""),
        (pa.string(), "a/b"),
        (pa.int32(), "007"),
        (pa.int32(), "99999999999"),
        (pa.int32(), "x"),
        (pa.bool_(), "TRUE"),
        (pa.date32(), "2024/02/29"),
        (pa.date32(), "19782"),
    ],
)
def test_a_folder_that_may_stand_for_another_value_tells_nothing(kind: pa.DataType, folder: str) -> None:
    assert paths(kind).values(folder) is None


@pytest.mark.parametrize(
    ("generator", "told"),
    [
        ("", True),
        ("org.apache.hudi.keygen.SimpleKeyGenerator", True),
        ("org.apache.hudi.keygen.CustomKeyGenerator", False),
        ("com.example.SimpleKeyGenerator", False),
    ],
)
def test_folders_tell_values_where_hudis_own_generators_wrote_them(generator: str, told: bool) -> None:
    options = {"hoodie.table.partition.fields": "p", "hoodie.table.keygenerator.class": generator}
    assert bool(PartitionPaths.of(options, pa.schema([("p", pa.string())])).fields) == told


def test_an_encoded_folder_is_decoded_and_a_foreign_one_tells_nothing() -> None:
    assert paths(pa.string(), hive_style=True, encoded=True).values("p=a%2Fb") == {"p": "a/b"}
    assert paths(pa.string(), hive_style=True).values("q=a") is None


# What is current


@pytest.mark.parametrize("opened_before", [False, True])
def test_a_commit_that_ends_while_a_table_is_opened_is_seen_with_its_files(
    opened_before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """hudi-rs looks once for file slices and once more for instants."""
    builder = HudiBuilder(tmp_path / "table")
    builder.upsert(1, pa.table({"id": pa.array([1], pa.int64())}))
    table = lakescan.open(builder.path)
    if opened_before:
        table.snapshot()
        builder.upsert(1, pa.table({"id": pa.array([2], pa.int64())}))
    opened = []

    def open_and_commit(storage: Storage) -> Any:
        opened.append(open_table(storage))
        if len(opened) == 1:
            builder.upsert(1, pa.table({"id": pa.array([3], pa.int64())}))
        return opened[-1]

    monkeypatch.setattr("lakescan.formats.hudi.timeline.timeline.open_table", open_and_commit)
    for _ in range(2):
        ids = table.snapshot().scan().select("id").build().to_arrow()["id"].to_pylist()
        assert ids == ([1, 2, 3] if opened_before else [1, 3])
    assert len(opened) == 2


# Schemas


def test_avro_types_become_the_types_that_spark_shows() -> None:
    avro = """{"type": "record", "name": "r", "fields": [
        {"name": "a", "type": ["null", "int"]},
        {"name": "b", "type": {"type": "fixed", "name": "f", "size": 5, "logicalType": "decimal",
                               "precision": 10, "scale": 2}},
        {"name": "c", "type": ["null", "f"]},
        {"name": "d", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "e", "type": {"type": "enum", "name": "g", "symbols": ["x"]}},
        {"name": "h", "type": ["int", "long", "null"]}]}"""
    types = {field["name"]: field["type"] for field in spark_schema(avro, False, "file")["fields"]}
    wanted = ["integer", "decimal(10,2)", "decimal(10,2)", "timestamp_ntz", "string", "long"]
    assert list(types.values()) == wanted


def test_a_union_of_types_that_are_no_one_type_is_refused_by_name() -> None:
    avro = '{"type": "record", "name": "r", "fields": [{"name": "a", "type": ["int", "string"]}]}'
    with pytest.raises(UnsupportedType, match="union"):
        spark_schema(avro, False, "file")


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "int", "logicalType": "time-millis"},
        {"type": "fixed", "name": "v", "size": 8, "logicalType": "vector", "dimension": 2, "elementType": "FLOAT"},
        {"type": "record", "name": "v", "logicalType": "variant", "fields": [{"name": "value", "type": "bytes"}]},
    ],
)
def test_a_type_that_would_be_shown_as_another_one_is_refused_by_name(kind: dict[str, Any]) -> None:
    avro = json.dumps({"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", kind]}]})
    with pytest.raises(UnsupportedType, match=kind["logicalType"]):
        spark_schema(avro, False, "file")


def test_a_renamed_field_is_looked_for_under_the_name_that_its_file_has() -> None:
    names = FileNames(0, {"new": "old", "s.b": "a", "added": "\0"})
    schema = pa.schema([("new", pa.int32()), ("s", pa.struct([("b", pa.int32())])), ("added", pa.string())])
    renamed = names.rename(schema)
    assert renamed.names == ["old", "s", "\0"]
    assert renamed.field("s").type.field(0).name == "a"


def history(version: int, number: str, word: str, deep: str) -> dict[str, Any]:
    """A version of a schema in Hudi's form, with these names for three fields that keep their ids."""
    item = {"type": "record", "fields": [{"id": 5, "name": number, "optional": True, "type": "int"}]}
    entry = {"type": "record", "fields": [{"id": 8, "name": word, "optional": True, "type": "string"}]}
    nested = {"type": "record", "fields": [{"id": 11, "name": deep, "optional": True, "type": "int"}]}
    inner = {"type": "array", "element_id": 10, "element": nested, "element_optional": True}
    fields = [
        {"id": 0, "name": "id", "optional": True, "type": "long"},
        {"id": 1, "name": "items", "type": {"type": "array", "element_id": 4, "element": item}},
        {
            "id": 2,
            "name": "words",
            "type": {"type": "map", "key_id": 6, "key": "string", "value_id": 7, "value": entry},
        },
        {"id": 3, "name": "grid", "type": {"type": "array", "element_id": 9, "element": inner}},
    ]
    return {"version_id": version, "type": "record", "fields": fields}


def in_arrays_and_maps(number: str, word: str, deep: str, rows: list[int]) -> pa.Table:
    columns = {
        "id": pa.array(rows, pa.int64()),
        "items": pa.array([[{number: at}] for at in rows], pa.list_(pa.struct([(number, pa.int32())]))),
        "words": pa.array(
            [[("k", {word: str(at)})] for at in rows], pa.map_(pa.string(), pa.struct([(word, pa.string())]))
        ),
        "grid": pa.array([[[{deep: at}]] for at in rows], pa.list_(pa.list_(pa.struct([(deep, pa.int32())])))),
    }
    return pa.table(columns)


def test_fields_in_arrays_and_maps_are_followed_when_they_are_renamed(tmp_path: Path) -> None:
    builder = HudiBuilder(tmp_path / "table")
    first = builder.upsert(1, in_arrays_and_maps("a", "b", "c", [1, 2]))
    second = builder.upsert(2, in_arrays_and_maps("number", "word", "deep", [3]))
    versions = [history(int(second), "number", "word", "deep"), history(int(first), "a", "b", "c")]
    folder = builder.path / ".hoodie" / ".schema"
    folder.mkdir()
    (folder / f"{second}.schemacommit").write_text(json.dumps({"schemas": versions}))
    table = lakescan.open(builder.path)
    for version, wanted in (
        (second, in_arrays_and_maps("number", "word", "deep", [1, 2, 3])),
        (first, in_arrays_and_maps("a", "b", "c", [1, 2])),
    ):
        rows = table.snapshot(version=version).scan().select(*wanted.column_names).build().to_arrow()
        assert rows.sort_by("id").to_pylist() == wanted.to_pylist()


@pytest.mark.parametrize("wider", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("narrow", [pa.int32(), pa.int64()])
def test_whole_numbers_that_became_floating_ones_are_the_nearest(
    narrow: pa.DataType, wider: pa.DataType, tmp_path: Path
) -> None:
    whole = [0, -1, 16777217, 2**31 - 1, -(2**31)] + [2**53 + 1, 2**63 - 1, -(2**62) - 3] * (narrow == pa.int64())
    builder = HudiBuilder(tmp_path / "table")
    builder.upsert(1, pa.table({"id": pa.array(range(len(whole)), pa.int64()), "x": pa.array(whole, narrow)}))
    builder.upsert(2, pa.table({"id": pa.array([100], pa.int64()), "x": pa.array([0.5], wider)}))
    snapshot = lakescan.open(builder.path).snapshot()
    numbers = snapshot.scan().build().to_arrow().sort_by("id")["x"].to_pylist()
    # C's cast is to the nearest, as Java's is.
    nearest = np.array(whole).astype(wider.to_pandas_dtype()).tolist()
    assert numbers == [*nearest, 0.5]
    for value in nearest:
        same = snapshot.scan().filter(lakescan.col("x") == value).build().to_arrow()
        assert same.num_rows == nearest.count(value), value
