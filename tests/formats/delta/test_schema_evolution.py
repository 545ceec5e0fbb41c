"""Columns that were added, dropped, renamed and moved since a file was written, in every mapping mode."""

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakescan
from tests.examples import examples
from tests.tables import DeltaBuilder


def _rows(path: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = lakescan.open(path).snapshot().scan().build().to_arrow().to_pylist()
    return sorted(rows, key=lambda row: row["k"])


def _theirs(path: str) -> list[dict[str, Any]]:
    query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(path))
    rows: list[dict[str, Any]] = pa.table(query.execute("SELECT * FROM t ORDER BY k")).to_pylist()
    return rows


STEPS = st.lists(st.sampled_from(["append", "add", "drop", "rename", "move"]), min_size=3, max_size=10)


@pytest.mark.parametrize("mapping", ["name", "id"])
@given(steps=STEPS, data=st.data())
@settings(max_examples=examples(20), deadline=None)
def test_a_table_reads_the_same_as_a_model_of_it_through_any_changes_of_its_columns(
    mapping: str, steps: list[str], data: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = DeltaBuilder(
        tmp_path_factory.mktemp("t"), pa.schema([("k", pa.int64()), ("c0", pa.int64())]), mapping=mapping
    )
    # Each row knows its values by the field's id, which a column keeps for life.
    model: list[dict[int, int]] = []
    next_id = 3
    for step, action in enumerate(steps):
        fields = table.schema["fields"]
        if action == "append":
            values = {field["metadata"]["delta.columnMapping.id"]: step * 10 + at for at, field in enumerate(fields)}
            model.append(values)
            row = {f["name"]: [values[f["metadata"]["delta.columnMapping.id"]]] for f in fields}
            table.append(pa.table(row))
            continue
        others = [field for field in fields if field["name"] != "k"]
        if action == "add":
            # A name that a dropped column had before may come back as another column.
            names = {field["name"] for field in fields}
            name = next(f"c{n}" for n in range(20) if f"c{n}" not in names)
            notes = {"delta.columnMapping.id": next_id, "delta.columnMapping.physicalName": f"col-{next_id}"}
            fields.append({"name": name, "type": "long", "nullable": True, "metadata": notes})
            next_id += 1
        elif action == "drop" and others:
            fields.remove(data.draw(st.sampled_from(others)))
        elif action == "rename" and others:
            data.draw(st.sampled_from(others))["name"] = f"r{step}"
        elif action == "move":
            fields.insert(0, fields.pop())
        table.commit(table.metadata())
    expected: list[dict[str, Any]] = [
        {f["name"]: row.get(f["metadata"]["delta.columnMapping.id"]) for f in table.schema["fields"]} for row in model
    ]
    assert _rows(table.path) == sorted(expected, key=lambda row: row["k"])
    if expected and mapping == "name":
        assert _rows(table.path) == _theirs(table.path)


def test_without_mapping_columns_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, pa.schema([("k", pa.int64()), ("a", pa.int64()), ("b", pa.string())]))
    table.append(pa.table({"b": ["x"], "k": [1]}))
    table.append(pa.table({"a": [5], "k": [2], "gone": [9], "b": ["y"]}))
    assert _rows(table.path) == [{"k": 1, "a": None, "b": "x"}, {"k": 2, "a": 5, "b": "y"}]
    assert _rows(table.path) == _theirs(table.path)


def test_fields_added_inside_structs_lists_and_maps_are_null_in_old_files(tmp_path: Path) -> None:
    new = pa.struct([("x", pa.int64()), ("y", pa.int64())])
    old = pa.struct([("x", pa.int64())])

    def columns(kind: pa.DataType) -> pa.Schema:
        nested = {"s": kind, "l": pa.list_(kind), "m": pa.map_(pa.string(), kind)}
        return pa.schema([("k", pa.int64()), *nested.items()])

    table = DeltaBuilder(tmp_path, columns(new))
    value = {"x": 1}
    table.append(pa.Table.from_pylist([{"k": 1, "s": value, "l": [value, None], "m": [("a", value)]}], columns(old)))
    both = {"x": 2, "y": 3}
    table.append(pa.Table.from_pylist([{"k": 2, "s": both, "l": [], "m": None}], columns(new)))
    less = {"x": 1, "y": None}
    assert _rows(table.path) == [
        {"k": 1, "s": less, "l": [less, None], "m": [("a", less)]},
        {"k": 2, "s": both, "l": [], "m": None},
    ]
