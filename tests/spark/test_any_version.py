"""Queries that mix paths, names, versions, frames of any age and cached ones, in several sessions and threads, while
tables are changed, made anew, copied and moved: every answer is the one that the history says."""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession

import lakescan
from tests.examples import seeds
from tests.histories import Place

pytestmark = pytest.mark.spark
STEPS = 9

# How a frame is made of a path: with the newest version, and with one that is named.
NEWEST: dict[str, Callable[[SparkSession, str], DataFrame]] = {
    "read": lambda spark, path: lakescan.read(spark, path),
    "load": lambda spark, path: spark.read.format("delta").load(path),
    "table": lambda spark, path: spark.table(f"delta.`{path}`"),
    "sql": lambda spark, path: spark.sql(f"SELECT * FROM delta.`{path}`"),
    "name": lambda spark, path: spark.table(f"lake.{Path(path).name}"),
}
NAMED: dict[str, Callable[[SparkSession, str, int], DataFrame]] = {
    "read": lambda spark, path, version: lakescan.read(spark, path, version=version),
    "option": lambda spark, path, version: spark.read.format("delta").option("versionAsOf", version).load(path),
    "path": lambda spark, path, version: lakescan.read(spark, f"{path}@v{version}"),
    "sql path": lambda spark, path, version: spark.sql(f"SELECT * FROM delta.`{path}@v{version}`"),
    "sql": lambda spark, path, version: spark.sql(f"SELECT * FROM delta.`{path}` VERSION AS OF {version}"),
    "name": lambda spark, path, version: spark.sql(f"SELECT * FROM lake.{Path(path).name} VERSION AS OF {version}"),
}
# Their plans are the table's own relation, so that Spark finds what is cached of one for another.
BARE = ("read", "load", "table", "name")


@dataclass(frozen=True)
class Part:
    """A frame, and what it reads."""

    frame: DataFrame
    place: Place
    made: int
    """Which table was in the place when it was made."""
    version: int | None
    relation: Hashable
    """What Spark takes for the same relation."""


class Walk:
    """Places, sessions, and the frames that were made so far."""

    def __init__(self, spark: SparkSession, folder: Path, seed: int) -> None:
        self.random = Random(seed)
        self.places = [Place(folder / name, self.random) for name in ("one", "two")]
        (folder / "link").symlink_to(self.places[0].root)
        self.sessions = [lakescan.install(spark.newSession()) for _ in range(2)]
        for session in self.sessions:
            for place in self.places:
                lakescan.attach(session, place.root.name, place.path)
        self.parts: list[Part] = []
        self.cached: dict[Hashable, list[int]] = {}
        self.frames: list[DataFrame] = []

    def spellings(self, place: Place) -> list[str]:
        link = [str(place.root.with_name("link"))] if place is self.places[0] else []
        return [place.path, f"file:{place.path}", f"{place.path}/", *link]

    def part(self, random: Random, session: int) -> Part:
        """A new frame of some session."""
        place, spark = random.choice(self.places), self.sessions[session]
        if random.random() < 0.4:
            version = random.choice(place.versions)
            frame = NAMED[random.choice(list(NAMED))](spark, place.path, version)
            return Part(frame, place, place.made, version, None)
        way = random.choice(list(NEWEST))
        path = place.path if way == "name" else random.choice(self.spellings(place))
        relation = (way, session, path, place.root.name, place.state) if way in BARE else None
        return Part(NEWEST[way](spark, path), place, place.made, None, relation)

    def expected(self, part: Part) -> list[int]:
        return self.cached.get(part.relation) or part.place.rows(part.version)

    def usable(self, part: Part) -> bool:
        """What names a version of a table that is gone can be read no more."""
        return part.version is None or part.made == part.place.made

    def change(self) -> None:
        self.random.choice(self.places).change(self.places)
        self.parts = [part for part in self.parts if self.usable(part)]

    def cache(self) -> None:
        known = [part for part in self.parts if part.relation is not None and part.relation not in self.cached]
        if not known:
            return
        part = self.random.choice(known)
        rows = part.place.rows()
        if rows:
            self.frames.append(part.frame.cache())
            self.cached[part.relation] = rows
            # The plan of the frame itself may have been made when it was cached before.
            assert sorted(row.id for row in part.frame.select("id").collect()) == rows

    def uncache(self) -> None:
        for frame in self.frames:
            frame.unpersist()
        self.frames, self.cached = [], {}

    def ask(self, seed: int, session: int) -> None:
        """One query of a few parts of a session, old and new."""
        random = Random(seed)
        mine = [part for part in self.parts if part.frame.sparkSession is self.sessions[session]]
        parts = [self.part(random, session) for _ in range(random.randint(1, 2))]
        parts += random.sample(mine, min(len(mine), random.randint(0, 2)))
        expected = sorted((at, id_) for at, part in enumerate(parts) for id_ in self.expected(part))
        tagged = [part.frame.selectExpr(f"{at} AS at", "id") for at, part in enumerate(parts)]
        every = reduce(DataFrame.union, tagged)
        match random.randrange(3):
            case 0:
                assert sorted(map(tuple, every.collect())) == expected
            case 1:
                counts = [part.frame.selectExpr(f"count(*) + {at} * 1000 AS n") for at, part in enumerate(parts)]
                found = sorted(row.n for row in reduce(DataFrame.union, counts).collect())
                assert found == [at * 1000 + len(self.expected(part)) for at, part in enumerate(parts)]
            case 2:
                bound = random.randrange(10, 100)
                kept = [(at, id_) for at, id_ in expected if id_ >= bound]
                assert sorted(map(tuple, every.where(f"id >= {bound}").collect())) == kept
        self.parts += parts


@pytest.mark.parametrize("seed", seeds(2))
def test_every_answer_is_that_of_a_fresh_process(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    walk = Walk(spark, tmp_path, seed)
    try:
        for _ in range(STEPS):
            match walk.random.choices(["change", "cache", "uncache", "nothing"], [6, 2, 1, 1])[0]:
                case "change":
                    walk.change()
                case "cache":
                    walk.cache()
                case "uncache":
                    walk.uncache()
            failed: list[BaseException] = []

            def ask(seed: int, session: int, failed: list[BaseException] = failed) -> None:
                try:
                    walk.ask(seed, session)
                except BaseException as error:
                    failed.append(error)

            threads = [threading.Thread(target=ask, args=[walk.random.random(), session]) for session in (0, 1)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not failed, failed
    finally:
        walk.uncache()
