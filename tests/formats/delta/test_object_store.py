"""Delta tables in an object store: rows, answers and errors are those of local disk, and few requests are made."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import deltalake
import pyarrow as pa
import pytest

import lakescan
from lakescan import errors
from lakescan.formats.delta.stream.schema_log import SchemaFolder
from lakescan.io import locations, storage
from lakescan.io.configuration import FROM_ENVIRONMENT
from lakescan.io.locations import file_system
from lakescan.scan.snapshot import Table
from tests.object_store import BUCKET, ObjectStore
from tests.tables import DeltaBuilder, open_delta

pytestmark = pytest.mark.usefixtures("store")
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("place", pa.string())])
PLACES = ["a b", "100%", "ü/é", "x=1&y?#+"]
CHECKPOINT = "00000000000000000005.checkpoint.parquet"


def _rows(first: int) -> pa.Table:
    return pa.table({"id": range(first, first + 10), "name": [f"n{at}" for at in range(first, first + 10)]})


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> DeltaBuilder:
    """Odd partition values, column mapping, a deletion vector in a file, a checkpoint and a commit behind it."""
    feed = {"delta.enableChangeDataFeed": "true"}
    root = tmp_path_factory.mktemp("delta") / "table"
    table = DeltaBuilder(root, SCHEMA, ["place"], feed, ["deletionVectors"], mapping="name")
    adds = [
        table.append(
            _rows(at * 10), partition={"place": place}, name=f"place={quote(place, safe='')}/part-{at}.parquet"
        )
        for at, place in enumerate(PLACES)
    ]
    table.delete(adds[1], [0, 9])
    table.checkpoint()
    table.append(_rows(90), partition={"place": "a b"}, name="place=a b/part 9.parquet")
    return table


@pytest.fixture(scope="module")
def location(local: DeltaBuilder, object_store: ObjectStore) -> str:
    return object_store.put(local.root, "delta")


def _in_order(rows: pa.Table) -> list[dict[str, Any]]:
    return sorted(rows.to_pylist(), key=str)


def _read(table: Table, **at: Any) -> list[dict[str, Any]]:
    return _in_order(table.snapshot(**at).scan().build().to_arrow())


def test_a_table_reads_as_deltalake_reads_it_on_local_disk(location: str, local: DeltaBuilder) -> None:
    query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(local.path)).execute("SELECT * FROM t")
    expected = _in_order(pa.table(query.read_all()))
    assert len(expected) == 48
    assert _read(lakescan.open(location)) == expected


def test_older_versions_their_history_and_changes_are_those_of_local_disk(location: str, local: DeltaBuilder) -> None:
    table, expected = lakescan.open(location), lakescan.open(local.path)
    for version in (1, 4, 5):
        assert _read(table, version=version) == _read(expected, version=version)
    assert _read(lakescan.open(f"{location}@v4")) == _read(expected, version=4)
    assert table.history().drop_columns(["timestamp"]) == expected.history().drop_columns(["timestamp"])
    rows, wanted = (source.changes(1, local.version).scan().build().to_arrow() for source in (table, expected))
    assert rows.num_rows > 50
    stamp = ["_commit_timestamp"]
    assert _in_order(rows.drop_columns(stamp)) == _in_order(wanted.drop_columns(stamp))


def test_a_time_means_the_version_that_the_store_had_then(location: str) -> None:
    table = lakescan.open(location)
    for commit in table.history().to_pylist():
        assert table.snapshot(timestamp=commit["timestamp"]).version == commit["version"]
    with pytest.raises(errors.VersionNotFound, match=f"{location} cannot be read at"):
        table.snapshot(timestamp="2001-01-01")


@pytest.mark.parametrize("name", ["my tablé", "100%", "a#b", "a+b=c/d"])
def test_a_location_may_be_spelled_with_its_characters_or_escaped(
    name: str, store: ObjectStore, tmp_path: Path
) -> None:
    table = DeltaBuilder(tmp_path / "t", SCHEMA)
    table.append(pa.table({"id": [1], "name": ["x"], "place": ["y"]}))
    store.put(table.root, name)
    spellings = [f"s3://{BUCKET}/{name}", f"s3a://{BUCKET}/{quote(name)}", f"S3://{BUCKET}/{quote(name, safe='')}/"]
    for spelling in spellings:
        assert [row["id"] for row in _read(lakescan.open(spelling))] == [1], spelling


def test_a_table_may_be_a_whole_bucket(store: ObjectStore, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", SCHEMA)
    table.append(pa.table({"id": [1], "name": ["x"], "place": ["y"]}))
    store.put(table.root, "", "whole")
    for spelling in ("s3://whole", "s3a://whole/"):
        scan = lakescan.open(spelling).snapshot().scan().build()
        assert scan.to_arrow().num_rows == 1
        assert scan.files()["path"].to_pylist() == [f"{spelling.rstrip('/')}/part-00001.parquet"]


def test_a_table_that_deltalake_wrote_into_the_store_reads_the_same(store: ObjectStore) -> None:
    location = f"s3://{BUCKET}/by-deltalake"
    options = {**store.environment, "AWS_ALLOW_HTTP": "true", "AWS_S3_ALLOW_UNSAFE_RENAME": "true"}
    data = pa.table({"id": range(len(PLACES)), "place": PLACES})
    deltalake.write_deltalake(location, data, partition_by=["place"], storage_options=options)
    deltalake.write_deltalake(location, data, mode="append", storage_options=options)
    assert _read(lakescan.open(location)) == _in_order(pa.concat_tables([data, data]))


@pytest.mark.parametrize("root", ["s3a://{bucket}/", "s3://{bucket}/", "/"])
def test_a_clone_reads_the_files_and_vectors_of_its_source_wherever_they_are(
    root: str, store: ObjectStore, tmp_path: Path
) -> None:
    source = DeltaBuilder(tmp_path / "the source", SCHEMA, features=["deletionVectors"])
    kept = source.append(_rows(0), name="a b/kept#1.parquet")
    cut = source.delete(source.append(_rows(10)), range(1, 10), storage="p")
    # Names of this test's own: other tests put tables into the bucket too, and files stay there.
    place = f"{tmp_path.name}/the source/%"
    folder = root.format(bucket=BUCKET) + quote(place)
    vector = cut["add"]["deletionVector"]
    moved = {**vector, "pathOrInlineDv": f"{folder}/{os.path.basename(vector['pathOrInlineDv'])}"}
    clone = DeltaBuilder(tmp_path / "clone", SCHEMA, features=["deletionVectors"])
    clone.commit(
        {"add": {**kept["add"], "path": f"{folder}/{kept['add']['path']}"}},
        {"add": {**cut["add"], "path": f"{folder}/{cut['add']['path']}", "deletionVector": moved}},
    )
    store.put(source.root, place)
    location = store.put(clone.root, f"{tmp_path.name}/clone")
    scan = lakescan.open(location).snapshot().scan().build()
    assert sorted(scan.to_arrow()["id"].to_pylist()) == [*range(10), 10]
    assert all(path.startswith(("s3://", "s3a://")) for path in scan.files()["path"].to_pylist())


def test_the_schema_of_a_stream_may_be_kept_in_the_store(location: str) -> None:
    metadata = open_delta(location).snapshot().metadata
    log = SchemaFolder(f"s3a://{BUCKET}/schemas of", "a stream").of(metadata.table_id)
    assert log.newest() is None
    log.append(3, metadata)
    log.append(7, metadata)
    assert log.newest() == (7, metadata)


# What is gone, or refused, and the error that must say so.
def test_a_bucket_and_a_table_that_are_not_there_are_named(location: str) -> None:
    for missing in ("s3://nowhere/table", f"s3://{BUCKET}/nowhere", f"s3a://{BUCKET}"):
        with pytest.raises(errors.TableNotFound, match=f"No table at {missing}:"):
            lakescan.open(missing)


@pytest.mark.parametrize(
    ("part", "error"),
    [
        ("part-2.parquet", errors.MissingDataFile),
        ("deletion_vector_", errors.MissingDeletionVector),
        ("00000000000000000006.json", errors.MissingCommit),
    ],
)
def test_a_file_that_is_gone_is_named(
    part: str, error: type[Exception], store: ObjectStore, local: DeltaBuilder
) -> None:
    location = store.put(local.root, "gone")
    table = lakescan.open(location)
    snapshot = table.snapshot() if "json" not in part else None
    (key,) = [key for key in store.keys("gone") if part in key]
    if snapshot is None:
        # Listed, and gone before it is read: the listing is the store's own answer.
        store.missing.add(part)
    else:
        store.remove(key)
    with pytest.raises(error) as raised:
        (snapshot or table.snapshot()).scan().build().to_arrow()
    assert f"s3://{BUCKET}/{key} " in str(raised.value)


@pytest.mark.parametrize(
    "refused", ["_delta_log", "00000000000000000006.json", CHECKPOINT, "part-2.parquet", "deletion_vector_"]
)
def test_a_file_that_the_store_refuses_is_named_and_never_passed_over(
    refused: str, store: ObjectStore, location: str, recwarn: pytest.WarningsRecorder
) -> None:
    store.refused.add(refused)
    with pytest.raises(errors.StorageFailure, match=f"s3://{BUCKET}/delta/.*{refused}.* ACCESS_DENIED.*permissions"):
        lakescan.open(location).snapshot().scan().build().to_arrow()
    assert not recwarn.list


@pytest.mark.parametrize("file", ["part-2.parquet", CHECKPOINT])
def test_a_store_that_fails_in_the_middle_of_a_file_is_no_damage_to_the_file(
    file: str, store: ObjectStore, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that these small files are read in parts, as large ones are.
    monkeypatch.setattr(storage, "_NEAR", 0)
    store.refused.add(f"{file}  bytes=4-")
    with pytest.raises(errors.StorageFailure, match=f"{file} could not be read: .*AWS Error"):
        lakescan.open(location).snapshot().scan().build().to_arrow()


# Requests: a store takes tens of milliseconds to answer each.
def test_planning_lists_the_log_once_and_opens_each_of_its_files_once(location: str, store: ObjectStore) -> None:
    scan = lakescan.open(location).snapshot().scan().filter("id >= 90").build()
    assert scan.planned.files.num_rows == 1
    asked = store.asked()
    # Is there a log? (Two requests of Arrow's.) Which files has it? Then the commit and the checkpoint, each with its
    # size.
    assert [what for what in asked if "list-type=2" in what and "max-keys=1000" in what] == [
        f"GET /{BUCKET} delimiter=/&list-type=2&max-keys=1000&prefix=delta/_delta_log/"
    ]
    heads = [what for what in asked if what.startswith("HEAD")]
    log = f"HEAD /{BUCKET}/delta/_delta_log"
    assert sorted(heads) == [log, f"{log}/{CHECKPOINT}", f"{log}/00000000000000000006.json"]
    assert len(asked) == 7
    assert not [what for what in asked if "/place=" in what or "deletion_vector" in what]


def test_a_table_that_did_not_change_costs_one_listing(location: str, store: ObjectStore) -> None:
    table = lakescan.open(location)
    table.snapshot().files()
    store.asked()
    table.snapshot().files()
    assert [what for what in store.asked() if "list-type=2" not in what] == []


def test_a_data_file_is_asked_for_once_and_its_columns_in_one_go(store: ObjectStore, tmp_path: Path) -> None:
    wide = pa.table({f"c{at}": pa.array(range(200_000), pa.int64()) for at in range(6)})
    table = DeltaBuilder(tmp_path / "t", wide.schema)
    for _ in range(3):
        table.append(wide, use_dictionary=False, compression="none", row_group_size=100_000)
    location = store.put(table.root, "wide")
    scan = lakescan.open(location).snapshot().scan().select("c1", "c2", "c3").build()
    store.asked()
    assert scan.to_arrow().num_rows == 600_000
    asked = store.asked("part-00001.parquet")
    # Its size, its footer, and three neighbouring columns of each of two row groups.
    assert len(asked) == 4, asked


def test_a_store_is_opened_once_for_all_the_files_of_a_clone(store: ObjectStore, tmp_path: Path) -> None:
    source = DeltaBuilder(tmp_path / "source", SCHEMA)
    clone = DeltaBuilder(tmp_path / "clone", SCHEMA)
    for at in range(5):
        add = source.append(_rows(at))["add"]
        clone.commit({"add": {**add, "path": f"s3a://{BUCKET}/cloned/{add['path']}"}})
    store.put(source.root, "cloned")
    location = store.put(clone.root, "clone")
    lakescan.open(location).snapshot()
    before = locations._opened.cache_info().misses
    assert lakescan.open(location).snapshot().scan().build().to_arrow().num_rows == 50
    assert locations._opened.cache_info().misses == before


def test_counts_and_bounds_open_no_data_file(location: str, store: ObjectStore) -> None:
    snapshot = lakescan.open(location).snapshot()
    assert sum(snapshot.scan().build().files()["rows"].to_pylist()) == 48
    assert not store.asked("/place=")


def test_a_vector_takes_one_request_besides_that_for_its_size(location: str, store: ObjectStore) -> None:
    lakescan.open(location).snapshot().scan().filter("place = '100%'").build().to_arrow()
    assert len(store.asked("deletion_vector")) == 2


def test_an_environment_that_changed_is_read_anew(
    location: str, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file_system(f"s3://{BUCKET}", location, FROM_ENVIRONMENT)[0]
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.url.replace("127.0.0.1", "localhost"))
    assert file_system(f"s3://{BUCKET}", location, FROM_ENVIRONMENT)[0] is not before
    assert len(_read(lakescan.open(location))) == 48
