"""Logs that lie or are damaged: the right rows by another way, or an error by name; never fewer rows, never others."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakescan
from lakescan.errors import (
    CheckpointIgnored,
    CompactionIgnored,
    CorruptLog,
    LakescanError,
    UnreadableCheckpoint,
    UnreadableCompaction,
)
from lakescan.scan.packing import pack
from tests.formats.delta.feeds import feed, rows
from tests.tables import DeltaBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
IDS = [0, 1, 10, 11, 20, 21]


def build(root: Path, **arguments: Any) -> DeltaBuilder:
    table = DeltaBuilder(root, SCHEMA, partition_by=["p"], features=["deletionVectors", "v2Checkpoint"], **arguments)
    for at in range(3):
        table.append(pa.table({"id": [10 * at, 10 * at + 1]}), partition={"p": str(at)})
    return table


def ids(table: DeltaBuilder, version: int | None = None) -> list[int]:
    return sorted(lakescan.open(table.path).snapshot(version).scan().build().to_arrow()["id"].to_pylist())


def edited(file: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Each line of a log file after an edit; None takes it out, a list makes several of it."""
    lines: list[Any] = []
    for line in file.read_text().splitlines():
        edited_line = edit(json.loads(line))
        lines.extend(edited_line if isinstance(edited_line, list) else [] if edited_line is None else [edited_line])
    file.write_text("\n".join(map(json.dumps, lines)) + "\n")


def rewritten(file: Path, edit: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(edit(pq.read_table(file)), file)


def without(name: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.drop_columns([name])


def with_add(**fields: Any) -> Callable[[pa.Table], pa.Table]:
    """The checkpoint's adds with some fields set, in whatever type the values have."""

    def edit(table: pa.Table) -> pa.Table:
        made = [row if row is None else {**row, **fields} for row in table["add"].to_pylist()]
        types = {field.name: field.type for field in table.schema.field("add").type}
        types |= {name: pa.array([value]).type for name, value in fields.items() if value is not None}
        at = table.schema.get_field_index("add")
        return table.set_column(at, "add", pa.array(made, pa.struct(list(types.items()))))

    return edit


def doubled(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table.filter(table["add"].is_valid())])


BROKEN: dict[str, Callable[[pa.Table], pa.Table]] = {
    "no add column": without("add"),
    "an add without a path": with_add(path=None),
    "an add without a size": with_add(size=None),
    "a negative size": with_add(size=-1),
    "a path that is a number": with_add(path=[1]),
    "partition values that are text": with_add(partitionValues="x"),
    "no partition values": with_add(partitionValues=None),
    "a vector that is text": with_add(deletionVector="x"),
    "every add twice": doubled,
    "an add column of text": lambda table: table.set_column(
        table.schema.get_field_index("add"), "add", pa.array(["x"] * len(table))
    ),
    "a path that is no text": lambda table: with_add(path=b"\xff\xfe")(table),
}


@pytest.mark.parametrize("kind", [{}, {"parts": 2}, {"top": "parquet"}, {"top": "json"}])
@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_checkpoint_is_never_a_table_with_fewer_or_more_rows(
    how: str, kind: dict[str, Any], tmp_path: Path
) -> None:
    table = build(tmp_path)
    files = table.checkpoint(**kind)
    rewritten(files[-1], BROKEN[how])
    with pytest.warns(CheckpointIgnored, match="checkpoint"):
        assert ids(table) == IDS
    table.clean_log(3)
    (table.log / f"{3:020d}.json").unlink()
    with pytest.raises(UnreadableCheckpoint, match="checkpoint"):
        ids(table)


@pytest.mark.parametrize("how", ["twice", "no object", "no path", "another size"])
def test_a_broken_sidecar_line_is_told(how: str, tmp_path: Path) -> None:
    table = build(tmp_path)
    main, *_ = table.checkpoint(top="json")

    def edit(line: dict[str, Any]) -> Any:
        if "sidecar" not in line:
            return line
        named = line["sidecar"]
        changed: dict[str, Any] = {
            "twice": [line, line],
            "no object": {"sidecar": "x"},
            "no path": {"sidecar": {**named, "path": None}},
            "another size": {"sidecar": {**named, "sizeInBytes": 1}},
        }
        return changed[how]

    edited(main, edit)
    with pytest.warns(CheckpointIgnored):
        assert ids(table) == IDS
    for version in range(4):
        (table.log / f"{version:020d}.json").unlink()
    with pytest.raises(UnreadableCheckpoint):
        ids(table)


@pytest.mark.parametrize("gone", [False, True])
def test_a_compacted_file_that_contradicts_itself_gives_way_to_the_commits(gone: bool, tmp_path: Path) -> None:
    table = build(tmp_path)
    removed = json.loads((table.log / f"{1:020d}.json").read_text())
    table.commit(table.remove(removed))
    file = table.compact(0, 4)
    file.write_text(file.read_text() + json.dumps(removed) + "\n")
    if not gone:
        with pytest.warns(CompactionIgnored, match=r"speaks more than once of the file part-00001\.parquet"):
            assert ids(table) == [10, 11, 20, 21]
        return
    (table.log / f"{2:020d}.json").unlink()
    with pytest.raises(UnreadableCompaction, match=r"compacted\.json is corrupt: it speaks more than once"):
        ids(table)


def test_a_damaged_compacted_file_gives_way_to_the_commits(tmp_path: Path) -> None:
    table = build(tmp_path)
    table.compact(1, 3).write_text('{"add": {"pbth"')
    with pytest.warns(CompactionIgnored):
        assert ids(table) == IDS


BROKEN_ADDS: dict[str, dict[str, Any]] = {
    "no path": {"path": None, "pbth": "part-00002.parquet"},
    "an empty path": {"path": ""},
    "no size": {"size": None},
    "a negative size": {"size": -7},
    "a size that is text": {"size": "9"},
    "no partition values": {"partitionValues": None},
    "a vector without a kind": {"deletionVector": {"pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}},
    "a vector of no known kind": {
        "deletionVector": {"storageType": "x", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
    },
    "a negative cardinality": {
        "deletionVector": {"storageType": "u", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": -1}
    },
    "a vector that is text": {"deletionVector": "x"},
    "a cardinality that is text": {
        "deletionVector": {"storageType": "u", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": "1"}
    },
}


@pytest.mark.parametrize("how", BROKEN_ADDS)
def test_a_broken_add_is_refused_by_snapshots_changes_and_streams_alike(how: str, tmp_path: Path) -> None:
    table = build(tmp_path, properties={"delta.enableChangeDataFeed": "true"})
    edited(table.log / f"{2:020d}.json", lambda line: {"add": {**line["add"], **BROKEN_ADDS[how]}})
    opened = lakescan.open(table.path)
    with pytest.raises(CorruptLog, match=f"{2:020d}.json"):
        opened.snapshot().files()
    with pytest.raises(CorruptLog, match=f"{2:020d}.json"):
        opened.changes(1).files()
    with pytest.raises(CorruptLog, match=f"{2:020d}.json"):
        [commit.adds for commit in opened.commits(1)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["remove", "cdc"])
def test_a_broken_remove_or_change_file_is_refused_by_changes(kind: str, tmp_path: Path) -> None:
    table = feed(tmp_path)
    table.append(rows(1, 2))
    table.commit({kind: {"pbth": "part-00001.parquet", "size": 1, "dataChange": True}})
    with pytest.raises(CorruptLog, match=f"a {kind} action without a path"):
        lakescan.open(table.path).changes(1).files()


def test_a_file_that_a_commit_adds_twice_is_no_new_rows_twice(tmp_path: Path) -> None:
    table = feed(tmp_path)
    table.append(rows(1, 2))
    edited(table.log / f"{1:020d}.json", lambda line: [line, line])
    assert ids(table) == [1, 2]
    with pytest.raises(CorruptLog, match=r"two add actions for the file part-00001\.parquet"):
        lakescan.open(table.path).changes(1).files()


def test_a_file_that_is_live_with_and_without_a_vector_is_refused(tmp_path: Path) -> None:
    table = build(tmp_path)
    added = json.loads((table.log / f"{1:020d}.json").read_text())
    table.commit({"add": {**added["add"], "deletionVector": table.vector([0])}})
    with pytest.raises(CorruptLog, match=r"has the file part-00001\.parquet twice"):
        ids(table)


METADATA: dict[str, Any] = {
    "configuration": [[], "x", 5, {"a": {"b": 1}}],
    "partitionColumns": ["p", {"p": 1}, [1], ["p", "p"]],
    "schemaString": [5, {"type": "struct"}, "[]", '{"type": "strucu", "fields": []}', "[" * 100_000],
    "format": ["parquet", 5],
    "id": [[], {}],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in METADATA.items() for value in values])
def test_metadata_of_other_types_is_a_corrupt_log_that_names_the_file(field: str, value: Any, tmp_path: Path) -> None:
    table = build(tmp_path)
    if field == "configuration" and value == []:
        pytest.skip("an empty list of pairs is an empty map")
    edited(table.log / f"{0:020d}.json", lambda line: _with(line, "metaData", **{field: value}))
    with pytest.raises(CorruptLog, match=f"{0:020d}.json is corrupt"):
        lakescan.open(table.path).snapshot()


@pytest.mark.parametrize(
    "fields",
    [
        {"minReaderVersion": "x"},
        {"minReaderVersion": None},
        {"minReaderVersion": True},
        {"minReaderVersion": 1.5},
        {"minReaderVersion": 1},
        {"readerFeatures": "deletionVectors"},
        {"readerFeatures": None},
        {"readerFeatures": [1]},
        {"minWriterVersion": []},
    ],
)
def test_a_protocol_of_other_types_is_a_corrupt_log_that_names_the_file(fields: dict[str, Any], tmp_path: Path) -> None:
    table = build(tmp_path)
    edited(table.log / f"{0:020d}.json", lambda line: _with(line, "protocol", **fields))
    with pytest.raises(CorruptLog, match=f"{0:020d}.json is corrupt"):
        lakescan.open(table.path).snapshot()


def _with(line: dict[str, Any], kind: str, **fields: Any) -> dict[str, Any]:
    return {kind: {**line[kind], **fields}} if kind in line else line


def _column(**fields: Any) -> dict[str, Any]:
    return {"name": "id", "type": "long", "nullable": True, "metadata": {}, **fields}


def _deep(depth: int) -> Any:
    type_: Any = "long"
    for _ in range(depth):
        type_ = {"type": "array", "elementType": type_, "containsNull": True}
    return type_


@pytest.mark.parametrize(
    "fields",
    [
        [_column(name=5)],
        [_column(type=None)],
        [_column(type=5)],
        [_column(type=[])],
        [_column(nullable="x")],
        [_column(metadata=[])],
        [_column(metadata={"delta.typeChanges": "x"})],
        [_column(metadata={"delta.typeChanges": [1]})],
        [_column(metadata={"delta.columnMapping.physicalName": 1})],
        [_column(metadata={"__COLLATIONS": []})],
        [_column(), _column()],
        [_column(type={"type": "array", "elementType": "long"})],
        [_column(type={"type": "map", "keyType": "long", "valueContainsNull": True})],
        [_column(type={"type": "struct", "fields": 5})],
        [_column(type=_deep(101))],
        [_column(name="half of a character \ud800")],
        "x",
    ],
)
def test_a_schema_of_another_shape_is_a_corrupt_log_that_names_the_file(fields: Any, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, {"type": "struct", "fields": fields})
    with pytest.raises(CorruptLog, match=f"{0:020d}.json is corrupt"):
        lakescan.open(table.path).snapshot()


def test_a_deep_schema_is_read(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, {"type": "struct", "fields": [_column(type=_deep(99))]})
    assert lakescan.open(table.path).snapshot().schema.names == ["id"]


@pytest.mark.parametrize("lost", ["delta.columnMapping.physicalName", "delta.columnMapping.id"])
def test_a_mapped_column_without_its_mapping_is_refused_and_not_null(lost: str, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path, SCHEMA, mapping="id", create=False)
    del table.schema["fields"][0]["metadata"][lost]
    table.commit(table.protocol(), table.metadata())
    with pytest.raises(CorruptLog, match=f"the column id has no {lost}"):
        lakescan.open(table.path).snapshot()


@pytest.mark.parametrize("text", [b"\xff", b"caf\xe9"])
def test_a_log_that_is_no_utf_8_is_corrupt(text: bytes, tmp_path: Path) -> None:
    table = build(tmp_path)
    commit = table.log / f"{2:020d}.json"
    commit.write_bytes(commit.read_bytes().replace(b"part-00002", text))
    with pytest.raises(CorruptLog, match=f"{2:020d}.json is corrupt: it is no UTF-8 text"):
        ids(table)


def test_deep_statistics_are_unknown_and_deep_tags_are_nobodys_concern(tmp_path: Path) -> None:
    table = build(tmp_path)
    deep = '{"numRecords": 2, "minValues": ' + '{"id": ' * 100_000 + "1" + "}" * 100_000 + "}"
    edited(table.log / f"{2:020d}.json", lambda line: {"add": {**line["add"], "stats": deep}})
    commit = table.log / f"{3:020d}.json"
    commit.write_text(commit.read_text().replace('"stats"', '"tags": ' + "[" * 5000 + "]" * 5000 + ', "stats"'))
    assert lakescan.open(table.path).snapshot().scan().filter("id > 5").build().to_arrow().num_rows == 4


@pytest.mark.parametrize(
    "info", [{"operationMetrics": "x"}, {"readVersion": "x"}, {"operationParameters": 5}, {"job": ["x"]}]
)
def test_a_history_with_notes_of_other_types_is_a_corrupt_log(info: dict[str, Any], tmp_path: Path) -> None:
    table = build(tmp_path)
    table.commit({"commitInfo": info})
    with pytest.raises(CorruptLog, match=f"{4:020d}.json is corrupt: the field"):
        lakescan.open(table.path).history()


def test_a_vector_of_more_rows_than_its_file_has_does_not_drop_the_file(tmp_path: Path) -> None:
    table = build(tmp_path)
    added = json.loads((table.log / f"{2:020d}.json").read_text())
    vector = {**table.vector([0]), "cardinality": 5}
    table.commit(table.remove(added), {"add": {**added["add"], "deletionVector": vector}})
    snapshot = lakescan.open(table.path).snapshot()
    assert snapshot.scan().build().files().num_rows == 3
    with pytest.raises(LakescanError, match="should delete 5 rows"):
        snapshot.scan().build().to_arrow()
    # The count is not known, so the file has to be read for it too.
    with pytest.raises(LakescanError):
        snapshot.scan().limit(5).build().to_arrow()


@pytest.mark.parametrize("size", [2**45, 2**62])
def test_a_size_that_cannot_be_costs_no_more_than_a_large_file(size: int) -> None:
    files = pa.table(
        {
            "path": ["a", "b"],
            "size": pa.array([size, size], pa.int64()),
            "partition": pa.array([{}, {}], pa.struct([])),
            "deletion_vector": pa.nulls(2, pa.struct([("cardinality", pa.int64())])),
        }
    )
    tasks = pack(files, parallelism=4)
    pieces = pa.concat_tables([task.pieces for task in tasks])
    assert pieces.num_rows <= 2048
    assert pieces["start"].to_pylist()[0] == 0


@pytest.mark.parametrize(
    "stats",
    [
        {"numRecords": -2},
        {"numRecords": 2, "nullCount": {"id": 3}},
        {"numRecords": 2, "nullCount": {"id": 2}, "minValues": {"id": 10}, "maxValues": {"id": 11}},
        {"numRecords": 2, "nullCount": {"id": 0}, "minValues": {"id": 99}, "maxValues": {"id": 11}},
    ],
)
def test_statistics_that_contradict_themselves_skip_nothing(stats: dict[str, Any], tmp_path: Path) -> None:
    table = build(tmp_path)
    edited(table.log / f"{2:020d}.json", lambda line: {"add": {**line["add"], "stats": json.dumps(stats)}})
    scan = lakescan.open(table.path).snapshot().scan().filter("id = 10").build()
    assert scan.to_arrow()["id"].to_pylist() == [10]


def test_nothing_warns_where_nothing_is_wrong(tmp_path: Path) -> None:
    table = build(tmp_path)
    table.checkpoint(top="json")
    table.compact(1, 3)
    table.checksum()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ids(table) == IDS
