"""Files in a store are read in executors where the session's Hadoop opens the store as the driver did, else by workers.

Driver and workers read from a real S3 server on this machine. Hadoop's side is real too, as far as PySpark brings it:
`ViewFileSystemOverloadScheme`, Hadoop's own file system for mount tables under any scheme, gives a copy of the bucket
in a local folder as `s3a://lake`. So a test can let the copy differ from the bucket and see who reads. It takes no
keys, so the list of classes that do is patched to have it. S3A itself is in `test_s3a.py`.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from py4j.clientserver import ClientServerConnection
from pyspark.sql import SparkSession

import lakescan
from lakescan.io.storage import Storage
from lakescan.spark.bridge import Bridge, hadoop_stores
from lakescan.spark.bridge.hadoop import session_storage
from lakescan.spark.bridge.hadoop_stores import SessionStore, session_store
from tests.compare import bag
from tests.formats.hudi.builder import HudiBuilder
from tests.object_store import BUCKET, ObjectStore
from tests.spark.conftest import WrittenDown
from tests.spark.test_plain_files import AS_SPARK_WRITES, SCHEMA, scanned, values
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark
MOUNTS = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
SWITCH = "lakescan.planning.store_files"
ELSEWHERE = "files that are not on this machine"
IDS = pa.schema([("id", pa.int64())])


@pytest.fixture
def elsewhere(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """The server, which only what a session says leads to."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setitem(hadoop_stores.FILE_SYSTEMS, "s3a", (MOUNTS,))
    return object_store


@dataclass(frozen=True)
class Stored:
    """A table in the bucket, and the folder that Hadoop has for it."""

    location: str
    copy: Path


Put = Callable[[str], Stored]


@pytest.fixture
def put(elsewhere: ObjectStore, tmp_path_factory: pytest.TempPathFactory) -> Put:
    def put(root: str) -> Stored:
        copy = tmp_path_factory.mktemp("hadoop") / "copy"
        shutil.copytree(root, copy)
        name = f"hadoop/{copy.parent.name} #1"
        return Stored(elsewhere.put(root, name).replace("s3:", "s3a:"), copy)

    return put


def mount_of(stored: Stored) -> str:
    return f"fs.viewfs.mounttable.{BUCKET}.link.{stored.location.removeprefix(f's3a://{BUCKET}')}"


def told(session: SparkSession, store: ObjectStore, stored: Stored) -> SparkSession:
    """The session once it knows the server, and for Hadoop where the bucket's table is mounted."""
    for name, value in {
        "fs.s3a.endpoint": store.url,
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.access.key": "a key",
        "fs.s3a.secret.key": "a secret",
        "fs.s3a.impl": MOUNTS,
        SWITCH: "true",
        mount_of(stored): stored.copy.as_uri(),
    }.items():
        session.conf.set(name, value)
    return session


def session_of(spark: SparkSession, store: ObjectStore, stored: Stored) -> SparkSession:
    return told(lakescan.install(spark.newSession()), store, stored)


@pytest.fixture
def table(tmp_path: Path) -> DeltaBuilder:
    """Every simple type, names that URIs escape, and deleted rows: in a file of vectors and in the log."""
    schema = pa.schema([*SCHEMA, ("city", pa.string())])
    built = DeltaBuilder(tmp_path / "table", schema, ["city"], features=["timestampNtz", "deletionVectors"])
    for number, city in enumerate(["São Paulo", None, "100%"]):
        name = f"city={city}/part-{number} #1.parquet"
        added = built.append(values(7), partition={"city": city}, name=name, row_group_size=3, **AS_SPARK_WRITES)
        if number:
            built.delete(added, [0, number + 2], "ui"[number - 1])
    return built


@pytest.fixture
def ids(tmp_path: Path) -> DeltaBuilder:
    built = DeltaBuilder(tmp_path / "ids", IDS, features=["deletionVectors"])
    for number in range(3):
        built.append(pa.table({"id": range(10 * number, 10 * number + 10)}), name=f"part-{number}.parquet")
    return built


@pytest.mark.usefixtures("no_python")
def test_files_and_vectors_in_a_store_are_read_without_a_worker(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, table: DeltaBuilder
) -> None:
    stored = put(table.path)
    frame = lakescan.read(session_of(spark, elsewhere, stored), stored.location)
    rows = frame.toArrow()
    assert rows.num_rows == 17
    assert bag(rows) == bag(scanned(table.path))
    (scan,) = lakescan.report(frame).scans
    assert (scan.readers, scan.why_workers) == ((("Spark's own Parquet reader", frame.rdd.getNumPartitions()),), ())


@pytest.mark.usefixtures("no_python")
def test_a_hudi_table_in_a_store_is_read_without_a_worker(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, tmp_path: Path
) -> None:
    built = HudiBuilder(tmp_path / "hudi")
    built.upsert(0, pa.table({"id": [1, 2], "name": ["a", None]}))
    stored = put(str(built.path))
    rows = lakescan.read(session_of(spark, elsewhere, stored), stored.location).toArrow()
    assert bag(rows) == bag(scanned(str(built.path)))


def test_a_row_names_its_file_as_a_worker_would(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, table: DeltaBuilder
) -> None:
    stored = put(table.path)
    session = session_of(spark, elsewhere, stored)
    frames = [
        lakescan.read(session, stored.location, options={"lakescan.pushdown.plain_files": plain})
        for plain in (True, False)
    ]
    named = [sorted(frame.selectExpr("input_file_name()").distinct().collect()) for frame in frames]
    assert named[0] == named[1]
    assert len(named[0]) == 3


def become_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DIFFERENCES: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "of another size": lambda file: file.write_bytes(file.read_bytes() + b" "),
    "no Parquet": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "a folder": become_a_folder,
}


@pytest.mark.parametrize("how", DIFFERENCES)
def test_a_file_that_hadoop_does_not_give_as_the_log_says_is_read_by_a_worker(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, ids: DeltaBuilder, left_to_workers: WrittenDown, how: str
) -> None:
    stored = put(ids.path)
    DIFFERENCES[how](stored.copy / "part-1.parquet")
    frame = lakescan.read(session_of(spark, elsewhere, stored), stored.location)
    assert sorted(row.id for row in frame.collect()) == list(range(30))
    assert left_to_workers() == [(["part-1.parquet"], 0)]


@pytest.mark.parametrize("how", ["missing", "of another size", "no Parquet"])
def test_a_vector_that_hadoop_does_not_give_as_the_log_says_is_read_by_a_worker(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, ids: DeltaBuilder, left_to_workers: WrittenDown, how: str
) -> None:
    ids.delete(ids.append(pa.table({"id": range(30, 40)}), name="part-3.parquet"), [2])
    stored = put(ids.path)
    (vector,) = stored.copy.glob("deletion_vector_*")
    if how == "of another size":
        vector.write_bytes(vector.read_bytes()[:-1])
    else:
        DIFFERENCES[how](vector)
    frame = lakescan.read(session_of(spark, elsewhere, stored), stored.location)
    assert sorted(row.id for row in frame.collect()) == [at for at in range(40) if at != 32]
    assert left_to_workers() == [(["part-3.parquet"], 0)]


def test_two_sessions_read_a_bucket_each_as_it_was_told(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, ids: DeltaBuilder, left_to_workers: WrittenDown
) -> None:
    stored = put(ids.path)
    other = Stored(stored.location, stored.copy.parent / "other")
    shutil.copytree(stored.copy, other.copy)
    (stored.copy / "part-0.parquet").unlink()
    (other.copy / "part-2.parquet").unlink()
    for place, missing in ((stored, "part-0.parquet"), (other, "part-2.parquet"), (stored, "part-0.parquet")):
        frame = lakescan.read(session_of(spark, elsewhere, place), place.location)
        assert sorted(row.id for row in frame.collect()) == list(range(30))
        assert ([missing], 0) in left_to_workers()
    assert sorted(files for files, _ in left_to_workers()) == [[f"part-{at}.parquet"] for at in (0, 0, 2)]


def test_a_store_that_hadoop_cannot_open_is_read_by_workers(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, ids: DeltaBuilder, left_to_workers: WrittenDown
) -> None:
    stored = put(ids.path)
    session = session_of(spark, elsewhere, stored)
    # Hadoop refuses a bucket for which nothing is mounted.
    session.conf.unset(mount_of(stored))
    frame = lakescan.read(session, stored.location)
    assert sorted(row.id for row in frame.collect()) == list(range(30))
    told_workers = [file for files, _ in left_to_workers() for file in files]
    assert sorted(told_workers) == [f"part-{at}.parquet" for at in range(3)]


def test_a_file_that_is_in_neither_ends_as_the_workers_error(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, ids: DeltaBuilder
) -> None:
    stored = put(ids.path)
    session = session_of(spark, elsewhere, stored)
    elsewhere.remove(f"{stored.location.removeprefix(f's3a://{BUCKET}/')}/part-1.parquet")
    (stored.copy / "part-1.parquet").unlink()
    with pytest.raises(Exception, match=r"MissingDataFile: .*part-1\.parquet"):
        lakescan.read(session, stored.location).collect()


def why(session: SparkSession, location: str, **options: str) -> str:
    """Why workers read, as EXPLAIN and the report say it."""
    frame = lakescan.read(session, location, options=options)
    assert sorted(row.id for row in frame.collect()) == list(range(30))
    (scan,) = lakescan.report(frame).scans
    assert scan.why_workers
    assert scan.why_workers[0] in str(frame._jdf.queryExecution().executedPlan())
    return ", ".join(scan.why_workers)


def test_options_of_a_read_leave_files_to_workers(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, ids: DeltaBuilder
) -> None:
    stored = put(ids.path)
    session = session_of(spark, elsewhere, stored)
    own = {"fs.s3a.access.key": "another", "fs.s3a.secret.key": "a secret"}
    assert why(session, stored.location, **own) == f"{ELSEWHERE}: options of the read open the store"


def test_keys_that_a_session_got_since_leave_files_to_workers(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, ids: DeltaBuilder
) -> None:
    stored = put(ids.path)
    session = session_of(spark, elsewhere, stored)
    frame = lakescan.read(session, stored.location)
    session.conf.set("fs.s3a.access.key", "another")
    frame.collect()
    assert lakescan.report(frame).scans[0].why_workers == (f"{ELSEWHERE}: options of the read open the store",)


@pytest.mark.parametrize("what", ["keys", "endpoint"])
def test_what_the_environment_says_leaves_files_to_workers(
    spark: SparkSession,
    elsewhere: ObjectStore,
    put: Put,
    ids: DeltaBuilder,
    what: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored = put(ids.path)
    session = session_of(spark, elsewhere, stored)
    for name, value in elsewhere.environment.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    for name in ("access.key", "secret.key") if what == "keys" else ("endpoint",):
        session.conf.unset(f"fs.s3a.{name}")
    assert why(session, stored.location) == f"{ELSEWHERE}: the environment opens the store, not the session"


def test_a_class_that_hadoop_has_by_name_only_leaves_files_to_workers(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, ids: DeltaBuilder
) -> None:
    stored = put(ids.path)
    session = session_of(spark, elsewhere, stored)
    said = f"{ELSEWHERE}: the session has no Hadoop file system for s3a"
    # Hadoop presets the name of its own class, which PySpark does not bring.
    session.conf.unset("fs.s3a.impl")
    assert why(session, stored.location) == said
    session.conf.set("fs.s3a.impl", "org.example.NoSuchFileSystem")
    assert why(session, stored.location) == said


def test_a_class_that_may_mean_another_store_leaves_files_to_workers(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, ids: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = put(ids.path)
    monkeypatch.setitem(hadoop_stores.FILE_SYSTEMS, "s3a", ("org.apache.hadoop.fs.s3a.S3AFileSystem",))
    session = session_of(spark, elsewhere, stored)
    assert why(session, stored.location) == f"{ELSEWHERE}: the session's Hadoop file system for s3a is {MOUNTS}"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fs.s3a.bucket.lake.accesspoint.arn", "an access point"),
        ("fs.s3a.security.credential.provider.path", "a credential store has its keys"),
    ],
)
def test_what_only_hadoop_knows_of_a_bucket_leaves_files_to_workers(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, ids: DeltaBuilder, tmp_path: Path, name: str, said: str
) -> None:
    stored = put(ids.path)
    session = session_of(spark, elsewhere, stored)
    session.conf.set(name, f"localjceks://file{tmp_path}/empty.jceks" if "path" in name else "arn:aws:s3:::other")
    assert why(session, stored.location) == f"{ELSEWHERE}: {said}"


def test_what_executors_are_told_is_the_same_for_the_same_session_and_shows_no_key(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, ids: DeltaBuilder
) -> None:
    stored = put(ids.path)
    bridge = Bridge(session_of(spark, elsewhere, stored))
    storage = Storage(stored.location, session_storage(bridge, "fs.s3a."))
    first, second = (session_store(bridge, storage) for _ in range(2))
    assert isinstance(first, SessionStore)
    assert isinstance(second, SessionStore)
    assert first.id == second.id
    assert first.sent(bridge).id() == second.sent(bridge).id()
    bridge.spark.conf.set("spark.sql.shuffle.partitions", "7")
    bridge.spark.conf.set("spark.hadoop.fs.s3a.retry.limit", "9")
    third = session_store(bridge, storage)
    assert isinstance(third, SessionStore)
    assert third.id != first.id
    has = third.configuration.value()
    assert (has.get("fs.s3a.retry.limit"), has.get("fs.s3a.attempts.maximum")) == ("9", "3")
    assert has.get("spark.sql.shuffle.partitions") is None
    assert has.get("fs.s3a.path.style.access") == "true"
    assert "a secret" not in repr(first)


def test_without_the_switch_files_are_left_to_workers(
    spark: SparkSession, elsewhere: ObjectStore, put: Put, ids: DeltaBuilder
) -> None:
    stored = put(ids.path)
    session = session_of(spark, elsewhere, stored)
    session.conf.unset(SWITCH)
    assert why(session, stored.location) == ELSEWHERE
    session.conf.set(SWITCH, "true")
    assert why(session, stored.location, **{SWITCH: "false"}) == ELSEWHERE


def test_a_table_on_this_machine_asks_nothing_of_hadoop(
    spark: SparkSession, ids: DeltaBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    send = ClientServerConnection.send_command

    def counted(self: ClientServerConnection, command: str) -> object:
        sent.append(command)
        return send(self, command)

    monkeypatch.setattr(ClientServerConnection, "send_command", counted)
    assert len(lakescan.read(spark, ids.path, options={SWITCH: True}).collect()) == 30
    assert sent
    assert [command for command in sent if "newHadoopConf" in command or "openStores" in command] == []
