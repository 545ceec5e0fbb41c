"""A stream that Delta Spark began and Lakescan goes on with: which rows are left, from offsets derived by hand."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakescan.errors import ChangeNotAllowed, HalfReadCommit, InvalidOffset, SchemaChanged
from lakescan.formats.delta.stream.schema_log import SchemaFolder
from tests.formats.delta.stream.engine import Engine, pin
from tests.tables import DeltaBuilder

ID = pa.schema([("id", pa.int64())])
FEED = {"delta.enableChangeDataFeed": "true"}


def ids(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array(numbers, pa.int64())})


def offset(built: DeltaBuilder, version: int, index: int, snapshot: bool = False) -> str:
    """As Delta writes it."""
    return json.dumps(
        {
            "sourceVersion": 3 if index in (-20, -19) else 1,
            "reservoirId": built.metadata()["metaData"]["id"],
            "reservoirVersion": version,
            "index": index,
            "isStartingVersion": snapshot,
        }
    )


def going_on(built: DeltaBuilder, end: str, **options: Any) -> Engine:
    """A stream whose one batch so far Delta has finished."""
    engine = Engine(built.path, {"maxFilesPerTrigger": 1, **options}, offsets=[end], finished=1)
    engine.drain()
    return engine


def numbers(engine: Engine) -> list[int]:
    return [row["id"] for row in engine.rows]


def several(built: DeltaBuilder, *ones: int) -> list[dict[str, Any]]:
    """A commit of a file for each number."""
    adds = [built.add(ids(one)) for one in ones]
    built.commit(*adds)
    return adds


@pytest.fixture
def built(tmp_path: Path) -> DeltaBuilder:
    """1: ids 0, 1 and 2; 2: ids 3, 4 and 5; a file each."""
    made = DeltaBuilder(tmp_path / "table", ID, properties=FEED)
    several(made, 0, 1, 2)
    several(made, 3, 4, 5)
    return made


@pytest.mark.parametrize(
    ("index", "left"), [(-1, [3, 4, 5]), (-20, [3, 4, 5]), (-19, [3, 4, 5]), (0, [4, 5]), (1, [5]), (2, [])]
)
@pytest.mark.parametrize("feed", ["false", "true"])
def test_a_stream_goes_on_inside_a_commit(built: DeltaBuilder, index: int, left: list[int], feed: str) -> None:
    assert numbers(going_on(built, offset(built, 2, index), readChangeFeed=feed)) == left


@pytest.mark.parametrize(("index", "left"), [(0, [1, 2, 3, 4, 5]), (1, [2, 3, 4, 5]), (2, [3, 4, 5])])
@pytest.mark.parametrize("feed", ["false", "true"])
def test_a_stream_goes_on_inside_the_initial_snapshot(
    built: DeltaBuilder, index: int, left: list[int], feed: str
) -> None:
    assert numbers(going_on(built, offset(built, 1, index, snapshot=True), readChangeFeed=feed)) == left


def test_files_of_a_snapshot_stand_by_time_and_then_by_path_as_the_log_writes_it(tmp_path: Path) -> None:
    made = DeltaBuilder(tmp_path, ID)
    # Escaped, a space (%20) stands before a dot, and so does every letter that is not of ASCII (%C3).
    names = ["b.parquet", "a.b", "a b", "aä", "a%b"]
    adds = [made.add(ids(at), name=name) for at, name in enumerate(names)]
    for add in adds[1:]:
        add["add"]["modificationTime"] = 5
    made.commit(*adds)
    assert [add["add"]["path"] for add in adds] == ["b.parquet", "a.b", "a%20b", "a%C3%A4", "a%25b"]
    assert numbers(going_on(made, offset(made, 1, -1, snapshot=True))) == [2, 4, 3, 1, 0]
    assert numbers(going_on(made, offset(made, 1, 1, snapshot=True))) == [3, 1, 0]


def test_a_batch_that_delta_has_planned_and_not_finished_has_the_files_between_its_offsets(built: DeltaBuilder) -> None:
    engine = Engine(built.path, offsets=[offset(built, 1, 0, snapshot=True), offset(built, 2, 1)], finished=1)
    engine.batch()
    assert sorted(numbers(engine)) == [1, 2, 3, 4]
    engine.drain()
    assert numbers(engine)[4:] == [5]


@pytest.mark.parametrize(
    ("version", "index", "snapshot", "options", "expected"),
    [
        (2, 3, True, {}, [0, 1, 2, 3]),
        # Past the snapshot, Delta takes the one before the end: its rows were in the batch in any case.
        (2, 0, False, {}, [0, 1, 2, 3]),
        (2, -1, False, {}, [0, 1, 2]),
        (3, -1, False, {}, [0, 1, 2, 3, 4, 5]),
        (2, 1, False, {"startingVersion": 2}, [3, 4]),
        (3, -1, False, {"startingVersion": 1}, [0, 1, 2, 3, 4, 5]),
        (2, -20, False, {"startingVersion": 1}, [0, 1, 2]),
    ],
)
def test_a_first_batch_that_delta_did_not_finish_begins_where_delta_begins_it(
    built: DeltaBuilder, version: int, index: int, snapshot: bool, options: dict[str, Any], expected: list[int]
) -> None:
    engine = Engine(built.path, options, offsets=[offset(built, version, index, snapshot)])
    engine.batch()
    assert sorted(numbers(engine)) == expected


def test_a_first_batch_whose_beginning_nobody_knows_any_more_is_refused(built: DeltaBuilder) -> None:
    # Delta Spark takes the newest version of today, and gives none of the batch's rows.
    engine = Engine(built.path, {"startingVersion": "latest"}, offsets=[offset(built, 2, 1)])
    with pytest.raises(InvalidOffset, match="give the option startingVersion the number"):
        engine.batch()
    again = Engine(built.path, {"startingVersion": 2}, offsets=engine.offsets)
    again.batch()
    assert numbers(again) == [3, 4]


@pytest.mark.parametrize(
    ("index", "left"),
    [
        (-1, [("delete", 0), ("insert", 6), ("delete", 1), ("insert", 7)]),
        (0, [("insert", 6), ("delete", 1), ("insert", 7)]),
        (1, [("delete", 1), ("insert", 7)]),
        (2, [("insert", 7)]),
        (3, []),
    ],
)
def test_the_feed_goes_on_between_removed_and_added_files_in_the_order_of_the_commit(
    tmp_path: Path, index: int, left: list[tuple[str, int]]
) -> None:
    made = DeltaBuilder(tmp_path, ID, properties=FEED)
    first, second, _ = several(made, 0, 1, 2)
    moved = made.add(ids(8))
    moved["add"]["dataChange"] = False
    made.commit(made.remove(first), moved, made.add(ids(6)), made.remove(second), made.add(ids(7)))
    rows = going_on(made, offset(made, 2, index), readChangeFeed="true").rows
    assert [(row["_change_type"], row["id"]) for row in rows] == left


def test_the_feed_goes_on_behind_the_change_files_and_is_refused_among_them(tmp_path: Path) -> None:
    made = DeltaBuilder(tmp_path, ID, properties=FEED)
    (first,) = several(made, 0)
    change = made.add(pa.table({"id": pa.array([0], pa.int64()), "_change_type": ["delete"]}), name="_change_data/a")
    other = made.add(pa.table({"id": pa.array([5], pa.int64()), "_change_type": ["insert"]}), name="_change_data/b")
    made.commit(made.remove(first), made.add(ids(5)), {"cdc": change["add"]}, {"cdc": other["add"]})
    several(made, 6)
    assert numbers(going_on(made, offset(made, 2, 1), readChangeFeed="true")) == [6]
    with pytest.raises(HalfReadCommit, match="stopped inside version 2"):
        going_on(made, offset(made, 2, 0), readChangeFeed="true")


def test_the_feed_is_refused_among_deletion_vectors(tmp_path: Path) -> None:
    made = DeltaBuilder(tmp_path, ID, properties=FEED, features=["deletionVectors"])
    added = made.append(ids(0, 1, 2))
    made.delete(added, [1])
    assert numbers(going_on(made, offset(made, 2, -1), readChangeFeed="true")) == [1]
    with pytest.raises(HalfReadCommit, match="stopped inside version 2"):
        going_on(made, offset(made, 2, 0), readChangeFeed="true")


def test_files_that_the_options_leave_out_of_a_half_given_commit_are_not_given(tmp_path: Path) -> None:
    made = DeltaBuilder(tmp_path, ID)
    first, _ = several(made, 0, 1)
    made.commit(made.remove(first), made.add(ids(5)), made.add(ids(6)), made.add(ids(7)))
    several(made, 9)
    assert numbers(going_on(made, offset(made, 2, 1), ignoreChanges="true")) == [7, 9]
    assert numbers(going_on(made, offset(made, 2, 1), skipChangeCommits="true")) == [9]


# The schema log that Delta Spark 4.4 wrote for a stream past a renamed column; ids, paths and protocol as they were.
TABLE = "dea61720-8587-4c1c-b135-a4ef35535b66"
_COLUMN = (
    '{\\"name\\":\\"id\\",\\"type\\":\\"long\\",\\"nullable\\":true,\\"metadata\\":{\\"delta.columnMapping.id\\":1,'
    '\\"delta.columnMapping.physicalName\\":\\"col-id\\"}},{\\"name\\":\\"%s\\",\\"type\\":\\"string\\",'
    '\\"nullable\\":true,\\"metadata\\":{\\"delta.columnMapping.id\\":2,'
    '\\"delta.columnMapping.physicalName\\":\\"col-old\\"}}'
)
ENTRY = (
    'v1\n{"tableId":"%s","deltaCommitVersion":%d,"dataSchemaJson":"{\\"type\\":\\"struct\\",\\"fields\\":['
    + _COLUMN
    + ']}","partitionSchemaJson":"{\\"type\\":\\"struct\\",\\"fields\\":[]}","sourceMetadataPath":"file:/ck/sources/0",'
    '"tableConfigurations":{"delta.columnMapping.mode":"name","delta.columnMapping.maxColumnId":"2"},"protocolJson":'
    '"{\\"protocol\\":{\\"minReaderVersion\\":2,\\"minWriterVersion\\":7,\\"writerFeatures\\":[\\"columnMapping\\",'
    '\\"invariants\\",\\"appendOnly\\"]}}"%s}'
)


def renamed(root: Path) -> DeltaBuilder:
    """1: ids 0 and 1 with a column `old`; 2 and 3: it is renamed to `new` and to `newest`; 4: id 2."""
    made = DeltaBuilder(root, pa.schema([("id", pa.int64()), ("old", pa.string())]), mapping="name")
    made.commit(*[made.add(pa.table({"id": pa.array([at], pa.int64()), "old": [f"v{at}"]})) for at in (0, 1)])
    for name in ("new", "newest"):
        made.schema["fields"][1]["name"] = name
        made.commit(made.metadata())
    made.append(pa.table({"id": pa.array([2], pa.int64()), "newest": ["v2"]}))
    return made


def written(made: DeltaBuilder, folder: Path, *entries: tuple[int, str, str]) -> Path:
    """Delta's log with these versions and names of the column."""
    table_id = made.metadata()["metaData"]["id"]
    log = folder / f"_schema_log_{table_id}"
    log.mkdir(parents=True)
    physical = [field["metadata"]["delta.columnMapping.physicalName"] for field in made.schema["fields"]]
    for number, (version, name, more) in enumerate(entries):
        text = (ENTRY % (table_id, version, name, more)).replace("col-id", physical[0]).replace("col-old", physical[1])
        (log / str(number)).write_text(text)
    return log


def test_a_schema_log_of_deltas_is_gone_on_with(tmp_path: Path) -> None:
    made = renamed(tmp_path / "table")
    log = written(made, tmp_path / "schemas", (1, "old", ""))
    options = {"schemaTrackingLocation": str(tmp_path / "schemas")}
    engine = Engine(made.path, options, offsets=[offset(made, 1, 0)], finished=1)
    stopped = 0
    while stopped < 5:
        try:
            engine.drain()
            break
        except SchemaChanged:
            stopped += 1
            engine.restart()
    assert stopped == 2
    assert engine.rows == [{"id": 1, "old": "v1"}, {"id": 2, "newest": "v2"}]
    entries = [json.loads((log / str(number)).read_text().split("\n")[1]) for number in range(3)]
    assert [entry["deltaCommitVersion"] for entry in entries] == [1, 2, 3]
    # Delta Spark goes on with no other source's log.
    assert {entry["sourceMetadataPath"] for entry in entries} == {"file:/ck/sources/0"}
    assert [json.loads(entry["dataSchemaJson"])["fields"][1]["name"] for entry in entries] == ["old", "new", "newest"]
    assert entries[2].keys() == entries[0].keys() - {"protocolJson"}


@pytest.mark.parametrize("index", [-20, -19, -1])
def test_a_schema_that_delta_wrote_down_is_not_stopped_at_again(tmp_path: Path, index: int) -> None:
    made = renamed(tmp_path / "table")
    # Of two changes in a row Delta Spark writes down both at once, and where the entry before them is.
    entries = [(1, "old", ""), (2, "new", ""), (3, "newest", ',"previousMetadataSeqNum":0')]
    written(made, tmp_path / "schemas", *entries)
    options = {"schemaTrackingLocation": str(tmp_path / "schemas")}
    assert going_on(made, offset(made, 2, index), **options).rows == [{"id": 2, "newest": "v2"}]
    log = SchemaFolder(str(tmp_path / "schemas")).of(made.metadata()["metaData"]["id"])
    change = log.newest_change()
    assert change is not None
    assert (change[0], change[1].schema.names, change[2].schema.names) == (3, ["id", "old"], ["id", "newest"])
    with pytest.raises(ChangeNotAllowed, match="allowSourceColumnRename"):
        pin(made.path, allowSourceColumnDrop="always", **options)


def test_a_schema_log_that_an_older_release_wrote_goes_on(tmp_path: Path) -> None:
    made = renamed(tmp_path / "table")
    now = made.metadata()["metaData"]
    schema = json.loads(now["schemaString"])
    schema["fields"][1]["name"] = "old"
    older = {"id": now["id"], "schema": schema, "partitionColumns": [], "configuration": {}, "mapsColumns": True}
    older["configuration"] = now["configuration"]
    (tmp_path / "schemas" / "mine").mkdir(parents=True)
    (tmp_path / "schemas" / "mine" / f"{1:020d}.schema.json").write_text(json.dumps(older))
    options = {"schemaTrackingLocation": str(tmp_path / "schemas"), "streamingSourceTrackingId": "mine"}
    engine = Engine(made.path, options, offsets=[offset(made, 2, -1)], finished=1)
    assert engine.pinned.schema.names == ["id", "old"]
    with pytest.raises(SchemaChanged):
        engine.drain()
    (entry,) = (tmp_path / "schemas").glob("_schema_log_*_mine/*")
    assert entry.name == "0"
    log = SchemaFolder(str(tmp_path / "schemas"), "mine").of(now["id"])
    change = log.newest_change()
    assert change is not None
    assert (change[0], change[1].schema.names, change[2].schema.names) == (2, ["id", "old"], ["id", "new"])
