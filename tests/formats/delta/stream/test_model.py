"""Streams of random histories deliver exactly what a plain model says: no row lost, none doubled, none wrong."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lakescan.errors import (
    LakescanError,
    NotAnAppend,
    SchemaChanged,
    StartNotRebuilt,
    VersionNotFound,
)
from tests.examples import examples, seeds
from tests.formats.delta.stream.engine import Engine
from tests.formats.delta.stream.history import History, ModelVersion, Row

CHUNK = min(50, examples(50))


def counted(rows: list[Row]) -> Counter[tuple[tuple[str, Any], ...]]:
    """Rows without order; a null and an absent column are the same."""
    return Counter(tuple(sorted((k, v) for k, v in row.items() if v is not None)) for row in rows)


def delivers(version: ModelVersion, options: dict[str, Any]) -> list[Row] | None:
    """The rows that a commit gives a stream, None where it stops it."""
    if version.kind in ("append", "none"):
        return version.new_rows
    if options.get("skipChangeCommits"):
        return []
    if options.get("ignoreChanges"):
        return version.added_rows
    if version.kind == "delete" and options.get("ignoreDeletes"):
        return []
    return None


class Expected:
    """What the model says that a stream has to deliver."""

    def __init__(self, history: History, options: dict[str, Any], origin: int, snapshot: bool) -> None:
        self.history, self.options, self.origin, self.snapshot = history, options, origin, snapshot

    def at_end(self) -> tuple[list[Row], int | None]:
        """Every row of the stream up to the newest version, and the version that stops it, if one does."""
        rows = list(self.history.versions[self.origin].live_rows) if self.snapshot else []
        for number in range(self.origin + self.snapshot, self.history.newest + 1):
            delivered = delivers(self.history.versions[number], self.options)
            if delivered is None:
                return rows, number
            rows = rows + delivered
        return rows, None


def run(root: Path, seed: int) -> None:
    chance = random.Random(seed)
    start = chance.choice(["default", "number", "latest"])
    history = History(root, seed, appends_only=chance.random() < 0.3, renames_in_files=start != "default")
    for _ in range(chance.randint(0, 2 + seed % 7)):
        history.grow()
    options: dict[str, Any] = dict(
        chance.choice([{}, {"ignoreDeletes": True}, {"ignoreChanges": True}, {"skipChangeCommits": True}])
    )
    options |= chance.choice([{}, {"maxFilesPerTrigger": chance.randint(1, 4)}, {"maxBytesPerTrigger": 1500}])
    if chance.random() < 0.1:
        options |= {"maxFilesPerTrigger": 2, "maxBytesPerTrigger": 2500}
    origin, snapshot = history.newest, True
    if start == "number":
        first = chance.randint(0, history.newest + 1)
        options["startingVersion"], origin, snapshot = first, first, False
    elif start == "latest":
        options["startingVersion"], origin, snapshot = "latest", history.newest + 1, False
    engine = Engine(history.built.path, options)
    expected = Expected(history, options, origin, snapshot)
    if start != "number":
        # Where such a stream starts is decided with its first batch.
        assert engine.decide()
    fixed = chance.random() < 0.3
    cleaned = 0
    for _ in range(chance.randint(2, 6)):
        for _ in range(chance.randint(0, 2)):
            history.grow()
        if chance.random() < 0.5:
            engine.restart()
        if chance.random() < 0.1:
            # The log is cleaned up to a checkpoint, perhaps under the feet of the stream.
            history.built.checkpoint()
            cleaned = history.newest
            history.built.clean_log(cleaned)
        if not step(engine, expected, chance, cleaned):
            return
    if fixed:
        engine.restart()
        engine.stream.fix_end()
        rows_then = expected.at_end()
        history.grow()
        outcome = finish(engine, cleaned)
        if outcome != "done":
            check_stop(engine, expected, outcome, cleaned, rows_then)
            return
        assert counted(engine.rows) == counted(rows_then[0])
        engine.restart()
    outcome = finish(engine, cleaned)
    check_stop(engine, expected, outcome, cleaned, expected.at_end())


def step(engine: Engine, expected: Expected, chance: random.Random, cleaned: int) -> bool:
    """A batch or two, some lost; False where the stream has rightly ended."""
    for _ in range(chance.randint(1, 3)):
        try:
            engine.batch(crash=chance.random() < 0.25)
        except SchemaChanged:
            engine.restart()
        except NotAnAppend:
            check_stop(engine, expected, "stopped", cleaned, expected.at_end())
            return False
        except (VersionNotFound, StartNotRebuilt):
            check_stop(engine, expected, "gone", cleaned, expected.at_end())
            return False
    return True


def finish(engine: Engine, cleaned: int) -> str:
    """Run to the end: done, stopped by a commit that is no append, or gone with commits that were cleaned away."""
    for _ in range(200):
        try:
            engine.drain()
            return "done"
        except SchemaChanged:
            engine.restart()
        except NotAnAppend:
            return "stopped"
        except (VersionNotFound, StartNotRebuilt):
            if not cleaned:
                raise
            return "gone"
    raise AssertionError("the stream does not come to an end")


def check_stop(
    engine: Engine, expected: Expected, outcome: str, cleaned: int, end: tuple[list[Row], int | None]
) -> None:
    rows, stop = end
    if outcome == "gone":
        # Commits were removed before the stream came to them: it says so, and gave nothing that is not due.
        assert cleaned
        assert counted(engine.rows) <= counted(rows)
        return
    assert (outcome == "stopped") == (stop is not None)
    assert counted(engine.rows) == counted(rows)


@pytest.mark.parametrize("chunk", seeds(12))
def test_a_stream_delivers_what_the_model_says(tmp_path: Path, chunk: int) -> None:
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        try:
            run(tmp_path / str(seed), seed)
        except (AssertionError, LakescanError) as error:
            raise AssertionError(f"seed {seed}: {error}") from error
