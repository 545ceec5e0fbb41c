import os
from pathlib import Path

import pyarrow as pa
import pytest

from tests.cli.conftest import ORDERS, Command
from tests.sample_tables import SampleTable, sample_tables
from tests.tables import DeltaBuilder

IDS = pa.schema([("id", pa.int64())])


@pytest.mark.parametrize("table", sample_tables(), ids=lambda table: table.name)
def test_a_sample_table_has_the_rows_that_its_engine_read(table: SampleTable, command: Command, tmp_path: Path) -> None:
    answer = command("inspect", table.unpack(tmp_path), "--json")
    assert (answer.code, answer.err) == (0, "")
    assert answer.json["format"] == table.format
    assert answer.json["rows"] in (None, len(table.rows))
    if answer.json["rows"] is None:
        assert answer.json["files_without_row_count"] > 0


def test_what_it_says_of_a_table_of_delta_sparks(command: Command) -> None:
    answer = command("inspect", ORDERS)
    assert (answer.code, answer.err) == (0, "")
    for words in ("Delta, reader 3, writer 7", "deletionVectors", "4,856", "254, by the deletion vectors of 12 files"):
        assert words in answer.out
    assert " |-- amount: decimal(10,2) (nullable = true)\n" in answer.out
    assert "version 5, " in answer.out
    assert "2 commits since" in answer.out
    assert "advice" not in answer.out


def test_an_older_version_is_inspected_when_asked_for(command: Command) -> None:
    assert command("inspect", ORDERS, "--version", 3, "--json").json["version"] == 3


def test_the_age_of_the_checkpoint_is_that_of_its_file(command: Command, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", IDS)
    table.append(pa.table({"id": [1, 2]}))
    (file,) = table.checkpoint()
    os.utime(file, (1_000_000, 1_000_000))
    table.append(pa.table({"id": [3]}))
    assert command("inspect", table.root, "--json").json["checkpoint"] == {"version": 1, "written_ms": 1_000_000_000}
    assert "years ago; 1 commit since" in command("inspect", table.root).out


def test_many_small_files_are_advised_against(command: Command, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", IDS)
    table.commit(*(table.add(pa.table({"id": [n]})) for n in range(100)))
    (advised,) = command("inspect", table.root, "--json").json["advice"]
    assert "100 of 100 files are smaller than 16.0 MiB" in advised


def test_columns_without_statistics_are_named(command: Command, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("id", pa.int64()), ("name", pa.string())]))
    rows = pa.table({"id": [1], "name": ["a"]})
    table.append(rows, stats={"numRecords": 1, "minValues": {"id": 1}, "maxValues": {"id": 1}, "nullCount": {"id": 0}})
    answer = command("inspect", table.root, "--json").json
    assert answer["columns_without_statistics"] == ["name"]
    assert "No file has statistics of name: filters on it skip no file" in answer["advice"][0]


def test_a_file_that_does_not_say_its_rows_leaves_them_unknown(command: Command, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", IDS)
    table.append(pa.table({"id": [1]}))
    table.append(pa.table({"id": [2]}), stats=False)
    answer = command("inspect", table.root, "--json").json
    assert answer["rows"] is None
    assert "not known: 1 of 2 files without a count" in command("inspect", table.root).out
    assert any("how many rows there are in 1 of 2 files" in sentence for sentence in answer["advice"])


def test_many_deleted_rows_and_many_commits_are_advised_against(command: Command, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", IDS, features=["deletionVectors"])
    added = table.append(pa.table({"id": list(range(10))}))
    table.delete(added, range(5))
    for _ in range(100):
        table.commit({"commitInfo": {"operation": "NOTHING"}})
    answer = command("inspect", table.root, "--json").json
    assert (answer["rows"], answer["deleted_rows"], answer["commits_since_checkpoint"]) == (5, 5, 103)
    assert "50% of the rows that are stored are deleted" in answer["advice"][0]
    assert "103 commits are read one by one because there is no checkpoint" in answer["advice"][1]


def test_an_empty_table_is_a_table(command: Command, tmp_path: Path) -> None:
    answer = command("inspect", DeltaBuilder(tmp_path / "t", IDS).root, "--json")
    assert (answer.code, answer.json["files"], answer.json["rows"], answer.json["advice"]) == (0, 0, 0, [])
