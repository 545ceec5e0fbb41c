from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import InvalidVersion, TableNotFound, VersionNotFound
from lakescan.formats.delta.table import is_delta
from lakescan.io.storage import Storage
from tests.tables import DeltaBuilder


@pytest.fixture
def builder(tmp_path: Path) -> DeltaBuilder:
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    return table


def test_a_folder_with_a_log_is_a_delta_table(builder: DeltaBuilder, tmp_path: Path) -> None:
    assert is_delta(Storage.at(builder.path))
    (tmp_path / "other").mkdir()
    assert not is_delta(Storage.at(tmp_path / "other"))
    with pytest.raises(TableNotFound, match=str(tmp_path / "other")):
        lakescan.open(tmp_path / "other")
    with pytest.raises(TableNotFound):
        lakescan.open(tmp_path / "missing")


def test_each_call_for_a_snapshot_sees_what_was_committed_before_it(builder: DeltaBuilder) -> None:
    table = lakescan.open(builder.path)
    assert table.snapshot().version == 1
    builder.append(pa.table({"id": [2]}))
    assert table.snapshot().version == 2
    assert sorted(table.snapshot().scan().build().to_arrow()["id"].to_pylist()) == [1, 2]


def test_the_snapshot_of_last_time_is_given_again_when_nothing_has_changed(builder: DeltaBuilder) -> None:
    table = lakescan.open(builder.path)
    assert table.snapshot() is table.snapshot()
    assert table.snapshot(version=1) is table.snapshot()
    assert table.snapshot(version=0) is not table.snapshot()


@pytest.mark.parametrize("version", [0, "0", 1, "1"])
def test_a_version_may_be_a_number_or_its_text(builder: DeltaBuilder, version: Any) -> None:
    assert lakescan.open(builder.path).snapshot(version=version).version == int(version)


@pytest.mark.parametrize("version", ["latest", "", "1.0", 0.9, True, "v1"])
def test_what_is_no_whole_number_names_no_version(builder: DeltaBuilder, version: Any) -> None:
    with pytest.raises(InvalidVersion, match="whole number"):
        lakescan.open(builder.path).snapshot(version=version)


def test_a_version_that_is_not_there_is_refused_with_those_that_are(builder: DeltaBuilder) -> None:
    for version in (-1, 2, "2"):
        with pytest.raises(VersionNotFound, match="versions 0 to 1"):
            lakescan.open(builder.path).snapshot(version=version)


def test_a_version_and_a_time_cannot_both_be_asked_for(builder: DeltaBuilder) -> None:
    with pytest.raises(InvalidVersion, match="Give one of the two"):
        lakescan.open(builder.path).snapshot(version=1, timestamp="2024-01-01")
