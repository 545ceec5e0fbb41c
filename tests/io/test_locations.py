from urllib.parse import quote

import pyarrow.fs as pafs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakescan.errors import StorageFailure, UnsupportedLocation
from lakescan.io.locations import Location, has_scheme, locate
from lakescan.io.storage import Storage


def test_only_a_path_with_a_scheme_is_a_uri() -> None:
    assert has_scheme("s3://b/x")
    assert has_scheme("file:/x")
    assert not any(map(has_scheme, ["/x", "x", "p=1:/x", "a b:/x", "x:y"]))


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n", "S3", "S3A"])
def test_hadoops_names_for_s3_are_s3(scheme: str) -> None:
    assert locate(f"{scheme}://bucket/a%20b") == Location("s3://bucket", "/a b")


@pytest.mark.parametrize(
    ("location", "store"),
    [
        ("gs://bucket/x", "gs://bucket"),
        ("wasbs://container@account/x", "abfss://container@account"),
        ("hdfs://host:9000/x", "hdfs://host:9000"),
        ("hdfs:///x", "hdfs://"),
        ("hdfs:/x", "hdfs://"),
        ("/x", ""),
        ("file:/x", ""),
        ("FILE:///x", ""),
    ],
)
def test_a_location_is_a_store_and_a_path_in_it(location: str, store: str) -> None:
    assert locate(location) == Location(store, "/x")


@given(st.text(st.characters(codec="utf-8"), min_size=1))
@example("a b")
@example("100%")
@example("#1 + 日本")
def test_a_name_in_a_store_is_read_as_it_is_and_as_a_uri_escapes_it(name: str) -> None:
    assert locate("s3://bucket/" + quote(name)).path == f"/{name}"
    if "%" not in name and "?" not in name:
        assert locate(f"s3://bucket/{name}").path == f"/{name}"


def test_an_absolute_path_of_a_table_in_a_store_is_one_in_its_bucket() -> None:
    table = Storage.at("s3a://bucket/folder/table")
    assert locate(table.location).below("/x/y") == Location("s3://bucket", "/x/y")
    assert table.full_path("/x/y") == "s3a://bucket/x/y"
    assert table.uri("/x/a b") == "s3a://bucket/x/a%20b"


def test_the_uri_of_a_file_is_escaped_once_however_its_table_is_spelled() -> None:
    for location in ("s3://bucket/my table", "s3://bucket/my%20table"):
        assert Storage.at(location).uri("p=a b/x.parquet") == "s3://bucket/my%20table/p=a%20b/x.parquet"
    assert Storage.at("s3://bucket/t").uri("s3a://other/a%20b") == "s3a://other/a%20b"
    for location in ("/my table", "file:/my%20table", "file:///my%20table"):
        assert Storage.at(location).uri("a b") == "file:/my%20table/a%20b"


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("s3://key:secret@bucket/table", "s3://…"),
        ("s3a://key:secret@bucket/table?secret=x", "s3a://…"),
        ("s3a://key:a/secret@bucket/table", "s3a://…"),
        ("s3://bucket/table?endpoint_override=localhost&secret=x", "s3://bucket/table"),
        ("gs://bucket/table?secret=x", "gs://bucket/table"),
    ],
)
def test_what_opens_a_store_is_not_taken_from_a_location_nor_shown(location: str, shown: str) -> None:
    with pytest.raises(UnsupportedLocation, match="AWS_ENDPOINT_URL") as error:
        Storage.at(location).has_folder("_delta_log")
    assert str(error.value).startswith(f"{shown} ")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("said", "error", "named"),
    [
        (
            "Unable to load libjvm\ndlopen(a) failed\ndlopen(b) failed",
            UnsupportedLocation,
            "install Hadoop's native client",
        ),
        ("Prior attempt to load libhdfs failed", UnsupportedLocation, "CLASSPATH"),
        ("HDFS connection failed\nJava said more", StorageFailure, "HDFS connection failed. Check"),
    ],
)
def test_hdfs_without_hadoops_library_is_one_sentence_that_says_what_to_install(
    said: str, error: type[Exception], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class _Arrow:
        @staticmethod
        def from_uri(uri: str) -> None:
            raise OSError(said)

    monkeypatch.setattr(pafs, "FileSystem", _Arrow)
    with pytest.raises(error, match=named) as refused:
        Storage.at("hdfs://name-node:8020/t").list_from("")
    assert "dlopen" not in str(refused.value)
    assert "\n" not in str(refused.value)
