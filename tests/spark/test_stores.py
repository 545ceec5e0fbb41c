"""Stores open with what the session's Hadoop was told, and options of a read come before that; secrets stay unseen."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import lakescan
from lakescan.errors import InvalidOption, StorageFailure
from lakescan.spark.bridge import Bridge
from lakescan.spark.bridge.hadoop import session_storage
from tests.emulators import HOST, AzureStore, GoogleStore
from tests.emulators import KEY as AZURE_KEY
from tests.object_store import ObjectStore
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark
ROWS = pa.table({"id": pa.array(range(5), pa.int64())})
SECRET, KEY = "hunter2-is-secret", "the-sessions-key"


@pytest.fixture
def elsewhere(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """The server, while the environment of the driver knows nothing of it; that of the workers never does."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    object_store.keys_seen.clear()
    yield object_store
    object_store.refused.clear()
    object_store.besides = ""


def told(store: ObjectStore, key: str = KEY) -> dict[str, str]:
    keys = {"fs.s3a.access.key": key, "fs.s3a.secret.key": SECRET}
    return {"fs.s3a.endpoint": store.url, "fs.s3a.endpoint.region": "us-east-1", **keys}


@pytest.fixture
def session(spark: SparkSession, elsewhere: ObjectStore) -> SparkSession:
    """A session of its own that was told of the server as people tell Hadoop."""
    session = lakescan.install(spark.newSession())
    for name, value in told(elsewhere).items():
        session.conf.set(name, value)
    return session


@pytest.fixture
def location(elsewhere: ObjectStore, tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("stored") / "t"
    DeltaBuilder(root, ROWS.schema).append(ROWS)
    location = elsewhere.put(root, f"told-{root.parent.name}").replace("s3:", "s3a:")
    elsewhere.keys_seen.clear()
    return location


def test_driver_and_workers_read_with_the_keys_of_the_session(
    session: SparkSession, elsewhere: ObjectStore, location: str
) -> None:
    assert lakescan.read(session, location).where("id > 2").count() == 2
    assert len(session.sql(f"SELECT * FROM delta.`{location}` WHERE id < 4").collect()) == 4
    assert sorted(row.id for row in session.read.format("lakescan").load(location).collect()) == list(range(5))
    assert elsewhere.keys_seen == {KEY}


def test_another_session_of_the_application_has_not_those_keys(
    spark: SparkSession, session: SparkSession, location: str
) -> None:
    assert lakescan.read(session, location).count() == 5
    with pytest.raises(StorageFailure):
        lakescan.read(spark.newSession(), location)


def test_options_of_a_read_come_before_what_the_session_was_told(
    session: SparkSession, elsewhere: ObjectStore, location: str
) -> None:
    session.conf.set("fs.s3a.endpoint", "http://127.0.0.1:9")
    own = told(elsewhere, "the-reads-key")
    assert sorted(row.id for row in lakescan.read(session, location, options=own).collect()) == list(range(5))
    assert session.read.format("lakescan").options(**own).load(location).where("id = 1").count() == 1
    assert elsewhere.keys_seen == {"the-reads-key"}
    with pytest.raises(InvalidOption, match=r"fs\.s3a\.acces\.key"):
        lakescan.read(session, location, options={"fs.s3a.acces.key": "x"})


def test_a_bucket_may_have_keys_of_its_own(session: SparkSession, elsewhere: ObjectStore, location: str) -> None:
    session.conf.set("fs.s3a.bucket.lake.access.key", "the-buckets-key")
    assert lakescan.read(session, location).where("id = 3").count() == 1
    assert elsewhere.keys_seen == {"the-buckets-key"}


def test_what_hadoop_presets_is_not_taken_for_given(spark: SparkSession) -> None:
    for prefix in ("fs.s3a.", "fs.azure.", "fs.gs."):
        assert session_storage(Bridge(spark.newSession()), prefix) == lakescan.StorageConfiguration()


def test_a_provider_that_only_hadoop_has_is_refused_by_name(session: SparkSession, location: str) -> None:
    session.conf.set("fs.s3a.aws.credentials.provider", "org.example.OwnProvider")
    with pytest.raises(InvalidOption, match=r"org\.example\.OwnProvider is not one of .* options of the read"):
        lakescan.read(session, location)


def test_no_plan_no_report_and_no_error_shows_a_secret(
    session: SparkSession, elsewhere: ObjectStore, location: str, capsys: pytest.CaptureFixture[str]
) -> None:
    by_options = session.read.format("lakescan").options(**told(elsewhere, "the-reads-key")).load(location)
    shown = []
    for rows in (lakescan.read(session, location, options=told(elsewhere)), by_options):
        rows.where("id > 2").collect()
        rows.explain(extended=True)
        shown += [str(lakescan.report(rows)), repr(lakescan.report(rows)), str(rows._jdf.queryExecution())]
    elsewhere.refused.add(".parquet")
    elsewhere.besides = f"<Token>{SECRET}</Token>"
    with pytest.raises(PySparkException) as refused:
        by_options.collect()
    shown += [str(refused.value), *capsys.readouterr()]
    assert len("".join(shown)) > 500
    assert [text for text in shown if SECRET in text] == []


@dataclass(frozen=True)
class Told:
    """A table in a store, what a session is told to read it, and what must not be shown of that."""

    location: str
    options: dict[str, str]
    secrets: tuple[str, ...]


@pytest.fixture(params=["azure by key", "azure by signature", "google"])
def told_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    root = tmp_path_factory.mktemp("stored") / "t"
    DeltaBuilder(root, ROWS.schema).append(ROWS)
    if request.param == "google":
        google: GoogleStore = request.getfixturevalue("google_store")
        where = {"fs.gs.storage.root.url": google.url, "fs.gs.auth.type": "UNAUTHENTICATED"}
        return Told(google.put(root, root.parent.name), where, ())
    azure: AzureStore = request.getfixturevalue("azure_store")
    location = azure.put(root, root.parent.name)
    if request.param == "azure by key":
        return Told(location, {**azure.where, f"fs.azure.account.key.{HOST}": AZURE_KEY}, (AZURE_KEY,))
    signature = azure.signature(timedelta(hours=2))
    secret = dict(part.split("=", 1) for part in signature.split("&"))["sig"]
    by_signature = {f"fs.azure.account.auth.type.{HOST}": "SAS", f"fs.azure.sas.fixed.token.{HOST}": signature}
    return Told(location, {**azure.where, **by_signature}, (signature, secret))


def test_azure_and_google_open_with_what_the_session_was_told(spark: SparkSession, told_store: Told) -> None:
    session = lakescan.install(spark.newSession())
    for name, value in told_store.options.items():
        session.conf.set(name, value)
    location = told_store.location
    assert session.read.format("delta").load(location).where("id > 2").count() == 2
    assert sorted(row.id for row in session.sql(f"SELECT * FROM delta.`{location}`").collect()) == list(range(5))


def test_no_plan_no_report_and_no_error_shows_a_secret_of_azure_or_google(
    spark: SparkSession, told_store: Told, capfd: pytest.CaptureFixture[str]
) -> None:
    session = lakescan.install(spark.newSession())
    rows = session.read.format("lakescan").options(**told_store.options).load(told_store.location)
    assert rows.where("id > 2").count() == 2
    rows.explain(extended=True)
    report = lakescan.report(rows)
    shown = [str(report), repr(report), report._repr_html_(), str(rows._jdf.queryExecution())]
    unreachable = {**told_store.options, "fs.azure.abfs.endpoint": "127.0.0.1:9"}
    nowhere = told_store.location.replace("gs://lake/", "gs://refused/")
    with pytest.raises((PySparkException, StorageFailure)) as refused:
        session.read.format("lakescan").options(**unreachable).load(nowhere).collect()
    shown += [str(refused.value), *capfd.readouterr()]
    assert len("".join(shown)) > 500
    assert [secret for secret in told_store.secrets for text in shown if secret in text] == []


def test_keys_in_a_credential_store_of_hadoops_are_read(
    session: SparkSession, elsewhere: ObjectStore, location: str, tmp_path: Path
) -> None:
    for name in ("fs.s3a.access.key", "fs.s3a.secret.key"):
        session.conf.unset(name)
    stores = {name: f"localjceks://file{tmp_path}/{name}.jceks" for name in ("all", "bucket")}
    _store_secret(session, stores["all"], "fs.s3a.access.key", "the-stored-key")
    _store_secret(session, stores["all"], "fs.s3a.secret.key", SECRET)
    _store_secret(session, stores["bucket"], "fs.s3a.access.key", "the-buckets-stored-key")
    session.conf.set("hadoop.security.credential.provider.path", stores["all"])
    assert lakescan.read(session, location).where("id = 1").count() == 1
    assert elsewhere.keys_seen == {"the-stored-key"}
    elsewhere.keys_seen.clear()
    session.conf.set("fs.s3a.bucket.lake.security.credential.provider.path", stores["bucket"])
    assert lakescan.read(session, location).where("id = 1").count() == 1
    assert elsewhere.keys_seen == {"the-buckets-stored-key"}
    (tmp_path / "broken.jceks").write_text("this is no store of keys")
    session.conf.set("hadoop.security.credential.provider.path", f"localjceks://file{tmp_path}/broken.jceks")
    with pytest.raises(InvalidOption, match=r"hadoop\.security\.credential\.provider\.path cannot be used: .*password"):
        lakescan.read(session, location)


def _store_secret(spark: SparkSession, store: str, name: str, value: str) -> None:
    """As `hadoop credential create` does."""
    bridge = Bridge(spark)
    arguments = bridge.array("java.lang.String", ["create", name, "-value", value, "-provider", store])
    shell = bridge.java_class("org.apache.hadoop.security.alias.CredentialShell")()
    configuration = bridge.java_class("org.apache.hadoop.conf.Configuration")()
    assert bridge.java_class("org.apache.hadoop.util.ToolRunner").run(configuration, shell, arguments) == 0
