"""Tables that Hudi on Spark wrote, read by Hudi and by Lakescan at every instant, and the same.

`make peers` runs this. The tables are kept in `.walks` beside this file, so a run that was broken off goes on where it
stopped; LAKESCAN_WALKS says how many there are. A step that Hudi itself refuses is no step.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

import lakescan
from tests.formats.hudi.tables import open_hudi, rows_of
from tests.peers_hudi.incremental import record_changes
from tests.peers_hudi.walk import Walk, hudi_session

WALKS = int(os.environ.get("LAKESCAN_WALKS", "48"))
FOLDER = Path(os.environ.get("LAKESCAN_WALKS_FOLDER", Path(__file__).parent / ".walks"))
_SEEN: Counter[str] = Counter()
HudiOnSpark = Callable[[], SparkSession]


@pytest.fixture(scope="module")
def hudi_on_spark() -> Iterator[HudiOnSpark]:
    """Started when a walk is to be walked; those that are kept need none."""
    os.environ["PYSPARK_PYTHON"] = sys.executable

    def session() -> SparkSession:
        forget_java_that_ended()
        return hudi_session(FOLDER / "warehouse")

    yield session
    forget_java_that_ended()
    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()
    print(f"\nwalked: {dict(_SEEN)}")


def forget_java_that_ended() -> None:
    """PySpark keeps the way to a Java process that has crashed; without it, the next session starts a new one."""
    gateway: Any = SparkContext._gateway
    if gateway is None or gateway.proc.poll() is None:
        return
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def walked(folder: Path, seed: int, hudi_on_spark: HudiOnSpark) -> dict[str, Any]:
    if not (folder / "walk.json").exists():
        Walk(hudi_on_spark(), folder, seed).run()
    walk: dict[str, Any] = json.loads((folder / "walk.json").read_text())
    return walk


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(WALKS))
def test_every_instant_of_a_random_walk_reads_as_hudi_reads_it(seed: int, hudi_on_spark: HudiOnSpark) -> None:
    folder = FOLDER / f"seed-{seed:03d}"
    steps = walked(folder, seed, hudi_on_spark)["steps"]
    # After a rollback, or a step that changed nothing, an instant is the newest once more: the last word counts.
    instants = {step["instant"]: number for number, step in enumerate(steps) if "instant" in step}
    assert instants, steps
    for instant, number in instants.items():
        expected = pq.read_table(folder / f"expected-{number}")
        context = f"seed {seed}, step {number} ({steps[number]['name']}), instant {instant}"
        rows = lakescan.open(folder / "table").snapshot(version=instant).scan().build().to_arrow()
        assert rows.schema.names == expected.schema.names, context
        assert rows_of(rows) == rows_of(expected), context
        _SEEN[steps[number]["name"]] += 1


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(WALKS))
def test_changes_between_instants_are_those_of_hudis_incremental_query(seed: int, hudi_on_spark: HudiOnSpark) -> None:
    folder = FOLDER / f"seed-{seed:03d}"
    walk = walked(folder, seed, hudi_on_spark)
    if not walk["shape"]["meta_fields"]:
        pytest.skip("the rows do not say which commit wrote them")
    if not (folder / "changes.json").exists():
        record_changes(hudi_on_spark, folder, walk)
    for change in json.loads((folder / "changes.json").read_text()):
        if "refused" in change:
            continue
        context = f"seed {seed}, {change}"
        expected = pq.read_table(folder / change["folder"])
        table = open_hudi(folder / "table")
        # Hudi gives the rows in the table's newest schema, as a stream of Lakescan does.
        changes = table.changes(change["start"], change["end"])
        rows = replace(changes, description=table.snapshot().describe()).scan().build().to_arrow()
        missing = Counter(rows_of(expected)) - Counter(rows_of(rows))
        assert not Counter(rows_of(rows)) - Counter(rows_of(expected)), context
        # Hudi leaves older rows out before it merges, so it also gives an update that lost against one by event time.
        state = table.snapshot(version=change["end"]).scan().build().to_arrow()
        older = {key(row) for row in state.to_pylist() if row["_hoodie_commit_time"] < change["start"]}
        lost = [row for row in expected.to_pylist() if key(row) in older]
        assert walk["shape"]["event_time"] or not missing, context
        assert not missing - Counter(rows_of(pa.Table.from_pylist(lost, expected.schema))), context
        _SEEN["incremental"] += 1


def key(row: dict[str, Any]) -> tuple[str, str]:
    return row["_hoodie_record_key"], row["_hoodie_partition_path"]
