"""A short part of `make fuzz`: some cases of every sample table, and the fuzzer's own judgement."""

import random
from pathlib import Path

import pyarrow as pa
import pytest

from tests.examples import examples
from tests.sample_tables import sample_tables
from tests.tables import DeltaBuilder

from .__main__ import spread
from .mutations import mutate
from .questions import Answer, answer
from .runner import run
from .samples import Case, Sample
from .verdicts import BUGS, COULD_TELL, CRASH, EXCEPTION, NAMED, OTHER_ROWS, SAME, judge

_READS = examples(240)


@pytest.mark.timeout(600)
def test_no_damaged_file_gives_a_crash_a_hang_another_exception_or_rows_that_could_be_told_to_be_wrong(
    tmp_path: Path,
) -> None:
    findings = list(run(tmp_path, spread([table.name for table in sample_tables()], _READS, 11), 2))
    assert len(findings) == _READS
    assert [finding.shown() for finding in findings if finding.outcome in BUGS] == []
    assert {finding.outcome for finding in findings} >= {SAME, NAMED}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    made = DeltaBuilder(tmp_path / "table", pa.schema([("v", pa.int64())]))
    made.append(pa.table({"v": pa.array([1, 2, 3], pa.int64())}), name="0.parquet")
    return tmp_path / "table"


def test_a_case_is_the_same_each_time(table: Path, tmp_path: Path) -> None:
    def damaged(work: str) -> list[tuple[str, str, bytes]]:
        (tmp_path / work).mkdir()
        sample, damages = Sample(table, tmp_path / work), []
        for number in range(20):
            copy, file, what = sample.damage(Case(5, "table", number))
            damages.append((file, what, (copy / file).read_bytes() if (copy / file).exists() else b"gone"))
        return damages

    assert damaged("one") == damaged("two")
    assert (table / "0.parquet").exists()
    assert Case.of(str(Case(5, "table", 7))) == Case(5, "table", 7)


@pytest.mark.parametrize("content", [b"", b"x", b'{"a": [1, {"b": "x"}]}\n{"c": null}\n', b"#HUDI#" + bytes(40)])
def test_any_content_can_be_damaged(content: bytes) -> None:
    changed = [mutate(name, content, random.Random(at))[0] for at in range(200) for name in ("a.json", "x.properties")]
    assert sum(one != content for one in changed) > 250


def test_the_same_rows_in_another_order_are_the_same() -> None:
    one, other = (Answer(pa.table({"v": values})) for values in ([1.0, float("nan"), 3.0], [3.0, 1.0, float("nan")]))
    assert one.equals(other)
    assert not one.equals(Answer(pa.table({"v": [1.0, 1.0, 3.0]})))
    assert not one.equals(Answer(pa.table({"v": [1.0, 3.0]})))


def test_rows_that_differ_are_judged_by_what_could_have_told(table: Path) -> None:
    whole, fewer = answer(table, "rows"), Answer(pa.table({"v": pa.array([1, 2], pa.int64())}))
    changed = Answer(pa.table({"v": pa.array([1, 2, 4], pa.int64())}))
    data = next(path.name for path in table.glob("*.parquet"))
    commit = "_delta_log/00000000000000000000.json"

    def outcome(file: str, after: Answer) -> str:
        return judge(file, {"rows": whole}, {"rows": after}, table, table / file).outcome

    assert outcome(data, whole) == SAME
    assert outcome(data, fewer) == COULD_TELL
    assert outcome(data, changed) == OTHER_ROWS
    assert outcome(commit, changed) == OTHER_ROWS
    assert outcome("_delta_log/00000000000000000000.crc", changed) == COULD_TELL
    assert outcome("deletion_vector_x.bin", changed) == COULD_TELL
    assert outcome(data, Answer(error="KeyError: x")) == EXCEPTION
    assert outcome(data, Answer(error="CorruptLog: x", named=True)) == NAMED


def test_a_process_that_dies_is_a_crash_and_the_next_case_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python does not start with a setting that it does not know."""
    monkeypatch.setenv("PYTHONMALLOC", "nonsense")
    (finding,) = run(tmp_path, [[Case(1, "vectors", 0)]], 1)
    assert finding.outcome == CRASH
    monkeypatch.delenv("PYTHONMALLOC")
    (finding,) = run(tmp_path, [[Case(1, "vectors", 0)]], 1)
    assert finding.outcome not in BUGS
