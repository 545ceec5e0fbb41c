from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import UnsupportedFeature
from lakescan.formats.delta.column_mapping import physical_names, without_delta_metadata
from tests.tables import DeltaBuilder


def mapped(name: str, physical: str, number: int, type_: Any = "long") -> dict[str, Any]:
    metadata = {"delta.columnMapping.physicalName": physical, "delta.columnMapping.id": number, "comment": "kept"}
    return {"name": name, "type": type_, "nullable": True, "metadata": metadata}


def schema() -> dict[str, Any]:
    inner = {"type": "struct", "fields": [mapped("x", "p3", 3)]}
    array = {"type": "array", "elementType": inner, "containsNull": True}
    map_ = {"type": "map", "keyType": "string", "valueType": inner, "valueContainsNull": True}
    return {"type": "struct", "fields": [mapped("a", "p1", 1), mapped("l", "p2", 2, array), mapped("m", "p4", 4, map_)]}


def test_physical_names_are_given_at_every_depth_and_ids_only_in_id_mode() -> None:
    by_name = physical_names(schema(), "name")
    assert [field["name"] for field in by_name["fields"]] == ["p1", "p2", "p4"]
    inner = by_name["fields"][1]["type"]["elementType"]["fields"][0]
    assert (inner["name"], inner["metadata"]) == ("p3", {})
    assert by_name["fields"][2]["type"]["valueType"]["fields"][0]["name"] == "p3"
    by_id = physical_names(schema(), "id")
    assert by_id["fields"][1]["type"]["elementType"]["fields"][0]["metadata"] == {"parquet.field.id": 3}


def test_without_mapping_the_names_stay_and_ids_are_not_used() -> None:
    renamed = physical_names(schema(), "none")
    assert [(field["name"], field["metadata"]) for field in renamed["fields"]] == [("a", {}), ("l", {}), ("m", {})]


def test_an_unknown_mode_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeature, match="column mapping mode 'telepathy'"):
        physical_names(schema(), "telepathy")
    builder = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]), mapping="telepathy")
    with pytest.raises(UnsupportedFeature, match="telepathy"):
        lakescan.open(builder.path).snapshot()


def test_users_see_comments_and_not_deltas_own_notes() -> None:
    shown = without_delta_metadata(schema())
    assert shown["fields"][0]["metadata"] == {"comment": "kept"}
    assert shown["fields"][1]["type"]["elementType"]["fields"][0]["metadata"] == {"comment": "kept"}


@pytest.mark.parametrize("mode", ["name", "id"])
def test_a_mapped_table_is_filtered_partitioned_and_read_in_logical_names(tmp_path: Path, mode: str) -> None:
    columns = pa.schema([("p q", pa.string()), ("id", pa.int64()), ("a.b", pa.string())])
    builder = DeltaBuilder(tmp_path, columns, partition_by=["p q"], mapping=mode)
    for number in range(3):
        table = pa.table({"id": [number], "a.b": [f"v{number}"]})
        builder.append(table, partition={"p q": f"part{number}"})
    snapshot = lakescan.open(builder.path).snapshot()
    assert snapshot.schema.names == ["p q", "id", "a.b"]
    assert snapshot.partition_columns == ("p q",)
    assert not set(snapshot.physical_schema.names) & set(snapshot.schema.names)
    for filter in ("`p q` = 'part1'", "id = 1", "`a.b` = 'v1'"):
        scan = snapshot.scan().filter(filter).build()
        assert scan.files().num_rows == 1
        assert scan.to_arrow().to_pylist() == [{"p q": "part1", "id": 1, "a.b": "v1"}]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_a_renamed_column_keeps_its_values_and_a_new_one_of_the_old_name_has_none(tmp_path: Path, mode: str) -> None:
    builder = DeltaBuilder(tmp_path, pa.schema([("old", pa.int64())]), mapping=mode)
    builder.append(pa.table({"old": [1, 2]}))
    builder.schema["fields"][0]["name"] = "renamed"
    builder.schema["fields"].append(mapped("old", "col-new", 9))
    builder.commit(builder.metadata())
    scan = lakescan.open(builder.path).snapshot().scan()
    assert scan.build().to_arrow().to_pydict() == {"renamed": [1, 2], "old": [None, None]}
    assert scan.filter("old IS NULL AND renamed > 1").build().to_arrow().num_rows == 1
    before = lakescan.open(builder.path).snapshot(version=1).scan().build().to_arrow()
    assert before.to_pydict() == {"old": [1, 2]}
