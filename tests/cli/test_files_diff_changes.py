"""`files`, `diff` and `changes` on tables that engines wrote, and on hostile names."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import lakescan
from tests.cli.conftest import ORDERS, Command
from tests.sample_tables import SampleTable, sample_tables
from tests.tables import DeltaBuilder


@pytest.mark.parametrize("table", sample_tables(), ids=lambda table: table.name)
def test_the_files_of_a_sample_table_are_its_snapshots(table: SampleTable, command: Command, tmp_path: Path) -> None:
    path = table.unpack(tmp_path)
    answer = command("files", path, "--json", "--limit", 10_000)
    assert (answer.code, answer.err) == (0, "")
    assert sum(file["bytes"] for file in answer.json["files"]) == lakescan.open(path).snapshot().size_in_bytes
    assert all(Path(file["path"]).is_file() for file in answer.json["files"])


def test_a_condition_leaves_the_files_that_a_query_reads(command: Command) -> None:
    answer = command("files", ORDERS, "--where", "day = '2024-01-03' AND order_id < 1700", "--json").json
    assert [step["step"] for step in answer["steps"]][:3] == ["table", "partitions", "statistics"]
    assert {file["partition"]["day"] for file in answer["files"]} == {"2024-01-03"}
    assert len(answer["files"]) == answer["steps"][-1]["files"] < 22


def test_for_people_paths_are_short_and_the_rest_is_counted(command: Command) -> None:
    answer = command("files", ORDERS, "--limit", 3)
    assert str(ORDERS) not in answer.out
    assert len(answer.out.splitlines()) == 5
    assert answer.err == "22 of 22 files, 156.2 KiB of 156.2 KiB; the first 3 are shown\n"


def test_a_difference_is_what_the_commits_between_did(command: Command) -> None:
    answer = command("diff", ORDERS, 3, 6, "--json").json
    assert answer["rows"] == [5040, 4796]  # 123 and 121 rows deleted, see examples/README.md
    assert (answer["added"]["files"], answer["removed"]["files"], answer["changed"]["files"]) == (9, 0, 12)
    back = command("diff", ORDERS, 6, 3, "--json").json
    assert (back["added"]["paths"], back["removed"]["paths"]) == ([], answer["added"]["paths"])
    shown = command("diff", ORDERS, 3, 6).out
    assert "5,040 to 4,796 (-244)" in shown
    assert "and 2 more" in shown


def test_a_difference_names_what_became_of_the_schema(command: Command, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("id", pa.int32()), ("gone", pa.string())]))
    wider = pa.schema([("id", pa.int64()), ("new", pa.list_(pa.field("element", pa.date32())))])
    later = DeltaBuilder(tmp_path / "other", wider, properties={"a": "1"})
    table.commit(later.metadata())
    assert command("diff", table.root, 0, 1, "--json").json["schema"] == [
        "column new added, array<date>",
        "column gone gone, string",
        "column id was int and is bigint",
        "property a was not set and is 1",
    ]


@pytest.mark.parametrize("table", sample_tables("hudi"), ids=lambda table: table.name)
def test_a_difference_of_instants(table: SampleTable, command: Command, tmp_path: Path) -> None:
    path = table.unpack(tmp_path)
    instants = lakescan.open(path).history()["version"].to_pylist()
    if not instants:
        return
    ended = command("diff", path, instants[-1], instants[0], "--json")
    assert ended.code == 0, ended.err
    assert (
        ended.json["files"][1] - ended.json["files"][0] == ended.json["added"]["files"] - ended.json["removed"]["files"]
    )


def test_the_changes_of_a_range_are_its_change_feed(command: Command, copied: Callable[[str], Path]) -> None:
    path = copied("changes_vectors")
    rows = command("changes", path, 1, 2, "--json").json["changes"]
    expected = lakescan.open(path).changes(1, 2).scan().build().to_arrow().to_pylist()
    assert [(row["id"], row["_change_type"]) for row in rows] == [(row["id"], row["_change_type"]) for row in expected]
    some = command("changes", path, 1, "--where", "_change_type = 'delete'", "--limit", 2, "--format", "csv")
    assert len(some.out.splitlines()) == 3
    assert "2 changed rows" in some.err


def test_a_table_that_keeps_no_changes_says_so(command: Command) -> None:
    answer = command("changes", ORDERS, 1)
    assert answer.code == 4
    assert "delta.enableChangeDataFeed" in answer.err


HOSTILE = "<b>\x1b[31mred\x07</b>[bold]"


def test_hostile_names_and_values_are_shown_as_text(command: Command, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("id", pa.int64()), (HOSTILE, pa.string())]), [HOSTILE])
    table.append(pa.table({"id": [1]}), partition={HOSTILE: HOSTILE}, name=f"{HOSTILE.replace('/', '')}.parquet")
    table.commit({"commitInfo": {"operation": HOSTILE, "operationParameters": {HOSTILE: HOSTILE}}})
    words = [
        ("inspect", table.root),
        ("history", table.root, "--wide"),
        ("files", table.root),
        ("diff", table.root, 0, 1),
        ("query", "SELECT * FROM t", "--table", f"t={table.root}"),
        ("query", "SELECT * FROM t", "--table", f"t={table.root}", "--explain"),
        ("files", table.root, "--where", "nope = 1"),
        ("inspect", table.root / HOSTILE),
    ]
    for each in words:
        answer = command(*each)
        assert "\\x1b[31mred\\x07" in answer.out + answer.err, each
        for control in "\x1b\x07\x9b":
            assert control not in answer.out + answer.err, each
        assert "[bold]" in answer.out + answer.err, each
        assert command(*each, "--json").code == answer.code
