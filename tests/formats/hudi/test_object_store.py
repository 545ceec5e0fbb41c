"""Hudi tables in an object store, which Arrow and hudi-rs both read: the same environment tells both where it is."""

import os
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest

import lakescan
from lakescan import errors
from lakescan.formats.hudi import engine
from lakescan.formats.hudi.engine import settings_of, store_options
from lakescan.io import configuration as storage_configuration
from lakescan.io.storage import Storage
from tests.expected import in_order, plain_rows
from tests.object_store import BUCKET, ObjectStore
from tests.sample_tables import sample_table

from .tables import COW_PARTITIONED, MOR_PARTITIONED, TRIPS_INDEXED, TRIPS_UPDATED, open_hudi, rows_of

Unpack = Callable[[str], Path]


@pytest.mark.parametrize("name", [COW_PARTITIONED, MOR_PARTITIONED, TRIPS_INDEXED, "log_only_v9"])
def test_rows_changes_and_history_are_those_of_local_disk(name: str, unpack: Unpack, store: ObjectStore) -> None:
    table, expected = lakescan.open(store.put(unpack(name), name)), open_hudi(unpack(name))
    instants = expected.snapshot().timeline.instants
    for instant in (instants[-1], instants[len(instants) // 2]):
        rows, wanted = (source.snapshot(version=instant).scan().build().to_arrow() for source in (table, expected))
        assert wanted.num_rows
        assert rows_of(rows) == rows_of(wanted), instant
    rows, wanted = (source.changes(instants[-1]).scan().build().to_arrow() for source in (table, expected))
    assert rows_of(rows) == rows_of(wanted)
    assert table.history() == expected.history()


@pytest.mark.parametrize("name", ["renamed_avro", "widened_between_log_files_parquet"])
def test_slices_of_several_schemas_are_merged_as_hudi_merges_them(
    name: str, store: ObjectStore, tmp_path: Path
) -> None:
    made = sample_table(name)
    location = store.put(made.unpack(tmp_path), name)
    rows = lakescan.open(location).snapshot().scan().build().to_arrow()
    assert in_order(plain_rows(rows)) == in_order(made.rows)


def test_a_location_may_be_spelled_with_its_characters_or_escaped(unpack: Unpack, store: ObjectStore) -> None:
    name = "my tablé#1%"
    store.put(unpack(TRIPS_UPDATED), name)
    for spelling in (f"s3a://{BUCKET}/{quote(name)}", f"s3://{BUCKET}/my tablé#1%25"):
        assert lakescan.open(spelling).snapshot().scan().build().to_arrow().num_rows == 8, spelling


def test_the_endpoint_for_s3_alone_comes_first_and_http_is_allowed_only_where_it_is_asked_for(
    unpack: Unpack, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = store.put(unpack(TRIPS_UPDATED), "hudi-endpoint")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", store.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://nowhere.invalid")
    assert _told(location) == {store.url, "true"}
    assert lakescan.open(location).snapshot().scan().build().to_arrow().num_rows == 8
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3")
    assert _told(location) == {"https://nowhere.invalid", "false"}
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    assert _told(location) == set()


def _told(location: str) -> set[str]:
    """What hudi-rs is told of the endpoint, by whichever names, and whether it may be one of http."""
    return set(store_options(settings_of(Storage.at(location))).values())


def test_a_file_that_is_gone_is_named(unpack: Unpack, store: ObjectStore) -> None:
    location = store.put(unpack(TRIPS_UPDATED), "hudi-gone")
    snapshot = lakescan.open(location).snapshot()
    snapshot.files()
    keys = [key for key in store.keys("hudi-gone") if key.endswith(".parquet")]
    for key in keys:
        store.remove(key)
    with pytest.raises(errors.MissingDataFile, match="|".join(f"s3://{BUCKET}/{key} " for key in keys)):
        snapshot.scan().build().to_arrow()
    with pytest.raises(errors.MissingDataFile, match="|".join(f"s3://{BUCKET}/{key} " for key in keys)):
        lakescan.open(location).snapshot().files()


@pytest.mark.parametrize(
    ("refused", "named"),
    [
        ("hoodie.properties", "hoodie.properties"),
        (".deltacommit", ".hoodie"),
        ("prefix=hudi-refused/city", ".hoodie"),
        (".parquet", ".parquet"),
        (".log.", ".log."),
    ],
)
def test_a_file_that_the_store_refuses_is_named(refused: str, named: str, unpack: Unpack, store: ObjectStore) -> None:
    location = store.put(unpack(TRIPS_UPDATED), "hudi-refused")
    store.refused.add(refused)
    with pytest.raises(
        errors.StorageFailure, match=f"^s3://{BUCKET}/hudi-refused.*{named}.* could not be read"
    ) as error:
        lakescan.open(location).snapshot().scan().build().to_arrow()
    assert "403" in str(error.value) or "ACCESS_DENIED" in str(error.value)


@pytest.mark.parametrize("refused", ["hoodie.properties", ".deltacommit", ".log.", ".parquet"])
def test_a_token_in_the_stores_answer_is_not_shown(refused: str, unpack: Unpack, store: ObjectStore) -> None:
    location = store.put(unpack("logs_v6"), "hudi-token")
    store.refused.add(refused)
    store.besides = "<Token-0>hunter2</Token-0><StringToSign>hunter2</StringToSign>"
    with pytest.raises(errors.StorageFailure, match=r"AccessDenied|ACCESS_DENIED") as error:
        lakescan.open(location).snapshot().scan().build().to_arrow()
    # A worker's errors reach Spark's log with all that they came from.
    assert "hunter2" not in "".join(traceback.format_exception(error.value))


def test_a_reader_is_not_used_again_with_other_credentials(
    unpack: Unpack, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = lakescan.open(store.put(unpack("logs_v6"), "hudi-keys"))
    assert table.snapshot().scan().build().to_arrow().num_rows == 20
    first = table.snapshot()
    assert table.snapshot() is first
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another-key")
    store.keys_seen.clear()
    assert table.snapshot().scan().build().to_arrow().num_rows == 20
    assert store.keys_seen == {"another-key"}


class Silent:
    """A server that takes connections and never answers."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._taken: list[socket.socket] = []
        Thread(target=self._take, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def stop(self) -> None:
        for taken in [self._socket, *self._taken]:
            taken.close()

    def _take(self) -> None:
        with suppress(OSError):
            while True:
                self._taken.append(self._socket.accept()[0])


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    server = Silent()
    monkeypatch.setattr(storage_configuration, "TIMEOUT_S", 1.0)
    for name, value in {"ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b", "ENDPOINT_URL": server.url}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    yield server
    server.stop()


@pytest.mark.usefixtures("silent")
def test_a_store_that_never_answers_is_an_error_after_a_while() -> None:
    began = time.monotonic()
    with pytest.raises(errors.StorageFailure, match="s3://lake/silent"):
        lakescan.open("s3://lake/silent")
    assert time.monotonic() - began < 60


@pytest.mark.usefixtures("silent")
def test_a_store_that_never_answers_hudi_rs_is_an_error_after_a_while() -> None:
    began = time.monotonic()
    with pytest.raises(errors.StorageFailure, match="s3://lake/silent"):
        engine.open_table(Storage.at("s3://lake/silent"))
    assert time.monotonic() - began < 90


def test_an_index_that_the_store_does_not_give_is_no_damage_to_it(unpack: Unpack, store: ObjectStore) -> None:
    location = store.put(unpack(TRIPS_INDEXED), "hudi-index")
    store.refused.add("/metadata/column_stats/col-stats")
    with pytest.raises(errors.StorageFailure, match=r"column_stats/.* could not be read: .*AWS Error"):
        lakescan.open(location).snapshot().scan().filter("fare > 20").build().files()


def test_credentials_that_only_arrow_finds_are_asked_for_by_name(
    unpack: Unpack, store: ObjectStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    location = store.put(unpack(TRIPS_UPDATED), "hudi-profile")
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    keys = [f"{name.lower()} = {store.environment[name]}" for name in names]
    (tmp_path / "credentials").write_text("\n".join(["[default]", *keys]))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    for name in names:
        monkeypatch.delenv(name)
    # hudi-rs then asks for the machine's role, at an address of Amazon's: the store stands in for it and has none.
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", store.url)
    store.refused.add("/latest/")
    table = lakescan.open(location)
    with pytest.raises(
        errors.StorageFailure, match=r"Hudi tables are read with AWS_ACCESS_KEY_ID .* not with profiles"
    ):
        table.snapshot()


def test_planning_reads_each_commit_once_and_looks_into_one_data_file_at_most(
    unpack: Unpack, store: ObjectStore
) -> None:
    location = store.put(unpack(COW_PARTITIONED), "hudi-requests")
    table = lakescan.open(location)
    table.snapshot().scan().build().files()
    asked = store.asked()
    assert len({what.split()[1] for what in asked if ".parquet" in what}) <= 1
    # Two are listings that tell whether a commit has ended since the timeline was loaded, and two ask for the size
    # of a commit: commits are checked before hudi-rs may read them, and Arrow asks for a size before it reads. The
    # table has four partitions.
    assert len(asked) <= 43
    table.snapshot().scan().build().files()
    assert len(store.asked()) == 1
