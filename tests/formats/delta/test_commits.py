import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import CorruptLog, MissingCommit
from lakescan.formats.delta.log import commits
from lakescan.formats.delta.log.actions import StatisticsRequest
from lakescan.formats.delta.log.commit_files import Commit
from lakescan.formats.delta.log.commits import CommitText, file_actions, read_commits
from lakescan.formats.delta.statistics.parsed import parse_statistics
from lakescan.io.storage import Storage
from lakescan.scan.identity import LogFile
from lakescan.types.columns import member
from tests.tables import DeltaBuilder


def text(*actions: Any, newline: str = "\n") -> CommitText:
    return CommitText("/t/_delta_log/1.json", newline.join(map(json.dumps, actions)).encode())


def add(path: str, **more: Any) -> dict[str, Any]:
    return {"add": {"path": path, "size": 1, "modificationTime": 0, "partitionValues": {}, **more}}


def remove(path: str, **more: Any) -> dict[str, Any]:
    return {"remove": {"path": path, **more}}


def vector(where: str, offset: int | None = 1) -> dict[str, Any]:
    descriptor = {"storageType": "u", "pathOrInlineDv": where, "sizeInBytes": 1, "cardinality": 1}
    return {"deletionVector": descriptor if offset is None else {**descriptor, "offset": offset}}


def live(*texts: CommitText) -> list[str]:
    paths: list[str] = file_actions(texts, ()).adds["path"].to_pylist()
    return paths


def test_the_last_action_for_a_file_wins_across_commits_and_within_one() -> None:
    assert live(text(add("a"), add("b")), text(remove("a"))) == ["b"]
    assert live(text(add("a"), remove("a"), add("a"))) == ["a"]
    assert live(text(add("a"), add("a"), remove("a"))) == []
    assert live(text(remove("a")), text(add("a", size=5)), text(add("a", size=7))) == ["a"]
    assert file_actions([text(add("a", size=5)), text(add("a", size=7))], ()).adds["size"].to_pylist() == [7]


def test_a_file_with_another_deletion_vector_is_another_file() -> None:
    assert live(text(add("a", **vector("x"))), text(remove("a"))) == ["a"]
    assert live(text(add("a", **vector("x"))), text(remove("a", **vector("x")))) == []
    assert live(text(add("a", **vector("x", 1))), text(remove("a", **vector("x", 2)))) == ["a"]
    assert live(text(add("a", **vector("x", None))), text(remove("a", **vector("x", None)))) == []
    assert live(text(add("a")), text(remove("a"), add("a", **vector("x")))) == ["a"]


def test_a_local_path_with_and_without_its_scheme_is_one_file() -> None:
    assert live(text(add("/data/a")), text(remove("file:/data/a"))) == []
    assert live(text(add("file:///data/a")), text(remove("/data/a"))) == []


def test_every_file_that_a_commit_mentions_is_touched_so_that_a_checkpoints_is_not_used() -> None:
    actions = file_actions([text(add("a"), remove("b"), add("c", **vector("x")))], ())
    assert len(set(actions.touched.to_pylist())) == 3


def test_commits_without_file_actions_and_no_commits_at_all_have_no_files() -> None:
    assert live(text({"commitInfo": {}}, {"txn": {"appId": "x"}})) == []
    assert live() == []


def test_partition_values_are_texts_by_name_and_null_where_absent() -> None:
    values = [{"p": "x", "q.r": ""}, {"p": None}, {}]
    actions = file_actions([text(*(add(f"f{n}", partitionValues=v) for n, v in enumerate(values)))], ["p", "q.r"])
    assert actions.adds["partition"].to_pylist() == [
        {"p": "x", "q.r": ""},
        {"p": None, "q.r": None},
        {"p": None, "q.r": None},
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\n\n"])
def test_lines_may_end_as_they_do_on_windows_and_may_be_blank(newline: str) -> None:
    commit = text(add("a"), {"metaData": {"id": "x"}}, add("b"), newline=newline)
    assert live(commit) == ["a", "b"]
    assert list(commit.actions("metaData")) == [{"id": "x"}]


def test_an_action_is_found_by_its_key_and_not_by_a_value_or_a_path_that_looks_like_it() -> None:
    commit = text(
        {"commitInfo": {"operation": "metaData", "metaData": {"id": "inside"}}},
        add('"metaData"'),
        add("x", tags={"metaData": "y"}),
        {"metaData": {"id": "first"}},
        {"metaData": None},
        {"metaData": {"id": "last"}},
    )
    assert [action["id"] for action in commit.actions("metaData")] == ["first", "last"]
    assert live(commit) == ['"metaData"', "x"]


def test_a_line_may_be_very_long() -> None:
    stats = json.dumps({"numRecords": 1, "maxValues": {"s": "x" * 3_000_000}})
    assert live(text(add("a", stats=stats), add("b"))) == ["a", "b"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" \n\n",
        b"garbage",
        b'{"add"',
        b'{"add": {"path": "x", "size": 1}}\n{"add": {"pa',
        b'{"add": {"path": "x", "size": 1}}\ntrailing garbage\n',
        b"null",
        b'{"commitInfo": {}}\n  null\n',
        b'{"commitInfo": {}} null',
        b"[]",
        b"5",
        b'"text"',
        b'{"add": {"size": 1}}',
        b'{"add": {}}',
        b'{"add": {"path": "x"}}',
        b'{"add": {"path": 5, "size": 1}}',
        b'{"add": {"path": "x", "size": "many"}}',
        b'{"add": []}',
        b'{"remove": {}}',
        b'{"metaData": {"id": "x"}',
    ],
    ids=str,
)
def test_a_corrupt_commit_is_an_error_that_names_it_and_never_a_partial_answer(tmp_path: Path, content: bytes) -> None:
    builder = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    builder.append(pa.table({"id": [1]}))
    version = builder.commit()
    file = builder.log / f"{version:020d}.json"
    file.write_bytes(content)
    with pytest.raises(CorruptLog, match=str(file)):
        lakescan.open(builder.path).snapshot().scan().build().to_arrow()
    assert lakescan.open(builder.path).snapshot(version=1).scan().build().to_arrow()["id"].to_pylist() == [1]


def test_a_text_that_only_looks_like_a_null_line_is_not_one() -> None:
    assert live(text({"commitInfo": {"predicate": "struct {} null"}}, add("} null"))) == ["} null"]


def test_commits_are_read_in_their_order_and_a_vanished_one_is_named(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.json").write_bytes(str(number).encode())
    commits = [Commit(number, LogFile(f"{number}.json", 1, 0)) for number in range(20)]
    storage = Storage.at(tmp_path)
    assert [commit.text for commit in read_commits(storage, commits, 19)] == [str(n).encode() for n in range(20)]
    (tmp_path / "7.json").unlink()
    with pytest.raises(MissingCommit, match=str(tmp_path / "7.json")):
        read_commits(storage, commits, 19)


def test_statistics_are_parsed_once_for_the_same_files_and_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [{"numRecords": at, "minValues": {"a": at, "b": -at}} for at in range(4)]
    actions = file_actions([text(*(add(str(at), stats=json.dumps(of)) for at, of in enumerate(said)))], ())
    parsed: list[StatisticsRequest] = []

    def counted(texts: pa.ChunkedArray, wanted: StatisticsRequest) -> pa.StructArray:
        parsed.append(wanted)
        return parse_statistics(texts, wanted)

    monkeypatch.setattr(commits, "parse_statistics", counted)

    def least(name: str, *rows: int) -> list[int]:
        schema = pa.schema([(name, pa.int64())])
        statistics = actions.statistics(pa.array(rows, pa.int64()), StatisticsRequest(schema, schema))
        values: list[int] = member(statistics, "minimum", name).to_pylist()
        return values

    for _ in range(3):
        assert least("a", 0, 2, 3) == [0, 2, 3]
        assert least("a", 2, 0, 3) == [2, 0, 3]
        assert least("a", 0, 2) == [0, 2]
        assert least("b", 0, 2) == [0, -2]
    assert len(parsed) == 4
