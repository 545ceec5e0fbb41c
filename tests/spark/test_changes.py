"""The change data feed as a DataFrame."""

from collections import Counter
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import lakescan
from lakescan.errors import ChangesNotRecorded, VersionNotFound
from tests.compare import first_row
from tests.expected import copied, in_order
from tests.tables import DeltaBuilder

ON = {"delta.enableChangeDataFeed": "true"}


@pytest.mark.parametrize("name", ["changes_copied", "changes_vectors"])
def test_a_data_frame_has_the_changes_that_delta_spark_gives(name: str, spark: SparkSession, tmp_path: Path) -> None:
    root, expected = copied(name, tmp_path)
    newest = len(expected["versions"]) - 1
    for wanted in expected["changes"]:
        if (wanted["start"], wanted["end"]) in [(0, newest), (newest // 2, newest), (3, 3)]:
            changes = lakescan.changes(spark, root, wanted["start"], wanted["end"])
            assert changes.columns == wanted["columns"]
            rows = [row.asDict(recursive=True) for row in changes.collect()]
            assert in_order(rows) == in_order(wanted["rows"])


def test_filters_and_columns_reach_the_planner(spark: SparkSession, tmp_path: Path) -> None:
    root, expected = copied("changes_copied", tmp_path)
    df = (
        lakescan.changes(spark, root, 0).where("_commit_version = 2 AND _change_type = 'update_postimage'").select("id")
    )
    rows = [
        row["id"]
        for change in expected["changes"]
        if (change["start"], change["end"]) == (2, 2)
        for row in change["rows"]
        if row["_change_type"] == "update_postimage"
    ]
    assert sorted(row.id for row in df.collect()) == sorted(rows) != []
    (scan,) = lakescan.report(df).scans
    assert scan.files_planned < scan.files_total
    assert set(scan.columns) <= {"id", "_change_type"}


def test_a_table_and_its_changes_are_never_taken_for_each_other(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaBuilder(tmp_path / "t", pa.schema([("a", pa.int64())]), properties=ON)
    first = table.append(pa.table({"a": [1, 2]}))
    table.commit(table.remove(first), table.add(pa.table({"a": [3]})))
    now, changed = lakescan.read(spark, table.path), lakescan.changes(spark, table.path, 0)
    both = now.groupBy("a").count().union(changed.select("a").groupBy("a").count())
    assert sorted(tuple(row) for row in both.collect()) == [(1, 2), (2, 2), (3, 1), (3, 1)]
    parts = (
        changed.select("a")
        .groupBy("a")
        .count()
        .union(lakescan.changes(spark, table.path, 2).select("a").groupBy("a").count())
    )
    assert sorted(tuple(row) for row in parts.collect()) == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 1)]


def test_times_may_stand_for_versions(spark: SparkSession, tmp_path: Path) -> None:
    root, expected = copied("changes_copied", tmp_path)
    start, end = (datetime.fromtimestamp(at / 1000, timezone.utc) for at in expected["commit_times"][1:3])
    versions = lakescan.changes(spark, root, start, end).select("_commit_version").distinct().collect()
    assert sorted(row[0] for row in versions) == [1, 2]


def test_mistakes_are_told_before_any_query_runs(spark: SparkSession, tmp_path: Path) -> None:
    root, _ = copied("changes_copied", tmp_path)
    with pytest.raises(VersionNotFound, match="0 to 9"):
        lakescan.changes(spark, root, 10)
    off, _ = copied("row_tracking", tmp_path)
    with pytest.raises(ChangesNotRecorded, match="enableChangeDataFeed"):
        lakescan.changes(spark, off, 0)
    with pytest.raises(AnalysisException, match="_metadata"):
        lakescan.changes(spark, root, 0).select("_metadata")


@pytest.mark.parametrize("name", ["changes_copied", "changes_vectors"])
def test_aggregates_are_those_of_the_changed_rows(name: str, spark: SparkSession, tmp_path: Path) -> None:
    root, expected = copied(name, tmp_path)
    newest = len(expected["versions"]) - 1
    rows = next(change["rows"] for change in expected["changes"] if (change["start"], change["end"]) == (0, newest))
    df = lakescan.changes(spark, root, 0)
    assert df.count() == len(rows)
    asked = df.selectExpr(
        "min(id)", "max(id)", "count(v)" if "v" in df.columns else "count(at)", "max(_commit_version)"
    )
    ids, other = [row["id"] for row in rows], "v" if "v" in df.columns else "at"
    known = sum(row[other] is not None for row in rows)
    assert tuple(first_row(asked)) == (min(ids), max(ids), known, max(row["_commit_version"] for row in rows))
    kinds = Counter((row["_change_type"], row["_commit_version"]) for row in rows)
    counts = df.groupBy("_change_type", "_commit_version").count().collect()
    assert {(row[0], row[1]): row[2] for row in counts} == dict(kinds)
    assert df.limit(5).count() == 5
    top = df.orderBy("id", ascending=False).limit(3).collect()
    assert [row.id for row in top] == sorted(ids, reverse=True)[:3]
