"""Queries with Hudi's own options on tables that Hudi wrote, beside what Hudi itself gave: its rows, or an error."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakescan
from lakescan.errors import InvalidOption, VersionNotFound
from lakescan.formats.registry import asked, checked
from lakescan.options import Read
from tests.expected import in_order, plain_rows
from tests.formats.delta.stream.engine import Engine
from tests.sample_tables import SampleTable, sample_table, sample_tables

from .tables import open_hudi

AS_OF = "as.of.instant"


def queried(path: Path, options: dict[str, str]) -> pa.Table:
    table = lakescan.open(path)
    return asked(table, checked(options, "hudi", Read.BATCH), table.snapshot).scan().build().to_arrow()


@pytest.mark.parametrize(
    "table", [table for table in sample_tables("hudi") if "queries" in table.known], ids=lambda table: table.name
)
def test_a_query_gives_the_rows_that_hudi_gives(table: SampleTable, tmp_path: Path) -> None:
    """Of a time before the first commit Hudi reads nothing; that is an error here, and so is what Hudi refuses."""
    path = table.unpack(tmp_path)
    for query in table.known["queries"]:
        options: dict[str, str] = query["options"]
        expected: list[dict[str, Any]] | None = query.get("rows")
        if expected is None or (AS_OF in options and not expected):
            with pytest.raises((InvalidOption, VersionNotFound)):
                queried(path, options)
            continue
        rows = queried(path, options)
        columns = list(expected[0]) if expected else ["id"]
        assert in_order(plain_rows(rows.select(columns))) == in_order(expected), options


@pytest.mark.parametrize("version", [6, 9])
def test_a_log_compaction_is_no_change(version: int, tmp_path: Path) -> None:
    """The fifth of six commits: a stream gives what was written before it and what was after it."""
    path = sample_table(f"log_compaction_v{version}").unpack(tmp_path)
    instants = open_hudi(path).snapshot().timeline.instants
    written = [
        [(at, "first") for at in range(5)],
        [(at, "second") for at in (0, 1, 2)],
        [(at, "third") for at in (1, 2, 3)],
        [(4, "fourth")],
        [],
        [(0, "fifth")],
    ]
    for at, instant in enumerate(instants):
        engine = Engine(str(path), {"startingVersion": instant, "maxFilesPerTrigger": 1})
        engine.drain()
        assert given(engine) == sorted(row for rows in written[at:] for row in rows)
    whole = Engine(str(path), {"startingVersion": instants[1]})
    whole.batch()
    before = {**dict(written[1]), **dict(written[2]), **dict(written[3])}
    assert given(whole) == sorted([*before.items(), *written[5]])


@pytest.mark.parametrize("version", [6, 9])
def test_changes_from_a_log_compaction_on_are_those_of_the_commits_after_it(version: int, tmp_path: Path) -> None:
    table = open_hudi(sample_table(f"log_compaction_v{version}").unpack(tmp_path))
    *_, compaction, newest = table.snapshot().timeline.instants
    assert table.changes(compaction).scan().build().to_arrow()["name"].to_pylist() == ["fifth"]
    assert table.changes(newest).scan().build().to_arrow()["name"].to_pylist() == ["fifth"]
    assert table.changes(compaction, compaction).scan().build().to_arrow().num_rows == 0


def given(engine: Engine) -> list[tuple[int, str]]:
    return sorted((row["id"], row["name"]) for row in engine.rows)
