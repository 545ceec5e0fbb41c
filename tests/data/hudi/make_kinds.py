"""Writes a small table of every kind with Hudi on Spark, each with the rows that Hudi itself reads back.

Every table version, copy on write and merge on read, the key generators, Avro and Parquet log blocks, tables without
meta fields, without rows, overwritten, rolled back, and through a long life. `make tables` runs it; so does
`.venv-hudi/bin/python tests/data/hudi/make_kinds.py [name ...]`.
"""

import datetime
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent))

from tests.data.keep import before_spark, keep, rows_of  # noqa: E402
from tests.peers_hudi.walk import hudi_session, roll_back  # noqa: E402

KINDS = {
    "id": "int",
    "name": "string",
    "active": "boolean",
    "tiny": "tinyint",
    "small": "smallint",
    "number": "int",
    "big": "bigint",
    "real": "float",
    "ratio": "double",
    "price": "decimal(10,5)",
    "day": "date",
    "at": "timestamp",
    "raw": "binary",
    "items": "array<struct<word:string,size:int>>",
    "by_key": "map<string,struct<part:double,ok:boolean>>",
    "deep": "struct<word:string,size:int,inner:struct<part:double,ok:boolean>>",
}
TRIPS = {"ts": "bigint", "key": "string", "rider": "string", "driver": "string", "fare": "double", "city": "string"}
STEPS = {**{name: KINDS[name] for name in ("id", "name", "active", "big", "price", "day", "at")}, "note": "string"}
UTC = datetime.timezone.utc
SMALL = {
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline": "false",
    "hoodie.write.auto.upgrade": "false",
    # A bloom filter for 60,000 keys would make every file a hundred times as large.
    "hoodie.index.bloom.num_entries": "10",
    "hoodie.bloom.index.filter.dynamic.max.entries": "10",
}
INDEXES = {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "1",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "1",
    "hoodie.metadata.index.partition.stats.enable": "false",
    "hoodie.metadata.secondary.index.parallelism": "1",
    # An index is built beside other writers, so Hudi wants to know how they keep apart.
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}
NAMES = ("Ann", "Bo", "Cleo", "Dag")


def person(number: int, **given: Any) -> dict[str, Any]:
    """Row 1 to 4 of the tables with a column of every kind."""
    values: dict[str, Any] = {
        "id": number,
        "name": NAMES[number - 1],
        "active": number % 2 == 1,
        "tiny": (10, 20, 10, 30)[number - 1],
        "small": (300, 100, 200, 500)[number - 1],
        "number": 10_000 * number + 5,
        "big": 10**9 * number + 7,
        "real": number + 0.25,
        "ratio": 3.125 / number,
        "price": Decimal(1234567 * number) / 10**5,
        "day": datetime.date(1999, 12, 28 + number % 4),
        "at": datetime.datetime(2023, 3, number, 11 + number, number, 7, 123456 + number, UTC),
        "raw": bytearray([number, 0, 255]),
        "items": [(f"w{at}", at) for at in range(number)],
        "by_key": {f"k{number}": (number / 8, True), "none": None},
        "deep": (f"d{number}", number, (number / 4, number != 2)),
        **given,
    }
    return values


@dataclass
class Kind:
    """What a table is, before anything is written to it."""

    version: int
    merge: bool = False
    keys: str = "none"  # none, simple, complex, or a type of the timestamp-based key generator
    hive_style: bool = False
    meta_fields: bool = True
    log_format: str = "avro"
    event_time: bool = False
    metadata_table: bool = False
    columns: dict[str, str] = field(default_factory=lambda: KINDS)
    record_key: str = "id"
    partition: str = ""
    order: str = "big"
    more: dict[str, str] = field(default_factory=dict)

    def options(self, name: str) -> dict[str, str]:
        generators = {"none": "Nonpartitioned", "simple": "Simple", "complex": "Complex"}
        generator = generators.get(self.keys, "TimestampBased")
        timed = self.keys not in generators
        payload = "DefaultHoodieRecordPayload" if self.event_time else "OverwriteWithLatestAvroPayload"
        merge = (
            {"hoodie.datasource.write.payload.class": f"org.apache.hudi.common.model.{payload}"}
            if self.version == 6
            else {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING" if self.event_time else "COMMIT_TIME_ORDERING"}
        )
        # Where the commit decides, newer versions take a field to order by for a contradiction.
        order = {"hoodie.datasource.write.precombine.field": self.order} if self.version == 6 or self.event_time else {}
        folders = {"simple": "tiny", "complex": "tiny,small"}
        by_time = {
            "hoodie.keygen.timebased.timestamp.type": self.keys,
            "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd/HH",
            "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd'T'HH:mm:ss.SSSZ",
            "hoodie.keygen.timebased.timezone": "UTC",
        }
        return {
            **SMALL,
            **merge,
            **order,
            **(by_time if timed else {}),
            "hoodie.table.name": name,
            "hoodie.datasource.write.table.type": "MERGE_ON_READ" if self.merge else "COPY_ON_WRITE",
            "hoodie.datasource.write.recordkey.field": "id,name" if self.keys == "complex" else self.record_key,
            "hoodie.datasource.write.partitionpath.field": self.partition or folders.get(self.keys, ""),
            "hoodie.datasource.write.keygenerator.class": f"org.apache.hudi.keygen.{generator}KeyGenerator",
            "hoodie.datasource.write.hive_style_partitioning": str(self.hive_style).lower(),
            "hoodie.write.table.version": str(self.version),
            "hoodie.populate.meta.fields": str(self.meta_fields).lower(),
            "hoodie.logfile.data.block.format": self.log_format,
            "hoodie.metadata.enable": str(self.metadata_table).lower(),
            **self.more,
        }

    @property
    def features(self) -> set[str]:
        features = {f"version {self.version}", "merge on read" if self.merge else "copy on write", f"{self.keys} keys"}
        features |= {"hive style"} if self.hive_style else set()
        features |= {"no meta fields"} if not self.meta_fields else set()
        features |= {"metadata table"} if self.metadata_table else set()
        return features | ({f"{self.log_format} log blocks"} if self.merge else set())


class Table:
    """One table being written."""

    def __init__(self, spark: SparkSession, path: Path, kind: Kind) -> None:
        self.spark, self.path, self.kind, self.name = spark, path, kind, path.name
        self.options = kind.options(self.name)

    def write(self, rows: list[dict[str, Any]], operation: str = "upsert", **more: str) -> None:
        schema = ", ".join(f"{name} {type_}" for name, type_ in self.kind.columns.items())
        tuples = [tuple(row[name] for name in self.kind.columns) for row in rows]
        frame = self.spark.createDataFrame(tuples, schema).coalesce(1).write.format("hudi")
        settings = {**self.options, **more, "hoodie.datasource.write.operation": operation}
        frame.options(**settings).mode("append").save(str(self.path))

    def sql(self, statement: str) -> None:
        """A statement about the table, which is `TABLE_` in it."""
        self.spark.sql(f"create table if not exists {self.name} using hudi location '{self.path}'")
        for key, value in self.options.items():
            if key.startswith(("hoodie.metadata", "hoodie.write", "hoodie.clean", "hoodie.archive", "hoodie.index")):
                self.spark.sql(f"set {key}={value}")
        self.spark.sql(statement.replace("TABLE_", self.name))

    def instants(self) -> list[str]:
        timeline = self.spark.sql(f"call show_timeline(path => '{self.path}', limit => 100)").collect()
        done = {"commit", "deltacommit", "replacecommit", "clustering", "compaction"}
        return sorted(row["instant_time"] for row in timeline if row["action"] in done and row["state"] == "COMPLETED")


def two_commits(table: Table) -> None:
    table.write([person(1), person(2), person(3)], "insert")
    table.write([person(1, active=False, big=5 * 10**9), person(4)])


def one_commit(table: Table) -> None:
    table.write([person(number) for number in (1, 2, 3, 4)], "insert")


def overwritten(table: Table) -> None:
    two_commits(table)
    table.write([person(4, active=False)], "insert_overwrite_table")


def nothing(table: Table) -> None:
    settings = {"type": "mor" if table.kind.merge else "cow", "primaryKey": "id", **table.options}
    told = ", ".join(f"'{key}' = '{value}'" for key, value in settings.items() if value and "precombine" not in key)
    table.spark.sql(
        f"create table {table.name} (id int, name string, active boolean) using hudi "
        f"location '{table.path}' tblproperties ({told})"
    )


def rolled_back(table: Table) -> None:
    """An update that was undone: its block is in the log file still, and a block after it says that it is void."""
    table.write([person(1), person(2), person(3)], "insert")
    table.write([person(1, name="undone", big=8 * 10**9), person(2, name="undone", big=8 * 10**9)])
    roll_back(table.spark, str(table.path), table.options, table.instants()[-1])
    table.write([person(1, name="kept", big=9 * 10**9)])


def timed(table: Table) -> None:
    column = list(table.kind.columns)[-1]
    moments = [datetime.datetime(2023, 4, day, 12, 7, 8, tzinfo=UTC) for day in (1, 2, 2, 3)]

    def row(number: int, **given: Any) -> dict[str, Any]:
        moment = moments[number - 1]
        seconds = int(moment.timestamp())
        by_type = {"EPOCHMILLISECONDS": seconds * 1000, "UNIX_TIMESTAMP": seconds}
        return person(number, **{column: by_type.get(table.kind.keys, f"{moment:%Y-%m-%dT%H:%M:%S}.000+0000")}, **given)

    table.write([row(1), row(2), row(3)], "insert")
    table.write([row(1, active=False, big=5 * 10**9), row(4)])
    table.write([row(2)], "delete")


def trip(number: int, **given: Any) -> dict[str, Any]:
    city = ("lima", "lima", "lima", "lima", "oslo", "oslo", "kyoto", "kyoto")[number]
    values = {"ts": 1_700_000_000_000 + number, "key": f"trip-{number}", "rider": f"rider-{'ABCDEFGH'[number]}"}
    return {**values, "driver": f"driver-{number}", "fare": 10.5 + 7 * number, "city": city, **given}


def trips(table: Table) -> None:
    table.write([trip(number) for number in range(8)], "insert")


def trips_updated(table: Table) -> None:
    trips(table)
    table.write([trip(1, fare=25.0, ts=1_800_000_000_000)])


def trips_deleted(table: Table) -> None:
    trips(table)
    table.write([trip(1), trip(2), trip(3)], "delete")


def trips_indexed(table: Table) -> None:
    """Three updates and a delete in log files, compacted, and an update after that; a secondary index by rider."""
    trips(table)
    table.sql("create index rider_idx on TABLE_ (rider)")
    for number in (1, 4, 6):
        table.write([trip(number, fare=100.25 + number, ts=1_800_000_000_000)])
    table.write([trip(7)], "delete")
    often = "options => 'hoodie.compact.inline.max.delta.commits=1'"
    table.spark.sql(f"call run_compaction(op => 'scheduleAndExecute', path => '{table.path}', {often})").collect()
    table.write([trip(5, fare=-1.5, ts=1_900_000_000_000)])
    table.write([trip(0)], "delete")


def step(number: int, **given: Any) -> dict[str, Any]:
    base = person(number % 4 + 1)
    note = None if number % 5 == 0 else f"note {number}"
    return {**{name: base[name] for name in STEPS if name in base}, "id": number, "note": note, **given}


def steps(table: Table) -> None:
    """A long life: inserts, updates, deletes, a merge, a bulk insert, a clustering."""
    table.write([step(number) for number in range(1, 11)], "insert")
    table.sql("update TABLE_ set price = price + 1, note = 'updated' where id = 3")
    table.sql("delete from TABLE_ where id in (4, 9)")
    table.sql(
        "merge into TABLE_ t using (select explode(array(5, 40)) as id) s on t.id = s.id when matched then update set "
        "note = 'merged', name = 'm' when not matched then insert (id, name, active, big, price, day, at, note) values "
        "(s.id, 'new', true, 1L, 2.5, date'2024-02-29', timestamp'2024-02-29 01:02:03', 'merged in')"
    )
    table.write([step(number) for number in (11, 12)], "insert")
    table.write([step(number) for number in (13, 14)], "bulk_insert")
    cluster = {
        "hoodie.clustering.inline": "true",
        "hoodie.clustering.inline.max.commits": "1",
        "hoodie.clustering.plan.strategy.small.file.limit": str(1 << 30),
    }
    table.write([step(15)], "bulk_insert" if table.kind.merge else "insert", **cluster)
    table.write([step(2, note="last", big=9 * 10**9), step(16)])
    table.write([step(11)], "delete")


Make = Callable[[Table], None]
TRIP: dict[str, Any] = {
    "columns": TRIPS,
    "record_key": "key",
    "partition": "city",
    "order": "ts",
    "keys": "simple",
    "hive_style": True,
}
INDEXED: dict[str, Any] = {"metadata_table": True, "more": INDEXES}
AT_TEXT: dict[str, Any] = {"columns": {**KINDS, "at_text": "string"}, "partition": "at_text", "keys": "DATE_STRING"}
AT_MILLIS: dict[str, Any] = {
    "columns": {**KINDS, "millis": "bigint"},
    "partition": "millis",
    "keys": "EPOCHMILLISECONDS",
}
AT_SECONDS: dict[str, Any] = {
    "columns": {**KINDS, "seconds": "bigint"},
    "partition": "seconds",
    "keys": "UNIX_TIMESTAMP",
}
PARQUET: dict[str, Any] = {"merge": True, "log_format": "parquet"}

TABLES: dict[str, tuple[Make, Kind]] = {
    "trips_updated_v6": (trips_updated, Kind(6, merge=True, **TRIP)),
    "trips_deleted_v6": (trips_deleted, Kind(6, merge=True, **TRIP)),
    "trips_indexed_v8": (trips_indexed, Kind(8, merge=True, event_time=True, **TRIP, **INDEXED)),
    "cow_v6_complex_hive": (two_commits, Kind(6, keys="complex", hive_style=True)),
    "cow_v6_empty": (nothing, Kind(6)),
    "cow_v6_nonpartitioned": (two_commits, Kind(6)),
    "cow_v6_simple_hive_no_meta": (one_commit, Kind(6, keys="simple", hive_style=True, meta_fields=False)),
    "cow_v6_simple": (two_commits, Kind(6, keys="simple")),
    "cow_v6_simple_overwritten": (overwritten, Kind(6, keys="simple")),
    "cow_v6_timed": (timed, Kind(6, **AT_TEXT)),
    "cow_v8_complex_hive": (two_commits, Kind(8, keys="complex", hive_style=True)),
    "cow_v8_empty": (nothing, Kind(8)),
    "cow_v8_nonpartitioned": (two_commits, Kind(8)),
    "cow_v8_simple_hive_no_meta": (one_commit, Kind(8, keys="simple", hive_style=True, meta_fields=False)),
    "cow_v8_simple": (two_commits, Kind(8, keys="simple")),
    "cow_v9_timed_millis": (timed, Kind(9, event_time=True, **AT_MILLIS, **INDEXED)),
    "cow_v9_timed_text": (timed, Kind(9, event_time=True, **AT_TEXT, **INDEXED)),
    "cow_v9_timed_seconds": (timed, Kind(9, event_time=True, **AT_SECONDS, **INDEXED)),
    "cow_v9_steps_indexed": (steps, Kind(9, columns=STEPS, **INDEXED)),
    "cow_v9_steps": (steps, Kind(9, columns=STEPS)),
    "mor_v9_rolled_back": (rolled_back, Kind(9, merge=True, **INDEXED)),
    "mor_v9_steps_indexed": (steps, Kind(9, merge=True, columns=STEPS, **INDEXED)),
    "mor_v9_steps": (steps, Kind(9, merge=True, columns=STEPS)),
    "mor_v9_empty": (nothing, Kind(9, merge=True)),
    "mor_v6_complex_hive": (two_commits, Kind(6, keys="complex", hive_style=True, **PARQUET)),
    "mor_v6_empty": (nothing, Kind(6, **PARQUET)),
    "mor_v6_nonpartitioned": (two_commits, Kind(6, more={"hoodie.parquet.small.file.limit": "0"}, **PARQUET)),
    "mor_v6_rolled_back": (rolled_back, Kind(6, **PARQUET)),
    "mor_v6_simple_hive_no_meta": (one_commit, Kind(6, keys="simple", hive_style=True, meta_fields=False, **PARQUET)),
    "mor_v6_simple": (two_commits, Kind(6, keys="simple", **PARQUET)),
    "mor_v6_simple_overwritten": (overwritten, Kind(6, keys="simple", **PARQUET)),
}


def main() -> None:
    before_spark()
    with TemporaryDirectory() as folder:
        spark = hudi_session(Path(folder) / "warehouse")
        for name in sys.argv[1:] or list(TABLES):
            make, kind = TABLES[name]
            table = Table(spark, Path(folder) / name, kind)
            make(table)
            rows = rows_of(spark.read.format("hudi").load(str(table.path)))
            by = f"Hudi on Spark {spark.version}"
            keep(table.path, HERE / name, kind.features | {make.__name__.replace("_", " ")}, written_by=by, rows=rows)
        spark.stop()


if __name__ == "__main__":
    main()
