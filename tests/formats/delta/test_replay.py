import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakescan
from lakescan.errors import CorruptLog, UnsupportedFeature
from tests.examples import examples
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64())])
PATHS = ["a", "b", "c%20d"]
# A file's deletion vector: none, or one of two.
VECTORS: list[dict[str, Any] | None] = [
    None,
    {"storageType": "u", "pathOrInlineDv": "x" * 20, "offset": 1, "sizeInBytes": 4, "cardinality": 1},
    {"storageType": "i", "pathOrInlineDv": "y" * 20, "sizeInBytes": 4, "cardinality": 2},
]
ACTIONS = st.tuples(st.sampled_from(["add", "remove"]), st.sampled_from(PATHS), st.sampled_from([0, 1, 2]))


def action(kind: str, path: str, vector: int, size: int) -> dict[str, Any]:
    fields: dict[str, Any] = {"path": path}
    if kind == "add":
        fields |= {
            "size": size,
            "modificationTime": 0,
            "partitionValues": {},
            "stats": json.dumps({"numRecords": size}),
        }
    if VECTORS[vector] is not None:
        fields["deletionVector"] = VECTORS[vector]
    return {kind: fields}


def write_checkpoint(builder: DeltaBuilder, adds: list[dict[str, Any]]) -> None:
    texts = pa.map_(pa.string(), pa.string())
    vector = pa.struct(
        [
            ("storageType", pa.string()),
            ("pathOrInlineDv", pa.string()),
            ("offset", pa.int32()),
            ("sizeInBytes", pa.int32()),
            ("cardinality", pa.int64()),
        ]
    )
    add = [("path", pa.string()), ("size", pa.int64()), ("modificationTime", pa.int64()), ("partitionValues", texts)]
    schema = pa.schema(
        [
            ("protocol", pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())])),
            ("metaData", pa.struct([("id", pa.string()), ("schemaString", pa.string()), ("configuration", texts)])),
            ("add", pa.struct([*add, ("stats", pa.string()), ("deletionVector", vector)])),
        ]
    )
    rows = [builder.protocol(), builder.metadata(), *adds]
    pq.write_table(pa.Table.from_pylist(rows, schema), builder.log / f"{builder.version:020d}.checkpoint.parquet")


@given(
    commits=st.lists(st.lists(ACTIONS, max_size=5), min_size=1, max_size=5),
    checkpoint=st.one_of(st.none(), st.integers(0, 4)),
    forget=st.booleans(),
)
@settings(max_examples=examples(60), deadline=None)
def test_any_sequence_of_adds_and_removes_leaves_the_files_that_a_dictionary_would_hold(
    tmp_path_factory: pytest.TempPathFactory,
    commits: list[list[tuple[str, str, int]]],
    checkpoint: int | None,
    forget: bool,
) -> None:
    builder = DeltaBuilder(tmp_path_factory.mktemp("t"), SCHEMA)
    model: dict[tuple[str, int], int] = {}
    size = 0
    for number, entries in enumerate(commits):
        actions: list[dict[str, Any]] = [{"commitInfo": {}}]
        for kind, path, vector in entries:
            size += 1
            actions.append(action(kind, path, vector, size))
            if kind == "add":
                model[path, vector] = size
            else:
                model.pop((path, vector), None)
        builder.commit(*actions)
        if number == checkpoint:
            write_checkpoint(builder, [action("add", *key, bytes_) for key, bytes_ in model.items()])
            if forget:
                for version in range(builder.version + 1):
                    (builder.log / f"{version:020d}.json").unlink()
    snapshot = lakescan.open(builder.path).snapshot()
    files = snapshot.files()
    cardinalities = [0 if vector is None else vector["cardinality"] for vector in files["deletion_vector"].to_pylist()]
    live = sorted(zip(files["path"].to_pylist(), cardinalities, files["size"].to_pylist(), strict=True))
    assert live == sorted((path, vector, size) for (path, vector), size in model.items())
    # Each file's statistics are its own, wherever they were written.
    counts = [row["row_count"] for row in snapshot.statistics(files, []).to_pylist()]
    assert counts == files["size"].to_pylist()


def test_the_newest_protocol_and_metadata_win_and_older_versions_keep_theirs(tmp_path: Path) -> None:
    builder = DeltaBuilder(tmp_path, SCHEMA)
    builder.schema["fields"].append({"name": "new", "type": "string", "nullable": True, "metadata": {}})
    builder.commit(builder.metadata())
    builder.commit({"commitInfo": {}})
    table = lakescan.open(builder.path)
    assert table.snapshot().schema.names == ["id", "new"]
    assert table.snapshot(version=0).schema.names == ["id"]


@pytest.mark.parametrize("lost", ["protocol", "metaData"])
def test_a_log_without_protocol_or_metadata_is_corrupt(tmp_path: Path, lost: str) -> None:
    builder = DeltaBuilder(tmp_path, SCHEMA, create=False)
    builder.commit(builder.metadata() if lost == "protocol" else builder.protocol())
    with pytest.raises(CorruptLog, match=f"{builder.log} is corrupt: no {lost} action up to version 0"):
        lakescan.open(builder.path).snapshot()


def test_an_unsupported_reader_feature_is_refused_by_name_before_any_data_is_read(tmp_path: Path) -> None:
    builder = DeltaBuilder(tmp_path, SCHEMA, features=["deletionVectors", "timeTravelToMars"])
    (builder.root / builder.append(pa.table({"id": [1]}))["add"]["path"]).unlink()
    with pytest.raises(UnsupportedFeature, match=f"{builder.path} needs the table feature timeTravelToMars"):
        lakescan.open(builder.path).snapshot()


@pytest.mark.parametrize(
    "schema",
    ["[]", "5", "{", '{"type": "struct"}', '{"fields": [{"name": "a"}]}', '{"fields": [{"name": "a", "type": {}}]}'],
)
def test_a_malformed_schema_is_told_when_the_table_is_opened(tmp_path: Path, schema: str) -> None:
    builder = DeltaBuilder(tmp_path, SCHEMA, create=False)
    metadata = builder.metadata()
    metadata["metaData"]["schemaString"] = schema
    builder.commit(builder.protocol(), metadata)
    with pytest.raises(lakescan.LakescanError):
        lakescan.open(builder.path).snapshot()


@pytest.mark.parametrize("column", ["nope", "ID"])
def test_a_partition_column_that_is_not_in_the_schema_is_refused_by_name(tmp_path: Path, column: str) -> None:
    builder = DeltaBuilder(tmp_path, SCHEMA, partition_by=[column])
    with pytest.raises(CorruptLog, match=f"partitioned by {column}, which is not a column of its schema"):
        lakescan.open(builder.path).snapshot()
