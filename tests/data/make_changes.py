"""Makes the tables below `tests/data` that Delta Spark wrote, with the rows that Delta Spark reads from them.

Run it with a Python that has delta-spark and a JVM: `python tests/data/make_changes.py [folder [name ...]]`, where a
name is one of the tables below or `walk_<seed>` for a table by random statements. Each table gets `expected.json`
beside its log: for every version the rows with their `_metadata`, for ranges of versions the change feed, the
history, and the times of the commit files (a checkout does not keep those).
"""

import json
import os
import random
import shutil
import sys
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

os.environ["TZ"] = "UTC"
JAR = "io.delta:delta-spark_4.2_2.13:4.4.0"
CHANGES = "delta.enableChangeDataFeed"
VECTORS = "delta.enableDeletionVectors"
TRACKING = "delta.enableRowTracking"
IN_COMMIT = "delta.enableInCommitTimestamps"


def session() -> SparkSession:
    return (
        SparkSession.builder.master("local[1]")
        .config("spark.jars.packages", JAR)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.databricks.delta.changeDataFeed.defaultSchemaModeForColumnMappingTable", "endVersion")
        .config("spark.sql.shuffle.partitions", 1)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.databricks.delta.snapshotPartitions", 1)
        .getOrCreate()
    )


class Table:
    """A table being written, one statement a commit."""

    def __init__(self, spark: SparkSession, root: Path, columns: str, properties: dict[str, str], partition: str = ""):
        self.spark, self.root = spark, root
        shutil.rmtree(root, ignore_errors=True)
        set_to = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        by = f"PARTITIONED BY ({partition})" if partition else ""
        spark.sql(f"CREATE TABLE delta.`{root}` ({columns}) USING delta {by} TBLPROPERTIES ({set_to})")

    def run(self, statement: str) -> None:
        self.spark.sql(statement.replace("TABLE_", f"delta.`{self.root}`"))

    @property
    def version(self) -> int:
        (newest,) = self.spark.sql(f"DESCRIBE HISTORY delta.`{self.root}` LIMIT 1").collect()
        return int(newest["version"])


def row_tracking(spark: SparkSession, root: Path) -> Table:
    """Row ids through appends, updates, deletes by vector, merges, compaction and a checkpoint."""
    table = Table(
        spark, root, "id LONG, v STRING", {TRACKING: "true", VECTORS: "true", "delta.checkpointInterval": "5"}
    )
    table.run("INSERT INTO TABLE_ SELECT id, concat('a', id) FROM range(0, 6, 1, 1)")
    table.run("INSERT INTO TABLE_ SELECT id, concat('b', id) FROM range(6, 12, 1, 2)")
    table.run("UPDATE TABLE_ SET v = concat(v, '!') WHERE id % 4 = 1")
    table.run("DELETE FROM TABLE_ WHERE id IN (2, 7)")
    spark.sql(
        f"MERGE INTO delta.`{root}` t USING (SELECT id FROM range(10, 14)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = 'merged' WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 'new')"
    )
    table.run("INSERT INTO TABLE_ SELECT id, concat('c', id) FROM range(20, 23, 1, 1)")
    table.run("OPTIMIZE TABLE_")
    table.run("UPDATE TABLE_ SET v = 'last' WHERE id = 21")
    return table


def row_tracking_mapped(spark: SparkSession, root: Path) -> Table:
    """Row tracking on a partitioned table with column mapping, switched on after the first rows."""
    table = Table(spark, root, "id LONG, p STRING", {"delta.columnMapping.mode": "name"}, "p")
    table.run("INSERT INTO TABLE_ SELECT id, concat('p ', id % 2) FROM range(0, 6, 1, 1)")
    table.run(f"ALTER TABLE TABLE_ SET TBLPROPERTIES ('{TRACKING}' = 'true')")
    table.run("UPDATE TABLE_ SET id = id + 100 WHERE id IN (1, 4)")
    table.run("ALTER TABLE TABLE_ RENAME COLUMN id TO key")
    table.run("INSERT INTO TABLE_ VALUES (50, 'p 1'), (51, NULL)")
    return table


def changes_copied(spark: SparkSession, root: Path) -> Table:
    """The change feed of a partitioned table whose files are rewritten: change files beside adds and removes."""
    columns = "id LONG, p STRING, at TIMESTAMP, price DECIMAL(9,2), info STRUCT<a: INT, b: ARRAY<STRING>>"
    table = Table(spark, root, columns, {CHANGES: "true", VECTORS: "false"}, "p")
    row = "timestamp_seconds(id), CAST(id AS DECIMAL(9,2)), named_struct('a', CAST(id AS INT), 'b', array(p))"
    source = f"(SELECT id, p, {row} FROM (SELECT id, concat('p', id % 3) p FROM range({{}}, 1, 1)))"
    table.run("INSERT INTO TABLE_ " + source.format("0, 9"))
    table.run("UPDATE TABLE_ SET price = price * 10 WHERE id IN (1, 5)")
    table.run("DELETE FROM TABLE_ WHERE id = 4")
    table.run("DELETE FROM TABLE_ WHERE p = 'p2'")
    table.run("INSERT INTO TABLE_ " + source.format("20, 23"))
    table.run("UPDATE TABLE_ SET p = 'moved' WHERE id = 20")
    table.run("OPTIMIZE TABLE_")
    spark.sql(
        f"MERGE INTO delta.`{root}` t USING (SELECT id FROM range(0, 40, 20)) s ON t.id = s.id "
        "WHEN MATCHED AND t.id = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET price = -1 "
        "WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.id, NULL)"
    )
    table.run("INSERT OVERWRITE TABLE_ " + source.format("90, 93"))
    return table


def changes_vectors(spark: SparkSession, root: Path) -> Table:
    """The change feed where rows go and come back by deletion vectors."""
    table = Table(spark, root, "id LONG, v STRING", {CHANGES: "true", VECTORS: "true", IN_COMMIT: "true"})
    table.run("INSERT INTO TABLE_ SELECT id, concat('v', id) FROM range(0, 20, 1, 1)")
    table.run("DELETE FROM TABLE_ WHERE id % 7 = 3")
    table.run("DELETE FROM TABLE_ WHERE id > 14")
    table.run("UPDATE TABLE_ SET v = 'up' WHERE id < 3")
    table.run("RESTORE TABLE TABLE_ TO VERSION AS OF 2")
    table.run("DELETE FROM TABLE_ WHERE id % 2 = 0")
    table.run("RESTORE TABLE TABLE_ TO VERSION AS OF 5")
    table.run("DELETE FROM TABLE_ WHERE id >= 0")
    return table


def changes_evolved(spark: SparkSession, root: Path) -> Table:
    """The change feed under column mapping: a column added, a column renamed, a feed switched off and on."""
    properties = {CHANGES: "true", "delta.columnMapping.mode": "name", VECTORS: "true"}
    table = Table(spark, root, "id INT, v STRING, p DATE", properties, "p")
    table.run("INSERT INTO TABLE_ VALUES (1, 'a', DATE'2024-01-01'), (2, 'b', DATE'2024-01-02'), (3, 'c', NULL)")
    table.run("ALTER TABLE TABLE_ ADD COLUMNS (extra LONG)")
    table.run("INSERT INTO TABLE_ VALUES (4, 'd', DATE'2024-01-01', 44)")
    table.run("UPDATE TABLE_ SET extra = 7 WHERE id IN (1, 4)")
    table.run("DELETE FROM TABLE_ WHERE id = 2")
    table.run("ALTER TABLE TABLE_ RENAME COLUMN v TO word")
    table.run("UPDATE TABLE_ SET word = 'w' WHERE id = 3")
    table.run("ALTER TABLE TABLE_ DROP COLUMN extra")
    table.run("INSERT INTO TABLE_ VALUES (5, 'e', DATE'2024-01-05')")
    table.run(f"ALTER TABLE TABLE_ SET TBLPROPERTIES ('{CHANGES}' = 'false')")
    table.run("INSERT INTO TABLE_ VALUES (6, 'f', NULL)")
    table.run(f"ALTER TABLE TABLE_ SET TBLPROPERTIES ('{CHANGES}' = 'true')")
    table.run("DELETE FROM TABLE_ WHERE id = 6")
    return table


def walk(seed: int) -> Callable[[SparkSession, Path], Table]:
    """A table by random statements: the same seed gives the same statements."""

    def make(spark: SparkSession, root: Path) -> Table:
        chance = random.Random(seed)
        properties = {
            CHANGES: "true",
            VECTORS: chance.choice(["true", "false"]),
            TRACKING: chance.choice(["true", "false"]),
            IN_COMMIT: chance.choice(["true", "false"]),
            "delta.columnMapping.mode": chance.choice(["none", "name"]),
        }
        partition = chance.choice(["", "p"])
        table = Table(spark, root, "id LONG, v STRING, p INT", properties, partition)
        source = "(SELECT id, concat('v', id) v, CAST(id % 3 AS INT) p FROM range({}, {}, 1, {}))"
        last = 0
        for _ in range(chance.randint(6, 9)):
            last += 10
            low, modulus = chance.randint(0, last), chance.choice([2, 3, 5, 7])
            some = f"id % {modulus} = {low % modulus}"
            part = source.format(last - 10, last, chance.choice([1, 2]))
            match chance.choice(["insert"] * 3 + ["update", "delete", "merge"] * 3 + ["optimize", "restore", "drop"]):
                case "insert":
                    table.run(f"INSERT INTO TABLE_ SELECT * FROM {part}")
                case "update":
                    table.run(f"UPDATE TABLE_ SET v = concat(v, '+') WHERE {some}")
                case "delete":
                    table.run(f"DELETE FROM TABLE_ WHERE {some}")
                case "merge":
                    table.run(
                        f"MERGE INTO TABLE_ t USING {part} s ON t.id = s.id + {chance.choice([0, 5])} "
                        f"WHEN MATCHED AND t.{some} THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'm' "
                        "WHEN NOT MATCHED THEN INSERT *"
                    )
                case "optimize":
                    table.run("OPTIMIZE TABLE_")
                case "restore":
                    table.run(f"RESTORE TABLE TABLE_ TO VERSION AS OF {chance.randint(0, table.version)}")
                case "drop":
                    table.run("DELETE FROM TABLE_ WHERE p = 1")
        return table

    return make


STORED = {
    maker.__name__: (maker, features.split(", "))
    for maker, features in (
        (row_tracking, "row tracking, deletion vectors, classic checkpoint"),
        (row_tracking_mapped, "row tracking, column mapping by name, partitions"),
        (changes_copied, "change data feed, partitions, nested types"),
        (changes_vectors, "change data feed, deletion vectors, restore, in-commit timestamps, classic checkpoint"),
        (changes_evolved, "change data feed, column mapping by name, deletion vectors, schema evolution"),
    )
}


def expected(spark: SparkSession, root: Path, newest: int) -> dict[str, Any]:
    """What Delta Spark reads: rows with `_metadata` by version, changes by range, history."""
    ends = {start: (start, min(start + 4, newest), newest) for start in range(newest + 1)}
    ranges = sorted({(start, end) for start in ends for end in ends[start]})
    return {
        "versions": [_rows_of(spark, root, version) for version in range(newest + 1)],
        "changes": [_changes_of(spark, root, start, end) for start, end in ranges],
        "history": _rows(spark.sql(f"DESCRIBE HISTORY delta.`{root}`")),
        "commit_times": [
            (root / "_delta_log" / f"{version:020d}.json").stat().st_mtime_ns // 1_000_000
            for version in range(newest + 1)
        ],
    }


def _rows_of(spark: SparkSession, root: Path, version: int) -> list[dict[str, Any]]:
    frame = spark.read.format("delta").option("versionAsOf", version).load(str(root))
    rows = _rows(frame.select("*", "_metadata"))
    for row in rows:
        row["_metadata"]["file_path"] = row["_metadata"]["file_path"].split(f"{root}/")[-1]
    return rows


def _changes_of(spark: SparkSession, root: Path, start: int, end: int) -> dict[str, Any]:
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    asked: dict[str, Any] = {"start": start, "end": end}
    try:
        rows = reader.option("startingVersion", start).option("endingVersion", end).load(str(root))
        return {**asked, "columns": rows.columns, "rows": _rows(rows)}
    except Exception as refused:
        return {**asked, "error": str(refused).split("]")[0].strip("[").splitlines()[0][:80]}


def _rows(frame: DataFrame) -> list[dict[str, Any]]:
    rows = [_plain(row.asDict(recursive=True)) for row in frame.collect()]
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def _text(known: dict[str, Any]) -> str:
    """JSON with a line for each version, range and commit."""
    parts = [
        f'"{key}": [\n' + ",\n".join(json.dumps(item, sort_keys=True) for item in items) + "\n]"
        for key, items in known.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {key: _plain(inner) for key, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
        case datetime():
            return value.replace(tzinfo=timezone.utc).isoformat()
        case date() | Decimal():
            return str(value)
        case _:
            return value


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent).resolve()
    names = sys.argv[2:] or list(STORED)
    makers = {name: STORED.get(name) or (walk(int(name.removeprefix("walk_"))), []) for name in names}
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    for name, (make, features) in makers.items():
        root = folder / name
        table = make(spark, root)
        known = {"features": features, **expected(spark, root, table.version)}
        (root / "expected.json").write_text(_text(known))
        for side_file in root.rglob(".*.crc"):
            side_file.unlink()
        print(name, "version", table.version, sum(file.stat().st_size for file in root.rglob("*") if file.is_file()))
    spark.stop()


if __name__ == "__main__":
    main()
