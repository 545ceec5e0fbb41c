"""Nothing that opens a store is shown: not in errors, not in plans and reports, however a location is spelled."""

from pathlib import Path

import pytest

from lakescan.errors import CorruptDataFile, LakescanError, StorageFailure
from lakescan.io.secrets import masked
from lakescan.io.storage import Storage

PASSWORDS = [
    "abfss://container:hunter2@account.dfs.core.windows.net/t",
    "abfss://:hunter2@account/t",
    "wasbs://container:hunter2@account.blob.core.windows.net/t",
    "hdfs://user:hunter2@name-node:9000/t",
    "hdfs://user:hun/ter2@name-node/t",
    "gs://key:hunter2@bucket/t",
    "http://user:hunter2@host/t",
    "https://host/t?sig=hunter2&se=2024",
    "https://host/t?list-type=2&X-Amz-Signature=hunter2",
    "https://hunter2@host/t",
    "s3a://key:hunter2@bucket/t",
]


@pytest.mark.parametrize("location", PASSWORDS)
def test_no_error_shows_a_password_of_a_location(location: str, tmp_path: Path) -> None:
    for ask in (Storage.at(location).list_below, lambda: Storage.at(tmp_path).open(location)):
        with pytest.raises(LakescanError) as error:
            ask()
        assert "hun" not in str(error.value)
        assert "ter2" not in str(error.value)


@pytest.mark.parametrize("location", PASSWORDS)
def test_files_are_listed_and_named_without_passwords(location: str) -> None:
    table = Storage.at("/table")
    for shown in (table.full_path(location), table.uri(location), str(CorruptDataFile(location, f"see {location}"))):
        assert "ter2" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "abfss://container@account/t",
        "hdfs://host:9000/a@b",
        "s3://bucket/a:b/c@d?",
        "file:///x?y=z",
        "http://127.0.0.1:80/lake?list-type=2&prefix=a%2F",
        "/a:b@c/d?e=f",
        "a filter: x > 5 AND mail = 'me@example.org'",
    ],
)
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert masked(text).rstrip("?…") == text.rstrip("?")


def test_of_an_answer_of_a_store_only_its_code_and_message_are_shown() -> None:
    answer = (
        "GET failed: 403 Forbidden: <?xml version='1.0' encoding='UTF-8'?>\n<Error><Code>ExpiredToken</Code>"
        "<Message>The token has expired.</Message>\n<Token-0>hunter2</Token-0><HostId>x</HostId></Error>, after 1 retry"
    )
    error = StorageFailure("s3://bucket/t", answer)
    assert "403 Forbidden: ExpiredToken: The token has expired., after 1 retry" in str(error)
    assert "hunter2" not in str(error)
    assert "hunter2" not in masked(answer[: answer.index("</Token")])
