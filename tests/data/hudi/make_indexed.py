"""Writes tables whose metadata table has column statistics, with what Hudi on Spark itself reads from them.

`make tables` runs it; so does `.venv-hudi/bin/python tests/data/hudi/make_indexed.py [name ...]`. Beside the rows each
table is kept with the ids that Hudi finds for some filters and how many file slices it reads to find them, and some
with the rows of every instant.
"""

import datetime
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent))

from tests.data.keep import before_spark, keep, rows_of  # noqa: E402
from tests.peers_hudi.walk import hudi_session  # noqa: E402

COLUMNS = {
    "id": "int",
    "big": "bigint",
    "name": "string",
    "price": "decimal(10,2)",
    "wide": "decimal(38,18)",
    "day": "date",
    "at": "timestamp",
    "ratio": "double",
    "small": "float",
    "ok": "boolean",
    "raw": "binary",
    "deep": "struct<a:int,b:string>",
    "part": "string",
}
SCHEMA = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
UTC = datetime.timezone.utc
NAN = float("nan")
NOTHING = dict.fromkeys(name for name in COLUMNS if name not in ("id", "part"))
FILTERS = {
    "types_v9": ["id = 15", "id > 100", "big >= 30000000000000", "name = 's0031'", "name < 's0005'", "price > 10"],
    "logs_v8": ["id = 15", "id = 3", "big > 100000000000000", "name = 'updated'", "name = 's0003'", "name > 'x'"],
}
FILTERS["types_v9"] += ["day = '2020-01-11'", "big is null", "name is null", "ratio > 25", "ratio = 41.5"]
FILTERS["types_v9"] += ["name >= 'y'", "wide < 1", "ok is null", "at > '2024-01-01 00:00:45'", "deep.a = 12"]
FILTERS["logs_v8"] += ["id = 5", "part = 'b' and id < 12", "day is null", "id > 100"]


def row(number: int, **given: Any) -> tuple[Any, ...]:
    values = {
        "id": number,
        "big": number * 10**12,
        "name": f"s{number:04d}",
        "price": Decimal(number) / 4,
        "wide": Decimal(number) / 8 + Decimal("1e-18"),
        "day": datetime.date(2020, 1, 1) + datetime.timedelta(days=number),
        "at": datetime.datetime(2024, 1, 1, 0, 0, 0, 123456, UTC) + datetime.timedelta(seconds=number),
        "ratio": number + 0.5,
        "small": number + 0.5,
        "ok": number % 2 == 0,
        "raw": bytearray([number % 256, 200]),
        "deep": (number, f"b{number}"),
        "part": "ab"[number // 10 % 2],
        **given,
    }
    return tuple(values[name] for name in COLUMNS)


def rows(*numbers: int, **given: Any) -> list[tuple[Any, ...]]:
    return [row(number, **given) for number in numbers]


class Writer:
    """One table being written."""

    def __init__(self, spark: SparkSession, folder: Path, name: str, **options: str) -> None:
        self.spark, self.path = spark, folder / name
        self.options = {
            "hoodie.table.name": name,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "big",
            "hoodie.datasource.write.partitionpath.field": "",
            "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
            "hoodie.write.auto.upgrade": "false",
            "hoodie.metadata.enable": "true",
            "hoodie.metadata.index.column.stats.enable": "true",
            "hoodie.metadata.index.column.stats.max.columns.to.index": "100",
            "hoodie.metadata.index.partition.stats.enable": "false",
            "hoodie.insert.shuffle.parallelism": "1",
            "hoodie.upsert.shuffle.parallelism": "1",
            "hoodie.delete.shuffle.parallelism": "1",
            "hoodie.bulkinsert.shuffle.parallelism": "1",
            "hoodie.clean.automatic": "false",
            "hoodie.archive.automatic": "false",
            "hoodie.compact.inline": "false",
            "hoodie.parquet.small.file.limit": "0",
            # A bloom filter for 60,000 keys would make every file a hundred times as large.
            "hoodie.index.bloom.num_entries": "10",
            "hoodie.bloom.index.filter.dynamic.max.entries": "10",
            **options,
        }

    def __call__(self, given: list[tuple[Any, ...]], operation: str = "insert") -> None:
        frame = self.spark.createDataFrame(given, SCHEMA).coalesce(1).write.format("hudi").options(**self.options)
        frame.option("hoodie.datasource.write.operation", operation).mode("append").save(str(self.path))


MERGE_ON_READ = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
BY_PART = {
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
}
# An index that finds keys in log files: new ones then go there.
LOG_INDEX = {"hoodie.index.type": "INMEMORY"}


def types(version: str) -> Callable[[SparkSession, Path, str], None]:
    """A file a kind: plain, with a row of nulls, NaN; in the newer version odd characters, long text, only nulls."""

    def make(spark: SparkSession, folder: Path, name: str) -> None:
        nested = {"hoodie.metadata.index.column.stats.column.list": ",".join([*_flat(), "deep.a", "deep.b"])}
        write = Writer(spark, folder, name, **{"hoodie.write.table.version": version}, **nested)
        write(rows(*range(10)))
        write([*rows(*range(10, 20)), row(20, **NOTHING)])
        write([row(30, ratio=NAN, small=NAN), row(31), row(32, ratio=-0.0, small=-0.0)])
        if version == "6":
            return
        write([row(40, name="é\uffee", raw=bytearray(b"\xff")), row(41, name="\U0001f600", raw=bytearray(b"\x01"))])
        write([row(50, name="y" * 3000), row(51, name="z" * 3000)])
        write(rows(60, **NOTHING))

    return make


def _flat() -> list[str]:
    return [name for name in COLUMNS if name != "deep"]


def row_groups(spark: SparkSession, folder: Path, name: str) -> None:
    """One file of several row groups: the first has a NaN, long text alone, and nulls where the others have values."""
    small = {"hoodie.parquet.block.size": "20000", "hoodie.parquet.page.size": "2000"}
    write = Writer(spark, folder, name, **{"hoodie.write.table.version": "9"}, **small)
    first = [row(number, name="a" * 3000 + str(number), big=None, ok=None) for number in range(1000, 1200)]
    first[3] = row(1003, name="a" * 3000, ratio=NAN, big=None, ok=None)
    write([*first, *rows(*range(1200, 1500), ok=True), row(1500, name=None)])


def logs(version: str) -> Callable[[SparkSession, Path, str], None]:
    """Slices with and without log files: updates, deletes, a null that was none; the metadata table is compacted.

    Of the older version only what differs: there nothing is known of a slice with log files.
    """

    def make(spark: SparkSession, folder: Path, name: str) -> None:
        compacted = {"hoodie.metadata.compact.max.delta.commits": "3"}
        options = {"hoodie.write.table.version": version, **MERGE_ON_READ, **BY_PART, **compacted}
        write = Writer(spark, folder, name, **options)
        write(rows(*range(20)))
        write([row(3, name="updated", big=10**15), row(4, day=None, big=10**15, ratio=NAN)], "upsert")
        if version == "6":
            return
        write(rows(5), "delete")
        write(rows(30, 31, 32))
        write([row(12, name="\U0001f600", big=10**15)], "upsert")

    return make


def log_only(spark: SparkSession, folder: Path, name: str) -> None:
    """New keys go straight to log files, so that file groups have no base file."""
    write = Writer(spark, folder, name, **{"hoodie.write.table.version": "9"}, **MERGE_ON_READ, **BY_PART, **LOG_INDEX)
    write(rows(*range(6)), "upsert")
    write([row(2, name="updated", big=10**15), *rows(12, 13)], "upsert")
    write(rows(4), "delete")


def log_only_compacted(spark: SparkSession, folder: Path, name: str) -> None:
    """The same, then compacted, then new groups and log files again; without a metadata table."""
    plain = {"hoodie.write.table.version": "9", "hoodie.metadata.enable": "false"}
    write = Writer(spark, folder, name, **plain, **MERGE_ON_READ, **BY_PART, **LOG_INDEX)
    # The index is one for all tables of a session, so these keys must not be those of another.
    write(rows(*range(100, 106)), "upsert")
    write([row(102, name="updated", big=10**15), *rows(112, 113)], "upsert")
    often = "options => 'hoodie.compact.inline.max.delta.commits=1'"
    spark.sql(f"call run_compaction(op => 'scheduleAndExecute', path => '{folder / name}', {often})").collect()
    write([row(103, name="again", big=10**15), *rows(125)], "upsert")
    write(rows(112), "delete")


TABLES: dict[str, Callable[[SparkSession, Path, str], None]] = {
    "types_v9": types("9"),
    "types_v6": types("6"),
    "row_groups_v9": row_groups,
    "logs_v8": logs("8"),
    "logs_v6": logs("6"),
    "log_only_v9": log_only,
    "log_only_compacted_v9": log_only_compacted,
}


def expected(spark: SparkSession, path: Path, filters: list[str]) -> dict[str, Any]:
    """What Hudi reads of a table, with its own data skipping."""
    settings = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
    frame = spark.read.format("hudi").options(**settings).load(str(path))
    known: dict[str, Any] = {"ids": _ids(frame), "filters": {}}
    known["rows"] = rows_of(frame)
    if path.name.startswith("log_only"):
        known["instants"] = {}
        for instant in _instants(spark, path):
            then = spark.read.format("hudi").option("as.of.instant", instant).load(str(path))
            known["instants"][instant] = _rows(then)
    for filter_ in filters:
        kept = frame.where(filter_)
        ids = _ids(kept)
        plan = kept._jdf.queryExecution().executedPlan()
        plan.executeCollect()
        leaves = plan.collectLeaves()
        metric = leaves.apply(0).metrics().get("numFiles")
        known["filters"][filter_] = {"ids": ids, "files": metric.get().value() if metric.isDefined() else None}
    return known


def _rows(frame: Any) -> list[list[Any]]:
    return sorted([row["id"], row["name"] and row["name"][:12], row["part"]] for row in frame.collect())


def _instants(spark: SparkSession, path: Path) -> list[str]:
    timeline = spark.sql(f"call show_timeline(path => '{path}', limit => 100)").collect()
    done = [row for row in timeline if row["action"] in ("commit", "deltacommit") and row["state"] == "COMPLETED"]
    return sorted(row["instant_time"] for row in done)


def _ids(frame: Any) -> list[int]:
    return sorted(each["id"] for each in frame.select("id").collect())


def main() -> None:
    before_spark()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        spark = hudi_session(folder / "warehouse")
        for name in sys.argv[1:] or list(TABLES):
            TABLES[name](spark, folder, name)
            merging = name.startswith("log")
            features = ["column statistics", f"version {name[-1]}", "merge on read" if merging else "copy on write"]
            features += [name.rsplit("_", 1)[0].replace("_", " "), *(["avro log blocks"] if merging else [])]
            by = f"Hudi on Spark {spark.version}"
            keep(
                folder / name,
                HERE / name,
                features,
                written_by=by,
                **expected(spark, folder / name, FILTERS.get(name, [])),
            )
        spark.stop()


if __name__ == "__main__":
    main()
