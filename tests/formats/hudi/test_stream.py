"""A Hudi table as a stream, without Spark: every commit's rows once, whatever fails and however often it restarts."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakescan
from lakescan.errors import (
    InstantGone,
    InvalidOffset,
    InvalidOption,
    InvalidVersion,
    SchemaChanged,
    UnsupportedFeature,
    VersionNotFound,
)
from lakescan.formats.registry import pin_stream
from lakescan.stream.stream import Limits
from tests.examples import examples
from tests.formats.delta.stream.engine import Engine

from .builder import HudiBuilder


def rows(*ids: int, value: str = "a") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "value": pa.array([value] * len(ids))})


def given_rows(engine: Engine) -> list[tuple[int, str]]:
    return sorted((row["id"], row["value"]) for row in engine.rows)


@pytest.fixture
def table(tmp_path: Path) -> HudiBuilder:
    return HudiBuilder(tmp_path / "table")


def test_a_stream_gives_the_snapshot_and_then_what_each_commit_wrote(table: HudiBuilder) -> None:
    table.upsert(0, rows(1, 2, 3))
    table.upsert(1, rows(4))
    engine = Engine(str(table.path))
    engine.drain()
    assert given_rows(engine) == [(1, "a"), (2, "a"), (3, "a"), (4, "a")]
    engine.rows.clear()
    table.upsert(0, rows(2, value="b"))
    table.delete(0, [1])
    table.upsert(1, rows(5))
    engine.drain()
    assert given_rows(engine) == [(2, "b"), (5, "a")]


def test_a_batch_holds_whole_commits_within_its_limits(table: HudiBuilder) -> None:
    for at in range(5):
        table.upsert(at, rows(at))
    engine = Engine(str(table.path), {"startingVersion": first(table)})
    sizes = []
    while engine.batch(limits=Limits(files=2)):
        sizes.append(len(engine.rows))
    assert sizes == [2, 4, 5]


def test_the_initial_snapshot_is_split_too(table: HudiBuilder) -> None:
    for at in range(5):
        table.upsert(at, rows(at))
    engine = Engine(str(table.path), {"maxFilesPerTrigger": 2})
    assert [engine.batch() for _ in range(4)] == [2, 2, 1, 0]
    table.upsert(9, rows(9))
    assert engine.batch() == 1


def test_a_batch_that_failed_is_the_same_batch_again_even_if_the_table_has_grown(table: HudiBuilder) -> None:
    table.upsert(0, rows(1))
    engine = Engine(str(table.path))
    engine.batch(crash=True)
    table.upsert(0, rows(1, 2, value="b"))
    assert engine.batch() == 1
    assert given_rows(engine) == [(1, "a")]
    engine.drain()
    assert given_rows(engine) == [(1, "a"), (1, "b"), (2, "b")]


def test_a_stream_waits_for_a_write_under_way_and_then_gives_its_rows(table: HudiBuilder) -> None:
    """The later commit finishes first; passing the earlier one would lose its rows."""
    table.upsert(0, rows(1))
    engine = Engine(str(table.path))
    engine.drain()
    pending = table.begin()
    table.upsert(1, rows(2))
    assert engine.batch() == 0
    table.upsert(2, rows(3), pending)
    engine.drain()
    assert given_rows(engine) == [(1, "a"), (2, "a"), (3, "a")]


def test_a_new_stream_begins_before_a_write_under_way(table: HudiBuilder) -> None:
    table.upsert(0, rows(1))
    pending = table.begin()
    table.upsert(1, rows(2))
    engine = Engine(str(table.path))
    engine.drain()
    assert given_rows(engine) == [(1, "a")]
    table.roll_back(pending)
    engine.drain()
    assert given_rows(engine) == [(1, "a"), (2, "a")]


@pytest.mark.parametrize("batches", [0, 1, 2, 3])
def test_a_clustering_that_ends_while_the_initial_snapshot_is_read_neither_takes_nor_gives_a_row(
    batches: int, table: HudiBuilder
) -> None:
    """It began before the newest commit, so the newest instant has other slices from then on."""
    for at in range(4):
        table.upsert(at, rows(at))
    planned = table.plan_clustering()
    table.upsert(9, rows(9))
    engine = Engine(str(table.path), {"maxFilesPerTrigger": 1})
    for _ in range(batches):
        engine.batch()
    table.cluster([0, 1, 2, 3], 5, planned)
    engine.drain()
    assert given_rows(engine) == [(at, "a") for at in (0, 1, 2, 3, 9)]


def first(table: HudiBuilder) -> str:
    instant: str = lakescan.open(table.path).snapshot().timeline.instants[0]  # type: ignore[attr-defined]
    return instant


def test_where_a_stream_starts(table: HudiBuilder) -> None:
    table.upsert(0, rows(1))
    second = table.upsert(0, rows(2))
    moment = f"2024-01-01T00:00:{int(second[12:14]):02d}Z"
    for options in ({"startingVersion": second}, {"startingTimestamp": moment}):
        engine = Engine(str(table.path), options)
        engine.drain()
        assert given_rows(engine) == [(2, "a")], options
    engine = Engine(str(table.path), {"startingVersion": "latest"})
    engine.drain()
    assert not engine.rows
    table.upsert(0, rows(3))
    engine.drain()
    assert given_rows(engine) == [(3, "a")]


def test_an_empty_table_is_waited_for(table: HudiBuilder) -> None:
    schema = {"type": "record", "name": "made", "fields": [{"name": "id", "type": ["null", "long"]}]}
    fields = [*schema["fields"], {"name": "value", "type": ["null", "string"]}]
    properties = table.path / ".hoodie" / "hoodie.properties"
    created = json.dumps({**schema, "fields": fields}).replace(":", "\\:")
    properties.write_text(properties.read_text() + f"hoodie.table.create.schema={created}\n")
    engine = Engine(str(table.path))
    engine.drain()
    table.upsert(0, rows(1))
    engine.drain()
    assert given_rows(engine) == [(1, "a")]


@pytest.mark.parametrize("restart", [False, True])
def test_an_instant_that_was_archived_is_an_error_and_not_an_empty_batch(restart: bool, table: HudiBuilder) -> None:
    reached = table.upsert(0, rows(1))
    engine = Engine(str(table.path))
    engine.drain()
    lost = table.upsert(0, rows(2))
    table.upsert(0, rows(3))
    table.archive(reached)
    table.archive(lost)
    if restart:
        engine.restart()
    with pytest.raises(InstantGone, match=f"{reached}.*archived"):
        engine.batch()


def test_an_instant_that_was_rolled_back_is_an_error(table: HudiBuilder) -> None:
    table.upsert(0, rows(1))
    reached = table.upsert(1, rows(2))
    engine = Engine(str(table.path))
    engine.drain()
    table.roll_back(reached)
    table.upsert(2, rows(3))
    with pytest.raises(InstantGone, match=f"{reached}.*rolled back"):
        engine.batch()


def test_files_that_were_cleaned_away_are_an_error_and_not_an_empty_batch(table: HudiBuilder) -> None:
    table.upsert(0, rows(1))
    engine = Engine(str(table.path), {"maxFilesPerTrigger": 1})
    engine.drain()
    cleaned = table.upsert(0, rows(2))
    table.upsert(0, rows(3))
    table.clean(0, cleaned)
    with pytest.raises(InstantGone, match="cleaned away"):
        engine.batch()


def test_a_start_among_archived_commits_is_an_error(table: HudiBuilder) -> None:
    archived = table.upsert(0, rows(1))
    table.upsert(0, rows(2))
    table.archive(archived)
    with pytest.raises(VersionNotFound):
        Engine(str(table.path), {"startingVersion": archived}).batch()
    with pytest.raises(VersionNotFound, match="archived"):
        Engine(str(table.path), {"startingTimestamp": "2023-01-01"}).batch()
    with pytest.raises(VersionNotFound, match="archived"):
        lakescan.open(table.path).changes("2023-01-01")
    with pytest.raises(InvalidVersion):
        Engine(str(table.path), {"startingTimestamp": "2099-01-01"}).batch()


def test_a_commit_that_changes_the_schema_stops_the_stream_after_the_rows_before_it(table: HudiBuilder) -> None:
    table.upsert(0, rows(1))
    engine = Engine(str(table.path))
    engine.drain()
    table.upsert(0, rows(2))
    table.upsert(1, rows(3).append_column("more", pa.array([7], pa.int64())))
    assert engine.batch() == 1
    with pytest.raises(SchemaChanged, match="more"):
        engine.batch()
    engine.restart()
    engine.drain()
    assert [row.get("more") for row in engine.rows] == [None, None, 7]


def test_older_commits_are_given_in_the_newest_schema(table: HudiBuilder) -> None:
    start = table.upsert(0, rows(1))
    table.upsert(1, rows(2).append_column("more", pa.array([7], pa.int64())))
    engine = Engine(str(table.path), {"startingVersion": start, "maxFilesPerTrigger": 1})
    engine.drain()
    assert [(row["id"], row["more"]) for row in engine.rows] == [(1, None), (2, 7)]


def test_a_stream_needs_the_meta_fields(tmp_path: Path) -> None:
    table = HudiBuilder(tmp_path / "table", {"hoodie.populate.meta.fields": "false"})
    table.upsert(0, rows(1))
    with pytest.raises(UnsupportedFeature, match="meta fields"):
        Engine(str(table.path)).batch()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"startingVersion": "yesterday"}, InvalidOption),
        ({"startingverison": "1"}, InvalidOption),
        ({"maxFilesPerTrigger": "0"}, InvalidOption),
        ({"startingVersion": "latest", "startingTimestamp": "2024-01-01"}, InvalidOption),
        ({"readChangeFeed": "true"}, InvalidOption),
    ],
)
def test_a_wrong_option_is_told_when_the_stream_is_made(
    options: dict[str, str], error: type[Exception], table: HudiBuilder
) -> None:
    table.upsert(0, rows(1))
    with pytest.raises(error):
        pin_stream(lakescan.open(table.path), options)


@pytest.mark.parametrize(
    "offset",
    [
        {},
        {"lakescanOffset": 2},
        {"lakescanOffset": 1, "version": 3, "index": 0},
        {"lakescanOffset": 1, "instant": "now", "slices": None, "before": False},
        {"lakescanOffset": 1, "instant": "2024", "slices": -1, "before": False},
    ],
)
def test_an_offset_that_is_not_ours_is_refused(offset: dict[str, Any], table: HudiBuilder) -> None:
    table.upsert(0, rows(1))
    with pytest.raises(InvalidOffset):
        Engine(str(table.path)).stream.next_offset(offset, Limits())


def test_an_engine_without_admission_control_reads_everything_in_one_batch(table: HudiBuilder) -> None:
    table.upsert(0, rows(1))
    engine = Engine(str(table.path))
    start = engine.stream.initial_offset()
    end = engine.stream.end_offset()
    table.upsert(1, rows(2))
    assert len(engine.stream.plan(start, end, 2)) == 1
    assert engine.stream.plan(end, end, 2) == []
    assert len(engine.stream.plan(end, engine.stream.end_offset(), 2)) == 1


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("upsert"), st.integers(0, 2), st.lists(st.integers(0, 7), min_size=1, max_size=3)),
        st.tuples(st.just("delete"), st.integers(0, 2), st.lists(st.integers(0, 7), max_size=3)),
        st.tuples(st.sampled_from(["batch", "crash", "restart", "begin", "finish", "abandon"])),
    ),
    max_size=16,
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, files=st.integers(1, 4), from_start=st.booleans())
def test_whatever_happens_each_row_of_each_commit_is_given_once(
    steps: list[Any], files: int, from_start: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = HudiBuilder(tmp_path_factory.mktemp("stream") / "table")
    start = table.upsert(0, rows(0, value="first"))
    options = {"maxFilesPerTrigger": files, **({"startingVersion": start} if from_start else {})}
    engine, pending = Engine(str(table.path), options), ""
    for number, step in enumerate(steps):
        if step[0] == "upsert":
            # A group has ids of its own, as a key is in one file group.
            table.upsert(step[1], rows(*{10 * step[1] + at for at in step[2]}, value=str(number)))
        elif step[0] == "delete" and step[1] in table.groups:
            table.delete(step[1], [10 * step[1] + at for at in step[2]])
        elif step[0] == "begin" and not pending:
            pending = table.begin()
        elif step[0] == "finish" and pending:
            table.upsert(3, rows(30 + number, value=str(number)), pending)
            pending = ""
        elif step[0] == "abandon" and pending:
            table.roll_back(pending)
            pending = ""
        elif step[0] in ("batch", "crash"):
            engine.batch(crash=step[0] == "crash")
        elif step[0] == "restart":
            engine.restart()
    if pending:
        table.roll_back(pending)
    engine.drain()
    counted = Counter((row["id"], row["_hoodie_commit_time"]) for row in engine.rows)
    assert not [key for key, count in counted.items() if count > 1]
    state = {row["id"]: row for row in lakescan.open(table.path).snapshot().scan().build().to_arrow().to_pylist()}
    newest = {row["id"]: row for row in sorted(engine.rows, key=lambda row: str(row["_hoodie_commit_time"]))}
    assert {key: newest.get(key) for key in state} == state
