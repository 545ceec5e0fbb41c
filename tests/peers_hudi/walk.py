"""Seeded random walks: tables written by Hudi on Spark, with what Hudi itself reads after every step.

A walk is decided by its seed alone: table type, keys, partition style, merging, log format, and then the steps
(insert, upsert, delete, overwrite, compact, cluster, roll back, change the schema). Each finished table is kept, so
a run that was broken off goes on where it stopped.
"""

import datetime
import decimal
import json
import os
import random as randoms
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

STEPS = 7
KEYS = 24
_EPOCH = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
_COLUMNS: list[tuple[str, str]] = [
    ("id", "int"),
    ("ts", "bigint"),
    ("part", "string"),
    ("bucket", "int"),
    ("name", "string"),
    ("amount", "decimal(12,2)"),
    ("ratio", "double"),
    ("small", "float"),
    ("day", "date"),
    ("at", "timestamp"),
    ("ok", "boolean"),
    ("raw", "binary"),
    ("tags", "array<string>"),
    ("counts", "map<string,int>"),
    ("inner", "struct<a:int,b:struct<c:string>>"),
]


@dataclass
class Walk:
    """One table being written; `shape` says what kind."""

    spark: SparkSession
    folder: Path
    seed: int
    random: randoms.Random = field(init=False)
    columns: list[tuple[str, str]] = field(init=False)
    steps: list[dict[str, Any]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.random = randoms.Random(self.seed)
        self.columns = list(_COLUMNS)
        pick = self.random.choice
        # The first properties go round in turn, so that a few dozen seeds see every combination of them.
        self.merge_on_read = self.seed % 2 == 1
        self.keys = ("simple", "complex", "none")[self.seed // 2 % 3]
        self.version = (6, 8, 9)[self.seed // 6 % 3]
        self.hive_style = pick([True, False])
        self.event_time = pick([True, False])
        self.meta_fields = self.keys == "complex" or self.merge_on_read or pick([True, True, False])
        self.log_format = pick(["avro", "parquet"])
        self.metadata_table = pick([True, False, False])
        self.evolution = pick(["none", "write", "read"])
        self.bucket_index = self.merge_on_read and pick([True, False, False])

    @property
    def path(self) -> str:
        return str(self.folder / "table")

    @property
    def name(self) -> str:
        return f"walk_{self.seed}"

    @property
    def shape(self) -> dict[str, Any]:
        names = ("merge_on_read", "keys", "version", "hive_style", "event_time", "meta_fields", "log_format")
        return {name: getattr(self, name) for name in (*names, "metadata_table", "evolution", "bucket_index")}

    @property
    def options(self) -> dict[str, str]:
        keys = {"simple": ("id", "part"), "complex": ("id,name", "part,bucket"), "none": ("id", "")}[self.keys]
        generator = {"simple": "Simple", "complex": "Complex", "none": "Nonpartitioned"}[self.keys]
        merge = {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}
        if self.event_time:
            merge = {
                "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
                "hoodie.datasource.write.precombine.field": "ts",
            }
        if self.version == 6:
            payload = "DefaultHoodieRecordPayload" if self.event_time else "OverwriteWithLatestAvroPayload"
            merge = {
                "hoodie.datasource.write.payload.class": f"org.apache.hudi.common.model.{payload}",
                "hoodie.datasource.write.precombine.field": "ts",
            }
        # With buckets, new keys go straight to log files: a file group may have no base file.
        buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"} if self.bucket_index else {}
        return {
            **merge,
            **buckets,
            "hoodie.table.name": self.name,
            "hoodie.datasource.write.table.type": "MERGE_ON_READ" if self.merge_on_read else "COPY_ON_WRITE",
            "hoodie.datasource.write.recordkey.field": keys[0],
            "hoodie.datasource.write.partitionpath.field": keys[1],
            "hoodie.datasource.write.keygenerator.class": f"org.apache.hudi.keygen.{generator}KeyGenerator",
            "hoodie.datasource.write.hive_style_partitioning": str(self.hive_style).lower(),
            "hoodie.write.table.version": str(self.version),
            "hoodie.write.auto.upgrade": "false",
            "hoodie.populate.meta.fields": str(self.meta_fields).lower(),
            "hoodie.logfile.data.block.format": self.log_format,
            "hoodie.metadata.enable": str(self.metadata_table).lower(),
            "hoodie.datasource.write.reconcile.schema": "false",
            "hoodie.schema.on.read.enable": str(self.evolution == "read").lower(),
            "hoodie.datasource.write.schema.allow.auto.evolution.column.drop": str(self.evolution == "read").lower(),
            "hoodie.insert.shuffle.parallelism": "2",
            "hoodie.upsert.shuffle.parallelism": "2",
            "hoodie.delete.shuffle.parallelism": "2",
            "hoodie.bulkinsert.shuffle.parallelism": "2",
            "hoodie.clean.automatic": "false",
            "hoodie.archive.automatic": "false",
            "hoodie.compact.inline": "false",
            "hoodie.parquet.max.file.size": "20000",
            "hoodie.parquet.small.file.limit": str(self.random.choice([0, 1 << 20])),
        }

    @property
    def read_options(self) -> dict[str, str]:
        return {"hoodie.schema.on.read.enable": "true"} if self.evolution == "read" else {}

    # The walk

    def run(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._step("insert", lambda: self._write(self._rows(12), "insert"))
        for _ in range(STEPS):
            name, action = self.random.choice(self._possible())
            self._step(name, action)
        (self.folder / "walk.json").write_text(json.dumps({"shape": self.shape, "steps": self.steps}, indent=1))

    def _possible(self) -> list[tuple[str, Callable[[], None]]]:
        operations: list[tuple[str, Callable[[], None]]] = [
            ("insert", lambda: self._write(self._rows(4), "insert")),
            ("upsert", lambda: self._write(self._rows(8), "upsert")),
            ("upsert", lambda: self._write(self._rows(5), "upsert")),
            ("upsert", lambda: self._write(self._rows(8), "upsert")),
            ("delete", lambda: self._write(self._rows(4), "delete")),
            ("overwrite", lambda: self._write(self._rows(6), "insert_overwrite")),
            ("cluster", self._cluster),
            ("rollback", self._roll_back),
            ("bulk insert", lambda: self._write(self._rows(4), "bulk_insert")),
        ]
        if self.merge_on_read:
            operations += [
                ("compact", lambda: self._compact("scheduleAndExecute")),
                ("plan compaction", lambda: self._compact("schedule")),
                ("delete", lambda: self._write(self._rows(4), "delete")),
            ]
        if self.version > 6 and self.evolution == "none":
            operations += [("merge", self._merge), ("update", self._update)]
        if self.random.random() < 0.3:
            operations.append(("overwrite all", lambda: self._write(self._rows(8), "insert_overwrite_table")))
        if self.evolution != "none":
            operations += [("change schema", self._change_schema)] * 2
        return operations

    def _step(self, name: str, action: Callable[[], None]) -> None:
        """Do it, then keep what Hudi reads; a step that Hudi itself refuses is noted and left out."""
        try:
            action()
        except Exception as error:
            causes = [line for line in str(error).splitlines() if line.startswith("Caused by")]
            self.steps.append({"name": name, "refused": (causes or [str(error)])[-1][:300]})
            return
        number = len(self.steps)
        frame = self.spark.read.format("hudi").options(**self.read_options).load(self.path)
        frame.coalesce(1).write.parquet(str(self.folder / f"expected-{number}"))
        self.steps.append({"name": name, "instant": self._newest(), "schema": json.loads(frame.schema.json())})

    def _newest(self) -> str:
        instants = self.spark.sql(f"call show_timeline(path => '{self.path}', limit => 100)").collect()
        done = {"commit", "deltacommit", "replacecommit", "clustering", "compaction"}
        finished = [row for row in instants if row["action"] in done and row["state"] == "COMPLETED"]
        return max(str(row["instant_time"]) for row in finished)

    # Its steps

    def _rows(self, count: int) -> DataFrame:
        rows = [self._row(key) for key in self.random.sample(range(KEYS), count)]
        return self.spark.createDataFrame(rows, ", ".join(f"`{name}` {kind}" for name, kind in self.columns))

    def _row(self, key: int) -> tuple[Any, ...]:
        r = self.random
        known: dict[str, Any] = {
            "id": key,
            "ts": r.randrange(1000),
            "part": ("north", "south", "east side")[key % 3],
            "bucket": key % 2,
            "name": f"name-{key}",
        }
        made: dict[str, Callable[[], Any]] = {
            "int": lambda: r.randrange(-(2**31), 2**31),
            "bigint": lambda: r.randrange(-(2**62), 2**62),
            "string": lambda: r.choice(["", "ä", "x" * 40, f"{r.random()}"]),
            "decimal(12,2)": lambda: decimal.Decimal(r.randrange(-(10**9), 10**9)).scaleb(-2),
            "double": lambda: r.choice([0.0, -1.5, r.random() * 1e9, float("nan"), float("inf")]),
            "float": lambda: r.choice([0.5, -2.25, 1e20]),
            "date": lambda: datetime.date(1960, 1, 1) + datetime.timedelta(days=r.randrange(40000)),
            "timestamp": lambda: _EPOCH + datetime.timedelta(microseconds=r.randrange(10**14)),
            "boolean": lambda: r.random() < 0.5,
            "binary": lambda: bytearray(r.randbytes(r.randrange(6))),
            "array<string>": lambda: [r.choice(["a", "b", ""]) for _ in range(r.randrange(3))],
            "map<string,int>": lambda: {key: r.randrange(9) for key in r.sample("xyz", r.randrange(3))},
            "struct<a:int,b:struct<c:string>>": lambda: (r.randrange(9), r.choice([None, ("deep",)])),
        }
        return tuple(
            known[name] if name in known else None if r.random() < 0.15 else made[kind]() for name, kind in self.columns
        )

    def _write(self, rows: DataFrame, operation: str, **more: str) -> None:
        settings = {**self.options, "hoodie.datasource.write.operation": operation, **more}
        rows.write.format("hudi").options(**settings).mode("append").save(self.path)

    def _compact(self, how: str) -> None:
        self.spark.sql(f"call run_compaction(op => '{how}', path => '{self.path}')").collect()

    def _update(self) -> None:
        self._name()
        self.spark.sql(f"update {self.name} set ratio = 0.25, tags = array('updated') where id % 5 = 1")

    def _merge(self) -> None:
        """Only some columns: Hudi may then log only those."""
        self._name()
        same = "t.id = s.id and t.name = s.name" if self.keys == "complex" else "t.id = s.id"
        self.spark.sql(
            f"merge into {self.name} t using (select id, concat('name-', id) as name, 2000L as ts from "
            f"(select explode(array(2, 6, 10, 14, 18)) as id)) s on {same} "
            "when matched then update set ratio = 7.5, ts = s.ts"
        )

    def _cluster(self) -> None:
        self._write(
            self._rows(3),
            "insert" if not self.merge_on_read else "bulk_insert",
            **{
                "hoodie.clustering.inline": "true",
                "hoodie.clustering.inline.max.commits": "1",
                "hoodie.clustering.plan.strategy.small.file.limit": str(1 << 30),
            },
        )

    def _roll_back(self) -> None:
        """A commit that is undone: written, then rolled back by its instant."""
        self._write(self._rows(5), "upsert")
        roll_back(self.spark, self.path, self.options, self._newest())

    def _name(self) -> None:
        self.spark.sql(f"create table if not exists {self.name} using hudi location '{self.path}'")

    def _change_schema(self) -> None:
        known = ["add", "widen", "rename", "drop"] if self.evolution == "read" else ["add", "widen"]
        change = self.random.choice(known)
        names = [name for name, _ in self.columns]
        if change == "add" and self.evolution == "write":
            self.columns.append((f"added_{len(self.steps)}", self.random.choice(["int", "string", "double"])))
            self._write(self._rows(5), "upsert")
            return
        if change == "widen" and self.evolution == "write":
            for at, (name, kind) in enumerate(self.columns):
                if (kind == "int" and name.startswith("added")) or kind == "float":
                    self.columns[at] = (name, {"int": "bigint", "float": "double"}[kind])
                    self._write(self._rows(5), "upsert")
                    return
            return
        self._alter(change, names)
        self._write(self._rows(5), "upsert")

    def _alter(self, change: str, names: list[str]) -> None:
        """ALTER TABLE, with Hudi's own record of field ids (its internal schema)."""
        table = self.name
        self.spark.sql("set hoodie.schema.on.read.enable=true")
        self.spark.sql("set hoodie.datasource.write.schema.allow.auto.evolution.column.drop=true")
        self._name()
        free = [name for name in names if name in ("ratio", "small", "day", "ok") or name.startswith(("added", "new"))]
        if change == "add" or not free:
            name = f"added_{len(self.steps)}"
            self.spark.sql(f"alter table {table} add columns ({name} int)")
            self.columns.append((name, "int"))
        elif change == "rename":
            old = self.random.choice(free)
            new = f"new_{len(self.steps)}"
            self.spark.sql(f"alter table {table} rename column {old} to {new}")
            self.columns = [(new if name == old else name, kind) for name, kind in self.columns]
        elif change == "drop":
            old = self.random.choice(free)
            self.spark.sql(f"alter table {table} drop column {old}")
            self.columns = [(name, kind) for name, kind in self.columns if name != old]
        elif change == "widen":
            for at, (name, kind) in enumerate(self.columns):
                if kind == "float":
                    self.spark.sql(f"alter table {table} alter column {name} type double")
                    self.columns[at] = (name, "double")
                    return


def roll_back(spark: SparkSession, path: str, options: Mapping[str, str], instant: str) -> None:
    """Undo a commit that is whole, as an operator does it."""
    jvm: Any = spark._jvm
    settings = jvm.java.util.Properties()
    for key, value in options.items():
        settings.setProperty(key, value)
    config = jvm.org.apache.hudi.config.HoodieWriteConfig.newBuilder().withPath(path).withProperties(settings)
    context = jvm.org.apache.hudi.client.common.HoodieSparkEngineContext(spark._jsc)
    client = jvm.org.apache.hudi.client.SparkRDDWriteClient(context, config.build())
    assert client.rollback(instant)
    client.close()


def hudi_session(warehouse: Path, more: Mapping[str, str] | None = None) -> SparkSession:
    """Hudi on Spark, its bundle from Maven Central (or from a JAR that is already here)."""
    jar = os.environ.get("LAKESCAN_HUDI_JAR")
    where = {"spark.jars": jar} if jar else {"spark.jars.packages": "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"}
    settings: dict[str, Any] = {
        **where,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.driver.memory": "3g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **(more or {}),
    }
    spark = SparkSession.builder.master("local[2]").appName("hudi peers").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark
