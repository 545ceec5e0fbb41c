"""A table's history, compared with Delta Spark's DESCRIBE HISTORY and with deltalake's."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import CorruptLog, InvalidLimit
from tests.expected import copied, in_order, tables
from tests.tables import DeltaBuilder

_MAPS = ("operationParameters", "operationMetrics", "job", "notebook")


def _rows(history: pa.Table) -> list[dict[str, Any]]:
    return [
        {key: dict(value) if key in _MAPS and value is not None else value for key, value in row.items()}
        for row in history.to_pylist()
    ]


@pytest.mark.parametrize("name", tables())
def test_the_history_is_the_one_that_delta_spark_describes(name: str, tmp_path: Path) -> None:
    root, expected = copied(name, tmp_path)
    history = lakescan.open(root).history()
    assert history["version"].to_pylist() == list(reversed(range(len(expected["versions"]))))
    assert history.column_names == list(lakescan.open(root).history(0).column_names)
    assert set(history.column_names) == set(expected["history"][0])
    assert in_order(_rows(history)) == in_order(expected["history"])


def test_parameters_keep_their_json_and_null_stays_null(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("a", pa.int64())]), create=False)
    parameters = {"t": "x", "n": 1.50, "b": True, "l": ["é", {"k": None}], "z": None}
    info = {"operation": "WRITE", "operationParameters": parameters, "readVersion": "3", "userMetadata": "note"}
    table.commit({"commitInfo": info}, table.protocol(), table.metadata())
    (row,) = _rows(lakescan.open(table.path).history())
    assert row["operationParameters"] == {"t": "x", "n": "1.5", "b": "true", "l": '["é",{"k":null}]', "z": None}
    assert (row["readVersion"], row["userMetadata"], row["operationMetrics"]) == (3, "note", None)


def test_a_limit_gives_the_newest_and_reads_no_older_commit(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("a", pa.int64())]))
    for at in range(4):
        table.append(pa.table({"a": [at]}))
    open_ = lakescan.open(table.path)
    assert open_.history(2)["version"].to_pylist() == [4, 3]
    assert open_.history(99)["version"].to_pylist() == [4, 3, 2, 1, 0]
    assert open_.history(0).num_rows == 0
    with pytest.raises(InvalidLimit):
        open_.history(-1)


def test_a_commit_that_says_nothing_of_itself_has_a_version_and_a_time(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("a", pa.int64())]))
    table.append(pa.table({"a": [1]}))
    for version, seconds in enumerate((2_000, 1_000)):
        os.utime(table.log / f"{version:020d}.json", (seconds, seconds))
    rows = _rows(lakescan.open(table.path).history())
    # A file's time that runs backwards is put a millisecond after the one before it.
    assert [row["timestamp"].timestamp() for row in rows] == [2_000.001, 2_000]
    assert {key for key, value in rows[0].items() if value is not None} == {"version", "timestamp"}


def test_a_commit_has_its_own_time_from_the_version_on_that_says_so(tmp_path: Path) -> None:
    own = {"delta.enableInCommitTimestamps": "true", "delta.inCommitTimestampEnablementVersion": "1"}
    table = DeltaBuilder(tmp_path / "t", pa.schema([("a", pa.int64())]), properties=own, create=False)
    table.commit({"commitInfo": {"inCommitTimestamp": 5_000}}, table.protocol(), table.metadata())
    table.commit({"commitInfo": {"inCommitTimestamp": 7_000}}, table.metadata())
    os.utime(table.log / f"{0:020d}.json", (1, 1))
    times = [row["timestamp"].timestamp() for row in _rows(lakescan.open(table.path).history())]
    assert times == [7, 1]


def test_notes_of_the_wrong_shape_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("a", pa.int64())]))
    table.commit({"commitInfo": {"operationParameters": "none"}})
    with pytest.raises(CorruptLog, match=r"00000000000000000001\.json"):
        lakescan.open(table.path).history()
