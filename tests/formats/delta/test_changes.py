"""The change data feed, compared with Delta Spark's for tables that it wrote, and with deltalake's where it can."""

import json
import os
import random
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from lakescan.errors import (
    ChangesNotRecorded,
    IncompatibleChanges,
    InvalidVersion,
    UnsupportedFeature,
    VersionNotFound,
)
from tests.expected import copied, in_order, tables
from tests.formats.delta.feeds import ON, changes, feed, rows
from tests.tables import DeltaBuilder, open_delta

# Delta refuses every range with a rename inside; rows from before it have an undoubted place in the newer schema.
_RENAMED = {(2, 6), (3, 7)}


@pytest.mark.parametrize("name", tables())
def test_every_range_gives_the_changes_that_delta_spark_gives(name: str, tmp_path: Path) -> None:
    root, expected = copied(name, tmp_path)
    table = open_delta(root)
    for wanted in expected["changes"]:
        start, end = wanted["start"], wanted["end"]
        if wanted.get("error") == "DELTA_MISSING_CHANGE_DATA":
            with pytest.raises(ChangesNotRecorded, match=r"delta\.enableChangeDataFeed"):
                table.changes(start, end)
            continue
        if "error" in wanted:
            assert wanted["error"].startswith("DELTA_CHANGE_DATA_FEED_INCOMPATIBLE")
            if (start, end) not in _RENAMED:
                with pytest.raises((IncompatibleChanges, ChangesNotRecorded)):
                    table.changes(start, end)
            continue
        changed = table.changes(start, end)
        assert changed.schema.names == wanted["columns"]
        assert in_order(changed.to_arrow().to_pylist()) == in_order(wanted["rows"]), (start, end)


def test_a_rename_inside_the_range_gives_every_row_under_the_newer_name(tmp_path: Path) -> None:
    root, expected = copied("changes_evolved", tmp_path)
    single = [change["rows"] for change in expected["changes"] if change["start"] == change["end"] in range(3, 8)]
    renamed = [{("word" if key == "v" else key): row[key] for key in row} for rows in single for row in rows]
    assert len(renamed) == 8
    assert in_order(open_delta(root).changes(3, 7).to_arrow().to_pylist()) == in_order(renamed)


def test_a_drop_inside_the_range_is_refused_by_the_columns_name(tmp_path: Path) -> None:
    root, _ = copied("changes_evolved", tmp_path)
    with pytest.raises(IncompatibleChanges, match="the column extra was dropped"):
        open_delta(root).changes(5, 9)


def test_deltalake_gives_the_same_changes(tmp_path: Path) -> None:
    """For a table without deletion vectors: deltalake 1.6 does not tell which rows a vector newly drops."""
    root, _ = copied("changes_copied", tmp_path)
    theirs = pa.table(deltalake.DeltaTable(root).load_cdf(starting_version=0))
    ours = open_delta(root).changes(0).to_arrow()
    shared = [field.name for field in ours.schema if field.name != "_commit_timestamp"]
    assert in_order(ours.select(shared).to_pylist()) == in_order(theirs.select(shared).to_pylist())


def _applied(before: pa.Table | None, changes: pa.Table) -> list[str]:
    """The rows after the changes, worked out from those before them."""
    columns = [name for name in changes.column_names if not name.startswith(("_change", "_commit"))]
    rows = [] if before is None else in_order(before.select(columns).to_pylist())
    for change in sorted(changes.to_pylist(), key=_order):
        (row,) = in_order([{name: change[name] for name in columns}])
        if change["_change_type"] in ("delete", "update_preimage"):
            rows.remove(row)
        else:
            rows.append(row)
    return sorted(rows)


def _order(change: dict[str, Any]) -> tuple[int, bool]:
    return change["_commit_version"], change["_change_type"] not in ("delete", "update_preimage")


def _check_that_changes_lead_from_version_to_version(table: Any, newest: int) -> None:
    states = [table.snapshot(version).scan().build().to_arrow() for version in range(newest + 1)]
    for start in range(newest + 1):
        for end in {start, newest}:
            before = states[start - 1] if start else None
            assert _applied(before, table.changes(start, end).to_arrow()) == in_order(states[end].to_pylist())


@pytest.mark.parametrize("name", ["changes_copied", "changes_vectors"])
def test_changes_applied_to_a_version_give_the_later_version(name: str, tmp_path: Path) -> None:
    root, expected = copied(name, tmp_path)
    _check_that_changes_lead_from_version_to_version(open_delta(root), len(expected["versions"]) - 1)


@pytest.mark.parametrize("partition_by", [None, ["p"]])
@pytest.mark.parametrize("seed", range(4))
def test_tables_that_deltalake_wrote_give_the_changes_that_deltalake_reads(
    seed: int, partition_by: list[str] | None, tmp_path: Path
) -> None:
    root = str(tmp_path / "t")
    _random_walk(root, random.Random(seed), partition_by)
    table, newest = open_delta(root), deltalake.DeltaTable(root).version()
    _check_that_changes_lead_from_version_to_version(table, newest)
    for start in range(newest + 1):
        theirs = pa.table(deltalake.DeltaTable(root).load_cdf(starting_version=start))
        ours = table.changes(start).to_arrow()
        shared = [name for name in ours.column_names if name != "_commit_timestamp"]
        assert in_order(ours.select(shared).to_pylist()) == in_order(theirs.select(shared).to_pylist())


def _random_walk(root: str, chance: random.Random, partition_by: list[str] | None) -> None:
    def rows(first: int) -> pa.Table:
        ids = list(range(first, first + 8))
        # No space in a partition value: deltalake 1.6 does not find its own change files then.
        return pa.table({"id": ids, "v": [f"v{at}" for at in ids], "p": [f"p{at % 3}" for at in ids]})

    deltalake.write_deltalake(root, rows(0), partition_by=partition_by, configuration=ON)
    for step in range(1, 8):
        table = deltalake.DeltaTable(root)
        some = f"id % {chance.choice([2, 3, 5])} = {chance.choice([0, 1])}"
        match chance.choice(["append", "append", "update", "delete", "merge", "overwrite", "compact"]):
            case "append":
                deltalake.write_deltalake(root, rows(step * 8), mode="append")
            case "update":
                table.update(predicate=some, updates={"v": f"'u{step}'"})
            case "delete":
                table.delete(some)
            case "merge":
                merge = table.merge(rows(step * 8 - 4), "t.id = s.id", source_alias="s", target_alias="t")
                merge.when_matched_update({"v": "'m'"}).when_not_matched_insert_all().execute()
            case "overwrite":
                deltalake.write_deltalake(root, rows(step * 100), mode="overwrite")
            case "compact":
                table.optimize.compact()


def _timed(tmp_path: Path) -> tuple[DeltaBuilder, list[datetime]]:
    table = feed(tmp_path / "t")
    for at in range(3):
        table.append(rows(at))
    times = [datetime(2024, 1, 1 + at, tzinfo=timezone.utc) for at in range(4)]
    for version, time in enumerate(times):
        file = table.log / f"{version:020d}.json"
        os.utime(file, (time.timestamp(), time.timestamp()))
    return table, times


def test_a_range_of_times_has_the_commits_from_the_first_not_before_to_the_last_not_after(tmp_path: Path) -> None:
    table, times = _timed(tmp_path)
    hour = timedelta(hours=1)
    open_ = open_delta(table.path)

    def versions(start: Any, end: Any = None) -> tuple[int, int]:
        changed = open_.changes(start, end)
        return changed.start, changed.end

    assert versions(times[1], times[2]) == (1, 2)
    assert versions(times[1] - hour, times[2] + hour) == (1, 2)
    assert versions(times[1] + hour) == (2, 3)
    assert versions("2023-01-01", "2024-01-02T12:00:00") == (0, 1)
    assert versions("1", times[3]) == (1, 3)
    with pytest.raises(VersionNotFound, match="after its newest"):
        versions(times[3] + hour)
    with pytest.raises(VersionNotFound, match="after its newest"):
        versions(0, times[3] + hour)
    with pytest.raises(VersionNotFound, match="before its first"):
        versions(0, times[0] - hour)


@pytest.mark.parametrize(("start", "end"), [(4, None), (0, 9), (-1, 2), (2, 1)])
def test_a_range_outside_the_log_is_an_error_that_names_the_log(tmp_path: Path, start: int, end: int | None) -> None:
    table, _ = _timed(tmp_path)
    with pytest.raises(VersionNotFound, match="0 to 3"):
        open_delta(table.path).changes(start, end)


def test_a_time_without_a_zone_is_in_the_readers(tmp_path: Path) -> None:
    table, _ = _timed(tmp_path)
    # Midnight in New York is five hours after midnight in UTC, when version 1 was committed.
    changed = open_delta(table.path, time_zone="America/New_York").changes("2024-01-02", "2024-01-03T12:00:00")
    assert (changed.start, changed.end) == (2, 2)


def test_a_path_that_names_a_version_has_neither_changes_nor_history(tmp_path: Path) -> None:
    table, _ = _timed(tmp_path)
    pinned = open_delta(f"{table.path}@v2")
    with pytest.raises(InvalidVersion, match="leave the version out"):
        pinned.changes(0)
    with pytest.raises(InvalidVersion, match="leave the version out"):
        pinned.history()


@pytest.mark.parametrize("start", ["yesterday", 1.5, True, None])
def test_a_start_that_is_neither_version_nor_time_is_refused(tmp_path: Path, start: Any) -> None:
    table, _ = _timed(tmp_path)
    with pytest.raises(InvalidVersion):
        open_delta(table.path).changes(start)


def test_a_range_with_the_feed_off_in_any_version_is_refused(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    table.append(rows(0))
    table.properties = {**ON, "delta.enableChangeDataFeed": "false"}
    table.commit(table.metadata())
    table.properties = dict(ON)
    table.commit(table.metadata())
    table.append(rows(1))
    open_ = open_delta(table.path)
    assert changes(table, 0, 1) == [("insert", 0, 1)]
    assert changes(table, 3) == [("insert", 1, 4)]
    for start, end in [(0, 2), (2, 4), (1, 3), (2, 2)]:
        with pytest.raises(ChangesNotRecorded, match="at version 2 "):
            open_.changes(start, end)


def test_a_column_with_a_name_of_the_feed_is_refused(tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("_Change_Type", pa.string())]), properties=ON)
    with pytest.raises(UnsupportedFeature, match="_change_type"):
        open_delta(table.path).changes(0)


def test_a_feature_that_came_and_went_inside_the_range_is_refused_by_name(tmp_path: Path) -> None:
    table = feed(tmp_path / "t")
    plain = table.protocol()
    odd = json.loads(json.dumps(plain).replace("deletionVectors", "someFutureFeature"))
    table.commit(odd)
    table.commit(plain)
    with pytest.raises(UnsupportedFeature, match="someFutureFeature"):
        open_delta(table.path).changes(0)


def test_a_range_is_given_in_the_newest_schema_where_its_rows_fit(tmp_path: Path) -> None:
    """As Delta Spark does: a column that was dropped inside the range and restored since is no obstacle."""
    table = feed(tmp_path)
    first = table.append(rows(1, 2))
    whole = table.schema
    table.schema = {"type": "struct", "fields": whole["fields"][:1]}
    table.commit(table.metadata(), table.remove(first), table.add(rows(3).select(["id"])))
    with pytest.raises(IncompatibleChanges, match="the column v was dropped"):
        changes(table, 1, 2)
    table.schema = whole
    table.commit(table.metadata())
    changed = open_delta(table.path).changes(1, 2).to_arrow()
    assert changed.schema.names[:2] == ["id", "v"]
    assert sorted((row["_change_type"], row["id"], row["v"]) for row in changed.to_pylist()) == [
        ("delete", 1, "v1"),
        ("delete", 2, "v2"),
        ("insert", 1, "v1"),
        ("insert", 2, "v2"),
        ("insert", 3, None),
    ]


def test_an_older_range_has_the_columns_that_were_added_since(tmp_path: Path) -> None:
    table = feed(tmp_path)
    table.append(rows(1))
    added = {"name": "new", "type": "integer", "nullable": True, "metadata": {}}
    table.schema = {"type": "struct", "fields": [*table.schema["fields"], added]}
    table.commit(table.metadata())
    (row,) = open_delta(table.path).changes(1, 1).to_arrow().to_pylist()
    assert (row["id"], row["v"], row["new"]) == (1, "v1", None)


def test_a_range_that_does_not_fit_the_newest_schema_is_given_in_its_own(tmp_path: Path) -> None:
    table = feed(tmp_path)
    table.append(rows(1))
    table.schema = {"type": "struct", "fields": table.schema["fields"][:1]}
    table.commit(table.metadata())
    (row,) = open_delta(table.path).changes(1, 1).to_arrow().to_pylist()
    assert (row["id"], row["v"]) == (1, "v1")


def test_a_filter_on_the_kind_of_change_finds_rows_of_files_that_have_such_a_column_themselves(tmp_path: Path) -> None:
    """Delta Spark writes it, null in every row, into the files that an update or a merge rewrites."""
    table = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]), properties=ON)
    nothing = pa.nulls(3, pa.string())
    first = table.append(pa.table({"id": [1, 2, 3], "_change_type": nothing}))
    table.append(pa.table({"id": [4, 5, 6], "_change_type": nothing}))
    table.commit(table.remove(first))
    scan = open_delta(table.path).changes(1).scan()
    for kind, ids in (("insert", [1, 2, 3, 4, 5, 6]), ("delete", [1, 2, 3])):
        for condition in (
            f"_change_type = '{kind}'",
            f"_change_type = '{kind}' OR id > 9",
            f"'{kind}' <= _change_type",
        ):
            found = scan.filter(condition).build().to_arrow()
            of_kind = [row["id"] for row in found.to_pylist() if row["_change_type"] == kind]
            assert sorted(of_kind) == ids
