"""One value says what opens a store, for every reader and in every process; it comes before the environment."""

import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import InvalidOption, StorageFailure
from lakescan.io.configuration import (
    FROM_ENVIRONMENT,
    OPTIONS,
    Credentials,
    ProcessCredentials,
    StorageConfiguration,
    settings_of,
)
from lakescan.io.storage import Storage
from tests.object_store import BUCKET, ObjectStore
from tests.sample_tables import DATA, sample_table
from tests.tables import DeltaBuilder

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["a", "b", "c"]})
KEYS = {"fs.s3a.access.key": "an-own-key", "fs.s3a.secret.key": "hunter2"}


@pytest.fixture
def elsewhere(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """The server, while the environment says that S3 is somewhere else and has keys and a token of others."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "environments-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "environments-secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "environments-token")
    object_store.requests.clear()
    object_store.keys_seen.clear()
    yield object_store
    object_store.refused.clear()


def given(store: ObjectStore, **more: str) -> dict[str, str]:
    return {"fs.s3a.endpoint": store.url, "fs.s3a.endpoint.region": "us-east-1", **KEYS, **more}


def delta(folder: Path) -> Path:
    DeltaBuilder(folder, ROWS.schema).append(ROWS)
    return folder


def hudi(folder: Path) -> Path:
    """One with log files, which hudi-rs merges where a task is read."""
    return sample_table("logs_v6").unpack(folder)


def count(table: Any) -> int:
    return int(table.snapshot().scan().build().to_arrow().num_rows)


FORMATS = pytest.mark.parametrize("make", [delta, hudi])


@FORMATS
def test_what_is_given_comes_before_the_environment(
    make: Callable[[Path], Path], elsewhere: ObjectStore, tmp_path: Path
) -> None:
    local = make(tmp_path / "table")
    location = elsewhere.put(local, f"given-{make.__name__}")
    elsewhere.keys_seen.clear()
    elsewhere.tokens_seen.clear()
    assert count(lakescan.open(location, storage=given(elsewhere))) == count(lakescan.open(local)) > 0
    assert elsewhere.keys_seen == {"an-own-key"}
    # The environment's token belongs to other keys.
    assert elsewhere.tokens_seen <= {""}
    own = given(elsewhere, **{"fs.s3a.session.token": "an-own-token"})
    assert count(lakescan.open(location, storage=own)) > 0
    assert elsewhere.tokens_seen - {""} == {"an-own-token"}


@FORMATS
def test_two_tables_of_one_process_have_keys_of_their_own(
    make: Callable[[Path], Path], elsewhere: ObjectStore, tmp_path: Path
) -> None:
    name = f"keys-{make.__name__}"
    local = make(tmp_path / "table")
    location = elsewhere.put(local, name)
    options = {key: given(elsewhere, **{"fs.s3a.access.key": key}) for key in ("one", "two")}
    tables = {key: lakescan.open(location, storage=options[key]) for key in options}
    for key, table in (*tables.items(), *tables.items()):
        elsewhere.keys_seen.clear()
        assert count(table) == count(lakescan.open(local))
        assert elsewhere.keys_seen == {key}
    one, two = (table.snapshot() for table in tables.values())
    # Plans are shared by token.
    assert one.token != two.token
    assert one.token == lakescan.open(location, storage=options["one"]).snapshot().token


@FORMATS
def test_a_pickled_plan_is_read_in_a_process_without_the_environment(
    make: Callable[[Path], Path], elsewhere: ObjectStore, tmp_path: Path
) -> None:
    local = make(tmp_path / "table")
    location = elsewhere.put(local, f"pickled-{make.__name__}")
    plan = lakescan.open(location, storage=given(elsewhere)).snapshot().scan().build()
    elsewhere.keys_seen.clear()
    assert _count_elsewhere(pickle.dumps((plan.read_plan, plan.tasks()))) == count(lakescan.open(local))
    assert elsewhere.keys_seen == {"an-own-key"}


def _count_elsewhere(pickled: bytes) -> int:
    """How many rows a new process reads, which has nothing of this one's environment."""
    program = (
        "import pickle, sys\n"
        "from lakescan.reader.read import read_task\n"
        "plan, tasks = pickle.load(sys.stdin.buffer)\n"
        "print(sum(batch.num_rows for task in tasks for batch in read_task(plan, task)))\n"
    )
    plain = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    ran = subprocess.run([sys.executable, "-c", program], input=pickled, capture_output=True, env=plain, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    return int(ran.stdout)


def test_what_the_environment_says_is_not_pickled(store: ObjectStore, tmp_path: Path) -> None:
    location = store.put(delta(tmp_path / "table"), "not-pickled")
    plan = lakescan.open(location).snapshot().scan().build()
    pickled = pickle.dumps((plan.read_plan, plan.tasks()))
    for name, value in store.environment.items():
        assert name.encode() not in pickled
        assert value.encode() not in pickled or name == "AWS_DEFAULT_REGION"
    assert pickle.loads(pickle.dumps(Storage.at(location))) == Storage.at(location)


def test_a_configuration_is_a_value(elsewhere: ObjectStore) -> None:
    one, again = (StorageConfiguration.from_options(given(elsewhere)) for _ in range(2))
    assert one == again == pickle.loads(pickle.dumps(one))
    assert hash(one) == hash(again)
    assert one != StorageConfiguration.from_options(given(elsewhere, **{"fs.s3a.secret.key": "another"}))
    assert Storage.at("s3://lake/t", one) != Storage.at("s3://lake/t")
    assert StorageConfiguration() == FROM_ENVIRONMENT


def test_no_secret_is_shown(elsewhere: ObjectStore, tmp_path: Path) -> None:
    options = given(elsewhere, **{"fs.s3a.session.token": "hunter2-too", "fs.s3a.bucket.lake.secret.key": "hunter2"})
    configuration = StorageConfiguration.from_options(options)
    location = elsewhere.put(delta(tmp_path / "table"), "secrets")
    table = lakescan.open(location, storage=configuration)
    scan = table.snapshot().scan().build()
    hidden = StorageConfiguration(endpoint="https://user:hunter2@host", credentials=_Own("hunter2"))
    settings = settings_of(configuration, BUCKET)
    for shown in (configuration, hidden, settings, settings.credentials, Storage.at(location, configuration), scan):
        for text in (repr(shown), str(shown)):
            assert "hunter2" not in text
            assert "an-own-key" not in text
    assert "hunter2" not in table.snapshot().token
    elsewhere.refused.add("_delta_log")
    with pytest.raises(StorageFailure) as error:
        lakescan.open(location, storage=configuration).snapshot()
    assert "hunter2" not in "".join(traceback.format_exception(error.value))


@dataclass(frozen=True)
class _Own:
    """A provider whose keys are renewed by whoever writes a file."""

    file: str

    def __call__(self) -> Credentials:
        return Credentials(Path(self.file).read_text(), "a secret", "a token")


@FORMATS
def test_a_provider_is_asked_again_so_that_keys_may_be_renewed(
    make: Callable[[Path], Path], elsewhere: ObjectStore, tmp_path: Path
) -> None:
    location = elsewhere.put(make(tmp_path / "table"), f"provider-{make.__name__}")
    keys = tmp_path / "keys"
    table = None
    for key in ("first", "second"):
        keys.write_text(key)
        table = table or lakescan.open(
            location,
            storage=StorageConfiguration(endpoint=elsewhere.url, region="us-east-1", credentials=_Own(str(keys))),
        )
        elsewhere.keys_seen.clear()
        assert count(table) > 0
        assert elsewhere.keys_seen == {key}


def test_a_provider_that_fails_is_named(tmp_path: Path) -> None:
    provider = _Own(str(tmp_path / "nowhere"))
    with pytest.raises(StorageFailure, match=r"^s3://lake/t.* its credentials provider failed \(FileNotFoundError\)"):
        lakescan.open("s3://lake/t", storage=StorageConfiguration(credentials=provider))


def test_who_asks_anonymously_sends_no_key(elsewhere: ObjectStore, tmp_path: Path) -> None:
    location = elsewhere.put(delta(tmp_path / "table"), "anonymous")
    elsewhere.keys_seen.clear()
    anonymous = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
    options = {"fs.s3a.endpoint": elsewhere.url, "fs.s3a.aws.credentials.provider": anonymous}
    # The server gives a list to anybody, and wants keys for a file that nobody made public.
    with pytest.raises(StorageFailure):
        lakescan.open(location, storage=options).snapshot()
    assert elsewhere.keys_seen == set()
    assert elsewhere.asked("_delta_log")


def test_options_of_a_bucket_come_first_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://environment")
    configuration = StorageConfiguration.from_options(
        {
            "fs.s3a.endpoint": "https://all",
            "fs.s3a.bucket.my.logs.endpoint": "https://logs",
            "spark.hadoop.fs.s3a.bucket.my.logs.endpoint.region": "eu-west-1",
            **KEYS,
            "fs.s3a.bucket.my.logs.secret.key": "another",
            "fs.s3a.bucket.own.aws.credentials.provider": "EnvironmentVariableCredentialsProvider",
        }
    )
    logs, others, own = (settings_of(configuration, bucket) for bucket in ("my.logs", "others", "own"))
    assert (logs.endpoint, logs.region) == ("https://logs", "eu-west-1")
    assert logs.credentials == Credentials("an-own-key", "another")
    assert (others.endpoint, others.region, others.credentials) == ("https://all", "", Credentials(*KEYS.values()))
    assert own.credentials is None
    assert settings_of(FROM_ENVIRONMENT, "others").endpoint == "https://environment"


def test_options_mean_what_they_mean_to_hadoop() -> None:
    configuration = StorageConfiguration.from_options(
        {
            "fs.s3a.endpoint": "minio:9000",
            "fs.s3a.connection.ssl.enabled": False,
            "fs.s3a.path.style.access": True,
            "fs.s3a.attempts.maximum": 3,
            "fs.s3a.connection.timeout": "200000",
            "fs.s3a.connection.establish.timeout": "2s",
            "fs.s3a.session.token": "",
            "fs.s3a.aws.credentials.provider": "a.SimpleAWSCredentialsProvider, b.DefaultCredentialsProvider",
        }
    )
    assert configuration == StorageConfiguration("http://minio:9000", None, ProcessCredentials(), 3, 2.0, 200.0)
    settings = settings_of(configuration, "lake")
    assert (settings.attempts, settings.connect_timeout_s, settings.request_timeout_s) == (3, 2.0, 200.0)
    assert StorageConfiguration.from_options({"fs.s3a.endpoint": "s3.eu"}).endpoint == "https://s3.eu"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"fs.s3a.acess.key": "hunter2"}, "fs.s3a.acess.key cannot be used: there is no such option of storage"),
        ({"fs.gs.key": "hunter2"}, "fs.gs.key cannot be used: there is no such option"),
        ({"fs.s3a.access.key": "hunter2"}, "fs.s3a.access.key .* fs.s3a.secret.key is missing"),
        ({"fs.s3a.secret.key": "hunter2"}, "fs.s3a.secret.key .* fs.s3a.access.key is missing"),
        ({"fs.s3a.session.token": "hunter2"}, "fs.s3a.session.token .* fs.s3a.access.key is missing"),
        ({"fs.s3a.bucket.b.secret.key": "hunter2"}, "fs.s3a.bucket.b.secret.key .*bucket.b.access.key is missing"),
        ({"fs.s3a.aws.credentials.provider": "x.SimpleAWSCredentialsProvider"}, "it asks for keys"),
        ({"fs.s3a.aws.credentials.provider": "x.Other"}, "x.Other is not one of Simple"),
        ({"fs.s3a.connection.ssl.enabled": "yes"}, "'yes' is neither 'true' nor 'false'"),
        ({"fs.s3a.attempts.maximum": "0"}, "'0' is no number above zero"),
        ({"fs.s3a.connection.timeout": "soon"}, "'soon' is no time above zero"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_name(options: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidOption, match=named) as error:
        lakescan.open("s3://lake/t", storage=options)
    assert "hunter2" not in str(error.value)


def test_every_option_is_documented() -> None:
    text = "".join((DATA.parents[1] / "docs" / page).read_text() for page in ("reading.md", "stores.md"))
    assert [name for name in OPTIONS if f"`{name}`" not in text] == []


def test_what_only_hadoops_own_client_knows_is_passed_over() -> None:
    told = {
        "fs.s3a.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "fs.s3a.bucket.lake.fast.upload": "true",
        "fs.s3a.bucket.lake.endpoint": "http://lake",
        "fs.s3a.endpoint.region": "eu-west-1",
    }
    expected = StorageConfiguration.from_options({name: told[name] for name in list(told)[2:]})
    assert StorageConfiguration.from_hadoop(told) == expected
    with pytest.raises(InvalidOption, match=r"fs\.s3a\.impl"):
        StorageConfiguration.from_options(told)


@pytest.mark.parametrize("name", ["IAMInstanceCredentialsProvider", "WebIdentityTokenFileCredentialsProvider"])
def test_a_provider_of_the_machine_is_that_of_the_process_that_reads(name: str) -> None:
    configuration = StorageConfiguration.from_hadoop({"fs.s3a.aws.credentials.provider": f"org.x.{name}"})
    assert configuration.credentials == ProcessCredentials()


def test_hadoops_own_chain_takes_keys_where_there_are_some_and_the_process_where_not() -> None:
    named = ("TemporaryAWSCredentialsProvider", "SimpleAWSCredentialsProvider", "IAMInstanceCredentialsProvider")
    chain = {"fs.s3a.aws.credentials.provider": ", ".join(f"org.apache.hadoop.fs.s3a.{name}" for name in named)}
    assert StorageConfiguration.from_hadoop(chain).credentials == ProcessCredentials()
    assert StorageConfiguration.from_hadoop({**chain, **KEYS}).credentials == Credentials("an-own-key", "hunter2")
