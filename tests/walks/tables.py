"""Four tables that belong together, in several versions, as Delta and as a Parquet copy of each version.

The rows of a version are listed here, so the copies owe nothing to a reader of Delta. A name in double angle brackets
stands for a table in a query's text (`⟪orders⟫`, `⟪orders@2⟫`, and `⟪many⟫`, a view): each side has names of its own.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import lakescan
from tests.matrix.tables import write_copy
from tests.tables import DeltaBuilder

_TOKEN = re.compile(r"⟪(\w+)(?:@(\d+))?⟫")
_INFO = pa.struct([("city", pa.string()), ("n", pa.int32())])
_ARROW: Mapping[str, pa.DataType] = {
    "int": pa.int32(),
    "long": pa.int64(),
    "text": pa.string(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "moment": pa.timestamp("us", "UTC"),
    "local": pa.timestamp("us"),
    "decimal": pa.decimal128(7, 2),
    "double": pa.float64(),
    "ints": pa.list_(pa.field("element", pa.int32())),
    "info": _INFO,
}
_SPARK: Mapping[str, str] = {
    "int": "INT",
    "long": "BIGINT",
    "text": "STRING",
    "bool": "BOOLEAN",
    "date": "DATE",
    "moment": "TIMESTAMP",
    "local": "TIMESTAMP_NTZ",
    "decimal": "DECIMAL(7,2)",
    "double": "DOUBLE",
    "ints": "ARRAY<INT>",
    "info": "STRUCT<city: STRING, n: INT>",
}


@dataclass(frozen=True)
class Table:
    """A table's columns by kind, and what partitions it."""

    name: str
    columns: Mapping[str, str]
    partition_by: tuple[str, ...] = ()
    files: int = 4
    rows: int = 5
    statistics: bool = True


TABLES = (
    Table(
        "orders",
        {
            "id": "long",
            "person": "int",
            "item": "text",
            "qty": "int",
            "price": "decimal",
            "score": "double",
            "day": "date",
            "at": "moment",
            "local": "local",
            "tags": "ints",
            "info": "info",
            "paid": "bool",
            "part": "int",
        },
        files=5,
        rows=6,
    ),
    Table(
        "people",
        {"id": "int", "name": "text", "parent": "int", "city": "text", "born": "date", "part": "int", "tall": "double"},
        partition_by=("part",),
        files=3,
    ),
    Table("items", {"item": "text", "kind": "text", "cost": "decimal", "since": "local"}, ("kind",), statistics=False),
    Table("events", {"id": "long", "order_id": "long", "what": "text", "at": "moment", "n": "int"}, files=2, rows=4),
)
VIEWS: Mapping[str, tuple[str, str]] = {
    "many": ("SELECT id, person, item, qty, day FROM ⟪orders⟫ WHERE qty > 2", "orders"),
    "cities": ("SELECT city, count(*) AS n, max(born) AS youngest FROM ⟪people⟫ GROUP BY city", "people"),
}
VIEW_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "many": {"id": "long", "person": "int", "item": "text", "qty": "int", "day": "date"},
    "cities": {"city": "text", "n": "long", "youngest": "date"},
}
VERSIONS: dict[str, int] = {"orders": 6, "people": 4, "items": 5, "events": 3}
"""The newest version of each; a version in between is what time travel reads, from the first with rows on."""

_MOMENT = datetime(2024, 1, 1, tzinfo=timezone.utc)


def _value(kind: str, name: str, at: int, random: Random) -> Any:
    if name == "id":
        return at
    if name == "parent":
        return None if at < 2 else at // 2
    if name in ("item",):
        return random.choice(["pen", "ink", "pad", "cup", None])
    if random.random() < 0.15:
        return None
    small = random.randint(0, 6)
    return {
        "int": small,
        "long": random.randint(0, 30),
        "text": random.choice(["a", "b", "ab", "B", "ä", ""]),
        "bool": random.random() < 0.5,
        "date": date(2024, 1, 1) + timedelta(days=small * 11),
        "moment": _MOMENT + timedelta(hours=small * 9, microseconds=small),
        "local": (_MOMENT + timedelta(days=small)).replace(tzinfo=None),
        "decimal": Decimal(small * 75 - 100).scaleb(-2),
        "double": random.choice([0.0, -0.0, 1.5, float("nan"), -2.25, float("inf")]),
        "ints": random.choice([[], [1], [1, 2], [None, 3]]),
        "info": {"city": random.choice(["a", "b", None]), "n": small},
    }[kind]


def _file(table: Table, number: int, random: Random) -> list[dict[str, Any]]:
    rows = [
        {name: _value(kind, name, number * table.rows + at, random) for name, kind in table.columns.items()}
        for at in range(table.rows)
    ]
    for name in table.partition_by:
        values: list[Any] = [1, 2, None] if table.columns[name] == "int" else ["k", None, "l"]
        shared = values[number % 3]
        rows = [{**row, name: shared} for row in rows]
    return rows


def _arrow(table: Table, rows: Sequence[Mapping[str, Any]], without: Sequence[str] = ()) -> pa.Table:
    schema = pa.schema([(name, _ARROW[kind]) for name, kind in table.columns.items() if name not in without])
    return pa.Table.from_pylist([{name: row[name] for name in schema.names} for row in rows], schema=schema)


def declare(spark: SparkSession, root: Path) -> None:
    """All tables, copies of all versions and the views; the same rows in every run."""
    for table in TABLES:
        random = Random(table.name)
        schema = _arrow(table, []).schema
        built = DeltaBuilder(
            root / table.name, schema, table.partition_by, features=["deletionVectors", "timestampNtz"]
        )
        live: list[dict[str, Any]] = []
        _copy(spark, root, table, built.version, live)
        for number in range(table.files):
            rows = _file(table, number, random)
            partition = {name: rows[0][name] for name in table.partition_by}
            added = built.append(
                _arrow(table, rows, table.partition_by),
                partition={name: None if value is None else str(value) for name, value in partition.items()},
                stats=table.statistics or number % 2 == 0,
                row_group_size=3,
            )
            live = [*live, *rows]
            _copy(spark, root, table, built.version, live)
            if number == 1:
                built.delete(added, [0, 3])
                live = [row for row in live if row not in (rows[0], rows[3])]
                _copy(spark, root, table, built.version, live)
        VERSIONS[table.name] = built.version
        lakescan.attach(spark, f"walked_{table.name}", built.path)
    for name, (text, _) in VIEWS.items():
        for side in ("ours", "theirs"):
            spark.sql(named(text, side)).createOrReplaceTempView(f"{side}_{name}")


def _copy(spark: SparkSession, root: Path, table: Table, version: int, rows: list[dict[str, Any]]) -> None:
    folder = root / "copies" / f"{table.name}_{version}"
    folder.mkdir(parents=True, exist_ok=True)
    write_copy(_arrow(table, rows), folder / "rows.parquet")
    schema = ", ".join(f"{name} {_SPARK[kind]}" for name, kind in table.columns.items())
    frame = spark.read.schema(schema).parquet(str(folder))
    frame.createOrReplaceTempView(f"copy_{table.name}_{version}")
    frame.createOrReplaceTempView(f"copy_{table.name}")


def named(text: str, side: str) -> str:
    """A query's text with the names of one side."""

    def name(token: re.Match[str]) -> str:
        table, version = token[1], token[2]
        if table in VIEWS:
            return f"{side}_{table}"
        if side == "theirs":
            return f"copy_{table}_{version}" if version else f"copy_{table}"
        return f"lake.walked_{table} VERSION AS OF {version}" if version else f"lake.walked_{table}"

    return _TOKEN.sub(name, text)
