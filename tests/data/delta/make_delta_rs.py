"""Writes the tables `rs_*` beside this file with delta-rs, each with the rows that delta-rs itself reads back.

`make tables` runs it; so does `.venv/bin/python tests/data/delta/make_delta_rs.py [name ...]`.
"""

import datetime
import json
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import deltalake
import pyarrow as pa

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent))

from tests.data.keep import keep  # noqa: E402
from tests.expected import plain_rows  # noqa: E402

UTC = datetime.timezone.utc


def rows(*numbers: int) -> pa.Table:
    """A column of most types, with a null in every fifth row."""

    def column(kind: pa.DataType, value: Callable[[int], Any]) -> pa.Array:
        return pa.array([None if number % 5 == 4 else value(number) for number in numbers], kind)

    day = datetime.date(2024, 2, 28)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "part": pa.array([None if number % 7 == 6 else f"p {number % 3}/é" for number in numbers]),
            "price": column(pa.decimal128(12, 2), lambda number: Decimal(number * 125) / 100),
            "at": column(
                pa.timestamp("us", "UTC"), lambda number: datetime.datetime(2024, 1, 1, 0, number, tzinfo=UTC)
            ),
            "day": column(pa.date32(), lambda number: day + datetime.timedelta(days=number)),
            "ratio": column(pa.float64(), lambda number: number / 8),
            "ok": column(pa.bool_(), lambda number: number % 2 == 0),
            "raw": column(pa.binary(), lambda number: bytes([number, 255])),
            "tags": column(pa.list_(pa.string()), lambda number: [f"t{number}", None][: number % 3]),
            "deep": column(pa.struct([("x", pa.int32()), ("y", pa.string())]), lambda number: {"x": number, "y": "y"}),
        }
    )


def appended(path: str) -> None:
    """Partitioned, with a checkpoint that delta-rs wrote and commits after it."""
    for start in (0, 4, 8):
        deltalake.write_deltalake(path, rows(*range(start, start + 4)), partition_by=["part"], mode="append")
    deltalake.DeltaTable(path).create_checkpoint()
    deltalake.write_deltalake(path, rows(20, 21), mode="append")


def changed(path: str) -> None:
    """Updated, deleted from, merged into, compacted, restored, and vacuumed in vain."""
    deltalake.write_deltalake(path, rows(*range(12)), configuration={"delta.enableChangeDataFeed": "true"})
    table = deltalake.DeltaTable(path)
    table.update(updates={"ratio": "ratio * 2"}, predicate="id < 3")
    table.delete("id = 5")
    source = rows(7, 8, 30)
    merge = table.merge(source, predicate="t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update({"ratio": "-1.5"}).when_not_matched_insert_all().execute()
    deltalake.write_deltalake(table, rows(40), mode="append")
    table.optimize.compact()
    table.delete()
    table.restore(table.version() - 1)
    table.vacuum(dry_run=False)


def evolved(path: str) -> None:
    """Columns that came later, and statistics of few columns."""
    few = {"delta.dataSkippingNumIndexedCols": "2"}
    deltalake.write_deltalake(path, rows(1, 2).select(["id", "price"]), configuration=few)
    deltalake.write_deltalake(path, rows(3, 4), mode="append", schema_mode="merge")
    deltalake.write_deltalake(path, rows(5).select(["id", "deep"]), mode="append", schema_mode="merge")


def compacted_log(path: str) -> None:
    """Commits that a compacted log file sums up."""
    for start in range(0, 10, 2):
        deltalake.write_deltalake(path, rows(start, start + 1), mode="append")
    table = deltalake.DeltaTable(path)
    table.delete("id IN (2, 3, 9)")
    table.compact_logs(1, 4)


def overwritten(path: str) -> None:
    """A partition replaced, then the whole table with another schema."""
    deltalake.write_deltalake(path, rows(*range(9)), partition_by=["part"])
    deltalake.write_deltalake(path, rows(0, 3), mode="overwrite", predicate="part = 'p 0/é'")
    deltalake.write_deltalake(path, rows(1, 2).select(["part", "id"]), mode="overwrite", schema_mode="overwrite")


TABLES: dict[str, tuple[Callable[[str], None], str]] = {
    "rs_appended": (appended, "partitions, classic checkpoint, special characters in paths"),
    "rs_changed": (changed, "update, delete, merge, optimize, restore, vacuum"),
    "rs_evolved": (evolved, "schema evolution, statistics of some columns"),
    "rs_compacted_log": (compacted_log, "compacted log"),
    "rs_overwritten": (overwritten, "overwrite, time travel, schema evolution"),
}


def read(path: Path, version: int) -> list[dict[str, Any]] | None:
    try:
        query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(path, version))
        actual = plain_rows(pa.table(query.execute("SELECT * FROM t")))
    except Exception as refused:
        if "not found" not in str(refused).lower():
            raise
        return None
    return sorted(actual, key=lambda row: json.dumps(row, sort_keys=True))


def main() -> None:
    with TemporaryDirectory() as folder:
        for name in sys.argv[1:] or list(TABLES):
            make, features = TABLES[name]
            path = Path(folder) / name
            make(str(path))
            versions = [read(path, version) for version in range(deltalake.DeltaTable(path).version() + 1)]
            by = f"delta-rs {deltalake.__version__}"
            keep(path, HERE / name, ["delta-rs", *features.split(", ")], written_by=by, versions=versions)


if __name__ == "__main__":
    main()
