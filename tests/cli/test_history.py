from pathlib import Path

import pytest

import lakescan
from tests.cli.conftest import ORDERS, Command
from tests.sample_tables import SampleTable, sample_tables


@pytest.mark.parametrize("table", sample_tables(), ids=lambda table: table.name)
def test_the_history_of_a_sample_table_has_a_commit_a_version(
    table: SampleTable, command: Command, tmp_path: Path
) -> None:
    path = table.unpack(tmp_path)
    answer = command("history", path, "--json", "--limit", 1000)
    assert (answer.code, answer.err) == (0, "")
    versions = [commit["version"] for commit in answer.json["commits"]]
    assert versions == lakescan.open(path).history()["version"].to_pylist()


def test_the_newest_commit_comes_first_and_maps_are_maps(command: Command) -> None:
    newest, *_ = command("history", ORDERS, "--json").json["commits"]
    assert (newest["version"], newest["operation"]) == (7, "WRITE")
    assert newest["operationMetrics"]["numOutputRows"] == "60"


def test_for_people_what_is_long_is_cut_unless_all_is_asked_for(command: Command) -> None:
    short, wide = command("history", ORDERS).out, command("history", ORDERS, "--wide").out
    assert "isolationLevel" not in short
    assert "…" in short
    assert "isolationLevel" in wide
    assert "…" not in wide


def test_so_many_commits_as_asked_for(command: Command) -> None:
    assert len(command("history", ORDERS, "--limit", 2, "--json").json["commits"]) == 2
