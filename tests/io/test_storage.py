import os
import pickle
from pathlib import Path
from urllib.parse import quote

import pytest

from lakescan.errors import StorageFailure, UnsupportedLocation
from lakescan.io.storage import Entry, Storage


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    for name, content in (("b", b"bb"), ("a", b"a"), ("c", b"0123456789"), ("sub/d", b"dddd")):
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_files_are_listed_in_order_from_a_name_on_and_folders_are_not_files(folder: Path) -> None:
    storage = Storage.at(folder.parent)
    assert [(entry.name, entry.size) for entry in storage.list_from(folder.name)] == [("a", 1), ("b", 2), ("c", 10)]
    assert [entry.name for entry in storage.list_from(folder.name, "b")] == ["b", "c"]
    assert storage.list_from(folder.name, "x") == []


def test_all_files_below_are_listed_by_their_paths(folder: Path) -> None:
    entries = Storage.at(folder).list_below()
    assert [(entry.name, entry.size) for entry in entries] == [("a", 1), ("b", 2), ("c", 10), ("sub/d", 4)]
    assert Storage.at(folder.as_uri()).list_below() == entries


def test_an_entry_has_the_files_time_in_milliseconds(folder: Path) -> None:
    os.utime(folder / "a", ns=(0, 1_700_000_000_123_456_789))
    assert Storage.at(folder).list_from("")[0] == Entry("a", 1, 1_700_000_000_123)


def test_bytes_are_read_whole_and_in_ranges_that_may_pass_the_end(folder: Path) -> None:
    storage = Storage.at(folder)
    assert storage.read("c") == b"0123456789"
    assert storage.read_ranges("c", [(3, 4)]) == [b"3456"]
    assert storage.read_ranges("c", [(8, 100), (0, 1), (100, 4)]) == [b"89", b"0", b""]
    assert storage.read_ranges("c", [(100, 4)]) == [b""]
    (folder / "long").write_bytes(b"a" + bytes(1 << 20) + b"bc")
    assert storage.read_ranges("long", [(0, 1), ((1 << 20) + 1, 1), (1 << 22, 4)]) == [b"a", b"b", b""]
    assert storage.read("sub/d") == b"dddd"


def test_storage_pickles_and_then_reads_the_same_files(folder: Path) -> None:
    storage = pickle.loads(pickle.dumps(Storage.at(folder)))
    assert storage == Storage.at(folder)
    assert storage.read("a") == b"a"


@pytest.mark.parametrize("spelling", ["{0}", "{0}/", "file:{0}", "file://{0}", "file://{0}/", "FILE://{0}"])
def test_a_local_folder_may_be_spelled_as_a_path_or_a_uri(folder: Path, spelling: str) -> None:
    assert Storage.at(spelling.format(folder)).read("a") == b"a"


def test_a_path_may_be_relative_to_the_working_directory_or_to_home(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("HOME", str(folder.parent))
    assert Storage.at(folder.name).location == str(folder)
    assert Storage.at(f"~/{folder.name}").location == str(folder)
    assert Storage.at(folder).location == str(folder)


@pytest.mark.parametrize("name", ["a b", "100%", "a%20b", "é", "a#b", "a?b", "a:b", "=x", "日本"])
def test_a_plain_path_is_taken_literally_and_a_uri_is_decoded_once(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(name.encode())
    storage = Storage.at(tmp_path / "elsewhere")
    assert Storage.at(tmp_path).read(name) == name.encode()
    assert storage.read(str(tmp_path / name)) == name.encode()
    assert storage.read("file://" + quote(str(tmp_path / name))) == name.encode()
    assert Storage.at("file://" + quote(str(tmp_path))).read(name) == name.encode()


def test_the_full_path_is_how_a_user_would_name_the_file() -> None:
    storage = Storage.at("/data/table")
    assert storage.full_path("part.parquet") == "/data/table/part.parquet"
    assert storage.full_path("/else/where") == "/else/where"
    assert storage.full_path("s3://bucket/x") == "s3://bucket/x"
    assert Storage.at("s3://bucket/table/").full_path("x") == "s3://bucket/table/x"


def test_a_missing_file_stays_file_not_found_for_the_caller_to_name(folder: Path) -> None:
    storage = Storage.at(folder)
    for ask in (storage.read, storage.open, storage.list_from, lambda path: storage.read_ranges(path, [(0, 1)])):
        with pytest.raises(FileNotFoundError):
            ask("gone")


def test_another_failure_is_a_named_error_with_the_whole_path(folder: Path) -> None:
    for ask in (Storage.at(folder).read, Storage.at(folder).open):
        with pytest.raises(StorageFailure, match=str(folder / "sub")):
            ask("sub")


def test_a_folder_is_told_from_a_file_and_from_nothing(folder: Path) -> None:
    storage = Storage.at(folder)
    assert storage.has_folder("sub")
    assert not storage.has_folder("a")
    assert not storage.has_folder("gone")


@pytest.mark.parametrize("location", ["ftp://host/x", "s4://bucket/x"])
def test_a_store_that_arrow_does_not_know_is_refused_by_name(location: str) -> None:
    with pytest.raises(UnsupportedLocation, match=location):
        Storage.at(location).list_from("_delta_log")


def test_a_bucket_without_a_name_is_a_named_error() -> None:
    with pytest.raises(UnsupportedLocation, match=r"s3:///_delta_log.*Missing bucket name"):
        Storage.at("s3://").list_from("_delta_log")
