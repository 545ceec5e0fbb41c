"""Commits that are parsed together give the lines of each, and what is wrong with one is said of that one."""

import pyarrow as pa
import pytest

from lakescan.errors import CorruptLog
from lakescan.formats.delta.log.commit_range import Neighbours
from lakescan.formats.delta.log.commits import CommitText

ADD = '{"add":{"path":"%s","size":1,"modificationTime":1,"dataChange":true,"partitionValues":{"p":"1"}}}'


def texts(*commits: str) -> Neighbours:
    return Neighbours(tuple(CommitText(f"{at}.json", text.encode()) for at, text in enumerate(commits)))


def paths(lines: pa.Table) -> list[str | None]:
    return [None if action is None else action["path"] for action in lines["add"].to_pylist()]


def test_each_has_its_own_lines_whatever_their_ends_are() -> None:
    together = texts(
        ADD % "a", f"{ADD % 'b'}\n{{'commitInfo':{{}}}}\n\n".replace("'", '"'), f"\n{ADD % 'c'}{ADD % 'd'}"
    )
    assert [paths(together.lines(at, ("p",))) for at in range(3)] == [["a"], ["b", None], ["c", "d"]]


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "null",
        '{"add":',
        '{"add":{"path":"x"}}',
        '{"commitInfo":{}}\n}',
        '{"lakescan.end":true}',
        '{"commitInfo":{"lakescan.end":true}',
    ],
)
def test_what_is_wrong_with_one_is_an_error_of_that_one_alone(broken: str) -> None:
    together = texts(ADD % "a", broken, ADD % "b")
    assert paths(together.lines(0, ("p",))) == ["a"]
    assert paths(together.lines(2, ("p",))) == ["b"]
    if broken == '{"lakescan.end":true}':
        # A line that says nothing of files is no error.
        assert paths(together.lines(1, ("p",))) == [None]
    else:
        with pytest.raises(CorruptLog, match=r"1\.json"):
            together.lines(1, ("p",))
