"""Google's store opens with Hadoop's `fs.gs.*` options: anonymously, by a key file, or as the process that reads."""

import json
import pickle
import traceback
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt

import lakescan
from lakescan.errors import InvalidOption, MissingPackage, StorageFailure, TableNotFound
from lakescan.formats.hudi.engine import store_options
from lakescan.io import gcs
from lakescan.io.configuration import StorageConfiguration
from lakescan.io.gcs import GcsConfiguration, GcsCredentials, ProcessIdentity, ServiceAccountKey
from lakescan.io.storage import Storage, failure_of_store
from tests.emulators import GoogleStore
from tests.tables import DeltaBuilder

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["a", "b", "c"]})
ANONYMOUS = {"fs.gs.auth.type": "UNAUTHENTICATED"}


def delta(folder: Path) -> Path:
    builder = DeltaBuilder(folder, ROWS.schema)
    builder.append(ROWS)
    builder.append(ROWS)
    return folder


def where(store: GoogleStore) -> dict[str, str]:
    return {"fs.gs.storage.root.url": store.url}


def key_file(folder: Path) -> tuple[Path, bytes]:
    """A service account's key as Google gives it out, and the public half of it."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    text = key.private_bytes(pem, pkcs8, serialization.NoEncryption()).decode()
    account = {
        "type": "service_account",
        "client_email": "reader@project.iam.gserviceaccount.com",
        "private_key_id": "one",
        "private_key": text,
        "token_uri": "http://127.0.0.1:9/token",
    }
    file = folder / "key.json"
    file.write_text(json.dumps(account))
    return file, key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)


def test_a_table_reads_as_on_local_disk(google_store: GoogleStore, tmp_path: Path) -> None:
    local = delta(tmp_path / "table")
    location = google_store.put(local, "my table")
    table = lakescan.open(location, storage={**where(google_store), **ANONYMOUS})
    expected = lakescan.open(local).snapshot().scan().build().to_arrow()
    assert table.snapshot().scan().build().to_arrow().sort_by("id").equals(expected.sort_by("id"))
    assert len(table.snapshot(version=1).scan().build().to_arrow()) == 3
    assert google_store.who_asked() == {""}


def test_a_listing_has_sizes_times_and_the_folders_of_its_files(google_store: GoogleStore, tmp_path: Path) -> None:
    location = google_store.put(delta(tmp_path / "table"), "listed")
    configuration = StorageConfiguration.from_options({**where(google_store), **ANONYMOUS})
    storage = Storage.at(location, configuration)
    listed = storage.list_from("_delta_log", f"{1:020}")
    assert [entry.name for entry in listed] == [f"{version:020}.json" for version in (1, 2)]
    assert all(entry.size and entry.modified_ms for entry in listed)
    files, folders = storage.tree()
    assert len(files) == 5
    assert folders == ["_delta_log"]


def test_a_key_file_signs_every_request_of_every_process(google_store: GoogleStore, tmp_path: Path) -> None:
    file, public = key_file(tmp_path)
    location = google_store.put(delta(tmp_path / "table"), "signed")
    options = {**where(google_store), "fs.gs.auth.service.account.json.keyfile": str(file)}
    plan = lakescan.open(location, storage=options).snapshot().scan().build()
    assert b"PRIVATE KEY" not in pickle.dumps(plan.read_plan)
    assert len(plan.to_arrow()) == 6
    asked = google_store.who_asked()
    assert asked
    for who in asked:
        claims = jwt.decode(who.removeprefix("Bearer "), certs=public)
        assert claims["iss"] == "reader@project.iam.gserviceaccount.com"
        assert "devstorage.read_only" in claims["scope"]


def test_a_key_file_that_was_changed_is_read_anew(tmp_path: Path) -> None:
    first = ServiceAccountKey(str(key_file(tmp_path)[0]))()
    assert ServiceAccountKey(first.key_file)() == first
    key_file(tmp_path)
    assert ServiceAccountKey(first.key_file)() != first


def test_what_is_not_there_is_no_table_and_no_failure(google_store: GoogleStore) -> None:
    for place in ("lake/none", "nowhere/none"):
        with pytest.raises(TableNotFound):
            lakescan.open(f"gs://{place}", storage={**where(google_store), **ANONYMOUS})


@dataclass(frozen=True)
class _Token:
    text: str = "hunter2"

    def __call__(self) -> GcsCredentials:
        return GcsCredentials(self.text)


def test_a_refusal_is_named_and_shows_no_secret(google_store: GoogleStore, tmp_path: Path) -> None:
    location = google_store.put(delta(tmp_path / "table"), "refused")
    configuration = StorageConfiguration(gcs=GcsConfiguration(google_store.url, _Token()))
    with pytest.raises(StorageFailure, match=r"^gs://lake/refused.*no right to read") as refused:
        lakescan.open(location, storage=configuration)
    assert google_store.who_asked() == {"Bearer hunter2"}
    settings = gcs.settings_of(configuration.gcs)
    shown = "".join(traceback.format_exception(refused.value))
    for text in (shown, repr(configuration), repr(settings), repr(settings.credentials)):
        assert "hunter2" not in text


@pytest.mark.parametrize("fault", ["500", "503", "reset"])
def test_a_store_that_fails_every_fourth_request_gives_the_same_rows(
    fault: str, google_store: GoogleStore, tmp_path: Path
) -> None:
    location = google_store.put(delta(tmp_path / "table"), f"flaky-{fault}")
    table = lakescan.open(location, storage={**where(google_store), **ANONYMOUS})
    assert sorted(table.snapshot().scan().build().to_arrow().column("id").to_pylist()) == [1, 1, 2, 2, 3, 3]


def test_a_store_that_keeps_failing_is_one_error_that_names_the_file(
    google_store: GoogleStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gcs, "_RETRY_S", 1)
    # The token is this test's own: a file system that is kept has more patience.
    configuration = StorageConfiguration(gcs=GcsConfiguration(google_store.url, _Token("impatient")))
    location = google_store.put(delta(tmp_path / "table"), "down-503")
    with pytest.raises(StorageFailure, match=location + r"/\S+\.parquet could not be read: .*Check the credentials"):
        lakescan.open(location, storage=configuration).snapshot().scan().build().to_arrow()


def test_a_failure_of_google_is_no_damage_to_a_file() -> None:
    text = "google::cloud::Status(UNAVAILABLE: Retry policy exhausted)"
    assert isinstance(failure_of_store("gs://b/f", OSError(text)), StorageFailure)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, GcsConfiguration()),
        (ANONYMOUS, GcsConfiguration(None, GcsCredentials())),
        ({"fs.gs.auth.null.enable": "true"}, GcsConfiguration(None, GcsCredentials())),
        ({"fs.gs.auth.type": "APPLICATION_DEFAULT"}, GcsConfiguration(None, ProcessIdentity())),
        ({"fs.gs.auth.service.account.json.keyfile": "/k"}, GcsConfiguration(None, ServiceAccountKey("/k"))),
        ({"fs.gs.storage.root.url": "https://here/"}, GcsConfiguration("https://here/")),
    ],
)
def test_options_mean_what_they_mean_to_hadoop(options: dict[str, str], expected: GcsConfiguration) -> None:
    assert StorageConfiguration.from_options(options).gcs == expected


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"fs.gs.auth.typ": "x"}, "fs.gs.auth.typ .* no such option of storage. There are fs.gs.auth.type"),
        ({"fs.gs.auth.type": "ACCESS_TOKEN_PROVIDER"}, "ACCESS_TOKEN_PROVIDER is not one of SERVICE_ACCOUNT"),
        ({"fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE"}, "give fs.gs.auth.service.account.json.keyfile"),
        ({"fs.gs.auth.null.enable": "yes"}, "'yes' is neither 'true' nor 'false'"),
        ({"fs.gs.storage.root.url": "here"}, "here is no URL of http or https"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_name(options: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        lakescan.open("gs://lake/t", storage=options)


def test_a_key_file_that_is_not_there_or_needs_a_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"fs.gs.auth.service.account.json.keyfile": str(tmp_path / "none.json")}
    with pytest.raises(StorageFailure, match=r"^gs://lake/t.* provider failed \(FileNotFoundError\)"):
        lakescan.open("gs://lake/t", storage=options)
    file = key_file(tmp_path)[0]
    monkeypatch.setitem(__import__("sys").modules, "google.oauth2", None)
    with pytest.raises(MissingPackage, match=r"keyfile needs the package google-auth.*pip install google-auth"):
        lakescan.open("gs://lake/t", storage={"fs.gs.auth.service.account.json.keyfile": str(file)})


def test_hudis_engine_is_told_the_same() -> None:
    def told(endpoint: str, credentials: GcsCredentials | None) -> dict[str, str]:
        return store_options(gcs.GcsSettings(endpoint, credentials, ()))

    assert told("", None) == {}
    assert told("http://here:1/", GcsCredentials()) == {
        "google_base_url": "http://here:1",
        "google_allow_http": "true",
        "google_skip_signature": "true",
    }
    assert told("", GcsCredentials("t", None, "/k")) == {"google_service_account": "/k"}
    with pytest.raises(InvalidOption, match="hudi-rs takes no token"):
        told("", GcsCredentials("t"))
