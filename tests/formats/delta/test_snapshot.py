import json
from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from lakescan.predicate import Column
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("p", pa.int32()), ("id", pa.int64())])


@pytest.fixture
def builder(tmp_path: Path) -> DeltaBuilder:
    table = DeltaBuilder(tmp_path, SCHEMA, partition_by=["p"], properties={"delta.appendOnly": "true"})
    for number in range(3):
        table.append(pa.table({"id": [number]}), partition={"p": str(number)})
    return table


def test_a_snapshot_says_what_it_is(builder: DeltaBuilder) -> None:
    snapshot = lakescan.open(builder.path).snapshot()
    assert (snapshot.format, snapshot.location, snapshot.version) == ("delta", builder.path, 3)
    assert snapshot.schema.equals(SCHEMA)
    assert snapshot.partition_columns == ("p",)
    assert snapshot.properties == {"delta.appendOnly": "true"}
    assert [field["name"] for field in json.loads(snapshot.schema_json)["fields"]] == ["p", "id"]
    assert snapshot.num_files == 3
    assert snapshot.size_in_bytes == sum(file.stat().st_size for file in builder.root.glob("*.parquet"))


def test_a_table_without_files_has_a_size_of_nothing(tmp_path: Path) -> None:
    snapshot = lakescan.open(DeltaBuilder(tmp_path, SCHEMA).path).snapshot()
    assert (snapshot.num_files, snapshot.size_in_bytes) == (0, 0)


def test_files_are_read_from_the_log_once_and_are_typed(builder: DeltaBuilder) -> None:
    snapshot = lakescan.open(builder.path).snapshot()
    files = snapshot.files()
    assert snapshot.files() is files
    assert files["partition"].to_pylist() == [{"p": 0}, {"p": 1}, {"p": 2}]
    assert files["partition"].type == pa.struct([("p", pa.int32())])
    assert files["deletion_vector"].null_count == 3


def test_statistics_are_given_for_any_rows_of_the_files_in_any_order(builder: DeltaBuilder) -> None:
    snapshot = lakescan.open(builder.path).snapshot()
    chosen = snapshot.files().take([2, 0, 2])
    statistics = snapshot.statistics(chosen, [Column(("id",))]).to_pylist()
    assert [row["minimum"]["id"] for row in statistics] == [2, 0, 2]


def test_a_snapshot_stays_at_its_version_while_the_table_goes_on(builder: DeltaBuilder) -> None:
    snapshot = lakescan.open(builder.path).snapshot()
    builder.append(pa.table({"id": [9]}), partition={"p": "9"})
    assert sorted(snapshot.scan().build().to_arrow()["id"].to_pylist()) == [0, 1, 2]


def test_a_metadata_action_without_a_schema_is_a_table_without_columns(tmp_path: Path) -> None:
    builder = DeltaBuilder(tmp_path, SCHEMA, create=False)
    metadata = builder.metadata()
    del metadata["metaData"]["schemaString"]
    builder.commit(builder.protocol(), metadata)
    assert lakescan.open(builder.path).snapshot().schema.names == []
