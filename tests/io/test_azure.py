"""Azure's store opens with Hadoop's `fs.azure.*` options, for an account or for all; the rest is refused."""

import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import InvalidOption, StorageFailure, TableNotFound, UnsupportedLocation
from lakescan.io import azure
from lakescan.io.azure import AzureConfiguration, AzureCredentials
from lakescan.io.configuration import StorageConfiguration
from lakescan.io.storage import Storage, failure_of_store
from tests.emulators import ACCOUNT, CONTAINER, HOST, KEY, AzureStore
from tests.faulty_proxy import CUT, OK, RESET, FaultyProxy
from tests.sample_tables import sample_table
from tests.tables import DeltaBuilder

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["a", "b", "c"]})
STORE = f"abfss://{CONTAINER}@{HOST}"
APPLICATION = {
    "fs.azure.account.oauth2.client.id": "an-application",
    "fs.azure.account.oauth2.client.secret": "hunter2",
    "fs.azure.account.oauth2.client.endpoint": "https://login.microsoftonline.com/a-tenant/oauth2/token",
}


def delta(folder: Path) -> Path:
    builder = DeltaBuilder(folder, ROWS.schema)
    builder.append(ROWS)
    builder.append(ROWS)
    return folder


def hudi(folder: Path) -> Path:
    """One with log files, which hudi-rs merges where a task is read."""
    return sample_table("logs_v6").unpack(folder)


def rows(table: Any) -> list[str]:
    """The rows in some order, as text: a NaN is not equal to itself."""
    return sorted(map(repr, table.snapshot().scan().build().to_arrow().to_pylist()))


def by_key(store: AzureStore) -> dict[str, str]:
    return {**store.where, f"fs.azure.account.key.{HOST}": KEY}


@pytest.mark.parametrize("make", [delta, hudi])
def test_a_table_reads_as_on_local_disk_by_a_key_and_by_a_signature(
    make: Callable[[Path], Path], azure_store: AzureStore, tmp_path: Path
) -> None:
    local = make(tmp_path / "table")
    location = azure_store.put(local, f"table of {make.__name__}")
    expected = rows(lakescan.open(local))
    assert expected
    by_signature = {**azure_store.where, "fs.azure.sas.fixed.token": f"?{azure_store.signature()}"}
    for options in (by_key(azure_store), by_signature):
        assert rows(lakescan.open(location, storage=options)) == expected


def test_a_table_has_versions_and_commit_times_in_azure(azure_store: AzureStore, tmp_path: Path) -> None:
    location = azure_store.put(delta(tmp_path / "table"), "versions")
    table = lakescan.open(location, storage=by_key(azure_store))
    assert len(table.snapshot(version=1).scan().build().to_arrow()) == 3
    storage = Storage.at(location, StorageConfiguration.from_options(by_key(azure_store)))
    listed = storage.list_from("_delta_log")
    assert [entry.name for entry in listed] == [f"{version:020}.json" for version in range(3)]
    assert all(entry.size and entry.modified_ms for entry in listed)
    assert [entry.name for entry in storage.list_below() if entry.name.endswith(".json")] == [
        f"_delta_log/{entry.name}" for entry in listed
    ]


def test_a_pickled_plan_is_read_in_a_process_that_was_told_nothing(azure_store: AzureStore, tmp_path: Path) -> None:
    location = azure_store.put(delta(tmp_path / "table"), "pickled")
    plan = lakescan.open(location, storage=by_key(azure_store)).snapshot().scan().build()
    program = (
        "import pickle, sys\n"
        "from lakescan.reader.read import read_task\n"
        "plan, tasks = pickle.load(sys.stdin.buffer)\n"
        "print(sum(batch.num_rows for task in tasks for batch in read_task(plan, task)))\n"
    )
    pickled = pickle.dumps((plan.read_plan, plan.tasks()))
    ran = subprocess.run([sys.executable, "-c", program], input=pickled, capture_output=True, check=True)
    assert int(ran.stdout) == 6


def test_what_is_not_there_is_no_table_and_no_failure(azure_store: AzureStore) -> None:
    for place in (f"{CONTAINER}@{HOST}/none", f"nowhere@{HOST}/none"):
        with pytest.raises(TableNotFound):
            lakescan.open(f"abfs://{place}", storage=by_key(azure_store))


def test_a_refusal_is_named_and_shows_no_secret(azure_store: AzureStore, tmp_path: Path) -> None:
    location = azure_store.put(delta(tmp_path / "table"), "refused")
    wrong_key, expired = "aHVudGVyMg==", azure_store.signature(timedelta(hours=-1))
    signed = dict(part.split("=", 1) for part in expired.split("&"))["sig"]
    for option, secret in (("fs.azure.account.key", wrong_key), ("fs.azure.sas.fixed.token", expired)):
        options = {**azure_store.where, option: secret}
        with pytest.raises(StorageFailure, match=r"^abfs://.*_delta_log.* 403 ") as refused:
            lakescan.open(location, storage=options).snapshot()
        shown = "".join(traceback.format_exception(refused.value)) + repr(StorageConfiguration.from_options(options))
        assert "\n" not in str(refused.value)
        assert secret not in shown
        assert signed not in shown


@pytest.fixture
def faulty(azure_store: AzureStore) -> Iterator[FaultyProxy]:
    proxy = FaultyProxy(f"http://{azure_store.address}")
    yield proxy
    proxy.stop()


def through(proxy: FaultyProxy, store: AzureStore) -> dict[str, str]:
    return {**by_key(store), "fs.azure.abfs.endpoint": urlsplit(proxy.url).netloc}


@pytest.mark.parametrize("fault", ["500", "503 ServerBusy", RESET])
def test_a_store_that_fails_every_fourth_request_gives_the_same_rows(
    fault: str, azure_store: AzureStore, faulty: FaultyProxy, tmp_path: Path
) -> None:
    local = delta(tmp_path / "table")
    location = azure_store.put(local, f"now and then {fault}")
    faulty.fault = lambda number, asked: fault if number % 4 == 0 else OK
    assert rows(lakescan.open(location, storage=through(faulty, azure_store))) == rows(lakescan.open(local))
    assert len(faulty.spoiled) >= 2


def test_a_file_whose_bytes_end_too_early_is_asked_for_again(
    azure_store: AzureStore, faulty: FaultyProxy, tmp_path: Path
) -> None:
    local = delta(tmp_path / "table")
    location = azure_store.put(local, "cut")
    faulty.fault = lambda number, asked: CUT if number % 2 and asked.startswith("GET") and "comp=" not in asked else OK
    assert rows(lakescan.open(location, storage=through(faulty, azure_store))) == rows(lakescan.open(local))
    assert len(faulty.spoiled) >= 2


def test_a_store_that_keeps_failing_is_one_error_that_names_the_file(
    azure_store: AzureStore, faulty: FaultyProxy, tmp_path: Path
) -> None:
    location = azure_store.put(delta(tmp_path / "table"), "down")
    faulty.fault = lambda number, asked: "503" if ".parquet" in asked else OK
    with pytest.raises(StorageFailure, match=location + r"/\S+\.parquet could not be read: .*Check the credentials"):
        rows(lakescan.open(location, storage=through(faulty, azure_store)))


def test_a_failure_of_azure_is_no_damage_to_a_file() -> None:
    text = "GetBlob failed. Azure Error: [AuthenticationFailed] 403 Signature not valid in the specified time frame"
    assert isinstance(failure_of_store("abfs://c@a/f", OSError(text)), StorageFailure)


def test_an_account_is_asked_by_what_was_given_for_it_alone() -> None:
    configuration = StorageConfiguration.from_options(
        {
            "fs.azure.account.key": "for-all",
            f"spark.hadoop.fs.azure.account.key.{HOST}": "its-own",
            "fs.azure.account.key.other.blob.core.windows.net": "the-others",
            "fs.azure.sas.fixed.token.signed.dfs.core.windows.net": "sig=1",
            "fs.azure.account.auth.type.signed.dfs.core.windows.net": "SAS",
        }
    ).azure
    hosts = (HOST, "other.dfs.core.windows.net", "third.dfs.core.windows.net", "signed.dfs.core.windows.net")
    settings = [azure.settings_of(configuration, f"abfss://c@{host}", "") for host in hosts]
    assert [each.credentials and each.credentials.account_key for each in settings] == [
        "its-own",
        "the-others",
        "for-all",
        "",
    ]
    assert settings[3].credentials == AzureCredentials(sas_token="sig=1")
    assert [each.account for each in settings] == [ACCOUNT, "other", "third", "signed"]
    assert {each.endpoint for each in settings[:1]} == {f"https://{ACCOUNT}.blob.core.windows.net"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (APPLICATION, AzureCredentials(tenant_id="a-tenant", client_id="an-application", client_secret="hunter2")),
        ({"fs.azure.account.oauth.provider.type": "org.apache.hadoop.fs.azurebfs.oauth2.MsiTokenProvider"}, None),
        (
            {
                "fs.azure.account.oauth.provider.type": "x.MsiTokenProvider",
                "fs.azure.account.oauth2.client.id": "an-identity",
            },
            AzureCredentials(client_id="an-identity"),
        ),
        ({"fs.azure.account.oauth.provider.type": "x.WorkloadIdentityTokenProvider"}, None),
    ],
)
def test_oauth_means_what_it_means_to_hadoop(options: dict[str, str], expected: AzureCredentials | None) -> None:
    given = StorageConfiguration.from_options({"fs.azure.account.auth.type": "OAuth", **options}).azure
    assert azure.settings_of(given, STORE, "").credentials == (expected or AzureCredentials())
    # Arrow makes a client of it; nobody is asked before a file is.
    assert azure.file_system(azure.settings_of(given, STORE, ""), STORE).type_name == "abfs"


def test_only_abfs_is_asked_without_encryption_and_only_where_that_is_said() -> None:
    plain = AzureConfiguration.from_options({"fs.azure.always.use.https": "false"})
    for scheme, configuration, expected in (
        ("abfs", plain, True),
        ("abfss", plain, False),
        ("abfs", AzureConfiguration(), False),
    ):
        assert azure.settings_of(configuration, f"{scheme}://c@{HOST}", "").is_plain is expected


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"fs.azure.account.kye": "hunter2"}, "fs.azure.account.kye .* no such option of storage. There are fs.azure"),
        ({"fs.azure.account.auth.type": "SharedKey"}, "fs.azure.account.key .* it is missing"),
        ({"fs.azure.account.auth.type": "Custom"}, "'Custom' is not SharedKey, SAS or OAuth"),
        ({"fs.azure.account.oauth.provider.type": "x.Own"}, "x.Own is not one of ClientCredsTokenProvider"),
        ({"fs.azure.sas.token.provider.type": "x.Own"}, "x.Own runs in Hadoop alone; give fs.azure.sas.fixed.token"),
        ({"fs.azure.account.oauth2.client.id": "me"}, "fs.azure.account.oauth2.client.secret .* it is missing"),
        (
            {**APPLICATION, "fs.azure.account.oauth2.client.endpoint": "https://elsewhere/t/oauth2/token"},
            "AZURE_AUTHORITY_HOST",
        ),
        ({"fs.azure.always.use.https": "no"}, "'no' is neither 'true' nor 'false'"),
        ({"fs.azure.abfs.endpoint": "http://host:1"}, "it is a host and a port"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_name(options: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidOption, match=named) as error:
        lakescan.open(f"{STORE}/t", storage=options)
    assert "hunter2" not in str(error.value)


def test_a_host_that_is_no_accounts_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedLocation, match=r"example\.com is no host of an account.*fs\.azure\.abfs\.endpoint"):
        lakescan.open("abfss://c@a.example.com/t", storage={"fs.azure.account.key": KEY})


def test_a_changed_environment_opens_the_store_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = azure.settings_of(AzureConfiguration(), STORE, "")
    monkeypatch.setitem(os.environ, "AZURE_TENANT_ID", "another")
    assert azure.settings_of(AzureConfiguration(), STORE, "") != before
