"""A random walk of a stream that Delta Spark and Lakescan run in turns, from one checkpoint, while its table changes.

Beside it a stream of Delta Spark alone reads the same table with the same options. A run of the stream ends where
there is nothing more, or in the middle of a batch: the next run, of either engine, then begins with that batch.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

ENGINES = ("delta", "lakescan")
# Of each of these a stream says that it is to be started again; nothing else may stop it.
_RESTARTS = ("DELTA_SCHEMA_CHANGED", "DELTA_STREAMING_METADATA_EVOLUTION", "Restart the stream")
_MOST_RESTARTS = 20
_ALLOWED = {f"allowSourceColumn{change}": "always" for change in ("Rename", "Drop", "TypeChange")}


@dataclass
class Stopped(Exception):
    """The sink failed, as it was to."""


@dataclass
class Query:
    """A stream with its checkpoint, and a sink that has each batch once, whoever ran it and how often."""

    spark: SparkSession
    path: str
    checkpoint: Path
    options: dict[str, str]
    tracked: bool = False
    """Whether the stream keeps its schemas below its checkpoint."""
    batches: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    reruns: int = 0
    """Batches that were run again after the sink had failed."""

    def run(self, engine: str, stop_after: int | None = None, written: bool = False) -> None:
        """Batches until there are no more, or until the sink fails behind some; before or after it has the next."""
        for _ in range(_MOST_RESTARTS):
            try:
                self._run(engine, stop_after, written)
            except PySparkException as error:
                if Stopped.__name__ in str(error):
                    return
                if not any(text in str(error) for text in _RESTARTS):
                    raise
            else:
                return
        raise AssertionError(f"{engine} does not get past a change of the schema: {self.path}")

    def _run(self, engine: str, stop_after: int | None, written: bool) -> None:
        seen = 0

        def keep(batch: DataFrame, number: int) -> None:
            nonlocal seen
            fails = stop_after is not None and seen >= stop_after
            seen += 1
            if fails and not written:
                raise Stopped
            self.reruns += number in self.batches
            self.batches[number] = [row.asDict(recursive=True) for row in batch.collect()]
            if fails:
                raise Stopped

        tracked = {"schemaTrackingLocation": f"{self.checkpoint}/schemas", **_ALLOWED} if self.tracked else {}
        reader = self.spark.readStream.format(engine).options(**self.options, **tracked).load(self.path)
        writer = reader.writeStream.foreachBatch(keep).option("checkpointLocation", str(self.checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()

    @property
    def rows(self) -> Counter[str]:
        """Every row; a column that a row's batch did not know yet is as good as null."""
        rows = (row for batch in self.batches.values() for row in batch)
        return Counter(
            str(sorted((name, _text(value)) for name, value in row.items() if value is not None)) for row in rows
        )

    @property
    def ends(self) -> list[str]:
        """The offsets in the checkpoint, oldest first."""
        files = [file for file in (self.checkpoint / "offsets").iterdir() if file.name.isdecimal()]
        return [file.read_text().splitlines()[2] for file in sorted(files, key=lambda file: int(file.name))]


def _text(value: Any) -> str:
    return str(value.timestamp()) if hasattr(value, "timestamp") else repr(value)


class StreamWalk:
    """One table, one stream, and everything that happens to both; all of it follows from the seed."""

    def __init__(self, spark: SparkSession, root: Path, seed: int) -> None:
        self.spark, self.rng = spark, Random(seed)
        self.path = str(root / f"table {seed} %")
        self.feed = self.rng.random() < 0.35
        self.vectors = self.rng.random() < 0.5
        self.partitioned = self.rng.random() < 0.6
        self.tracked = self.rng.random() < 0.4
        self.options = {"maxFilesPerTrigger": str(self.rng.randint(1, 5))}
        ignoring = {} if self.feed else self.rng.choice([{}, {"skipChangeCommits": "true"}, {"ignoreChanges": "true"}])
        self.only_appends = not self.feed and not ignoring
        self.options |= {"readChangeFeed": "true"} if self.feed else ignoring
        self.log = [f"seed {seed}, vectors {self.vectors}, partitioned {self.partitioned}, tracked {self.tracked}"]
        self._next, self._names = 0, 0
        self._value, self._extras = "val", list[str]()
        self._create()
        start = self.rng.choice(["", "", "0", "2"])
        self.options |= {"startingVersion": start} if start else {}
        self.log.append(f"options {self.options}")
        self.turns = Query(spark, self.path, root / "turns", self.options, self.tracked)
        self.alone = Query(spark, self.path, root / "alone", self.options, self.tracked)
        self.kinds: Counter[str] = Counter()
        self._last: str | None = None

    def run(self, steps: int = 12) -> None:
        try:
            # Both begin with the same version of the table.
            self.alone.run("delta")
            self._turn()
            for _ in range(steps):
                self.rng.choice([self._turn, self._change])()
            self.alone.run("delta")
            self.turns.run(self.rng.choice(ENGINES))
        except Exception as error:
            raise AssertionError("\n".join(self.log)) from error
        assert self.turns.rows == self.alone.rows, self._said()

    def _said(self) -> str:
        missing, more = self.alone.rows - self.turns.rows, self.turns.rows - self.alone.rows
        ends = "\n".join(self.turns.ends)
        return "\n".join([*self.log, f"missing {missing}", f"too many {more}", ends])

    def _turn(self) -> None:
        engine = self.rng.choice(ENGINES)
        stop_after, written = self.rng.choice([None, 0, 1, 1, 2, 3]), self.rng.random() < 0.5
        self.log.append(f"{engine} stops after {stop_after}, written {written}")
        self._count_takeover(engine)
        before = len(self.turns.batches)
        self.turns.run(engine, stop_after, written)
        self._last = engine
        self.kinds[engine] += len(self.turns.batches) - before
        self.log.append(f"  {len(self.turns.batches)} batches, {self.turns.ends[-1]}")

    def _count_takeover(self, engine: str) -> None:
        if self._last in (None, engine):
            return
        end = json.loads(self.turns.ends[-1])
        place = "snapshot" if end["isStartingVersion"] else "commit" if end["index"] >= 0 else "log"
        pending = len(self.turns.ends) > len(list((self.turns.checkpoint / "commits").glob("[0-9]*")))
        self.kinds[f"{self._last} to {engine} in the {place}{', a batch half done' if pending else ''}"] += 1

    def _sql(self, statement: str) -> None:
        self.log.append(statement)
        self.spark.sql(statement)

    def _create(self) -> None:
        by = "PARTITIONED BY (part)" if self.partitioned else ""
        self._sql(
            f"CREATE TABLE delta.`{self.path}` (id BIGINT, part STRING, val BIGINT) USING delta {by} TBLPROPERTIES ("
            f"'delta.enableDeletionVectors' = '{str(self.vectors).lower()}', "
            f"'delta.enableChangeDataFeed' = '{str(self.feed).lower()}', 'delta.columnMapping.mode' = 'name', "
            f"'delta.checkpointInterval' = '{self.rng.choice([2, 5, 10])}')"
        )
        for _ in range(self.rng.randint(2, 4)):
            self._insert()

    def _change(self) -> None:
        harmless = [self._insert, self._insert, self._optimize, self._add_column]
        harmless += [self._rename, self._rename, self._drop] if self.tracked else []
        changing = [self._update, self._delete, self._delete_files, self._merge, self._overwrite]
        choice = self.rng.choice(harmless if self.only_appends else harmless + changing)
        choice()
        self.kinds[choice.__name__.strip("_")] += 1

    def _insert(self) -> None:
        """A commit of some files, with characters in its folders that a path has to escape."""
        count, files, first = self.rng.randint(3, 12), self.rng.randint(1, 5), self._next
        self._next += count
        self.log.append(f"insert {first} to {first + count - 1} in {files} files")
        rows = self.spark.range(first, first + count, 1, files)
        extra = [f"id * {at + 2} AS {name}" for at, name in enumerate(self._extras)]
        written = rows.selectExpr(
            "id",
            "element_at(array('a b', 'a', 'ä%', 'b/'), cast(id % 4 + 1 AS int)) AS part",
            f"id * 10 AS {self._value}",
            *extra,
        )
        written.write.format("delta").mode("append").save(self.path)

    def _optimize(self) -> None:
        self._sql(f"OPTIMIZE delta.`{self.path}`")

    def _add_column(self) -> None:
        if len(self._extras) < 3:
            self._extras.append(self._new_name())
            self._sql(f"ALTER TABLE delta.`{self.path}` ADD COLUMNS ({self._extras[-1]} BIGINT)")

    def _rename(self) -> None:
        before, self._value = self._value, self._new_name()
        self._sql(f"ALTER TABLE delta.`{self.path}` RENAME COLUMN {before} TO {self._value}")

    def _drop(self) -> None:
        if self._extras:
            self._sql(f"ALTER TABLE delta.`{self.path}` DROP COLUMN {self._extras.pop()}")

    def _new_name(self) -> str:
        self._names += 1
        return f"col{self._names}"

    def _update(self) -> None:
        self._sql(
            f"UPDATE delta.`{self.path}` SET {self._value} = {self._value} + 1 WHERE id % 5 = {self.rng.randrange(5)}"
        )

    def _delete(self) -> None:
        self._sql(f"DELETE FROM delta.`{self.path}` WHERE id % 7 = {self.rng.randrange(7)}")

    def _delete_files(self) -> None:
        """Whole files, where the table has partitions: no change file is written then."""
        self._sql(f"DELETE FROM delta.`{self.path}` WHERE part = '{self.rng.choice(['a b', 'a', 'b/'])}'")

    def _overwrite(self) -> None:
        first = self._next
        self._next += 6
        columns = ["id", "'a' AS part", f"id AS {self._value}", *(f"id AS {name}" for name in self._extras)]
        self.log.append(f"overwrite with {first} to {first + 5}")
        rows = self.spark.range(first, first + 6, 1, self.rng.randint(1, 4)).selectExpr(*columns)
        rows.write.format("delta").mode("overwrite").save(self.path)

    def _merge(self) -> None:
        """One that may match nothing, and then rewrites nothing that it changes."""
        keys = f"SELECT explode(sequence({self._next - 4}, {self._next + 1})) AS id"
        self._sql(
            f"MERGE INTO delta.`{self.path}` t USING ({keys}) s ON t.id = s.id "
            f"WHEN MATCHED AND t.{self._value} % 3 = {self.rng.randrange(6)} THEN UPDATE SET {self._value} = -1"
        )
