"""A store that fails now and then gives the same rows; one that keeps failing gives one error that names the file."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import Event

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import ExpiredCredentials, StorageFailure
from lakescan.io.configuration import Credentials, StorageConfiguration
from lakescan.reader.read_plan import ReadTask
from lakescan.scan.plan import Plan
from tests.faulty_proxy import CUT, EXPIRED, OK, RESET, SILENT, FaultyProxy
from tests.object_store import ObjectStore
from tests.tables import DeltaBuilder

FILES, MANY_FILES, ROWS_A_FILE, TWO_READERS = 3, 8, 3, 2


@pytest.fixture
def faulty(object_store: ObjectStore) -> Iterator[FaultyProxy]:
    proxy = FaultyProxy(object_store.url, silence_s=4)
    yield proxy
    proxy.stop()


@pytest.fixture
def location(object_store: ObjectStore, tmp_path: Path) -> str:
    return _table(object_store, tmp_path, FILES)


@pytest.fixture
def longer(object_store: ObjectStore, tmp_path: Path) -> str:
    """A table of more files than are read ahead."""
    return _table(object_store, tmp_path, MANY_FILES)


def _table(store: ObjectStore, folder: Path, files: int) -> str:
    # Larger than what is read whole at once: each file takes several requests.
    rows = pa.table({"id": pa.array(range(ROWS_A_FILE), pa.int64()), "text": ["x" * 40_000, "y" * 40_000, "z"]})
    builder = DeltaBuilder(folder / "table", rows.schema)
    for _ in range(files):
        builder.append(rows)
    return store.put(folder / "table", f"retries-{folder.name}")


def told(proxy: FaultyProxy, **more: str) -> dict[str, str]:
    keys = {"fs.s3a.access.key": "k", "fs.s3a.secret.key": "s", "fs.s3a.endpoint.region": "us-east-1"}
    return {"fs.s3a.endpoint": proxy.url, **keys, **more}


def ids(location: str, storage: dict[str, str] | StorageConfiguration) -> list[int]:
    read = lakescan.open(location, storage=storage).snapshot().scan().build().to_arrow()
    return sorted(read.column("id").to_pylist())


EXPECTED = sorted(list(range(ROWS_A_FILE)) * FILES)


@pytest.mark.parametrize("fault", ["500 InternalError", "503 SlowDown", "503", RESET, CUT])
def test_a_store_that_fails_every_fourth_request_gives_the_same_rows(
    fault: str, faulty: FaultyProxy, location: str
) -> None:
    faulty.fault = lambda number, asked: fault if number % 4 == 0 else OK
    assert ids(location, told(faulty)) == EXPECTED
    assert len(faulty.spoiled) >= FILES


def test_an_answer_that_does_not_come_is_asked_for_again(faulty: FaultyProxy, location: str) -> None:
    faulty.fault = lambda number, asked: SILENT if number == 5 else OK
    started = time.monotonic()
    assert ids(location, told(faulty, **{"fs.s3a.connection.timeout": "1s"})) == EXPECTED
    # Nobody waited for the silent answer.
    assert time.monotonic() - started < faulty.silence_s + 20
    assert len(faulty.spoiled) == 1


@pytest.mark.parametrize("fault", ["500 InternalError", "503 SlowDown", RESET])
def test_a_store_that_keeps_failing_is_one_error_that_names_the_file_after_as_many_attempts_as_were_given(
    fault: str, faulty: FaultyProxy, location: str
) -> None:
    faulty.fault = lambda number, asked: fault if ".parquet" in asked else OK
    named = re.escape(location) + r"/\S+\.parquet could not be read: .*Check the credentials, permissions and network"
    with pytest.raises(StorageFailure, match=named):
        ids(location, told(faulty, **{"fs.s3a.attempts.maximum": "3"}))
    by_file: dict[str, list[float]] = {}
    for _, asked, when in faulty.spoiled:
        by_file.setdefault(asked, []).append(when)
    # A connection that was kept and is no more is asked once more by the HTTP client itself.
    assert max(map(len, by_file.values())) in ({3, 4} if fault == RESET else {3})


def test_a_retry_waits_longer_each_time_and_not_always_as_long(faulty: FaultyProxy, location: str) -> None:
    faulty.fault = lambda number, asked: "503" if "_delta_log" in asked else OK
    waits = []
    for _ in range(2):
        faulty.spoiled.clear()
        with pytest.raises(StorageFailure):
            ids(location, told(faulty, **{"fs.s3a.attempts.maximum": "4"}))
        times = [when for _, _, when in faulty.spoiled]
        waits.append([round(after - before, 3) for before, after in pairwise(times)])
    assert {len(each) for each in waits} == {3}
    assert len({tuple(each) for each in waits}) > 1


@dataclass(frozen=True)
class _Renewed:
    """A provider whose keys somebody writes to a file anew."""

    file: str

    def __call__(self) -> Credentials:
        return Credentials(Path(self.file).read_text(), "s", "a token")


def _hold_all_but_the_first_file(faulty: FaultyProxy, plan: Plan, then: str = OK) -> Event:
    """Until the event: files are read ahead, and on a busy machine all of them would be before a test goes on."""
    task = plan.tasks(TWO_READERS)[0]
    assert isinstance(task, ReadTask)
    go_on, first = Event(), str(task.pieces["path"][0])

    def held(number: int, asked: str) -> str:
        if first in asked:
            return OK
        go_on.wait(60)
        return then

    faulty.fault = held
    return go_on


def test_keys_that_are_renewed_in_the_middle_of_a_query_are_used_from_the_next_file_on(
    object_store: ObjectStore, faulty: FaultyProxy, longer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: TWO_READERS)
    keys = tmp_path / "keys"
    keys.write_text("first")
    plan = (
        lakescan.open(
            longer,
            storage=StorageConfiguration(endpoint=faulty.url, region="us-east-1", credentials=_Renewed(str(keys))),
        )
        .snapshot()
        .scan()
        .build()
    )
    object_store.keys_seen.clear()
    renewed = _hold_all_but_the_first_file(faulty, plan)
    batches = plan.to_batches()
    read = [next(batches)]
    keys.write_text("second")
    renewed.set()
    read += list(batches)
    assert sorted(pa.Table.from_batches(read).column("id").to_pylist()) == sorted(list(range(ROWS_A_FILE)) * MANY_FILES)
    assert object_store.keys_seen == {"first", "second"}


def test_keys_that_expire_in_the_middle_of_a_query_are_named(
    faulty: FaultyProxy, longer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: TWO_READERS)
    plan = lakescan.open(longer, storage=told(faulty)).snapshot().scan().build()
    expired = _hold_all_but_the_first_file(faulty, plan, EXPIRED)
    batches = plan.to_batches()
    next(batches)
    expired.set()
    with pytest.raises(ExpiredCredentials, match=re.escape(longer) + r"/\S+\.parquet .* have expired.*provider"):
        list(batches)
