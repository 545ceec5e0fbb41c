"""Options that Delta's own streams have: each does what it does there, and a value that it cannot have is refused."""

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakescan.errors import ChangeNotAllowed, InvalidOption, MissingDataFile, SchemaChanged, VersionNotFound
from tests.formats.delta.stream.engine import Engine, pin
from tests.tables import DeltaBuilder


def ids(number: int) -> pa.Table:
    return pa.table({"id": pa.array([number], pa.int64())})


def table(root: Path, files: int = 3) -> DeltaBuilder:
    built = DeltaBuilder(root, pa.schema([("id", pa.int64())]))
    for number in range(1, files + 1):
        built.append(ids(number), name=f"part={number}.parquet")
    return built


def given(engine: Engine) -> list[int]:
    engine.drain()
    return sorted(row["id"] for row in engine.rows)


@pytest.mark.parametrize("options", [{}, {"startingVersion": 0}, {"startingVersion": 0, "maxFilesPerTrigger": 1}])
def test_files_that_the_user_excludes_are_left_out(tmp_path: Path, options: dict[str, Any]) -> None:
    built = table(tmp_path)
    engine = Engine(built.path, {**options, "excludeRegex": r"part=[12]\."})
    assert given(engine) == [3]
    built.append(ids(4))
    engine.restart()
    assert given(engine) == [3, 4]


def test_the_change_feed_leaves_out_excluded_files_too(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]), properties={"delta.enableChangeDataFeed": "true"})
    built.commit(built.add(ids(1), name="a.parquet"), built.add(ids(2), name="b.parquet"))
    assert given(Engine(built.path, {"startingVersion": 1, "readChangeData": True, "excludeRegex": "^a"})) == [2]


@pytest.mark.parametrize("text", ["part=[", "[a-z&&[^b]]", "(?<name>x)", r"\p{L}", "a{1,99999999999}"])
def test_a_pattern_that_may_mean_something_else_in_java_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidOption, match="excludeRegex"):
        pin(table(tmp_path).path, excludeRegex=text)


def test_commits_that_are_gone_are_left_out_with_a_warning_where_the_user_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    built = table(tmp_path)
    engine = Engine(built.path, {"startingVersion": 0})
    assert given(engine) == [1, 2, 3]
    for number in range(4, 8):
        built.append(ids(number))
    built.checkpoint()
    built.append(ids(8))
    built.clean_log(6)
    engine.restart()
    with pytest.raises(VersionNotFound):
        engine.drain()
    engine.options = {**engine.options, "failOnDataLoss": False, "maxFilesPerTrigger": 2}
    engine.restart()
    with caplog.at_level(logging.WARNING, "lakescan.stream"):
        assert given(engine) == [1, 2, 3, 6, 7, 8]
    assert "2 are gone and their rows are left out" in caplog.text
    assert "failOnDataLoss" in engine.notes[1]["warning"]
    with pytest.raises(VersionNotFound):
        given(Engine(built.path, {"startingVersion": 2, "failOnDataLoss": False}))


def test_a_schema_log_needs_every_commit(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="needs every commit"):
        pin(table(tmp_path).path, failOnDataLoss=False, schemaTrackingLocation=str(tmp_path / "schemas"))


def test_a_missing_file_is_an_error_also_where_spark_would_ignore_it(tmp_path: Path) -> None:
    built = table(tmp_path)
    (tmp_path / "part=2.parquet").unlink()
    with pytest.raises(MissingDataFile, match="part=2"):
        given(Engine(built.path, {"startingVersion": 0, "ignoreMissingFiles": True}))


def renamed(root: Path) -> DeltaBuilder:
    """Version 2 renames a column."""
    built = DeltaBuilder(root / "table", pa.schema([("id", pa.int64())]), mapping="name")
    built.append(ids(1))
    built.schema["fields"][0]["name"] = "number"
    built.commit(built.metadata())
    built.append(pa.table({"number": pa.array([2], pa.int64())}))
    return built


@pytest.mark.parametrize(
    ("allowed", "passes"),
    [
        ({}, True),
        ({"allowSourceColumnRename": "always"}, True),
        ({"allowSourceColumnRename": "2"}, True),
        ({"allowSourceColumnRename": "1"}, False),
        ({"allowSourceColumnDrop": "always"}, False),
    ],
)
def test_where_the_options_name_the_changes_that_a_stream_may_pass_no_other_is_passed(
    tmp_path: Path, allowed: dict[str, str], passes: bool
) -> None:
    built = renamed(tmp_path)
    engine = Engine(built.path, {"startingVersion": 0, "schemaLocation": str(tmp_path / "schemas"), **allowed})
    with pytest.raises(SchemaChanged):
        engine.drain()
    engine.restart()
    if passes:
        engine.drain()
        assert engine.rows == [{"id": 1}, {"number": 2}]
        return
    for _ in range(2):
        with pytest.raises(ChangeNotAllowed, match=r"renamed to number.*Set allowSourceColumnRename to 2"):
            engine.drain()


def test_streams_with_ids_of_their_own_share_a_folder_of_schemas(tmp_path: Path) -> None:
    one, other = table(tmp_path / "one"), table(tmp_path / "other")
    folder = str(tmp_path / "schemas")
    for built, name in ((one, "a"), (other, "b")):
        options = {"startingVersion": 0, "schemaTrackingLocation": folder, "streamingSourceTrackingId": name}
        assert given(Engine(built.path, options)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("size", "accepted"), [("1t", True), ("1kib", True), ("5PB", True), ("1ki", True), ("7", True)]
    + [(text, False) for text in ("1.5k", "5 k", "0", "-1", "1x", "", "9000p", "\u0661k")],
)  # fmt: skip
def test_sizes_are_those_that_spark_reads(tmp_path: Path, size: str, accepted: bool) -> None:
    built = table(tmp_path)
    if accepted:
        assert given(Engine(built.path, {"startingVersion": 0, "maxBytesPerTrigger": size})) == [1, 2, 3]
        return
    with pytest.raises(InvalidOption, match="maxBytesPerTrigger"):
        pin(built.path, maxBytesPerTrigger=size)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("allowSourceColumnDrop", "sometimes"),
        ("failOnDataLoss", "no"),
        ("startingVersion", "\u00b2"),
        ("maxFilesPerTrigger", "\u00b2"),
    ],
)
def test_a_value_that_an_option_cannot_have_is_refused(tmp_path: Path, option: str, value: str) -> None:
    with pytest.raises(InvalidOption, match=option):
        pin(table(tmp_path).path, **{option: value})
