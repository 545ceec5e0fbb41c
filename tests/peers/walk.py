"""One table's random walk: Delta Spark writes it, and every version it goes through is read by both.

A version is compared twice: when it is the newest, and at the end of the walk by its number, when later
checkpoints and commits lie around it. The seed decides everything but the names of files.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

import lakescan
from lakescan.errors import InvalidFilter
from tests.peers.compare import Different, same_rows
from tests.peers.operations import OPERATIONS, NotHere, condition
from tests.peers.session import delta_log, settings
from tests.peers.values import PLAIN_NAMES, quoted, random_partition_type, random_type
from tests.tables import open_delta

FEWEST_OPERATIONS = 8
_FILTERS_AT = 1
_FILTERS = 3
_FEEDS = 3
_FOLDERS = ["plain", "with space", "per%20cent", "ünï-日本", "a=b", "plus+and&"]
_ZONES = ["UTC", "UTC", "America/New_York", "Asia/Kolkata"]


@dataclass
class Outcome:
    """What a walk did, kept so that it need not be walked again."""

    seed: int
    operations: list[str] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    versions: int = 0
    rows: int = 0
    filters: int = 0
    feeds: int = 0
    untold_filters: int = 0
    """Conditions that only Spark could say: Lakescan's own filter text refused them by name."""


class Walk:
    """A table on its way; implements `operations.Table`."""

    def __init__(self, spark: SparkSession, root: Path, seed: int) -> None:
        self.spark, self.root, self.rng = spark, root, Random(seed)
        self.outcome = Outcome(seed)
        self.zone = self.rng.choice(_ZONES)
        self.key = "id"
        self._known: dict[tuple[str, int], pa.Table] = {}
        self._keys: dict[tuple[str, int], str] = {}
        self._tables = 0
        self.path = ""
        self.move()

    # The table as the operations see it

    @property
    def name(self) -> str:
        return f"delta.`{self.path}`"

    @property
    def versions(self) -> int:
        return 1 + max(int(file.stem) for file in Path(self.path, "_delta_log").glob("[0-9]" * 20 + ".json"))

    @cached_property
    def _now(self) -> DataFrame:
        return self.spark.read.format("delta").load(self.path)

    @cached_property
    def _metadata(self) -> Any:
        """Delta's own metadata action."""
        return delta_log(self.spark, self.path).unsafeVolatileSnapshot().metadata()

    @property
    def schema(self) -> t.StructType:
        return self._now.schema

    @property
    def partition_columns(self) -> list[str]:
        columns = self._metadata.partitionColumns()
        return [columns.apply(at) for at in range(columns.size())]

    @property
    def mapping(self) -> str:
        return str(self._metadata.columnMappingMode().name())

    def has_property(self, name: str, value: str) -> bool:
        setting = self._metadata.configuration().get(name)
        return bool(setting.isDefined()) and setting.get() == value

    def key_at(self, version: int) -> str:
        return self._keys[self.path, version]

    def sql(self, statement: str) -> DataFrame:
        return self.spark.sql(statement)

    def move(self) -> str:
        self._tables += 1
        self.path = str(self.root / f"{self._tables} {self.rng.choice(_FOLDERS)}")
        return self.name

    # The walk

    def run(self) -> Outcome:
        with settings(self.spark, self._settings()):
            self._create()
            self._do("insert")
            length = self.rng.randint(FEWEST_OPERATIONS, FEWEST_OPERATIONS + 2)
            for _ in range(8 * length):
                if len(self.outcome.operations) > length:
                    break
                self._step()
            self._compare_all_again()
            self._compare_filters()
            self._compare_changes()
        self.outcome.versions = len(self._known)
        self.outcome.rows = sum(table.num_rows for table in self._known.values())
        assert len(self.outcome.operations) > FEWEST_OPERATIONS, f"too short a walk: {self.outcome}"
        return self.outcome

    def _settings(self) -> dict[str, str]:
        """How Delta Spark writes this table's files and checkpoints, and in which time zone all of it is."""
        rng = self.rng
        return {
            "spark.sql.session.timeZone": self.zone,
            "spark.sql.parquet.outputTimestampType": rng.choice(["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MICROS"]),
            "spark.sql.parquet.writeLegacyFormat": rng.choice(["true", "false", "false", "false"]),
            "spark.sql.parquet.compression.codec": rng.choice(["snappy", "zstd", "none"]),
            "spark.databricks.delta.write.utcTimestampPartitionValues": rng.choice(["true", "true", "false"]),
            "spark.databricks.delta.checkpoint.partSize": rng.choice(["1000000", "2"]),
            "spark.databricks.delta.checkpointV2.topLevelFileFormat": rng.choice(["json", "parquet"]),
            "spark.databricks.delta.stats.collect": rng.choice(["true", "true", "true", "true", "false"]),
        }

    def _create(self) -> None:
        rng = self.rng
        mapping = rng.choice(["none", "none", "name", "name", "id"])
        names = rng.sample(PLAIN_NAMES, rng.randint(2, 5))
        partitions = rng.choice([0, 0, 1, 1, 2])
        columns = [(self.key, "BIGINT")]
        columns += [(name, random_partition_type(rng)) for name in names[:partitions]]
        columns += [(name, random_type(rng)) for name in names[partitions:]]
        rng.shuffle(columns)
        strict = names[-1] if rng.random() < 0.3 and partitions < len(names) else None
        shown = [f"{quoted(name)} {type_}{' NOT NULL' if name == strict else ''}" for name, type_ in columns]
        properties = {
            "delta.columnMapping.mode": mapping,
            "delta.enableDeletionVectors": rng.choice(["true", "true", "false"]),
            "delta.enableChangeDataFeed": rng.choice(["true", "false"]),
            "delta.checkpointPolicy": rng.choice(["classic", "classic", "v2"]),
            "delta.checkpointInterval": rng.choice(["2", "3", "5", "10"]),
            "delta.checkpoint.writeStatsAsStruct": rng.choice(["true", "false"]),
            "delta.checkpoint.writeStatsAsJson": rng.choice(["true", "true", "false"]),
        }
        if mapping == "none":
            del properties["delta.columnMapping.mode"]
        told = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
        by = f"PARTITIONED BY ({', '.join(map(quoted, names[:partitions]))})" if partitions else ""
        self.sql(f"CREATE TABLE {self.name} ({', '.join(shown)}) USING delta {by} TBLPROPERTIES ({told})")
        self._seen("create", f"create ({', '.join(shown)}) {by} {properties} in {self.zone}")

    def _step(self) -> None:
        names = list(OPERATIONS)
        self._do(self.rng.choices(names, [OPERATIONS[name][1] for name in names])[0])

    def _do(self, kind: str) -> None:
        path, key, before = self.path, self.key, self.versions
        try:
            said = OPERATIONS[kind][0](self)
        except NotHere:
            return
        except (PySparkException, Py4JJavaError) as error:
            # Delta Spark's own rules forbid some of what the walk can think of; they are counted and kept.
            self.outcome.refused.append(f"{kind}: {_first_line(error)}")
            self.path, self.key = path, key
            self._forget()
            return
        self._forget()
        if kind == "checkpoint" or self.path != path or self.versions != before:
            self._seen(kind, said)

    def _forget(self) -> None:
        """What was known of the newest version, after an operation."""
        for name in ("_now", "_metadata"):
            self.__dict__.pop(name, None)

    def _seen(self, kind: str, said: str) -> None:
        """Read what an operation left, and compare."""
        self.outcome.operations.append(said)
        self.outcome.kinds[kind] = self.outcome.kinds.get(kind, 0) + 1
        for version in range(self.versions):
            if (self.path, version) not in self._known:
                self._keys[self.path, version] = self.key
                frame = self._now if version == self.versions - 1 else self._delta(self.path, version)
                self._known[self.path, version] = frame.toArrow()
        newest = open_delta(self.path, time_zone=self.zone).snapshot()
        if newest.version != self.versions - 1:
            raise Different(f"{self.path}: the newest version is {self.versions - 1}, Lakescan says {newest.version}")
        expected = self._known[self.path, newest.version]
        same_rows(newest.scan().build().to_arrow(), expected, self._where(self.path, newest.version))

    def _delta(self, path: str, version: int) -> DataFrame:
        return self.spark.read.format("delta").option("versionAsOf", version).load(path)

    def _where(self, path: str, version: int) -> str:
        steps = "\n".join(f"    {number}. {said}" for number, said in enumerate(self.outcome.operations))
        return f"seed {self.outcome.seed}, version {version} of {path}\n{steps}\n "

    # The comparisons after the walk

    def _compare_all_again(self) -> None:
        for (path, version), expected in self._known.items():
            scan = lakescan.open(path, self.zone).snapshot(version).scan()
            same_rows(scan.build().to_arrow(), expected, self._where(path, version))
            names = self.rng.sample(expected.column_names, self.rng.randint(0, expected.num_columns))
            chosen = scan.select(*names).build().to_arrow()
            same_rows(chosen, expected.select(names), self._where(path, version) + f" columns {names}")

    def _compare_filters(self) -> None:
        """Random conditions on some versions: Delta's SQL, Lakescan's SQL, and Lakescan without Spark."""
        with_rows = [where for where, table in self._known.items() if table.num_rows] or list(self._known)
        for path, version in self.rng.sample(with_rows, min(_FILTERS_AT, len(with_rows))):
            theirs, ours = self._delta(path, version), lakescan.read(self.spark, path, version=version)
            snapshot = lakescan.open(path, self.zone).snapshot(version)
            same_rows(ours.toArrow(), self._known[path, version], self._where(path, version) + " through Spark")
            some = self.rng.sample(ours.columns, self.rng.randint(1, len(ours.columns)))
            read = ours.select([quoted(name) for name in some]).toArrow()
            chosen = self._known[path, version].select(some)
            same_rows(read, chosen, self._where(path, version) + f" columns {some} through Spark")
            for _ in range(_FILTERS):
                where = condition(self.rng, theirs.schema)
                names = self.rng.sample(theirs.columns, self.rng.randint(1, len(theirs.columns)))
                columns = [quoted(name) for name in names]
                what = self._where(path, version) + f" columns {names} where {where}"
                expected = theirs.where(where).select(columns).toArrow()
                same_rows(ours.where(where).select(columns).toArrow(), expected, what + " through Spark")
                self.outcome.filters += 1
                try:
                    scan = snapshot.scan().filter(where).select(*names).build()
                except InvalidFilter:
                    self.outcome.untold_filters += 1
                    continue
                same_rows(scan.to_arrow(), expected, what)

    def _compare_changes(self) -> None:
        """The change feed of random ranges of versions, wherever Delta Spark can give it."""
        if not hasattr(lakescan, "changes"):
            return
        for _ in range(_FEEDS):
            path, start = self.rng.choice(list(self._known))
            newest = max(version for known, version in self._known if known == path)
            end = min(start + self.rng.choice([0, 1, 4]), newest)
            feed = self.spark.read.format("delta").option("readChangeFeed", "true")
            try:
                expected = feed.option("startingVersion", start).option("endingVersion", end).load(path).toArrow()
            except (PySparkException, Py4JJavaError) as error:
                self.outcome.refused.append(f"changes: {_first_line(error)}")
                continue
            rows = lakescan.open(path, self.zone).changes(start, end).scan().build().to_arrow()
            same_rows(rows, expected, self._where(path, end) + f" changes since version {start}")
            self.outcome.feeds += 1


def _first_line(error: Exception) -> str:
    told = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    return str(told).splitlines()[0][:200]
