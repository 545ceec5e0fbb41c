"""Hudi's own read options, with Hudi's meaning."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import InvalidOption, VersionNotFound
from lakescan.formats.registry import asked, checked, pinned
from lakescan.options import Read
from tests.formats.hudi.builder import HudiBuilder

BEGIN = "hoodie.datasource.read.begin.instanttime"
END = "hoodie.datasource.read.end.instanttime"
INCREMENTAL = {"hoodie.datasource.query.type": "incremental"}


@pytest.fixture
def table(tmp_path: Path) -> tuple[str, list[str]]:
    """Three commits, a row each."""
    built = HudiBuilder(tmp_path / "t")
    instants = [built.upsert(at, pa.table({"id": [at], "v": [f"v{at}"]})) for at in range(3)]
    return str(built.path), instants


def ids(path: str, options: dict[str, Any]) -> list[int]:
    opened = lakescan.open(path)
    given = checked(options, "hudi", Read.BATCH)
    snapshot = asked(opened, given, opened.snapshot)
    shown = sorted(row["id"] for row in snapshot.scan().build().to_arrow().to_pylist())
    again = asked(opened, pinned(snapshot, given), opened.snapshot)
    assert sorted(row["id"] for row in again.scan().build().to_arrow().to_pylist()) == shown
    return shown


def spelled(instant: str) -> str:
    day, time = instant[:8], instant[8:].ljust(9, "0")
    return f"{day[:4]}-{day[4:6]}-{day[6:]} {time[:2]}:{time[2:4]}:{time[4:6]}.{time[6:9]}"


def test_as_of_instant_is_the_newest_instant_not_after_it(table: tuple[str, list[str]]) -> None:
    path, instants = table
    for at, instant in enumerate(instants):
        for text in (instant, spelled(instant)):
            assert ids(path, {"as.of.instant": text}) == list(range(at + 1))
    assert ids(path, {"AS.OF.INSTANT": "2099-01-01"}) == [0, 1, 2]
    assert ids(path, {"as.of.instant": "2099-01-01 00:00:00"}) == [0, 1, 2]
    with pytest.raises(VersionNotFound, match=r"as\.of\.instant = 19990101000000"):
        ids(path, {"as.of.instant": "19990101000000"})
    with pytest.raises(InvalidOption, match="neither an instant"):
        ids(path, {"as.of.instant": "yesterday"})


def test_an_incremental_query_is_after_its_begin_and_up_to_its_end(table: tuple[str, list[str]]) -> None:
    path, (first, second, third) = table
    assert ids(path, {**INCREMENTAL, BEGIN: "earliest"}) == [0, 1, 2]
    assert ids(path, {**INCREMENTAL, BEGIN: "000"}) == [0, 1, 2]
    assert ids(path, {**INCREMENTAL, BEGIN: first}) == [1, 2]
    assert ids(path, {**INCREMENTAL, BEGIN: spelled(first), END: second}) == [1]
    assert ids(path, {**INCREMENTAL, BEGIN: third}) == []
    assert ids(path, {**INCREMENTAL, BEGIN: "000", END: "001"}) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (INCREMENTAL, "needs hoodie.datasource.read.begin.instanttime"),
        ({BEGIN: "000"}, "Add hoodie.datasource.query.type = incremental"),
        ({**INCREMENTAL, BEGIN: "000", "as.of.instant": "20240101000000"}, "reads a range of commits"),
        ({"hoodie.datasource.query.type": "cdc"}, "neither 'snapshot' nor 'read_optimized' nor 'incremental'"),
        ({**INCREMENTAL, "hoodie.datasource.query.incremental.format": "cdc"}, "not 'latest_state'"),
        ({"versionAsOf": "20240101000000", "as.of.instant": "20240101000000"}, "versionAsOf is given too"),
        ({"readChangeFeed": "true"}, "option of delta tables, and this is a hudi table"),
        ({"hoodie.datasource.query.typ": "snapshot"}, "Did you mean hoodie.datasource.query.type"),
    ],
)
def test_what_cannot_be_honoured_is_refused(table: tuple[str, list[str]], options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        ids(table[0], options)


def test_an_incremental_query_comes_in_the_schema_of_its_end(tmp_path: Path) -> None:
    """So that a range which has an end is the same for ever; Hudi's comes in the table's newest schema."""
    built = HudiBuilder(tmp_path / "t")
    built.upsert(0, pa.table({"id": [0], "v": ["a"]}))
    second = built.upsert(1, pa.table({"id": [1], "v": ["b"]}))
    third = built.upsert(2, pa.table({"id": [2], "v": ["c"], "added": [1.5]}))
    table = lakescan.open(built.path)
    for end, columns in ((second, ["id", "v"]), (third, ["id", "v", "added"])):
        given = checked({**INCREMENTAL, BEGIN: "000", END: end}, "hudi", Read.BATCH)
        schema = asked(table, given, table.snapshot).schema
        assert [name for name in schema.names if not name.startswith("_hoodie")] == columns


@pytest.mark.parametrize("text", ["20241301000000", "20240101006000", "2024-02-30", "20240101", "2024-01-01 00:00"])
def test_a_time_that_there_is_not_is_refused(table: tuple[str, list[str]], text: str) -> None:
    for options in ({"as.of.instant": text}, {**INCREMENTAL, BEGIN: text}, {**INCREMENTAL, BEGIN: "000", END: text}):
        with pytest.raises(InvalidOption, match="neither an instant"):
            ids(table[0], options)
