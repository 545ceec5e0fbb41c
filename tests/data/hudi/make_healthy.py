"""Healthy tables of real Hudi that were once refused or read wrong, each with what Hudi itself reads of it.

Each is the smallest of its kind: deletes in the order of a field of every type, partial updates that leave out nested
values, partitions named like a log, savepoints, log compaction. Beside the rows of a table are the rows of queries with
Hudi's own options. `make tables` runs it; so does `.venv-hudi/bin/python tests/data/hudi/make_healthy.py [name ...]`.
"""

import json
import os
import struct
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent))

from tests.data.keep import before_spark, keep, rows_of  # noqa: E402
from tests.peers_hudi.walk import hudi_session  # noqa: E402

SMALL = {
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline": "false",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.index.bloom.num_entries": "10",
    "hoodie.bloom.index.filter.type": "SIMPLE",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
}
PAYLOADS = "org.apache.hudi.common.model."
BEGIN, END = "hoodie.datasource.read.begin.instanttime", "hoodie.datasource.read.end.instanttime"
INCREMENTAL = {"hoodie.datasource.query.type": "incremental"}


class Table:
    """A table under way, without partitions unless its options say otherwise."""

    def __init__(
        self, spark: SparkSession, path: Path, version: int, more: Mapping[str, str], merge: bool = True
    ) -> None:
        self.spark, self.path = spark, path
        self.features = {f"version {version}", "merge on read" if merge else "copy on write"}
        self.read_options: dict[str, str] = {}
        self.queries: list[dict[str, Any]] = []
        self.options = {
            **SMALL,
            "hoodie.table.name": path.name,
            "hoodie.datasource.write.table.type": "MERGE_ON_READ" if merge else "COPY_ON_WRITE",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "",
            "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
            "hoodie.write.table.version": str(version),
            **more,
        }

    def write(self, rows: str, operation: str = "upsert", **more: str) -> None:
        """Rows of a query."""
        settings = {**self.options, **more, "hoodie.datasource.write.operation": operation}
        frame = self.spark.sql(rows).coalesce(1)
        frame.write.format("hudi").options(**settings).mode("append").save(str(self.path))

    def call(self, procedure: str, **told: str) -> None:
        given = "".join(f", {name} => {value}" for name, value in told.items())
        self.spark.sql(f"call {procedure}(path => '{self.path}'{given})").collect()

    def ask(self, *columns: str, **options: str) -> None:
        """Keep what Hudi gives for these options, of some columns, or that it refuses them."""
        known: dict[str, Any] = {"options": options}
        try:
            frame = self.spark.read.format("hudi").options(**options).load(str(self.path)).select(*columns)
            known["rows"] = rows_of(frame)
        except (PySparkException, Py4JError) as error:
            known["refused"] = str(error).splitlines()[0][:80]
        self.queries.append(known)

    def ask_ranges(self, ended: Sequence[str], ranges: Iterable[tuple[int | None, int]]) -> None:
        """The rows of ranges of commits, each after one, or from the first on, and up to another."""
        for begin, end in ranges:
            first = "000" if begin is None else ended[begin]
            self.ask("id", "name", **INCREMENTAL, **{BEGIN: first, END: ended[end]})

    def timeline(self) -> Path:
        own = self.path / ".hoodie" / "timeline"
        return own if own.exists() else own.parent

    def completed(self) -> dict[str, str]:
        """Each finished write and when it ended, as far as files' names tell."""
        done = ("commit", "deltacommit", "replacecommit")
        names = [file.name.split(".")[0] for file in self.timeline().iterdir() if file.suffix[1:] in done]
        return {name.split("_")[0]: name.split("_")[-1] for name in sorted(names)}


# Three values of each type, least first. Hudi 1.2 writes no delete in the order of a date and reads none of bytes.
ORDERS = {
    "boolean": ("false", "false", "true"),
    "int": ("1", "2", "3"),
    "bigint": ("1", "2", "3"),
    "float": ("1.25", "2.25", "3.25"),
    "double": ("1.25", "2.25", "3.25"),
    "string": ("'a'", "'b'", "'c'"),
    "decimal(10,2)": ("1.25", "2.25", "3.25"),
    "timestamp": ("'2024-01-01 00:00:00.000001'", "'2024-01-01 00:00:00.000002'", "'2024-01-01 00:00:00.000003'"),
}
SOME_ORDERS = ("boolean", "decimal(10,2)", "timestamp")


def by_event(version: int, field: str) -> dict[str, str]:
    if version == 6:
        mode = {"hoodie.datasource.write.payload.class": f"{PAYLOADS}DefaultHoodieRecordPayload"}
    else:
        mode = {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING"}
    return {**mode, "hoodie.datasource.write.precombine.field": field}


def deletes(version: int, kind: str) -> Callable[[SparkSession, Path], Table]:
    """A row deleted by its key alone, one by a record that is newer, one by a record that is older; one updated."""
    least, middle, most = (f"cast({value} as {kind})" for value in ORDERS[kind])

    def rows(first: int, order: str, name: str, gone: bool = False) -> str:
        return (
            f"select id, {order} as at, '{name}' as name, {gone} as _hoodie_is_deleted from range({first}, {first} + 1)"
        )

    def make(spark: SparkSession, path: Path) -> Table:
        table = Table(spark, path, version, by_event(version, "at"))
        table.features |= {"deletes", f"ordered by {kind}"}
        table.write(" union all ".join(rows(first, middle, "first") for first in range(5)), "insert")
        late, newer = rows(1, least, "late", gone=True), rows(2, most, "gone", gone=True)
        table.write(f"{late} union all {newer} union all {rows(3, most, 'updated')}")
        table.write(rows(0, most, "gone"), "delete")
        return table

    return make


def delete_blocks(spark: SparkSession) -> dict[str, str]:
    """A delete block for each type of value that Hudi orders by, alone and in an array, as its own classes write it."""
    jvm: Any = spark._jvm
    gateway: Any = spark.sparkContext._gateway
    model = jvm.org.apache.hudi.avro.model
    # Those whose type does not survive the way from Python are wrapped here; a local date has no place but in an array.
    values: dict[str, Any] = {
        "null": None,
        "boolean": True,
        "int": 7,
        "long": 1 << 40,
        "float": model.FloatWrapper(1.5),
        "double": 1.5,
        "bytes": jvm.java.nio.ByteBuffer.wrap(bytearray(b"\x01\x02")),
        "string": "text",
        "date": jvm.java.sql.Date.valueOf("2024-01-02"),
        "decimal": jvm.java.math.BigDecimal("1.250"),
        "time": model.TimeMicrosWrapper(jvm.java.time.LocalTime.parse("01:02:03.000004")),
        "timestamp": jvm.java.sql.Timestamp.valueOf("2024-01-02 03:04:05.000006"),
        "local date": jvm.java.time.LocalDate.parse("2024-01-02"),
    }
    blocks = {}
    for kind, value in values.items():
        is_wrapped = kind in ("float", "time")
        write = _wrapped_delete if is_wrapped else _delete
        if kind != "local date":
            blocks[kind] = write(jvm, value)
        both = gateway.new_array(jvm.java.lang.Comparable, 2)
        if is_wrapped:
            array = jvm.java.util.ArrayList()
            array.add(value)
            array.add(model.StringWrapper("last"))
            blocks[f"array of {kind}"] = write(jvm, model.ArrayWrapper(array))
        else:
            both[0], both[1] = value, "last"
            blocks[f"array of {kind}"] = write(jvm, jvm.org.apache.hudi.common.util.OrderingValues.create(both))
    return blocks


def _delete(jvm: Any, order: Any) -> str:
    record = jvm.org.apache.hudi.common.model.DeleteRecord.create("key", "part", order)
    records = jvm.java.util.ArrayList()
    records.add(jvm.org.apache.hudi.common.util.collection.Pair.of(record, -1))
    block = jvm.org.apache.hudi.common.table.log.block.HoodieDeleteBlock(records, jvm.java.util.HashMap())
    return bytes(block.getContentBytes(None).toByteArray()).hex()


def _wrapped_delete(jvm: Any, order: Any) -> str:
    records = jvm.java.util.ArrayList()
    records.add(jvm.org.apache.hudi.avro.model.HoodieDeleteRecord("key", "part", order))
    # Before its bytes Avro says in ten others which schema they are of; Hudi says version and length.
    content = bytes(jvm.org.apache.hudi.avro.model.HoodieDeleteRecordList(records).toByteBuffer().array())[10:]
    return (struct.pack(">ii", 3, len(content)) + content).hex()


# A value of each type that a partial update may leave out.
LEFT_OUT = {
    "name": ("string", "concat('n', id)"),
    "ok": ("boolean", "true"),
    "number": ("int", "id + 1"),
    "small": ("float", "id + 0.5"),
    "price": ("decimal(10,2)", "id + 0.25"),
    "day": ("date", "'2024-01-02'"),
    "moment": ("timestamp", "'2024-01-02 03:04:05.000006'"),
    "raw": ("binary", "unhex('0102')"),
    "numbers": ("array<int>", "array(int(id), 7)"),
    "words": ("array<string>", "array('a', 'b')"),
    "by_key": ("map<string,int>", "map('k', int(id))"),
    "flat": ("struct<a:int,b:string>", "named_struct('a', int(id), 'b', 'c')"),
    "deep": ("struct<a:int,b:array<int>>", "named_struct('a', int(id), 'b', array(1, 2))"),
    "items": ("array<struct<a:int,b:string>>", "array(named_struct('a', int(id), 'b', 'c'))"),
}


def partial(payload: str, log_format: str) -> Callable[[SparkSession, Path], Table]:
    """Updates whose nulls mean that the value stays, nested ones among them."""

    def rows(first: int, ts: int, **given: str) -> str:
        told = ", ".join(f"cast({given.get(name, 'null')} as {kind}) as {name}" for name, (kind, _) in LEFT_OUT.items())
        return f"select id, {ts}L as ts, {told} from range({first}, {first} + 1)"

    def make(spark: SparkSession, path: Path) -> Table:
        told = {
            "hoodie.datasource.write.payload.class": f"{PAYLOADS}{payload}",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.logfile.data.block.format": log_format,
        }
        table = Table(spark, path, 9, told)
        table.features |= {"partial updates", f"{log_format} log blocks"}
        whole = {name: value for name, (_, value) in LEFT_OUT.items()}
        table.write(" union all ".join(rows(first, 1, **whole) for first in range(4)), "insert")
        some = {**whole, "name": "null", "numbers": "array(9)", "deep": "null", "price": "null"}
        table.write(" union all ".join([rows(0, 2, name="'named'"), rows(1, 2, **some)]))
        table.write(" union all ".join([rows(2, 0, name="'late'"), rows(0, 3, by_key="map('new', 1)")]))
        return table

    return make


BY_PART = {
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
}


def partitions(version: int, name: str, merge: bool) -> Callable[[SparkSession, Path], Table]:
    """A partition whose folder is called as one of a log or an index is; the first commits are archived at last.

    One that is merged was compacted, between two updates.
    """

    def rows(ids: str, part: str, text: str) -> str:
        return f"select id, '{part}' as part, '{text}' as name from range({ids})"

    def both(text: str) -> str:
        return " union all ".join([rows("0, 1", name, text), rows("2, 3", "other", text)])

    def make(spark: SparkSession, path: Path) -> Table:
        table = Table(spark, path, version, BY_PART, merge)
        table.features |= {f"a partition {name}", "archived"}
        table.write(" union all ".join([rows("0, 2", name, "first"), rows("2, 4", "other", "first")]), "insert")
        table.write(both("second"))
        if merge:
            often = "'hoodie.compact.inline.max.delta.commits=1'"
            table.call("run_compaction", op="'scheduleAndExecute'", options=often)
        table.write(both("third"))
        table.write(rows("1, 2", name, "gone"), "delete")
        table.write(rows("10, 11", name, "new"), "insert")
        table.call("archive_commits", min_commits="3", max_commits="4", retain_commits="1", enable_metadata="false")
        for instant in table.completed():
            table.ask("id", "name", **{"as.of.instant": instant})
        return table

    return make


def savepoints(version: int) -> Callable[[SparkSession, Path], Table]:
    """Savepoints of the second and of the newest of four commits, and ranges of the commits."""

    def make(spark: SparkSession, path: Path) -> Table:
        table = Table(spark, path, version, {}, merge=False)
        table.features |= {"savepoints"}
        for at in range(4):
            table.write(f"select {at} as id, 'v{at}' as name")
        instants = list(table.completed())
        table.call("create_savepoint", commit_time=f"'{instants[1]}'")
        table.call("create_savepoint", commit_time=f"'{instants[3]}'")
        ended = list(table.completed().values())
        table.ask_ranges(ended, ((None, 3), (0, 1), (0, 2), (1, 3), (2, 3), (0, 3)))
        for instant in instants:
            table.ask("id", "name", **{"as.of.instant": instant})
        return table

    return make


def log_compaction(version: int) -> Callable[[SparkSession, Path], Table]:
    """Log files rewritten as one, which changes no row, between two updates."""

    def make(spark: SparkSession, path: Path) -> Table:
        table = Table(spark, path, version, {})
        table.features |= {"log compaction"}
        table.write("select id, 'first' as name from range(0, 5)", "insert")
        table.write("select id, 'second' as name from range(0, 3)")
        table.write("select id, 'third' as name from range(1, 4)")
        compact = {
            "hoodie.log.compaction.enable": "true",
            "hoodie.log.compaction.inline": "true",
            "hoodie.log.compaction.blocks.threshold": "2",
            "hoodie.optimized.log.blocks.scan.enable": "true",
        }
        table.write("select id, 'fourth' as name from range(4, 5)", **compact)
        table.write("select id, 'fifth' as name from range(0, 1)")
        ended = list(table.completed().values())
        table.ask_ranges(
            ended, ((None, 5), (0, 5), (1, 5), (2, 5), (3, 5), (4, 5), (3, 4), (2, 4), (0, 4), (0, 3), (2, 3))
        )
        return table

    return make


def spelled(instant: str) -> list[str]:
    """An instant as texts, some of which Hudi does not take."""
    day = f"{instant[:4]}-{instant[4:6]}-{instant[6:8]}"
    time = f"{instant[8:10]}:{instant[10:12]}:{instant[12:14]}"
    whole = [instant, instant[:14], f"{day} {time}", f"{day}T{time}", f"{day} {time}.{instant[14:]}", day]
    before, after = str(int(instant) - 1), str(int(instant) + 1)
    refused = [f"{day} {time}Z", f"{day} {time[:5]}", f"{day} {time}.{instant[14:]}000", instant[:12], instant[:8]]
    return [*whole, before, after, *refused]


def times(version: int) -> Callable[[SparkSession, Path], Table]:
    """Commits asked for by times, spelled in every way that Hudi takes."""

    def make(spark: SparkSession, path: Path) -> Table:
        table = Table(spark, path, version, {}, merge=False)
        table.features |= {"times"}
        for at in range(3):
            table.write(f"select {at} as id, 'v{at}' as name")
        instants = [instant for both in table.completed().items() for instant in both]
        texts = [text for instant in dict.fromkeys(instants) for text in spelled(instant)]
        # Neither digits nor a time, a time that there is not, one before every commit, one after them.
        texts += ["yesterday", "99991231", "20261399230725", "1999-12-31", "2099-01-01 00:00:00", "00000000000000"]
        for text in dict.fromkeys(texts):
            table.ask("id", **{"as.of.instant": text})
            table.ask("id", **INCREMENTAL, **{BEGIN: text})
            table.ask("id", **INCREMENTAL, **{BEGIN: "000", END: text})
        return table

    return make


DELETE_BLOCKS = "delete_blocks"
TABLES: dict[str, Callable[[SparkSession, Path], Table]] = {
    **{f"deletes_v9_{kind.split('(')[0]}": deletes(9, kind) for kind in ORDERS},
    **{
        f"deletes_v{version}_{kind.split('(')[0]}": deletes(version, kind) for version in (6, 8) for kind in SOME_ORDERS
    },
    **{
        f"partial_by_{order}_{log_format}": partial(payload, log_format)
        for order, payload in (
            ("event", "PartialUpdateAvroPayload"),
            ("commit", "OverwriteNonDefaultsWithLatestAvroPayload"),
        )
        for log_format in ("avro", "parquet")
    },
    **{
        f"partition_{name}_v{version}_{kind}": partitions(version, name, kind == "mor")
        for name in ("metadata", "_delta_log")
        for version in (6, 9)
        for kind in ("cow", "mor")
        if name == "metadata" or (version, kind) == (9, "cow")
    },
    **{f"savepoints_v{version}": savepoints(version) for version in (6, 9)},
    **{f"log_compaction_v{version}": log_compaction(version) for version in (6, 9)},
    **{f"times_v{version}": times(version) for version in (6, 9)},
}


def make_all(spark: SparkSession, folder: Path, names: Iterable[str]) -> None:
    for name in names:
        if name == DELETE_BLOCKS:
            (HERE / f"{name}.json").write_text(json.dumps(delete_blocks(spark), indent=1) + "\n")
            continue
        table = TABLES[name](spark, folder / name)
        rows = rows_of(spark.read.format("hudi").options(**table.read_options).load(str(table.path)))
        known = {"rows": rows, **({"queries": table.queries} if table.queries else {})}
        keep(table.path, HERE / name, table.features, written_by=f"Hudi on Spark {spark.version}", **known)


def main() -> None:
    before_spark()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with TemporaryDirectory() as folder:
        spark = hudi_session(Path(folder) / "warehouse")
        make_all(spark, Path(folder), sys.argv[1:] or [DELETE_BLOCKS, *TABLES])
        spark.stop()


if __name__ == "__main__":
    main()
